"""Scalars of kernels: what is assumed of them, and floats made of unsigned ones."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def scale(x, out, n, N: tl.constexpr):
    tl.assume(n > 0)
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0) * n, mask=i < n)

@triton.jit
def as_floats(x, out):
    tl.store(out + tl.program_id(0), tl.load(x + tl.program_id(0)).to(tl.float32))

out = torch.zeros(8).npu()
scale[(1,)](torch.ones(8).npu(), out, 5, N=8)
floats = torch.zeros(3).npu()
as_floats[(3,)](torch.tensor([1, 200, 255], dtype=torch.uint8).npu(), floats)
report([out.cpu().tolist(), floats.cpu().tolist()])
"""


def test_assumptions_change_nothing_and_unsigned_scalars_stay_positive(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == [[5] * 5 + [0] * 3, [1, 200, 255]]
