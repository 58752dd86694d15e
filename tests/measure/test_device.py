"""Which targets can be measured on. The NPU itself is tested on the simulator (test_gate_simulated)."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from triton_ascend_tune.measure.device import active_device


def test_a_target_that_cannot_be_measured_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("triton.runtime.driver")
    target = SimpleNamespace(backend="cpu")
    module.driver = SimpleNamespace(active=SimpleNamespace(get_current_target=lambda: target))  # type: ignore[attr-defined]
    for name in ("triton", "triton.runtime"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(ValueError, match="no event timing on target 'cpu'; allowed: 'npu', 'cuda'"):
        active_device()
