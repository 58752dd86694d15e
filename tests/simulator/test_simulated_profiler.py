"""The real torch_npu.profiler on the simulated CANN: rows, names, times, steps, faults, and what a profile costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("triton.backends.ascend")

LONG_NAME = "a_kernel_with_a_name_of_more_than_forty_nine_characters_in_all"
REDUCE_SUM = "aclnnReduceSum_ReduceSumOpAiCore_ReduceSum"
ZEROS_LIKE = "aclnnInplaceZero_ZerosLikeAiCore_ZerosLike"
RUNS = 35
#: costs.h: between two events around a kernel there are, besides it, kKernelStartNs and kMarkStartNs.
EVENT_OVERHEAD_US = 0.6

SETUP = """
import csv, glob, os, tempfile, time
import torch, torch_npu, triton, triton.language as tl
from torch_npu.profiler import AiCMetrics, ProfilerActivity, ProfilerLevel
@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
n = 5000
x, y = torch.arange(n, dtype=torch.float32).npu(), torch.ones(n).npu()
out = torch.zeros_like(x)
def launch(kernel=vadd):
    kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
launch()
flush = torch.zeros(48 << 20, dtype=torch.float32, device="npu")
torch.npu.synchronize()

def scratch():  # in the test's own folder, which pytest clears
    return tempfile.mkdtemp(dir=os.path.dirname(os.environ["CANN_SIM_TEST_REPORT"]))

def session(body, cpu=False, level=ProfilerLevel.Level1, **options):
    # Profiles body(profiler); returns the folder of results.
    folder = scratch()
    with torch_npu.profiler.profile(
        activities=[ProfilerActivity.NPU] + [ProfilerActivity.CPU] * cpu,
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(folder),
        experimental_config=torch_npu.profiler._ExperimentalConfig(
            aic_metrics=AiCMetrics.PipeUtilization, profiler_level=level, l2_cache=False, data_simplification=False),
        **options,
    ) as profiler:
        body(profiler)
        torch.npu.synchronize()
    return folder
def table(folder, name="kernel_details"):
    found = sorted(glob.glob(f"{folder}/*/ASCEND_PROFILER_OUTPUT/{name}.csv"))
    return [list(csv.DictReader(open(path, newline=""))) for path in found]
"""

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def profiles(run_on_sim: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Several profiles of one process, and its task log."""
    log = tmp_path_factory.mktemp("log") / "tasks.jsonl"
    found = run_on_sim(
        SETUP
        + f"""
@triton.jit
def {LONG_NAME}(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(y + at, mask=at < n), mask=at < n)
result = {{}}

def bench(profiler):
    for _ in range({RUNS}):
        flush.sum(); torch.npu.synchronize(); launch(); torch.npu.synchronize()
session(bench)
folder = session(bench)
result["bench"] = table(folder)
result["files"] = sorted(os.path.basename(p) for p in glob.glob(folder + "/*/ASCEND_PROFILER_OUTPUT/*"))
result["statistic"] = table(folder, "op_statistic")

event_us = []
def timed(profiler):
    pairs = [[torch.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(10)]
    for start, end in pairs:
        flush.zero_(); start.record(); launch({LONG_NAME}); end.record()
    torch.npu.synchronize()
    event_us.extend(1000 * start.elapsed_time(end) for start, end in pairs)
launch({LONG_NAME}); torch.npu.synchronize()  # a start of the profiler does not wait for what is queued
result["timed"] = table(session(timed))
result["event_us"] = event_us

result["level0"] = table(session(lambda _: [launch(), x.cpu()], level=ProfilerLevel.Level0))
result["nothing"] = table(session(lambda _: None))

def steps(profiler):
    for i in range(5):
        for _ in range(2 + i):
            launch()
        flush.sum(); torch.npu.synchronize()  # real time counts here: nothing may reach the device after its step
        profiler.step()
folder = session(steps, cpu=True, schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=1))
result["steps"] = table(folder)
result["operators"] = table(folder, "operator_details")
import json
trace = json.load(open(glob.glob(folder + "/*/ASCEND_PROFILER_OUTPUT/trace_view.json")[0]))
result["flows"] = sum(e.get("name") == "torch_to_npu" and e["ph"] == "s" for e in trace)

inner = []
def nested(profiler):
    launch()
    inner.append(table(session(lambda _: launch())))
    launch(); launch()
result["outer"] = table(session(nested))
result["inner"] = inner[0]

from triton.testing import do_bench_npu
result["stock_us"] = do_bench_npu(launch, prof_dir=scratch())

launch(); torch.npu.synchronize()
result["right"] = torch.equal(out.cpu(), x.cpu() + 1)
report(result)
""",
        env={"CANN_SIM_TASK_LOG": str(log)},
    )
    return {**found, "log": [json.loads(line) for line in log.read_text().splitlines()]}


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["Name"] for row in rows]


def test_every_launch_is_a_row_in_order(profiles: dict[str, Any]) -> None:
    (rows,) = profiles["bench"]
    assert names(rows) == [REDUCE_SUM, "vadd"] * RUNS
    assert [row["Type"] for row in rows] == ["ReduceSum", "vadd"] * RUNS
    assert {row["Accelerator Core"] for row in rows} == {"AI_VECTOR_CORE"}
    kernel = rows[1]
    assert (kernel["Block Num"], kernel["Mix Block Num"]) == ("5", "0")
    assert (kernel["Input Shapes"], kernel["Input Data Types"]) == ('"5000;5000"', "FLOAT;FLOAT")
    assert profiles["right"]


def test_durations_are_those_of_the_task_log(profiles: dict[str, Any]) -> None:
    logged = {task["sequence"]: task for task in profiles["log"]}
    (rows,) = profiles["bench"]
    for row in rows:
        task = logged[int(row["Task ID"])]
        assert task["name"] in (row["Name"], row["Type"])
        assert round(1000 * float(row["Duration(us)"])) == task["end"] - task["start"]
    assert len({row["Task ID"] for row in rows}) == len(rows)


def test_the_other_files_agree(profiles: dict[str, Any]) -> None:
    assert set(profiles["files"]) >= {
        "kernel_details.csv",
        "op_statistic.csv",
        "api_statistic.csv",
        "task_time.csv",
        "step_trace_time.csv",
        "trace_view.json",
    }
    (rows,), (statistic,) = profiles["bench"], profiles["statistic"]
    for line in statistic:
        durations = [float(row["Duration(us)"]) for row in rows if row["Type"] == line["OP Type"]]
        assert (int(line["Count"]), float(line["Total Time(us)"])) == (RUNS, pytest.approx(sum(durations), abs=1e-3))


def test_events_read_the_duration_and_their_known_overhead(profiles: dict[str, Any]) -> None:
    (rows,) = profiles["timed"]
    kernels = [row for row in rows if row["Name"] == LONG_NAME[-49:]]
    assert len(kernels) == 10
    assert names(rows) == [ZEROS_LIKE, LONG_NAME[-49:]] * 10  # event records are no rows
    durations = [float(row["Duration(us)"]) + EVENT_OVERHEAD_US for row in kernels]
    assert profiles["event_us"] == pytest.approx(durations, abs=2e-3)  # elapsed times are floats of milliseconds


def test_level0_has_no_types_and_no_copies(profiles: dict[str, Any]) -> None:
    (rows,) = profiles["level0"]
    assert [(row["Name"], row["Type"]) for row in rows] == [("vadd", "N/A")]
    assert list(rows[0])[:8] == [
        "Device_id",
        "Name",
        "Type",
        "Accelerator Core",
        "Start Time(us)",
        "Duration(us)",
        "Wait Time(us)",
        "Block Num",
    ]


def test_a_profile_of_nothing_has_no_table(profiles: dict[str, Any]) -> None:
    assert profiles["nothing"] == []


def test_steps_and_torch_operators_find_their_kernels(profiles: dict[str, Any]) -> None:
    """torch_npu compares its own, real time stamps with ours."""
    (rows,) = profiles["steps"]
    assert Counter((row["Step Id"], row["Name"]) for row in rows) == {
        ("2", "vadd"): 4,
        ("2", REDUCE_SUM): 1,
        ("3", "vadd"): 5,
        ("3", REDUCE_SUM): 1,
    }
    assert profiles["flows"] == len(rows)
    (operators,) = profiles["operators"]
    times = [float(row["Device Total Duration(us)"]) for row in operators if row["Name"] == "aten::sum"]
    assert times == [float(row["Duration(us)"]) for row in rows if row["Name"] == REDUCE_SUM]


def test_an_inner_profile_ends_the_outer_one(profiles: dict[str, Any]) -> None:
    assert [names(rows) for rows in profiles["outer"]] == [["vadd", "vadd"]]
    assert profiles["inner"] == []


def test_the_wheels_own_benchmark_reads_the_kernel(profiles: dict[str, Any]) -> None:
    kernels = [task for task in profiles["log"] if task["name"] == "vadd"][-31:-1]  # the last one comes after it
    mean_us = sum(task["end"] - task["start"] for task in kernels) / len(kernels) / 1000
    assert profiles["stock_us"] == pytest.approx(mean_us, abs=1e-3)


# ---- faults --------------------------------------------------------------------------------------

FAULTY = (
    SETUP
    + """
def bench(profiler):
    for _ in range(10):
        flush.sum(); launch()
folder = session(bench)
failures = [p for p in glob.glob(folder + "/*/logs/*CANNExportParser*") if "Failed to export" in open(p).read()]
folders = [os.path.basename(p) for p in glob.glob(folder + "/*/PROF_*")]
launch(); torch.npu.synchronize()
report({"tables": table(folder), "failures": len(failures), "raw": len(folders),
        "right": torch.equal(out.cpu(), x.cpu() + 1)})
"""
)
WHOLE = [REDUCE_SUM, "vadd"] * 10


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("prof_lost:3", WHOLE[3:]), ("prof_doubled", [name for name in WHOLE for _ in range(2)])],
)
def test_rows_that_are_lost_or_doubled(run_on_sim: Run, fault: str, expected: list[str]) -> None:
    found = run_on_sim(FAULTY, env={"CANN_SIM_FAULTS": fault})
    (rows,) = found["tables"]
    assert names(rows) == expected
    assert found["right"]


@pytest.mark.parametrize(
    ("fault", "raw", "failures"), [("prof_lost:1000", 1, 0), ("prof_no_data", 0, 0), ("prof_crash", 1, 1)]
)
def test_profiles_without_a_table(run_on_sim: Run, fault: str, raw: int, failures: int) -> None:
    found = run_on_sim(FAULTY, env={"CANN_SIM_FAULTS": fault})
    assert found == {"tables": [], "raw": raw, "failures": failures, "right": True}


def test_device_memory_does_not_slow_the_parsers_forks(run_on_sim: Run) -> None:
    """Every parser is a fork, and copying the page tables of 1 GiB takes about 50 ms: a fork leaves them out."""
    flags = run_on_sim(
        SETUP
        + """
big = torch.empty(1 << 30, dtype=torch.uint8, device="npu").fill_(1)
inside = False
for line in open("/proc/self/smaps"):
    first = line.split()[0]
    if "-" in first:
        begin, end = (int(text, 16) for text in first.split("-"))
        inside = begin <= big.data_ptr() < end
    elif inside and first == "VmFlags:":
        report(line.split()[1:])
"""
    )
    assert "dc" in flags  # proc(5): do not copy area on fork
