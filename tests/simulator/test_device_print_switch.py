"""Device output of scalars, and under ``TRITON_DEVICE_PRINT=1``, where launchers contain CANN's own headers of it."""

from __future__ import annotations

from typing import Any

import pytest

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def show(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.device_print("v", v)
    tl.store(out + tl.arange(0, N), v)

@triton.jit
def silent(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=7), mask=i < N)

x = torch.arange(8, dtype=torch.int32).npu()
out, other = torch.empty_like(x), torch.empty_like(x)
show[(1,)](x, out, N=8)
silent[(1,)](x, other, 5, N=8)
print(out.cpu().tolist(), other.cpu().tolist(), sep='; ')
"""


@pytest.mark.parametrize("queue", ["0", "1"])
def test_kernels_with_and_without_output_run(queue: str, run_on_sim: Any) -> None:
    done = run_on_sim(CODE, env={"TRITON_DEVICE_PRINT": "1", "TRITON_ENABLE_TASKQUEUE": queue}, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "v: [0, 1, 2, 3, 4, 5, 6, 7]" in lines
    assert lines[-1] == "[0, 1, 2, 3, 4, 5, 6, 7]; [0, 1, 2, 3, 4, 7, 7, 7]"


SCALARS = """
import torch, triton, triton.language as tl

@triton.jit
def show(x, factor):
    tl.device_print("block", tl.program_id(0))
    tl.device_print("product", tl.load(x + tl.program_id(0)) * factor)

show[(2,)](torch.tensor([1.5, -2.0]).npu(), 3.0)
torch.npu.synchronize()
"""


def test_scalars_are_printed(run_on_sim: Any) -> None:
    done = run_on_sim(SCALARS, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines == ["block: 0", "product: 4.5", "block: 1", "product: -6"]
