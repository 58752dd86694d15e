"""Programs that deal themselves the tiles of several products, in loops whose ends are known only at the launch."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def products(left, right, out, shapes, count, PROGRAMS: tl.constexpr, B: tl.constexpr):
    tile, before = tl.program_id(0), 0
    for each in range(count):
        m, n, k = tl.load(shapes + 3 * each), tl.load(shapes + 3 * each + 1), tl.load(shapes + 3 * each + 2)
        a = tl.load(left + each).to(tl.pointer_type(tl.float16))
        b = tl.load(right + each).to(tl.pointer_type(tl.float16))
        c = tl.load(out + each).to(tl.pointer_type(tl.float16))
        across = n // B
        tiles = m // B * across
        while tile >= before and tile < before + tiles:
            rows = (tile - before) // across * B + tl.arange(0, B)
            columns = (tile - before) % across * B + tl.arange(0, B)
            total = tl.zeros((B, B), tl.float32)
            for start in range(0, k, B):
                depth = start + tl.arange(0, B)
                total += tl.dot(tl.load(a + rows[:, None] * k + depth), tl.load(b + depth[:, None] * n + columns))
            tl.store(c + rows[:, None] * n + columns, total.to(tl.float16))
            tile += PROGRAMS
        before += tiles

torch.manual_seed(5)
shapes = [(96, 64, 64), (32, 96, 32), (64, 32, 128)]
pairs = [(torch.randn(m, k).half(), torch.randn(k, n).half()) for m, n, k in shapes]
on_npu = [(a.npu(), b.npu(), torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16).npu()) for a, b in pairs]
tables = [torch.tensor([tensor.data_ptr() for tensor in column]).npu() for column in zip(*on_npu)]
products[(5,)](*tables, torch.tensor(shapes, dtype=torch.int32).npu(), 3, PROGRAMS=5, B=32)
report([torch.allclose(c.cpu().float(), a.float() @ b.float(), atol=3e-2) for (a, b), (_, _, c) in zip(pairs, on_npu)])
"""


def test_programs_take_tiles_until_none_is_left(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == [True, True, True]
