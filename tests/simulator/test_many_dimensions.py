"""Kernels whose lowered module has a dimension for each doubling: sorting networks."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def largest(x, out, ROWS: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    best = tl.topk(tl.load(x + row * N + tl.arange(0, N)[None, :]), K)
    tl.store(out + row * K + tl.arange(0, K)[None, :], best)

torch.manual_seed(1)
same = []
for rows, n, k in ((4, 32, 4), (16, 64, 4), (8, 128, 8)):
    x = torch.randn(rows, n)
    out = torch.empty(rows, k).npu()
    largest[(1,)](x.npu(), out, ROWS=rows, N=n, K=k)
    same.append(bool((out.cpu() == torch.topk(x, k).values).all()))
report(same)
"""


def test_the_largest_of_rows_of_many_elements(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == [True, True, True]
