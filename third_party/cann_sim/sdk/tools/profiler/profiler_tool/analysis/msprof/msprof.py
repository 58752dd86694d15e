"""The exporter of the simulated CANN: turns the raw data of a profile into the files that torch_npu reads.

    msprof --export=on --output=PROF_DIR       torch_npu.profiler, first
    msprof --analyze=on --output=PROF_DIR      torch_npu.profiler, afterwards
    msprof.py export summary -dir PROF_DIR     torch_npu._inductor, without the wrapper

Runs as ``python3 -IS`` on nothing but the standard library. Raw data: ``src/profiling/raw_data.h``. Files are written
to ``PROF_DIR/mindstudio_profiler_output``; the cause of a failure to ``PROF_DIR/msprof_error.log`` as well as to
stderr, which torch_npu drops.

Times in the files are microseconds since 1970. Durations are the simulator's virtual durations, to the nanosecond.
Where tasks begin depends on what else the profile holds: see ``place``.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

HELP = """\
msprof of the simulated CANN
  --export=on  --output=PROF_DIR   writes CSV files and the timeline of a profile
  --analyze=on --output=PROF_DIR   nothing to analyze: there is no communication; ends a waiting --export
"""

#: Left by ``--analyze=on``, waited for by ``--export=on``.
MARKER = ".analyze_started"
#: Longest wait for it, seconds. torch_npu gives up on its reader of our files, which polls every 0.1 s, once no
#: other work is left: the export must last until that reader has seen a file, and the analysis starts only then.
MARKER_WAIT_S = 0.6

# aclprofCreateConfig: bits of the data types, and the metrics of which columns exist.
TASK_COUNTERS = 0x4
PIPE_UTILIZATION = 1

#: Model ID of an operator that belongs to no model.
NO_MODEL = 4294967295


def columns(header: str) -> list[str]:
    return header.split(",")


SUMMARY_COLUMNS = columns(
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats,Context ID"
)
#: The columns of the metrics PipeUtilization.
COUNTER_COLUMNS = columns(
    "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,"
    "aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,"
    "aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),"
    "aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,"
    "cube_utilization(%)"
)
STATISTIC_COLUMNS = columns(
    "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
)
API_COLUMNS = columns("Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance")
TASK_COLUMNS = columns("Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)")

#: Places in a task's "pipes".
SCALAR, VECTOR, CUBE, MTE1, MTE2, MTE3, FIXPIPE = range(7)

#: kernel_type of task_time; the names of everything but kernels are assumed.
TASK_TYPES = {
    "AI_CORE": "KERNEL_AICORE",
    "AI_VECTOR_CORE": "KERNEL_AIVEC",
    "MIX_AIC": "KERNEL_MIX_AIC",
    "MIX_AIV": "KERNEL_MIX_AIV",
    "copy": "MEMCPY_ASYNC",
    "fill": "MEMSET_ASYNC",
    "event": "EVENT_RECORD",
    "event_wait": "EVENT_WAIT",
    "notify": "NOTIFY_RECORD",
    "notify_wait": "NOTIFY_WAIT",
    "value": "WRITE_VALUE",
    "value_wait": "WAIT_VALUE",
}

Task = dict[str, Any]
Session = dict[str, Any]
Row = list[Any]


# ---- reading -----------------------------------------------------------------------------------


def load(prof: str) -> tuple[Session, list[Task]]:
    """The session and the tasks of all devices in order of submission; each task knows its "device"."""
    session: Session = {}
    tasks: list[Task] = []
    for entry in sorted(os.listdir(prof)):
        path = os.path.join(prof, entry, "data", "tasks.jsonl")
        if not entry.startswith("device_") or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            session, *found = (json.loads(line) for line in file)
        if session["format"] != 1:
            raise ValueError(f"{path} has format {session['format']}; this msprof reads format 1")
        tasks += [{**task, "device": session["device"]} for task in found]
    if not session:
        raise FileNotFoundError(f"no device_*/data/tasks.jsonl below {prof}")
    return session, sorted(tasks, key=lambda task: task["sequence"])


def place(session: Session, tasks: Sequence[Task], with_host: bool) -> None:
    """Gives every task "at" and "until" (its time on the device) and "call_at" (its launch), in ns since 1970.

    Virtual time starts at the real start of the profile. If torch_npu has recorded the host too (``with_host``), with
    real time stamps, launches get their real times, and tasks are moved to later times where the real host was
    slower than the virtual one: no task begins before it was launched, and the tasks of a step follow its start.
    Otherwise all differences between times are virtual, and repeat from run to run. Durations always do.
    """
    origin = session["wall_ns"] - session["virtual_ns"]
    shift = 0
    for task in tasks:
        task["call_at"] = origin + task["submit"] - task["call"]
        if with_host:
            task["call_at"] = session["wall_ns"] + task["real"] - session["raw_ns"]
            shift = max(shift, task["call_at"] - (origin + task["submit"]))
        task["at"] = origin + task["start"] + shift
        task["until"] = origin + task["end"] + shift


def is_kernel(task: Task) -> bool:
    """A row of op_summary: kernels and operators; copies, fills, events and notifies are none."""
    return task["kind"] in ("kernel", "operator")


# ---- tables ------------------------------------------------------------------------------------


def us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def tensor_columns(task: Task) -> Row:
    """Shapes, data types and formats of the inputs, then of the outputs; N/A where the launcher gave none."""
    row: Row = []
    for side in ("in", "out"):
        tensors = [t for t in task.get("tensors", []) if t[0] == side]
        if not tensors:
            row += ["N/A"] * 3
            continue
        shapes = ";".join(",".join(map(str, shape)) for _, shape, _, _ in tensors)
        row += [f'"{shapes}"', ";".join(t[2] for t in tensors), ";".join(t[3] for t in tensors)]
    return row


def pipe_columns(session: Session, duration_ns: int, cores: int, busy_ns: Iterable[float]) -> Row:
    """Time and cycles of the cores, then mean time and ratio of each pipe, then the (unknown) cache misses."""
    row: Row = [us(duration_ns if cores else 0), round(duration_ns * cores * session["clock_mhz"] / 1000)]
    for busy in busy_ns:
        mean = busy / cores if cores else 0.0
        row += [f"{mean / 1000:.3f}", f"{mean / duration_ns if duration_ns else 0:.3f}"]
    return [*row, "0.000"]


def counter_columns(session: Session, task: Task) -> Row:
    """Operators have no pipes: theirs are zero. Of a mixed kernel the scalar and MTE2 pipes of both kinds of cores are
    known only together; they are counted for the kind that its type names first."""
    core, duration = task["core"], task["end"] - task["start"]
    mixed = core in ("MIX_AIC", "MIX_AIV")
    cube_first = core in ("AI_CORE", "MIX_AIC")
    cube_blocks = task["blocks"] if cube_first else task["mix_blocks"]
    vector_blocks = task["mix_blocks"] if cube_first else task["blocks"]
    cube_cores = min(cube_blocks, session["cube_cores"]) if cube_first or mixed else 0
    vector_cores = min(vector_blocks, session["vector_cores"]) if not cube_first or mixed else 0
    pipes = task["pipes"]
    scalar, mte2 = pipes[SCALAR], pipes[MTE2]
    first = (scalar, mte2) if cube_first else (0, 0)
    second = (0, 0) if cube_first else (scalar, mte2)
    return [
        *pipe_columns(session, duration, cube_cores, (pipes[CUBE], first[0], pipes[MTE1], first[1], pipes[FIXPIPE])),
        *pipe_columns(session, duration, vector_cores, (pipes[VECTOR], second[0], second[1], pipes[MTE3])),
        f"{100 * cube_cores / session['cube_cores']:.3f}",
    ]


def summary_table(session: Session, kernels: Sequence[Task]) -> list[Row]:
    counters = bool(session["switches"] & TASK_COUNTERS) and session["metrics"] == PIPE_UTILIZATION
    table: list[Row] = [[*SUMMARY_COLUMNS, *(COUNTER_COLUMNS if counters else [])]]
    end_of: dict[int, int] = {}
    for task in sorted(kernels, key=lambda t: (t["device"], t["at"])):
        device = task["device"]
        wait = max(0, task["at"] - end_of.get(device, task["at"]))
        end_of[device] = task["until"]
        table.append(
            [device, NO_MODEL, task["sequence"], task["stream"], task["name"], task["type"], "dynamic", task["core"]]
            + [us(task["at"]) + "\t", us(task["until"] - task["at"]), f"{wait / 1000:.6f}"]
            + [task["blocks"], task["mix_blocks"], "NO", *tensor_columns(task), "N/A"]
            + (counter_columns(session, task) if counters else [])
        )
    return table


def numbers(durations_us: Sequence[float]) -> tuple[float, float, float, float]:
    """Total, minimum, mean and maximum."""
    total = sum(durations_us)
    return total, min(durations_us), total / len(durations_us), max(durations_us)


def statistic_table(kernels: Sequence[Task]) -> list[Row]:
    groups: dict[tuple[int, str, str], list[float]] = {}
    for task in kernels:
        key = (task["device"], task["type"], task["core"])
        groups.setdefault(key, []).append((task["end"] - task["start"]) / 1000)
    everything = sum(map(sum, groups.values())) or 1.0
    rows = []
    for key, durations in sorted(groups.items(), key=lambda item: -sum(item[1])):
        ratio = 100 * sum(durations) / everything
        rows.append([*key, len(durations), *(f"{value:.3f}" for value in (*numbers(durations), ratio))])
    return [STATISTIC_COLUMNS, *rows]


def api_table(kernels: Sequence[Task]) -> list[Row]:
    """One API, "launch", in virtual host time."""
    calls = [task["call"] / 1000 for task in kernels]
    if not calls:
        return [API_COLUMNS]
    total, least, mean, most = numbers(calls)
    variance = sum((call - mean) ** 2 for call in calls) / len(calls)
    values = (mean, least, most, variance)
    return [API_COLUMNS, ["host", "node", "launch", f"{total:.3f}", len(calls), *(f"{v:.3f}" for v in values)]]


def task_table(tasks: Sequence[Task]) -> list[Row]:
    rows: list[Row] = []
    for task in sorted(tasks, key=lambda t: (t["device"], t["at"])):
        name = task["name"] if is_kernel(task) else "N/A"
        kind = task["core"] if is_kernel(task) else task["kind"]
        times = [us(task["until"] - task["at"]), us(task["at"]) + "\t", us(task["until"]) + "\t"]
        rows.append([task["device"], name, TASK_TYPES.get(kind, kind), task["stream"], task["sequence"], *times])
    return [TASK_COLUMNS, *rows]


# ---- timeline ----------------------------------------------------------------------------------


def timeline(session: Session, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Chrome trace events. Processes: the host ("CANN"), and for every device its tasks ("Ascend Hardware") and what
    torch_npu computes step times from ("Overlap Analysis")."""
    host = 1
    events = process(host, "CANN", "CPU")
    for device in sorted({task["device"] for task in tasks} or {session["device"]}):
        hardware, overlap = 10 + 2 * device, 11 + 2 * device
        events += process(hardware, "Ascend Hardware", f"NPU {device}")
        events += process(overlap, "Overlap Analysis", f"NPU {device}")
        own = [task for task in tasks if task["device"] == device]
        for task in own:
            events.append(
                span(task["name"], hardware, task["stream"], task["at"], task["until"])
                | {"args": {"Task Type": task["core"], "Stream Id": task["stream"], "Task Id": task["sequence"]}}
            )
            if is_kernel(task):
                flow = {"cat": "HostToDevice", "name": "HostToDevice", "id": str(task["sequence"])}
                events.append(span("launch", host, task["thread"], task["call_at"], task["call_at"] + task["call"]))
                events.append(flow | {"ph": "s", "pid": host, "tid": task["thread"], "ts": us(task["call_at"])})
                events.append(
                    flow | {"ph": "f", "bp": "e", "pid": hardware, "tid": task["stream"], "ts": us(task["at"])}
                )
        free_from = None
        for begin, end in merged((task["at"], task["until"]) for task in own if is_kernel(task)):
            if free_from is not None:
                events.append(span("Free", overlap, 2, free_from, begin))
            events.append(span("Computing", overlap, 1, begin, end))
            free_from = end
    return events


def process(number: int, name: str, label: str) -> list[dict[str, Any]]:
    common = {"ph": "M", "pid": number, "tid": 0}
    return [
        common | {"name": "process_name", "args": {"name": name}},
        common | {"name": "process_labels", "args": {"labels": label}},
    ]


def span(name: str, pid: int, tid: int, begin: int, end: int) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us(begin), "dur": (end - begin) / 1000, "args": {}}


def merged(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of the intervals, sorted."""
    union: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union


# ---- writing -----------------------------------------------------------------------------------


def write(path: str, text: str) -> None:
    """Files appear complete: torch_npu polls the folder."""
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.chmod(path + ".part", 0o640)
    os.replace(path + ".part", path)


def csv_text(table: Sequence[Row]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def export(prof: str) -> None:
    session, tasks = load(prof)
    if session["crash"]:  # CANN_SIM_FAULTS=prof_crash
        os.kill(os.getpid(), signal.SIGKILL)
    place(session, tasks, with_host=os.path.isdir(os.path.join(os.path.dirname(os.path.abspath(prof)), "FRAMEWORK")))
    kernels = [task for task in tasks if is_kernel(task)]
    if session["renamed"]:  # CANN_SIM_FAULTS=prof_renamed
        for task in kernels:
            task["name"] = task["type"] = "not_" + task["name"]
    if session["empty"]:  # CANN_SIM_FAULTS=prof_empty
        kernels.clear()
    out = os.path.join(prof, "mindstudio_profiler_output")
    os.makedirs(out, 0o750, exist_ok=True)
    stamp = time.strftime("%Y%m%d%H%M%S")

    # The first visible .csv releases the readers, so the timeline is there before it.
    write(os.path.join(out, f"msprof_{stamp}.json"), json.dumps(timeline(session, tasks)))
    tables = {"api_statistic": api_table(kernels), "task_time": task_table(tasks)}
    if kernels or session["empty"]:
        tables = {"op_summary": summary_table(session, kernels), "op_statistic": statistic_table(kernels), **tables}
    for name, table in tables.items():
        write(os.path.join(out, f"{name}_{stamp}.csv"), csv_text(table))


def wait_for(path: str) -> None:
    end = time.monotonic() + MARKER_WAIT_S
    while time.monotonic() < end and not os.path.exists(path):
        time.sleep(0.005)


def run(arguments: Sequence[str], options: dict[str, str], prof: str) -> None:
    marker = os.path.join(prof, MARKER)
    if arguments[:1] == ["export"]:
        export(prof)
    elif options.get("export") == "on":
        if os.path.exists(marker):
            os.remove(marker)
        export(prof)
        wait_for(marker)
    elif options.get("analyze") == "on":
        with open(marker, "w"):
            pass
    else:
        raise SystemExit(f"msprof: {' '.join(arguments)!r} is not supported\n{HELP}")


def main(arguments: Sequence[str]) -> int:
    options = dict(a[2:].partition("=")[::2] for a in arguments if a.startswith("--"))
    if "help" in options or not arguments:
        print(HELP, end="")
        return 0
    prof = options.get("output", "")
    if "-dir" in arguments[:-1]:
        prof = arguments[arguments.index("-dir") + 1]
    if not os.path.isdir(prof):
        print(f"msprof: --output={prof} is no folder", file=sys.stderr)
        return 2
    try:
        run(arguments, options, prof)
    except Exception:
        traceback.print_exc()
        with open(os.path.join(prof, "msprof_error.log"), "a", encoding="utf-8") as log:
            traceback.print_exc(file=log)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
