"""The profiler of the simulated CANN by itself: its C functions, its raw data, and msprof."""

from __future__ import annotations

import csv
import importlib.util
import json
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hivm_fixtures import modules

from triton_ascend_tune import simulator

MSPROF = Path("tools/profiler/profiler_tool/analysis/msprof/msprof.py")

SETUP = """
import os, struct, threading
from prof_calls import *
prof = Profiler(os.environ["PROF_FOLDER"])
with open(os.environ["KERNEL"], "rb") as file:
    vadd = prof.register(file.read(), b"vadd")
N, BLOCKS = 16384, 16
x, y, out = (prof.malloc(4 * N) for _ in range(3))
arguments = struct.pack("<6Q4i", 0, 0, 0, x, y, out, N, BLOCKS, 1, 1)
def launch(name=None, stream=None, node=True):
    begin = prof.host_ns()
    prof.launch(vadd, BLOCKS, arguments, stream)
    if name:
        prof.report_launch(name, begin, prof.host_ns(), threading.get_native_id(), node)
def kernels(lines):
    return [[t["name"], t["type"], t["core"], t["blocks"]] for t in lines[1:] if t["kind"] == "kernel"]
"""

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def kernel(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "vadd.mlir").write_bytes(modules()["vadd_fp32_B1024"])
    subprocess.run([sdk / "bin" / "hivmc", folder / "vadd.mlir", "-o", folder / "vadd"], check=True, timeout=60)
    return folder / "vadd.o"


@pytest.fixture
def profile(run_on_sim: Any, kernel: Path, tmp_path: Path) -> Call:
    """``profile(code)`` runs code behind SETUP; profiles are written to ``tmp_path``."""
    variables = {"PYTHONPATH": str(Path(__file__).parent), "KERNEL": str(kernel), "PROF_FOLDER": str(tmp_path)}
    return lambda code, **env: run_on_sim(SETUP + code, env={**variables, **env})


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


# ---- on disk -------------------------------------------------------------------------------------


@pytest.fixture
def raw(profile: Call, tmp_path: Path) -> Path:
    """A PROF folder with two kernels, a fill and an event record."""
    profile(
        'c = prof.begin(); launch("a"); prof.fill(x, 1, 4 * N); launch("b"); prof.recorded(); prof.sync(); prof.end(c)'
    )
    return next(tmp_path.glob("PROF_*"))


def msprof(sdk: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(sdk / "bin" / "msprof"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with next((folder / "mindstudio_profiler_output").glob(f"{name}_*.csv")).open(newline="") as file:
        return list(csv.DictReader(file))


def test_raw_data_is_what_torch_npu_looks_for(raw: Path) -> None:
    assert raw.name.startswith("PROF_000001_2")
    folders = [raw, *(p for p in raw.rglob("*") if p.is_dir())]
    assert {str(p.relative_to(raw)) for p in folders} == {".", "host", "host/data", "device_0", "device_0/data"}
    assert {stat.S_IMODE(p.stat().st_mode) for p in folders} == {0o750}
    start = json.loads((raw / "host" / "start_info").read_text())
    session, *tasks = [json.loads(line) for line in (raw / "device_0" / "data" / "tasks.jsonl").open()]
    assert int(start["collectionTimeBegin"]) * 1000 == session["wall_ns"]
    assert int(start["clockMonotonicRaw"]) == session["raw_ns"]
    assert [t["kind"] for t in tasks] == ["kernel", "fill", "kernel", "event"]
    assert all(t["start"] >= t["submit"] > session["virtual_ns"] for t in tasks)


def test_export_writes_every_file(sdk: Path, raw: Path) -> None:
    assert msprof(sdk, "export", "summary", "-dir", str(raw)).returncode == 0
    tasks = {t["sequence"]: t for t in map(json.loads, (raw / "device_0/data/tasks.jsonl").open()) if "sequence" in t}
    summary = table(raw, "op_summary")
    assert [row["Op Name"] for row in summary] == ["a", "b"]
    for row in summary:
        task = tasks[int(row["Task ID"])]
        assert float(row["Task Duration(us)"]) == (task["end"] - task["start"]) / 1000
        assert row["Task Start Time(us)"].endswith("\t")
    gap = float(summary[1]["Task Start Time(us)"]) - float(summary[0]["Task Start Time(us)"])
    assert float(summary[1]["Task Wait Time(us)"]) == pytest.approx(
        gap - float(summary[0]["Task Duration(us)"]), abs=1
    )  # a double holds 1.7e15 us to 0.25 us
    vector = summary[0]
    assert float(vector["aiv_time(us)"]) == float(vector["Task Duration(us)"]) and vector["aic_total_cycles"] == "0"
    assert 0 < float(vector["aiv_mte2_ratio"]) < 1
    assert {row["kernel_type"] for row in table(raw, "task_time")} == {"KERNEL_AIVEC", "MEMSET_ASYNC", "EVENT_RECORD"}
    statistic = {row["OP Type"]: row for row in table(raw, "op_statistic")}
    assert statistic["a"]["Count"] == "1"
    assert sum(float(row["Ratio(%)"]) for row in statistic.values()) == pytest.approx(100, abs=0.01)
    (api,) = table(raw, "api_statistic")
    assert (api["API Name"], api["Count"], api["Avg(us)"]) == ("launch", "2", "5.000")
    assert not list(raw.rglob("*.part"))


def test_export_lasts_until_the_analysis_begins(sdk: Path, raw: Path) -> None:
    """torch_npu would give up on its readers if the export were over before they have looked once."""
    began = time.monotonic()
    with subprocess.Popen([str(sdk / "bin" / "msprof"), "--export=on", f"--output={raw}"]) as export:
        while not list(raw.rglob("*.csv")):
            assert time.monotonic() - began < 30
            time.sleep(0.005)
        time.sleep(0.1)
        assert export.poll() is None
        assert msprof(sdk, "--analyze=on", f"--output={raw}").returncode == 0
        assert export.wait(10) == 0
    # A second export of the same folder waits again, and not for ever.
    began = time.monotonic()
    assert msprof(sdk, "--export=on", f"--output={raw}").returncode == 0
    assert 0.5 < time.monotonic() - began < 10


def test_the_timeline_is_there_before_the_first_table(
    raw: Path, exporter: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(exporter, "write", lambda path, text: order.append(Path(path).suffix))
    exporter.export(str(raw))
    assert order == [".json", ".csv", ".csv", ".csv", ".csv"]


def test_help_does_not_offer_databases(sdk: Path) -> None:
    done = msprof(sdk, "--help")
    assert done.returncode == 0
    assert "--type" not in done.stdout and "text(which will also export the database)" not in done.stdout


def test_failures_are_told(sdk: Path, raw: Path) -> None:
    assert msprof(sdk, "--export=on", f"--output={raw}/nothing").returncode == 2
    unknown = msprof(sdk, "--query=on", f"--output={raw}")
    assert unknown.returncode != 0 and "--query=on" in unknown.stderr
    (raw / "device_0" / "data" / "tasks.jsonl").write_text('{"format": 2}\n')
    assert msprof(sdk, "--export=on", f"--output={raw}").returncode == 1
    assert "reads format 1" in (raw / "msprof_error.log").read_text()
    assert not list(raw.rglob("*.csv"))


# ---- the exporter's functions --------------------------------------------------------------------


@pytest.fixture
def exporter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("msprof", simulator.sources() / "sdk" / MSPROF)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SESSION = {
    "wall_ns": 10_000_000,
    "raw_ns": 500,
    "virtual_ns": 2_000,
    "clock_mhz": 1800,
    "cube_cores": 20,
    "vector_cores": 40,
    "switches": 0x27,
    "metrics": 1,
    "device": 0,
}


def some_task(**values: Any) -> dict[str, Any]:
    known = {"kind": "kernel", "call": 100, "submit": 2_100, "start": 2_200, "end": 2_700, "real": 600}
    return {**known, "device": 0, "stream": 1, "thread": 9, "name": "k", "core": "AI_VECTOR_CORE", **values}


def test_without_the_host_all_differences_are_virtual(exporter: ModuleType) -> None:
    tasks = [some_task(real=900_000), some_task(submit=2_500, start=2_800, end=3_000, real=5_000_000)]
    exporter.place(SESSION, tasks, with_host=False)
    assert [(t["call_at"], t["at"], t["until"]) for t in tasks] == [
        (10_000_000, 10_000_200, 10_000_700),
        (10_000_400, 10_000_800, 10_001_000),
    ]


def test_with_the_host_no_task_begins_before_its_launch(exporter: ModuleType) -> None:
    tasks = [
        some_task(real=550),  # earlier than in virtual time: nothing moves
        some_task(submit=2_500, start=2_800, end=3_000, real=90_500),
        some_task(submit=2_600, start=3_000, end=9_000, real=90_600),
        some_task(submit=99_999, start=100_000, end=100_010, real=90_700),
    ]
    exporter.place(SESSION, tasks, with_host=True)
    assert [t["call_at"] for t in tasks] == [10_000_050, 10_090_000, 10_090_100, 10_090_200]
    shift = 10_090_000 - 10_000_500
    assert [t["at"] - 10_000_000 + 2_000 - t["start"] for t in tasks] == [0, shift, shift, shift]
    assert all(t["until"] - t["at"] == t["end"] - t["start"] for t in tasks)
    assert all(t["at"] >= t["call_at"] for t in tasks[1:])


def test_computing_and_free_time_do_not_count_parallel_streams_twice(exporter: ModuleType) -> None:
    assert exporter.merged([(5, 9), (1, 3), (2, 4), (9, 10), (20, 21)]) == [(1, 4), (5, 10), (20, 21)]
    tasks = [some_task(sequence=i, stream=i, submit=2_100, start=2_200 + 100 * i, end=2_900) for i in range(2)]
    tasks.append(some_task(sequence=2, start=4_000, end=4_100))
    exporter.place(SESSION, tasks, with_host=False)
    spans = [(e["name"], e["dur"]) for e in exporter.timeline(SESSION, tasks) if e.get("name") in ("Computing", "Free")]
    assert spans == [("Computing", 0.7), ("Free", 1.1), ("Computing", 0.1)]


def test_counters_of_a_mixed_kernel_are_of_both_kinds_of_cores(exporter: ModuleType) -> None:
    pipes = [2_000, 4_000, 3_000, 500, 1_000, 800, 100]  # S V M MTE1 MTE2 MTE3 FIX
    task = some_task(core="MIX_AIC", blocks=10, mix_blocks=20, start=0, end=1_000, pipes=pipes)
    row = dict(zip(exporter.COUNTER_COLUMNS, exporter.counter_columns(SESSION, task), strict=True))
    assert (row["aicore_time(us)"], row["aic_total_cycles"], row["aic_mac_ratio"]) == ("1.000", 18_000, "0.300")
    assert (row["aiv_time(us)"], row["aiv_total_cycles"], row["aiv_vec_ratio"]) == ("1.000", 36_000, "0.200")
    assert (row["aic_scalar_ratio"], row["aiv_scalar_ratio"], row["cube_utilization(%)"]) == (
        "0.200",
        "0.000",
        "50.000",
    )


def test_columns_of_other_metrics_are_left_out(exporter: ModuleType) -> None:
    task = some_task(sequence=3, type="k", blocks=1, mix_blocks=0, pipes=[0] * 7)
    exporter.place(SESSION, [task], with_host=False)
    header, row = exporter.summary_table({**SESSION, "metrics": 0xFF}, [task])
    assert header == exporter.SUMMARY_COLUMNS and len(row) == len(header)
    header, row = exporter.summary_table(SESSION, [task])
    assert header == exporter.SUMMARY_COLUMNS + exporter.COUNTER_COLUMNS and len(row) == len(header)
