"""The tuner on the real triton-ascend and torch_npu over the simulated CANN: one program, run twice."""

from __future__ import annotations

from typing import Any

import pytest

PROGRAM = """
import torch, triton
import triton.language as tl

def row(o):
    times = o.samples and o.samples.times_ms
    return [o.candidate.config.kwargs, o.status.value, o.stage and o.stage.value, o.reason, times]

def show(tuner):
    return {
        "outcomes": [row(outcome) for outcome in tuner.verdict.outcomes],
        "best": tuner.best_config.kwargs,
        "timings": list(tuner.configs_timings.values()),
        "nargs": tuner.nargs,
        "entries": len(tuner.cache),
        "class": type(tuner).__module__,
    }

blocks = lambda *sizes: [triton.Config({"BLOCK": size}) for size in sizes]
grid = lambda n: lambda meta: (triton.cdiv(n, meta["BLOCK"]),)

@triton.autotune(configs=blocks(256, 4096, 65536), key=["n"])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

# In place, and adding to a sum: wrong after more than one effective launch.
@triton.autotune(configs=blocks(1024, 4096), key=["n"], restore_value=["x"], reset_to_zero=["total"])
@triton.jit
def double(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * 2
    tl.store(x + i, v, mask=i < n)
    tl.store(total + i, tl.load(total + i, mask=i < n) + v, mask=i < n)

@triton.autotune(configs=blocks(16, 1024), key=["n"])
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

@triton.autotune(configs=blocks(65536, 131072), key=["n"])
@triton.jit
def hopeless(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

def bug(arguments, reset_only=False):
    raise RuntimeError("bug in the hook")

@triton.autotune(configs=blocks(512, 1024), key=["n"], pre_hook=bug)
@triton.jit
def hooked(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

@triton.autotune(configs=[], key=["n"], hints={"enable_ascend_autotune": True})
@triton.jit
def generated(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

answers = {}
n = 100_003
x, y, out = torch.rand(n), torch.rand(n), torch.empty(n, device="npu")
kernel = add[grid(n)](x.to("npu"), y.to("npu"), out, n)
answers["add"] = {**show(add), "equal": torch.equal(out.cpu(), x + y), "kernel": type(kernel).__name__}

out.zero_()
before = add.cache.copy()
add[grid(n)](x.to("npu"), y.to("npu"), out, n)
answers["hit"] = {"equal": torch.equal(out.cpu(), x + y), "same": add.cache == before}

z, total = x.to("npu"), torch.full((n,), 7.0, device="npu")
double[grid(n)](z, total, n)
answers["double"] = {**show(double), "equal": torch.equal(z.cpu(), x * 2) and torch.equal(total.cpu(), x * 2)}

many = 65536 * 16
a, b = torch.rand(many), torch.empty(many, device="npu")
copy[grid(many)](a.to("npu"), b, many)
answers["copy"] = {**show(copy), "equal": torch.equal(b.cpu(), a)}

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error), type(error.__cause__).__name__]

answers["hopeless"] = error_of(lambda: hopeless[grid(n)](x.to("npu"), out, n))
answers["hooked"] = error_of(lambda: hooked[grid(n)](x.to("npu"), out, n))
out.zero_()
add[grid(n)](x.to("npu"), y.to("npu"), out, n)
answers["after errors"] = torch.equal(out.cpu(), x + y)

generated[grid(n)](x.to("npu"), out, n)
answers["generated"] = {**show(generated), "equal": torch.equal(out.cpu(), x)}
report(answers)
"""


@pytest.fixture(scope="module")
def answers(run_on_sim: Any) -> Any:
    return run_on_sim("import torch\ntorch.manual_seed(0)\n" + PROGRAM, timeout=500)


def test_the_overflowing_candidate_is_named_and_the_rest_is_timed(answers: Any) -> None:
    small, large, overflow = answers["add"]["outcomes"]
    assert small[1] == large[1] == "timed"
    assert overflow[1:4] == ["failed", "compile", "unified buffer overflow: needs 512 KiB, has 192 KiB"]
    assert answers["add"]["timings"][2] == [float("inf")] * 3
    assert answers["add"]["best"] == min((small, large), key=lambda row: sorted(row[4])[len(row[4]) // 2])[0]


def test_result_kernel_and_attributes(answers: Any) -> None:
    add = answers["add"]
    assert add["equal"] and add["kernel"] == "CompiledKernel" and add["nargs"] is None and add["entries"] == 1
    assert add["class"] == "triton_ascend_tune.autotuner"
    assert answers["hit"] == {"equal": True, "same": True}


def test_every_sample_is_a_plausible_time_and_there_are_enough(answers: Any) -> None:
    for kernel in ("add", "double", "copy"):
        for config, status, _, _, times in answers[kernel]["outcomes"]:
            if status == "timed":
                # Who is far behind leaves the race at once; the winner has been confirmed, unless it was alone.
                assert len(times) >= (8 if config == answers[kernel]["best"] and kernel != "copy" else 1)
                assert all(0 < time < 10 for time in times)


def test_an_in_place_kernel_is_applied_exactly_once(answers: Any) -> None:
    assert answers["double"]["equal"]


def test_too_large_a_grid_is_that_candidates_failure(answers: Any) -> None:
    tiny, other = answers["copy"]["outcomes"]
    assert tiny[1:3] == ["failed", "launch"]
    assert "65536" in tiny[3]
    assert other[1] == "timed" and answers["copy"]["equal"]


def test_all_failed_lists_every_reason(answers: Any) -> None:
    name, message, cause = answers["hopeless"]
    assert (name, cause) == ("NoCandidateError", "MLIRCompilationError")
    assert message.count("unified buffer overflow: needs") == 2


def test_a_bug_in_a_hook_comes_out_and_the_device_works_on(answers: Any) -> None:
    assert answers["hooked"][:2] == ["RuntimeError", "bug in the hook"]
    assert answers["after errors"] is True


def test_the_wheels_generated_tiles_are_tuned(answers: Any) -> None:
    assert len(answers["generated"]["outcomes"]) > 1
    assert answers["generated"]["equal"]


def test_two_runs_give_identical_virtual_times(answers: Any, run_on_sim: Any) -> None:
    again = run_on_sim("import torch\ntorch.manual_seed(0)\n" + PROGRAM, timeout=500)
    for kernel in ("add", "double", "copy", "generated"):
        assert again[kernel]["outcomes"] == answers[kernel]["outcomes"]
