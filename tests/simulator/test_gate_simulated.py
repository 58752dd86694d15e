"""The gate, the race and what surrounds them under the real torch_npu and triton-ascend, on the simulated CANN."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SETUP = """
import logging, os, signal, warnings
import torch, torch_npu, triton, triton.language as tl
import triton_ascend_tune as tat

BLOCKS = [256, 512, 1024, 2048, 4096]

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

n = 50_000
x = torch.rand(n).to("npu")
out = torch.zeros_like(x)

def tuned(blocks=BLOCKS, **options):
    configs = [triton.Config({"BLOCK": block}) for block in blocks]
    return triton.autotune(configs=configs, key=["n"], **options)(double)

def launch(kernel):
    out.zero_()
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return kernel.best_config.kwargs["BLOCK"]

def correct():
    return torch.equal(out.cpu(), x.cpu() * 2)

def verdict(kernel):
    choice = kernel.verdict.choice
    return {"best": kernel.best_config.kwargs["BLOCK"], "gate": choice.conditions.gate, "stop": choice.stop,
            "why": choice.conditions.ungated_because, "flush": choice.conditions.flush_bytes, "rounds": choice.rounds,
            "overhead_ms": choice.conditions.event_overhead_ms, "whole_ms": choice.whole_ms,
            "p50": {o.candidate.config.kwargs["BLOCK"]: o.samples.p50 for o in kernel.verdict.outcomes if o.samples},
            "correct": correct()}
"""

TUNE = """
kernel = tuned()
launch(kernel)
report(verdict(kernel))
"""

#: A host that needs longer for a launch than the device for the kernel.
SLOW_HOST = {"CANN_SIM_HOST_LAUNCH_US": "20"}


@pytest.fixture(scope="module")
def quiet(run_on_sim: Any) -> Any:
    """The true times: no noise."""
    return run_on_sim(SETUP + TUNE)


def test_the_race_is_run_behind_a_gate_and_costs_little(quiet: Any) -> None:
    assert quiet["gate"] == "notify"
    assert quiet["why"] == ""
    assert quiet["correct"]
    assert quiet["stop"] in ("separated", "tied", "close")
    assert quiet["whole_ms"] < 30
    assert 0 < quiet["overhead_ms"] < 0.005
    assert quiet["p50"][str(quiet["best"])] <= 1.01 * min(quiet["p50"].values())


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_behind_the_gate_the_hosts_latency_is_in_no_time(run_on_sim: Any, quiet: Any, queue: str) -> None:
    """FR-36."""
    slow = run_on_sim(SETUP + TUNE, env={**SLOW_HOST, "TASK_QUEUE_ENABLE": queue})
    assert slow["gate"] == "notify"
    assert slow["p50"] == pytest.approx(quiet["p50"], rel=0.02)


def test_without_the_gate_the_hosts_latency_is_in_the_times(run_on_sim: Any, quiet: Any) -> None:
    """What the gate is for; and the option that switches it off."""
    environment = {"CANN_SIM_HOST_LAUNCH_US": "200", "TRITON_ASCEND_TUNE_GATE": "0"}
    slow = run_on_sim(SETUP + TUNE, env=environment)
    assert (slow["gate"], slow["why"]) == ("", "switched off")
    assert min(slow["p50"].values()) > 2 * min(quiet["p50"].values())


def test_with_jitter_the_winner_is_the_best_or_a_tie_in_any_order(run_on_sim: Any, quiet: Any) -> None:
    code = """
import random
winners = []
for seed in range(10):
    order = BLOCKS[:]
    random.Random(seed).shuffle(order)
    with tat.options(seed=seed):
        winners.append(launch(tuned(order)))
report(winners)
"""
    noise = {"CANN_SIM_JITTER": "0.02", "CANN_SIM_SEED": "7"}
    winners = run_on_sim(SETUP + code, env={**SLOW_HOST, **noise})
    best = min(quiet["p50"].values())
    assert len(winners) == 10
    assert [quiet["p50"][str(winner)] <= 1.02 * best for winner in winners] == [True] * 10


@pytest.mark.parametrize("plan", ["classic", "fixed"])
def test_the_other_plans(run_on_sim: Any, quiet: Any, plan: str) -> None:
    other = run_on_sim(SETUP + TUNE, env={"TRITON_ASCEND_TUNE_PLAN": plan, "TRITON_ASCEND_TUNE_BUDGET_MS": "5"})
    assert other["gate"] == "notify"
    assert other["stop"] == "count"
    assert other["p50"] == pytest.approx(quiet["p50"], rel=0.02)


def test_a_large_tensor_to_restore_is_in_no_time(run_on_sim: Any, quiet: Any) -> None:
    """FR-21."""
    code = """
@triton.jit
def first(x, out, large, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

large = torch.zeros(16 << 20, device="npu")   # 64 MiB
answers = []
for restored in ([], ["large"]):
    configs = [triton.Config({"BLOCK": block}) for block in BLOCKS]
    kernel = triton.autotune(configs=configs, key=["n"], restore_value=restored)(first)
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, large, n)
    answers.append(verdict(kernel))
report(answers)
"""
    without, restored = run_on_sim(SETUP + code, env=SLOW_HOST)
    assert restored["gate"] == without["gate"] == "notify"
    assert restored["p50"] == pytest.approx(without["p50"], rel=0.01)


def test_a_hook_that_waits_for_the_device_never_does_so_behind_the_gate(run_on_sim: Any, quiet: Any) -> None:
    code = """
import time
began = time.monotonic()
kernel = tuned(pre_hook=lambda arguments, reset_only=False: torch.npu.synchronize())
launch(kernel)
report({**verdict(kernel), "seconds": time.monotonic() - began})
"""
    result = run_on_sim(SETUP + code)
    assert result["gate"] == "notify"
    assert result["correct"]
    assert result["p50"] == pytest.approx(quiet["p50"], rel=0.02)


@pytest.mark.parametrize(
    "failing",
    ["raise RuntimeError('bug')", "signal.raise_signal(signal.SIGINT)", "raise KeyboardInterrupt"],
)
@pytest.mark.parametrize("where", ["pre_hook", "post_hook", "launch"])
def test_after_an_exception_in_the_middle_the_next_launch_works(run_on_sim: Any, failing: str, where: str) -> None:
    code = f"""
calls = [0]
def break_at_twenty():
    calls[0] += 1
    if calls[0] == 20:
        {failing}

def pre_hook(arguments, reset_only=False):
    break_at_twenty()

def post_hook(arguments, exception=None):
    break_at_twenty()

kernel = tuned(**({{"{where}": {where if where != "launch" else None}}} if "{where}" != "launch" else {{}}))
if "{where}" == "launch":
    original = kernel._launch
    kernel._launch = lambda *args: (break_at_twenty(), original(*args))[1]
try:
    launch(kernel)
except (RuntimeError, KeyboardInterrupt) as error:
    broken = type(error).__name__
cached = len(kernel.cache)
plain = tuned([1024])
launch(plain)
after = correct()
calls[0] = 1000
launch(kernel)
report([broken, cached, after, correct(), kernel.verdict.choice.conditions.gate])
"""
    if where == "launch" and "Runtime" in failing:
        pytest.skip("a launch that raises is its candidate's failure, not the caller's")
    result = run_on_sim(SETUP + code)
    assert result == ["RuntimeError" if "Runtime" in failing else "KeyboardInterrupt", 0, True, True, "notify"]


def test_a_launch_that_waits_behind_the_gate_is_measured_without_it(run_on_sim: Any, quiet: Any) -> None:
    code = """
kernel = tuned()
original = kernel._launch
def waiting(*args):
    made = original(*args)
    torch.npu.synchronize()
    return made
kernel._launch = waiting
launch(kernel)
again = tuned()
launch(again)
report([verdict(kernel), verdict(again)])
"""
    waiting, again = run_on_sim(SETUP + code)
    assert (waiting["gate"], waiting["why"]) == ("", "a launch waited for the device behind the closed gate")
    assert waiting["correct"]
    assert waiting["p50"][str(quiet["best"])] > 0
    assert again["gate"] == "notify"


def test_a_library_without_notifies_has_another_gate(run_on_sim: Any, quiet: Any) -> None:
    result = run_on_sim(SETUP + TUNE, env={**SLOW_HOST, "CANN_SIM_FAULTS": "notify"})
    assert result["gate"] == "value"
    assert result["p50"] == pytest.approx(quiet["p50"], rel=0.02)


def test_where_no_gate_works_times_are_taken_without_and_the_verdict_says_so(run_on_sim: Any) -> None:
    result = run_on_sim(SETUP + TUNE, env={"CANN_SIM_FAULTS": "notify_lost,value"})
    assert result["gate"] == ""
    assert "notify: does not release a stream" in result["why"]
    assert "value: aclrtValueWrite failed" in result["why"]
    assert result["correct"]
    assert len(result["p50"]) == 5


def test_short_memory_makes_a_smaller_flush(run_on_sim: Any) -> None:
    code = """
messages = []
class Keep(logging.Handler):
    def emit(self, record): messages.append(record.getMessage())
logging.getLogger("triton_ascend_tune").addHandler(Keep())
kernel = tuned()
launch(kernel)
report({**verdict(kernel), "messages": messages})
"""
    result = run_on_sim(SETUP + code, env={"CANN_SIM_FAULTS": "malloc:100"})
    assert result["flush"] == 96 << 20
    assert result["correct"]
    assert [m for m in result["messages"] if "flush buffer" in m] and len(result["messages"]) == 1


def test_reading_flushes_as_well(run_on_sim: Any, quiet: Any) -> None:
    read = run_on_sim(SETUP + TUNE, env={"TRITON_ASCEND_TUNE_FLUSH": "read"})
    assert read["p50"] == pytest.approx(quiet["p50"], rel=0.02)


def test_warm_times_are_shorter(run_on_sim: Any, quiet: Any) -> None:
    code = """
kernel = tat.options(flush="none")(tuned())
launch(kernel)
report(verdict(kernel))
"""
    warm = run_on_sim(SETUP + code)
    assert warm["flush"] == 0
    assert warm["gate"] == "notify"
    assert warm["correct"]
    assert min(warm["p50"].values()) < min(quiet["p50"].values())


def test_nothing_touches_the_device_while_its_stream_is_captured(run_on_sim: Any, tmp_path: Path) -> None:
    """FR-65."""
    log = tmp_path / "tasks.jsonl"
    code = """
kernel = tuned()
named = tat.options(fallback=triton.Config({"BLOCK": 2048}))(tuned())
capturing = torch.npu.is_current_stream_capturing
torch.npu.is_current_stream_capturing = lambda: True
def tasks():
    torch_npu._C._npu_getCurrentRawStream(0)
    return sum(1 for _ in open(os.environ["CANN_SIM_TASK_LOG"]))
out.zero_()
torch.npu.synchronize()
before = tasks()
allocated = torch.npu.memory_allocated()
try:
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
except RuntimeError as error:
    text = f"{type(error).__name__}: {error}"
untouched = tasks() == before and torch.npu.memory_allocated() == allocated
launch(named)
torch.npu.is_current_stream_capturing = capturing
fallback = [named.best_config.kwargs["BLOCK"], correct(), len(named.cache), named.verdict is None]
launch(named)
report([text, untouched, len(kernel.cache), fallback, len(named.cache), correct()])
"""
    text, untouched, cached, fallback, later, correct = run_on_sim(SETUP + code, env={"CANN_SIM_TASK_LOG": str(log)})
    assert text.startswith("CaptureError: kernel double has no config for these arguments yet")
    assert untouched
    assert cached == 0
    assert fallback == [2048, True, 0, True]
    assert later == 1
    assert correct


def test_do_bench_gives_what_tritons_gives(run_on_sim: Any) -> None:
    code = """
import triton.testing
grid = (triton.cdiv(n, 1024),)
run = lambda: double[grid](x, out, n, BLOCK=1024)
weight = torch.nn.Parameter(torch.zeros(4).to("npu"))
weight.grad = torch.zeros_like(weight)
seen = []
def backward():
    seen.append(weight.grad is None)
    run()
answer = {
    "mean": tat.do_bench(run, warmup=1, rep=5), "stock": triton.testing.do_bench(run, warmup=1, rep=5),
    "all": tat.do_bench(run, warmup=1, rep=5, return_mode="all"),
    "one": tat.do_bench(run, warmup=1, rep=5, quantiles=[0.5]),
    "three": tat.do_bench(run, warmup=1, rep=5, quantiles=[0.5, 0.2, 0.8]),
}
tat.do_bench(backward, warmup=1, rep=5, grad_to_none=[weight])
report({**answer, "gradients": all(seen) and len(seen) > 5})
"""
    result = run_on_sim(SETUP + code)
    assert result["mean"] == pytest.approx(result["one"], rel=0.02)
    assert result["three"] == pytest.approx([result["one"]] * 3, rel=0.02)
    assert len(result["all"]) > 5
    assert result["gradients"]
    assert 0 < result["mean"] <= result["stock"]  # which measures while the host launches
    assert json.dumps(result)
