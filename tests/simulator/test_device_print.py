"""``tl.device_print`` writes to the standard output of the process, at every launch, block after block."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def show(x, out, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.device_print("v", v)
    tl.store(out + i, v, mask=i < n)

@triton.jit
def show_2d(x, out, N: tl.constexpr):
    i = tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.device_print("whole", v)
    tl.store(out + i, v)

x = (torch.arange(12, dtype=torch.float32) / 4 - 1).npu()
out = torch.empty_like(x)
for _ in range(2):
    show[(2,)](x, out, 12, N=8)
numbers = torch.arange(-3, 13, dtype=torch.int32).npu()
show_2d[(1,)](numbers, torch.empty_like(numbers), N=8)
torch.npu.synchronize()
"""


def test_values_are_printed_in_order_at_every_launch(run_on_sim: Any) -> None:
    done = run_on_sim(CODE, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith(("v", "whole"))]
    blocks = ["v: [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]", "v: [1, 1.25, 1.5, 1.75, 0, 0, 0, 0]"]
    whole = "whole: [[-3, -2, -1, 0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11, 12]]"
    assert lines == [*blocks, *blocks, whole]
