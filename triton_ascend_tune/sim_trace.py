"""Turns a task log of the simulated CANN into a file for chrome://tracing or ui.perfetto.dev.

The log (``CANN_SIM_TASK_LOG``) holds one JSON object a line, described in ``third_party/cann_sim/src/runtime/
task_log.h``. In the trace every device is a process and every stream a thread of it; the process "host" has the calls
that submitted the tasks, by their threads, and an arrow leads from each call to what it submitted. All times are
simulated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from triton_ascend_tune.simulator import SimulatorError

#: The log's number for copies and fills that the host itself waits for, which no stream orders.
HOST_COPIES = 0xFFFFFFFF
#: The trace's process of the host's calls; device N is process N + 1.
HOST = 0


@dataclass(frozen=True)
class Task:
    """One line of the log. Times are virtual nanoseconds; ``submit`` ends a call of ``host`` nanoseconds."""

    sequence: int
    device: int
    stream: int
    kind: str
    name: str
    object: int
    blocks: int
    host: int
    submit: int
    start: int
    end: int
    thread: str


def read_log(path: str | os.PathLike[str]) -> list[Task]:
    """The tasks of a log, in its order.

    SimulatorError names file and line of what is not a task, of a task that ends before it starts or starts before it
    was submitted, and of a second process's first task: times of two processes have nothing to do with each other.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SimulatorError(f"{path} cannot be read: {error}") from None
    tasks: list[Task] = []
    seen: set[int] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _task(line)
        except ValueError as error:
            raise SimulatorError(f"{path}:{number}: {error}") from None
        if task.sequence in seen:
            raise SimulatorError(
                f"{path}:{number}: sequence {task.sequence} for the second time: the log of more than one process; "
                "remove the file before a run, or give each process its own"
            )
        seen.add(task.sequence)
        tasks.append(task)
    if not tasks:
        raise SimulatorError(f"{path} holds no task")
    return tasks


def chrome_trace(tasks: Iterable[Task]) -> dict[str, Any]:
    """The trace as a JSON object, in the "Trace Event Format": complete events (X) with ``ts`` and ``dur`` in
    microseconds, names of processes and threads (M), and flows (s, f) from submission to start."""
    tasks = sorted(tasks, key=lambda task: task.sequence)
    threads = {name: number for number, name in enumerate(dict.fromkeys(task.thread for task in tasks))}
    events = _names(tasks, threads)
    for task in tasks:
        tid = threads[task.thread]
        begin = task.submit - task.host
        call = {"name": f"submit {task.name}", "cat": "submit", "ph": "X", "pid": HOST, "tid": tid}
        events.append({**call, "ts": _us(begin), "dur": _us(task.host), "args": {"sequence": task.sequence}})
        place = {"pid": task.device + 1, "tid": task.stream}
        details = {"sequence": task.sequence, "submitted_us": _us(task.submit), "thread": task.thread}
        if task.blocks:
            details["blocks"] = task.blocks
        if task.object:
            details["object"] = task.object
        what = {"name": task.name, "cat": task.kind, "ph": "X", **place}
        events.append({**what, "ts": _us(task.start), "dur": _us(task.end - task.start), "args": details})
        flow = {"name": "submission", "cat": "submit", "id": task.sequence}
        events.append({**flow, "ph": "s", "pid": HOST, "tid": tid, "ts": _us(begin)})
        events.append({**flow, "ph": "f", "bp": "e", **place, "ts": _us(task.start)})
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"source": "simulated CANN of triton-ascend-tune", "times": "simulated, not calibrated"},
    }


def convert(log: str | os.PathLike[str], out: str | os.PathLike[str]) -> int:
    """Writes the trace of ``log`` to ``out`` and returns how many tasks it shows. SimulatorError as ``read_log``."""
    tasks = read_log(log)
    text = json.dumps(chrome_trace(tasks))
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SimulatorError(f"{out} cannot be written: {error}") from None
    return len(tasks)


def _task(line: str) -> Task:
    """ValueError says what is wrong with the line."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(found, dict):
        raise ValueError(f"a {type(found).__name__} where an object is expected")
    values: dict[str, Any] = {}
    for field in fields(Task):
        value = found.get(field.name)
        wanted = str if field.type == "str" else int
        if not isinstance(value, wanted) or isinstance(value, bool):
            given = "is missing" if field.name not in found else f"is {value!r}"
            raise ValueError(f"{field.name!r} {given}; {'a text' if wanted is str else 'a whole number'} is expected")
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{field.name!r} is {value}; negative numbers are not allowed")
        values[field.name] = value
    task = Task(**values)
    if not task.submit <= task.start <= task.end:
        raise ValueError(f"submit {task.submit}, start {task.start}, end {task.end} are not in order")
    return task


def _names(tasks: Iterable[Task], threads: dict[str, int]) -> list[dict[str, Any]]:
    """Metadata: what processes and threads of the trace are called, and their order."""
    named = [_metadata("process", HOST, 0, "host (simulated time)")]
    named += [_metadata("thread", HOST, number, name) for name, number in threads.items()]
    streams = sorted({(task.device, task.stream) for task in tasks})
    for device in sorted({device for device, _ in streams}):
        named.append(_metadata("process", device + 1, 0, f"device {device} (simulated)"))
    for device, stream in streams:
        special = {0: "stream 0 (default)", HOST_COPIES: "copies of the host"}
        named.append(_metadata("thread", device + 1, stream, special.get(stream, f"stream {stream}")))
    order = [{**each, "name": f"{each['name'][:-5]}_sort_index"} for each in named]
    return named + [{**each, "args": {"sort_index": place}} for place, each in enumerate(order)]


def _metadata(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": f"{what}_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _us(ns: int) -> float:
    return ns / 1000
