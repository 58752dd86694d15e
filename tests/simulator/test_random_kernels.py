"""Triton kernels at random shapes, types, strides, masks and block sizes, through the real compiler: 500 cases.

The worker takes any number of them: ``python random_kernels.py --cases 1000`` runs 5000.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Of each kernel.
CASES = 100
#: The kernels of each process, about the same time for each.
SHARES = (("add", "gather"), ("matmul", "softmax", "reduction"))


@pytest.fixture(scope="module")
def output(sim_env: dict[str, str]) -> str:
    """What the processes print, one for each of two cores; compilations take most of their time."""
    worker = [sys.executable, str(Path(__file__).with_name("random_kernels.py")), "--cases", str(CASES)]
    processes = [
        subprocess.Popen([*worker, *share], env=sim_env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for share in SHARES
    ]
    try:
        return "\n".join(process.communicate(timeout=900)[0] for process in processes)
    finally:
        for process in processes:
            process.kill()


@pytest.mark.parametrize("kernel", [kernel for share in SHARES for kernel in share])
def test_random_cases_are_right(kernel: str, output: str) -> None:
    found = re.search(rf"^{kernel}: (\d+) cases are right$", output, re.M)
    assert found, output[-6000:]
    assert int(found[1]) >= CASES
