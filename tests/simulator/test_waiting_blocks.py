"""Kernels whose blocks wait for each other in loops of their own, on cells of global memory."""

from __future__ import annotations

from typing import Any

import pytest

KERNELS = '''
import torch, torch_npu, triton, triton.language as tl

# The compiler drops a loop that does nothing but wait, so these count and store the count.
@triton.jit
def in_order(x, turn, out, trips, n, BLOCK: tl.constexpr):
    """out = out / 2 + row, row by row."""
    i, pid, count = tl.arange(0, BLOCK), tl.program_id(0), 0
    v = tl.load(x + pid * BLOCK + i)
    while tl.load(turn, volatile=True) != pid:
        count += 1
    tl.store(trips + pid, count)
    tl.store(out + i, tl.load(out + i) * 0.5 + v)
    tl.store(turn, pid + 1)

@triton.jit
def last_first(x, turn, out, trips, n, BLOCK: tl.constexpr):
    """The same from the last row to the first, so that each block waits for the one behind it."""
    i, pid, count = tl.arange(0, BLOCK), tl.program_id(0), 0
    v = tl.load(x + pid * BLOCK + i)
    while tl.load(turn, volatile=True) != n - 1 - pid:
        count += 1
    tl.store(trips + pid, count)
    tl.store(out + i, tl.load(out + i) * 0.5 + v)
    tl.store(turn, n - pid)

@triton.jit
def exchange(x, turn, out, trips, n, BLOCK: tl.constexpr):
    i, pid = tl.arange(0, BLOCK), tl.program_id(0)
    while tl.atomic_cas(turn, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) * 0.5 + tl.load(x + pid * BLOCK + i))
    tl.atomic_xchg(turn, 0)

def run(kernel, blocks):
    x = torch.arange(blocks * 64, dtype=torch.float32).reshape(blocks, 64)
    turn, out = torch.zeros(1, dtype=torch.int32).npu(), torch.zeros(64).npu()
    trips = torch.zeros(blocks, dtype=torch.int32).npu()
    try:
        kernel[(blocks,)](x.npu(), turn, out, trips, blocks, BLOCK=64)
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    expected = torch.zeros(64)
    for row in x.flip(0) if kernel is last_first else x:
        expected = expected * 0.5 + row
    return [turn.item(), torch.equal(out.cpu(), expected), bool(trips.cpu()[0] > 0)]
'''


@pytest.fixture(scope="module")
def answers(run_on_sim: Any) -> dict[str, Any]:
    return run_on_sim(KERNELS + "report({'in order': run(in_order, 50), 'last first': run(last_first, 40)})")


@pytest.mark.parametrize(("order", "blocks"), [("in order", 50), ("last first", 40)])
def test_blocks_wait_for_each_other(order: str, blocks: int, answers: dict[str, Any]) -> None:
    """Forty vector cores: as many blocks run at the same time, and later ones when these are done."""
    assert answers[order] == [blocks, True, order == "last first"]


@pytest.mark.parametrize(("kernel", "blocks"), [("last_first", 41), ("exchange", 3)])
def test_a_kernel_that_would_hang_is_an_error(kernel: str, blocks: int, run_on_sim: Any) -> None:
    """The first blocks wait for one that has no core; and what atomic_cas returns is never 0 as it is compiled."""
    message = run_on_sim(KERNELS + f"report(run({kernel}, {blocks}))")
    assert f"kernel '{kernel}' block 0: line" in message
    assert "too many loop iterations: it would hang" in message
