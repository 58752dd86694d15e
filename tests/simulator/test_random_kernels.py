"""Triton kernels at random shapes, types, strides, masks and block sizes, through the real compiler.

The worker takes any number of cases: ``python random_kernels.py --cases 100`` runs 500 of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = 12


@pytest.mark.parametrize("kernel", ["add", "softmax", "reduction", "matmul", "gather"])
def test_random_cases_are_right(kernel: str, sim_env: dict[str, str]) -> None:
    worker = Path(__file__).with_name("random_kernels.py")
    done = subprocess.run(
        [sys.executable, str(worker), "--cases", str(CASES), kernel],
        env=sim_env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert f"{kernel}: {CASES} cases are right" in done.stdout
