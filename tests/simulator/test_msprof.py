"""The msprof of the simulated CANN: a profile's raw data, and the tables and the timeline that are made of it."""

from __future__ import annotations

import csv
import importlib.util
import json
import stat
import subprocess
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triton_ascend_tune import simulator

MSPROF = Path("tools/profiler/profiler_tool/analysis/msprof/msprof.py")


# ---- on disk -------------------------------------------------------------------------------------


@pytest.fixture
def raw(profile: Any, tmp_path: Path) -> Path:
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
    with subprocess.Popen([str(sdk / "bin" / "msprof"), "--export=on", f"--output={raw}"]) as export:
        while not list(raw.rglob("*.csv")):
            assert export.poll() is None
            time.sleep(0.005)
        time.sleep(0.1)  # in which an export that did not wait would end
        assert export.poll() is None
        assert msprof(sdk, "--analyze=on", f"--output={raw}").returncode == 0
        assert export.wait(60) == 0
    # A second export of the same folder ends too, though nobody analyses it.
    assert msprof(sdk, "--export=on", f"--output={raw}").returncode == 0


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
