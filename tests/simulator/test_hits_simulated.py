"""The hit path over the real torch_npu and triton-ascend on the simulated CANN."""

from __future__ import annotations

from typing import Any

import pytest

PROGRAM = """
import torch, torch_npu, triton
import triton.language as tl
from triton.runtime.driver import driver
from triton_ascend_tune import dispatch

def bench(call, quantiles):
    call()
    return [1.0, 1.0, 1.0]

@triton.autotune([triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 4096})], key=["n"], do_bench=bench)
@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

general = []
original = type(scale)._general
scale._general = lambda *args, **keywords: (general.append(args[2]), original(scale, *args, **keywords))[1]

def launch(n, factor, device):
    general.clear()
    x = torch.arange(n, dtype=torch.float32)
    y = torch.empty(n, device=f"npu:{device}")
    kernel = scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to(y.device), y, n, factor)
    return [len(general), torch.equal(y.cpu(), x * factor), type(kernel).__name__]

answers = {"first": launch(10_000, 2.0, 0), "second": launch(10_000, 3.0, 0), "other": launch(20_000, 3.0, 0)}
answers["asks"] = dispatch.current_device(driver.active) is torch_npu._C._npu_getDevice
torch.npu.set_device(1)
answers["other device"] = [launch(10_000, 2.0, 1), launch(10_000, 4.0, 1)]
torch.npu.set_device(0)
answers["back"] = launch(10_000, 5.0, 0)
answers["again"] = launch(10_000, 5.0, 0)
answers["places"] = sorted(key[-1][-1] for key in scale.cache)
report(answers)
"""


@pytest.fixture(scope="module")
def answers(run_on_sim: Any) -> Any:
    return run_on_sim(PROGRAM, env={"CANN_SIM_DEVICES": "2"}, timeout=500)


def test_the_second_launch_is_a_hit_and_right(answers: Any) -> None:
    assert answers["first"] == [1, True, "CompiledKernel"]
    assert answers["second"] == [0, True, "CompiledKernel"]
    assert answers["other"] == [1, True, "CompiledKernel"]


def test_torch_npu_is_asked_for_the_device_without_its_initialisation(answers: Any) -> None:
    assert answers["asks"]


def test_each_device_has_hits_of_its_own(answers: Any) -> None:
    assert answers["other device"] == [[1, True, "CompiledKernel"], [0, True, "CompiledKernel"]]
    assert answers["again"] == [0, True, "CompiledKernel"] and answers["back"][1:] == [True, "CompiledKernel"]
    assert answers["places"] == ["0", "0", "1"]
