"""Synchronisation that the compiler puts everywhere on request: between pipes, and between blocks and core types."""

from __future__ import annotations

from typing import Any

import pytest

PROGRAM = """
import hashlib
import torch, torch_npu, triton, triton.language as tl

@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)

@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # Cube, then vector: halves of a mixed kernel, which wait for each other in any case.
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k, sum = tl.arange(0, BK), tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        sum += tl.dot(tl.load(a + m[:, None] * K + (s + k)[None, :]), tl.load(b + (s + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], sum * 2.0 + 1.0)

torch.manual_seed(0)
x = torch.rand(100, 333)
a, b = torch.randn(128, 256).half(), torch.randn(256, 192).half()
answers = {}
for option in ("none", "inject_barrier_all", "inject_block_all"):
    options = {} if option == "none" else {option: True}
    y, c = torch.empty(100, 333).npu(), torch.empty(128, 192).npu()
    softmax[(100,)](x.npu(), y, 333, BLOCK=512, **options)
    kernel = product[(2, 3)](a.npu(), b.npu(), c, 192, 256, BM=64, BN=64, BK=64, **options)
    answers[option] = [
        torch.allclose(y.cpu(), torch.softmax(x, 1), atol=1e-6),
        torch.allclose(c.cpu(), a.float() @ b.float() * 2 + 1, atol=1e-3),
        hashlib.sha256(kernel.asm["npubin"]).hexdigest(),
    ]
report(answers)
"""


@pytest.fixture(scope="module")
def answers(run_on_sim: Any) -> Any:
    return run_on_sim(PROGRAM, timeout=300)


@pytest.mark.parametrize("option", ["none", "inject_barrier_all", "inject_block_all"])
def test_vector_and_mixed_kernels_are_right(answers: Any, option: str) -> None:
    assert answers[option][:2] == [True, True]


def test_the_options_change_what_is_compiled(answers: Any) -> None:
    assert len({binary for _, _, binary in answers.values()}) == 3
