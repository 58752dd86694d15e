"""``tl.extract_slice`` and ``tl.insert_slice`` at a place that is known only at the launch."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def double_part(x, out, start, N: tl.constexpr, PART: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + i)
    part = tl.extract_slice(row, [start], [PART], [1])
    tl.store(out + i, tl.insert_slice(row, part + part, [start], [PART], [1]))

x = torch.arange(1, 257, dtype=torch.float32)
wrong = []
for start in (0, 8, 64, 224):
    out = torch.zeros(256).npu()
    double_part[(1,)](x.npu(), out, start, N=256, PART=32)
    expected = x.clone()
    expected[start : start + 32] *= 2
    if not torch.equal(out.cpu(), expected):
        wrong.append(start)
report(wrong)
"""


def test_a_part_of_a_tile_is_taken_and_put_back(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == []
