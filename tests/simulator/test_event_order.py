"""Event timing on the real torch_npu over the simulated CANN: every record lands where it belongs, queue on or off."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

SAMPLES = 1000
QUEUE_MODES = ["0", "1", "2"]

SETUP = """
import torch, torch_npu, triton, triton.language as tl
from triton_ascend_tune import _native
from triton_ascend_tune.measure.device import active_device
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import FLUSH_BYTES, Protocol

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

n = 4096
x = torch.arange(n, dtype=torch.float32).to("npu")
out = torch.zeros_like(x)
def launch():
    double[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
launch()
torch.npu.synchronize()
device = active_device()
"""

MEASURE = """
with device.timer(Protocol(gate=False)) as timer:
    run = timer.run([Trial(launch)], [0] * SAMPLES)
report({"kernel_ms": run.kernel_ms, "iteration_ms": run.iteration_ms, "rejected": run.rejected,
        "simulated": device.simulated, "correct": torch.equal(out.cpu(), x.cpu() * 2)})
"""

# The mistake that the loop must not make: a handle fetched once drains nothing.
STALE_HANDLE = """
from triton_ascend_tune.measure.flush import make_flush
handle = torch_npu._C._npu_getCurrentRawStream(0)
flush = make_flush(triton.runtime.driver.active, "write", FLUSH_BYTES, None).call
timer = _native.EventTimer(_native.AclRuntime(), flush, lambda: handle)
timer.run([Trial(launch)], [0] * SAMPLES)
"""


def tasks_of(log: Path) -> list[dict[str, Any]]:
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    return sorted(tasks, key=lambda task: task["sequence"])


def measured(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the loop put on its stream: from its opening record, three tasks before its first kernel, to the last.

    Without the device's calibration, which launches no kernel and lies between that and the kernel of the set-up.
    """
    kinds = [task["kind"] for task in tasks]
    events = [i for i, kind in enumerate(kinds) if kind == "event"]
    kernel = kinds.index("kernel", events[0])
    return tasks[kernel - 3 : events[-1] + 1]


def letters(tasks: list[dict[str, Any]]) -> str:
    """E for an event record, K for the kernel, F for the flush (the one operator in the loop)."""
    return "".join({"event": "E", "kernel": "K"}.get(task["kind"], "F") for task in tasks)


@pytest.mark.parametrize("queue", QUEUE_MODES)
def test_no_record_overtakes_anything(run_on_sim: Any, tmp_path: Path, queue: str) -> None:
    log = tmp_path / "tasks.jsonl"
    env = {"TASK_QUEUE_ENABLE": queue, "CANN_SIM_TASK_LOG": str(log)}
    result = run_on_sim(SETUP + MEASURE.replace("SAMPLES", str(SAMPLES)), env=env)
    assert result["simulated"]
    assert result["correct"]
    assert result["rejected"] == []
    tasks = measured(tasks_of(log))
    # One opening record for each batch, then flush, START, launch, END for every sample.
    assert re.fullmatch(r"(E(FEKE){1,64})+", letters(tasks))
    kernels = [i for i, task in enumerate(tasks) if task["kind"] == "kernel"]
    assert len(kernels) == SAMPLES
    assert len({task["stream"] for task in tasks}) == 1
    for i, kernel_ms in zip(kernels, result["kernel_ms"]):
        flush, start, kernel, end = tasks[i - 2 : i + 2]
        assert flush["end"] <= start["end"] <= kernel["start"] < kernel["end"] <= end["end"]
        # The device's clock as the log has it; the event interface hands it out as a float of milliseconds.
        assert kernel_ms == pytest.approx((end["end"] - start["end"]) / 1e6, rel=1e-4)
    assert all(whole > kernel for whole, kernel in zip(result["iteration_ms"], result["kernel_ms"]))


def test_the_check_notices_records_that_overtake(run_on_sim: Any, tmp_path: Path) -> None:
    log = tmp_path / "tasks.jsonl"
    env = {"TASK_QUEUE_ENABLE": "1", "CANN_SIM_TASK_LOG": str(log)}
    run_on_sim(SETUP + STALE_HANDLE.replace("SAMPLES", "300"), env=env)
    assert not re.fullmatch(r"(E(FEKE){1,64})+", letters(measured(tasks_of(log))))


def test_times_repeat_exactly(run_on_sim: Any) -> None:
    code = SETUP + MEASURE.replace("SAMPLES", "50")
    assert run_on_sim(code) == run_on_sim(code)


def test_the_classic_plan_on_the_device(run_on_sim: Any) -> None:
    result = run_on_sim(
        SETUP
        + """
from triton_ascend_tune.measure.event import measure
from triton_ascend_tune.values import Protocol, Samples
def refuse():
    raise ValueError("not this one")
large = torch.zeros(1 << 22, device="npu")
def launch_large():
    double[(triton.cdiv(1 << 22, 1024),)](large, large, 1 << 22, BLOCK=1024)
launch_large()
before = torch.npu.memory_allocated()
protocol = Protocol(plan="classic")
results = measure([Trial(launch), Trial(refuse), Trial(launch_large)], protocol, device, (ValueError,)).results
report({"times": [r.times_ms if isinstance(r, Samples) else r.reason for r in results],
        "leaked": torch.npu.memory_allocated() - before})
"""
    )
    short, refused, long = result["times"]
    assert refused == "ValueError: not this one"
    assert len(short) >= 10
    assert len(long) >= 10
    assert sorted(long)[len(long) // 2] > 10 * sorted(short)[len(short) // 2]
    assert result["leaked"] == 0


def test_measures_on_the_current_stream(run_on_sim: Any, tmp_path: Path) -> None:
    """FR-66."""
    log = tmp_path / "tasks.jsonl"
    code = MEASURE.replace("SAMPLES", "20").replace("with device", "with torch.npu.stream(torch.npu.Stream()), device")
    run_on_sim(SETUP + code, env={"CANN_SIM_TASK_LOG": str(log)})
    tasks = tasks_of(log)
    loop = measured(tasks)
    first_kernel = next(task for task in tasks if task["kind"] == "kernel")
    assert {task["stream"] for task in loop}.isdisjoint({first_kernel["stream"]})
    assert letters(loop) == "E" + "FEKE" * 20
