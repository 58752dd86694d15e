"""Products of floats whose right side is narrower than a fractal of the result (16): half of it, or one column."""

from __future__ import annotations

from typing import Any

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, c, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, TRANSPOSED: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    left = tl.load(a + m[:, None] * K + k[None, :])
    if TRANSPOSED:
        right = tl.trans(tl.load(b + n[:, None] * K + k[None, :]))
    else:
        right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))

torch.manual_seed(3)
wrong = []
for m, k, n in ((1, 4, 1), (16, 16, 8), (16, 8, 1), (32, 16, 4), (8, 32, 8)):
    for transposed in (False, True):
        a, b = torch.randn(m, k), torch.randn(k, n)
        c = torch.full((m, n), 7.0).npu()
        product[(1,)](a.npu(), (b.T if transposed else b).contiguous().npu(), c, M=m, K=k, N=n, TRANSPOSED=transposed)
        if not torch.allclose(c.cpu(), a @ b, atol=1e-4):
            wrong.append([m, k, n, transposed])
report(wrong)
"""


def test_a_product_narrower_than_a_fractal(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == []
