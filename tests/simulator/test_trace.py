"""The task log and the Chrome trace that ``triton-ascend-tune sim trace`` makes of it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from triton_ascend_tune.cli import app
from triton_ascend_tune.sim_trace import HOST, read_log

runner = CliRunner()

PROGRAM = """
import torch, torch_npu, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

n = 50_000
x = torch.rand(n).to("npu")
out = torch.zeros_like(x)
side, ready = torch.npu.Stream(), torch.npu.Event()
for _ in range(3):
    double[(49,)](x, out, n, BLOCK=1024)
ready.record()
with torch.npu.stream(side):
    side.wait_event(ready)
    double[(25,)](x, out, n, BLOCK=2048)
torch.npu.synchronize()
copied = out.to("npu:1")
report(torch.equal(copied.cpu(), x.cpu() * 2))
"""


@pytest.fixture(scope="module")
def log(run_on_sim: Any, tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("trace") / "tasks.jsonl"
    assert run_on_sim(PROGRAM, env={"CANN_SIM_TASK_LOG": str(path), "CANN_SIM_DEVICES": "2"})
    return path


@pytest.fixture(scope="module")
def trace(log: Path) -> Any:
    out = log.with_suffix(".json")
    done = runner.invoke(app, ["sim", "trace", str(log), str(out)])
    assert (done.exit_code, done.output) == (0, f"{out}: {len(log.read_text().splitlines())} tasks\n")
    return json.loads(out.read_text())


def test_every_event_has_the_fields_of_its_phase(trace: Any) -> None:
    assert trace["displayTimeUnit"] == "ns"
    assert "simulated" in trace["otherData"]["times"]
    needed = {"X": {"ts", "dur", "cat"}, "s": {"ts", "id", "cat"}, "f": {"ts", "id", "cat", "bp"}, "M": {"args"}}
    assert {event["ph"] for event in trace["traceEvents"]} == set(needed)
    for event in trace["traceEvents"]:
        assert {"name", "ph", "pid", "tid"} | needed[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        for key in ("ts", "dur"):
            assert isinstance(event.get(key, 0.0), (int, float)) and event.get(key, 0.0) >= 0


def test_every_process_and_thread_that_has_events_has_a_name(trace: Any) -> None:
    names: dict[Any, str] = {}
    for event in trace["traceEvents"]:
        if event["name"] in ("process_name", "thread_name"):
            names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
    for event in trace["traceEvents"]:
        if event["ph"] != "M":
            assert ("process_name", event["pid"], 0) in names
            assert ("thread_name", event["pid"], event["tid"]) in names
    processes = {names[key] for key in names if key[0] == "process_name"}
    assert processes == {"host (simulated time)", "device 0 (simulated)", "device 1 (simulated)"}
    assert {"stream 1", "copies of the host", "acl_thread"} <= set(names.values())


def test_intervals_of_one_stream_and_calls_of_the_host_do_not_overlap(trace: Any) -> None:
    lanes = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            # All calls go by the one clock of the host.
            lane = event["pid"] if event["pid"] == HOST else (event["pid"], event["tid"])
            lanes[lane].append((event["ts"], event["ts"] + event["dur"]))
    assert len(lanes) >= 5  # the host, two streams and the copies of device 0, something of device 1
    for intervals in lanes.values():
        intervals.sort()
        for (_, end), (start, _) in zip(intervals, intervals[1:]):
            assert start >= end - 1e-6


def test_flows_lead_from_the_call_to_the_task(trace: Any, log: Path) -> None:
    tasks = {task.sequence: task for task in read_log(log)}
    ends: dict[str, dict[int, Any]] = {"s": {}, "f": {}}
    for event in trace["traceEvents"]:
        if event["ph"] in ends:
            assert event["id"] not in ends[event["ph"]]
            ends[event["ph"]][event["id"]] = event
    assert set(ends["s"]) == set(ends["f"]) == set(tasks)
    for sequence, task in tasks.items():
        call, start = ends["s"][sequence], ends["f"][sequence]
        assert call["pid"] == HOST and call["ts"] <= start["ts"]
        assert (start["pid"], start["tid"]) == (task.device + 1, task.stream)
        assert start["ts"] == pytest.approx(task.start / 1000)


def test_kernels_are_shown_with_what_the_log_says_of_them(trace: Any, log: Path) -> None:
    logged = [task for task in read_log(log) if task.kind == "kernel"]
    shown = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] == "kernel"]
    assert [task.name for task in logged] == ["double"] * 4
    assert [event["args"]["blocks"] for event in shown] == [49, 49, 49, 25]
    assert [event["dur"] for event in shown] == pytest.approx([(task.end - task.start) / 1000 for task in logged])
    assert len({event["tid"] for event in shown}) == 2


GOOD = {
    "sequence": 0, "device": 0, "stream": 0, "kind": "kernel", "name": "k", "object": 0, "blocks": 8, "host": 5,
    "submit": 5, "start": 7, "end": 9, "thread": "t",
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[1]", "a list where an object is expected"),
        (json.dumps({**GOOD, "sequence": 1, "start": "7"}), "'start' is '7'; a whole number is expected"),
        (json.dumps({**GOOD, "sequence": 1, "device": -1}), "'device' is -1; negative numbers are not allowed"),
        (json.dumps({**GOOD, "sequence": 1, "name": None}), "'name' is None; a text is expected"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "end"}), "'end' is missing; a whole number is expected"),
        (json.dumps({**GOOD, "sequence": 1, "end": 6}), "submit 5, start 7, end 6 are not in order"),
        (json.dumps(GOOD), "sequence 0 for the second time: the log of more than one process"),
    ],
)
def test_a_broken_log_is_an_error_that_names_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    log, out = tmp_path / "tasks", tmp_path / "trace.json"
    log.write_text(f"{json.dumps(GOOD)}\n\n{line}\n")
    done = runner.invoke(app, ["sim", "trace", str(log), str(out)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"triton-ascend-tune: {log}:3: {said}")
    assert not out.exists()


def test_files_that_are_not_there_are_errors(tmp_path: Path) -> None:
    log, out = tmp_path / "tasks", tmp_path / "trace.json"
    done = runner.invoke(app, ["sim", "trace", str(log), str(out)])
    assert done.exit_code == 1 and f"{log} cannot be read" in done.stderr
    log.write_text("\n")
    done = runner.invoke(app, ["sim", "trace", str(log), str(out)])
    assert done.exit_code == 1 and f"{log} holds no task" in done.stderr
    log.write_text(json.dumps(GOOD))
    done = runner.invoke(app, ["sim", "trace", str(log), str(tmp_path / "no" / "trace.json")])
    assert done.exit_code == 1 and "cannot be written" in done.stderr


def test_help_says_what_the_two_files_are() -> None:
    done = runner.invoke(app, ["sim", "trace", "--help"])
    assert done.exit_code == 0
    assert "CANN_SIM_TASK_LOG=LOG" in done.output and "ui.perfetto.dev" in done.output
