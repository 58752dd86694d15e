"""Tests that need a CUDA device and stock Triton: ``TRITON_ASCEND_TUNE_TARGETS=cuda pytest tests/cuda``.

Not part of ``make test``: the machines that it runs on have no device.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

VARIABLES = ("TRITON_ASCEND_TUNE", "TRITON_BENCH_METHOD", "TRITON_PRINT_AUTOTUNING", "TRITON_CACHE_AUTOTUNING")


@pytest.fixture(autouse=True)
def on_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Tunes on CUDA with an empty cache folder, and leaves no work behind."""
    assert torch.cuda.is_available(), "these tests need a CUDA device"
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TRITON_ASCEND_TUNE_TARGETS", "cuda")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    yield
    torch.cuda.synchronize()
