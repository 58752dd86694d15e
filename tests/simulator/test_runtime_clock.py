"""Virtual time of the simulated runtime: what calls and tasks cost, and in which order streams come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_submissions_cost_the_host_and_queries_do_not(call_acl: Any) -> None:
    times = call_acl(
        """
start = acl.host_ns()
event = acl.event(); stream = acl.stream(); memory = acl.malloc(MIB)
created = acl.host_ns()
acl("aclrtRecordEvent", event, stream)
submitted = acl.host_ns()
acl.sync(stream)
joined = acl.host_ns()
acl.event_complete(event), acl.time_ns(event)
report([start, created, submitted, joined, acl.host_ns(), acl.time_ns(event)])
""",
        CANN_SIM_HOST_SUBMIT_US="3",
        CANN_SIM_HOST_SYNC_US="11",
    )
    start, created, submitted, joined, queried, event = times
    assert start == created == 0
    assert submitted == 3_000
    assert event > submitted
    assert joined == event + 11_000
    assert queried == joined


def test_an_idle_stream_shows_the_host(call_acl: Any) -> None:
    """Two records one after the other on an idle stream lie as far apart as the host takes to submit."""
    gap = call_acl(
        """
a, b = acl.recorded(), acl.recorded()
acl.sync()
report(acl.elapsed_ns(a, b))
""",
        CANN_SIM_HOST_SUBMIT_US="7",
    )
    assert gap == 7_000


def test_a_busy_stream_hides_the_host(call_acl: Any) -> None:
    busy, alone = call_acl(
        """
memory = acl.malloc(192 * MIB)
acl.fill(memory, 0, 192 * MIB)
a, b = acl.recorded(), acl.recorded()
acl.sync()
first = acl.elapsed_ns(a, b)
a, b = acl.recorded(), acl.recorded()
acl.sync()
report([first, acl.elapsed_ns(a, b)])
"""
    )
    assert busy < alone == 1_000


def test_tasks_of_a_stream_follow_each_other(call_acl: Any, tmp_path: Path) -> None:
    log = tmp_path / "tasks"
    call_acl(
        """
memory = acl.malloc(64 * MIB)
for _ in range(3):
    acl.fill(memory, 1, 64 * MIB)
acl.sync()
acl("aclFinalize")
""",
        CANN_SIM_TASK_LOG=str(log),
    )
    fills = [json.loads(line) for line in log.read_text().splitlines()]
    assert [t["kind"] for t in fills] == ["fill"] * 3
    assert [t["sequence"] for t in fills] == [0, 1, 2]
    first, second, third = fills
    assert first["submit"] < first["start"] < first["end"]
    assert second["start"] - first["end"] == third["start"] - second["end"] == first["start"] - first["submit"]
    assert second["submit"] < first["end"]  # the host ran ahead
    assert {t["stream"] for t in fills} == {0}


def test_longer_copies_last_longer_in_proportion(call_acl: Any) -> None:
    times = call_acl(
        """
source, target = acl.malloc(64 * MIB), acl.malloc(64 * MIB)
flush = acl.malloc(192 * MIB)
acl.fill(source, 1, 64 * MIB)
times = []
for size in (8, 16, 32):
    acl.fill(flush, 0, 192 * MIB)  # nothing in L2, and the device is behind the host
    a = acl.recorded()
    acl.copy(target, source, size * MIB, D2D)
    b = acl.recorded()
    acl.sync()
    times.append(acl.elapsed_ns(a, b))
report(times)
"""
    )
    small, middle, large = times
    assert large - middle == pytest.approx(2 * (middle - small), abs=2)


def test_streams_run_in_parallel_and_join_at_events(call_acl: Any) -> None:
    result = call_acl(
        """
memory = [acl.malloc(64 * MIB) for _ in range(2)]
one, two = acl.stream(), acl.stream()
begin = acl.recorded(one)
acl.fill(memory[0], 1, 64 * MIB, one)
long_end = acl.recorded(one)
free = acl.recorded(two)          # does not wait for stream one
acl("aclrtStreamWaitEvent", two, long_end)
joined = acl.recorded(two)
acl("aclrtSynchronizeDevice")
report({"fill": acl.elapsed_ns(begin, long_end), "free": acl.elapsed_ns(begin, free),
        "joined": acl.elapsed_ns(long_end, joined)})
"""
    )
    assert result["free"] < result["fill"]
    assert 0 < result["joined"] <= 1_000


def test_an_event_counts_with_the_record_it_had_when_the_wait_was_submitted(call_acl: Any) -> None:
    """Recording an event again does not move a wait that was submitted before."""
    late, waited = call_acl(
        """
memory = acl.malloc(64 * MIB)
one, two = acl.stream(), acl.stream()
event = acl.event()
acl("aclrtRecordEvent", event, one)
acl("aclrtStreamWaitEvent", two, event)
after_wait = acl.recorded(two)
acl.fill(memory, 1, 64 * MIB, one)
acl("aclrtRecordEvent", event, one)
acl("aclrtSynchronizeDevice")
report([acl.time_ns(event), acl.time_ns(after_wait)])
"""
    )
    assert waited < late


def test_status_follows_the_virtual_clock(call_acl: Any) -> None:
    result = call_acl(
        """
memory = acl.malloc(64 * MIB)
never = acl.event_complete(acl.event())
acl.fill(memory, 1, 64 * MIB)
event = acl.recorded()
early = acl.event_complete(event)
elapsed_early = acl.code("aclrtEventElapsedTime", byref(c_float()), event, event)
polls = 0
while not acl.event_complete(event):   # a loop that polls sees time pass
    polls += 1
report({"never": never, "early": early, "elapsed_early": elapsed_early, "polls": polls,
        "late": acl.host_ns() >= acl.time_ns(event)})
"""
    )
    assert not result["never"]
    assert not result["early"]
    assert result["elapsed_early"] == 107006
    assert result["polls"] > 1
    assert result["late"]


WORK = """
import hashlib
a, b = acl.malloc(8 * MIB), acl.malloc(8 * MIB)
streams = [acl.stream(), acl.stream()]
events = []
for i in range(200):
    stream = streams[i % 2]
    events.append(acl.recorded(stream))
    acl.fill(a, i, (i % 8 + 1) * MIB, stream)
    acl.copy(b, a, (i % 5 + 1) * MIB, D2D, stream)
    if i % 7 == 0:
        acl("aclrtStreamWaitEvent", streams[(i + 1) % 2], events[-1])
    events.append(acl.recorded(stream))
acl("aclrtSynchronizeDevice")
report([acl.elapsed_ns(p, q) for p, q in zip(events[::2], events[1::2])])
"""


def test_same_program_same_numbers(call_acl: Any) -> None:
    assert call_acl(WORK) == call_acl(WORK)


def test_noise_is_seeded(call_acl: Any) -> None:
    quiet = call_acl(WORK)
    noisy = {"CANN_SIM_JITTER": "0.1", "CANN_SIM_OUTLIERS": "0.05,10", "CANN_SIM_SEED": "5"}
    first = call_acl(WORK, **noisy)
    assert first == call_acl(WORK, **noisy)
    assert first != quiet
    assert first != call_acl(WORK, **{**noisy, "CANN_SIM_SEED": "6"})
    assert max(f / q for f, q in zip(first, quiet)) > 4  # outliers


def test_jitter_has_the_spread_that_was_asked_for(call_acl: Any) -> None:
    code = """
memory = acl.malloc(64 * MIB)
events = [acl.recorded()]
for _ in range(2000):
    acl.fill(memory, 0, 64 * MIB)
    events.append(acl.recorded())
acl.sync()
report([acl.elapsed_ns(p, q) for p, q in zip(events, events[1:])])
"""
    exact, times = call_acl(code)[-1], call_acl(code, CANN_SIM_JITTER="0.02")
    mean = sum(times) / len(times)
    sigma = (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5
    assert mean == pytest.approx(exact, rel=0.005)
    assert sigma / mean == pytest.approx(0.02, rel=0.1)
    drifted = call_acl(code, CANN_SIM_DRIFT="10")
    assert drifted[-1] > 1.2 * drifted[0]


def test_a_wrong_variable_is_reported_and_ignored(call_acl: Any) -> None:
    done = call_acl("", check=False, CANN_SIM_JITTER="much")
    assert done.returncode == 0
    assert "CANN_SIM_JITTER=much is ignored" in done.stderr
