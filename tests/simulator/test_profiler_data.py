"""The profiler of the simulated CANN by itself: its C functions, and what they record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


# ---- which tasks, and their names ----------------------------------------------------------------


def test_launches_are_named_by_their_reports(profile: Call) -> None:
    names, nodeless, bare = profile(
        """
config = prof.begin()
launch("first"); launch("second"); launch("level0", node=False); launch()
prof.sync()
lines = prof.end(config)
report([kernels(lines)[:2], kernels(lines)[2], kernels(lines)[3]])
"""
    )
    assert names == [["first", "first", "AI_VECTOR_CORE", 3], ["second", "second", "AI_VECTOR_CORE", 3]]
    # What the device knows without a report: the registered name, its kind of core, the launched blocks.
    assert nodeless == ["level0", "N/A", "AI_VECTOR_CORE", 16]
    assert bare == ["vadd", "N/A", "AI_VECTOR_CORE", 16]


def test_only_what_was_submitted_between_start_and_stop_is_recorded(profile: Call) -> None:
    first, second = profile(
        """
launch("before")
first = prof.begin(); launch("a"); prof.sync(); first = prof.end(first)
launch("between")
second = prof.begin(); launch("b"); launch("c"); prof.sync(); second = prof.end(second)
report([kernels(first), kernels(second)])
"""
    )
    assert [row[0] for row in first] == ["a"]
    assert [row[0] for row in second] == ["b", "c"]


def test_a_kernel_behind_a_closed_gate_keeps_its_name(profile: Call) -> None:
    """Its report comes before it runs."""
    named, lost = profile(
        """
gate, stream = prof.notify(), prof.stream()
config = prof.begin()
prof("aclrtWaitAndResetNotify", gate, stream, 0)
launch("held", stream); launch("free")
prof("aclrtRecordNotify", gate, None)
prof.sync(stream)
prof("aclrtWaitAndResetNotify", gate, stream, 0)
launch("never runs", stream)
lines = prof.end(config)
report([kernels(lines), [t["kind"] for t in lines[1:]].count("notify_wait")])
prof("aclrtRecordNotify", gate, None); prof.sync(stream)
"""
    )
    assert [row[0] for row in named] == ["held", "free"]
    assert lost == 1


@pytest.mark.parametrize("node", [True, False])
def test_a_report_names_only_kernels_of_its_thread(profile: Call, node: bool) -> None:
    rows = profile(
        f"""
config = prof.begin()
begin = prof.host_ns()
def report_for_both(name):
    prof.report_launch(name, begin, prof.host_ns(), threading.get_native_id(), {node})
def launch_and_report():
    launch(); report_for_both("theirs")
launch()
other = threading.Thread(target=launch_and_report); other.start(); other.join()
report_for_both("ours")
prof.sync()
report(kernels(prof.end(config)))
"""
    )
    assert [row[0] for row in rows] == ["ours", "theirs"]


def test_launches_that_cost_the_host_nothing_keep_apart(profile: Call) -> None:
    rows = profile(
        'config = prof.begin(); [launch(f"k{i}") for i in range(4)]; prof.sync(); report(kernels(prof.end(config)))',
        CANN_SIM_HOST_LAUNCH_US="0",
    )
    assert [row[0] for row in rows] == ["k0", "k1", "k2", "k3"]


def test_level0_has_names_and_no_types(profile: Call) -> None:
    rows = profile('c = prof.begin(switches=LEVEL0); launch("k"); prof.sync(); report(kernels(prof.end(c)))')
    assert [row[:2] for row in rows] == [["k", "N/A"]]


def test_without_task_times_nothing_is_recorded(profile: Call) -> None:
    assert profile('c = prof.begin(switches=0x80); launch("k"); prof.sync(); report(len(prof.end(c)))') == 1


def test_handlers_hear_of_start_and_stop(profile: Call) -> None:
    early, late = profile(
        """
heard = {1: [], 2: []}
def handler(module):
    def hear(kind, data, length):
        command = ctypes.cast(data, ctypes.POINTER(Command)).contents
        devices = list(command.devices[:command.device_count])
        heard[module].append([kind, length, command.type, command.switches, devices])
        return 0
    return HANDLER(hear)
keep = [handler(1), handler(2)]
prof("MsprofRegisterCallback", 1, keep[0])
config = prof.begin()
prof("MsprofRegisterCallback", 2, keep[1])   # a launcher that is loaded during the profile
during = len(heard[2])
prof.end(config)
report([heard[1], [during, heard[2]]])
"""
    )
    expected = [[1, 5424, 1, 0x27, [0]], [1, 5424, 2, 0x27, [0]]]
    assert early == expected
    assert late == [1, expected]


# ---- errors --------------------------------------------------------------------------------------


def test_calls_out_of_order_are_refused(profile: Call) -> None:
    codes, rows = profile(
        """
config = prof.config()
codes = [prof.code("aclprofStart", config), prof.code("aclprofStop", config), prof.initialize(), prof.initialize(),
         prof.code("aclprofStart", None), prof.code("aclprofStart", config)]
launch("k"); prof.sync()
codes += [prof.code("aclprofStart", config)]
text = prof.message()
lines = prof.end(config)
codes += [prof.code("aclprofStop", prof.config())]
report([codes + ["a profile is running" in text], kernels(lines)])
"""
    )
    assert codes == [100043, 100043, 0, 100002, 100000, 0, 100042, 100043, True]
    assert [row[0] for row in rows] == ["k"]


def test_wrong_arguments_are_named(profile: Call, tmp_path: Path) -> None:
    answers = profile(
        """
prof.folder += "/missing"
answers = [[prof.initialize(), prof.message()]]
answers += [[prof.config(devices=(3,)), prof.message()], [prof.config(devices=()), prof.message()]]
report(answers)
"""
    )
    assert answers[0][0] == 100003 and f"{tmp_path}/missing" in answers[0][1]
    assert answers[1][0] is None and answers[1][1].startswith("aclprofCreateConfig: device 3; there are 1")
    assert answers[2][0] is None and answers[2][1].startswith("aclprofCreateConfig: no devices are given")


def test_a_forked_child_does_not_write_its_parents_profile(profile: Call, tmp_path: Path) -> None:
    status, early, rows = profile(
        """
from pathlib import Path
config = prof.begin(); launch("k"); prof.sync()
child = os.fork()
if child == 0:
    os._exit(prof.code("aclprofStop", config))
_, status = os.waitpid(child, 0)
early = len(list(Path(prof.folder).rglob("tasks.jsonl")))
report([status, early, kernels(prof.end(config))])
"""
    )
    assert (status, early) == (0, 0)
    assert [row[0] for row in rows] == ["k"]
