"""The method "profiler" end to end: unmodified torch_npu, triton-ascend and compiler on the simulated CANN."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: Kernels to tune, and what happens around a tuning: sessions that were opened, warnings, files left, text printed.
PROGRAM = """
import contextlib, glob, io, logging, multiprocessing, os, tempfile
import torch, torch_npu, triton
import triton.language as tl
from triton_ascend_tune.measure import npu_profiler

place = os.environ["TEST_FOLDER"]
os.makedirs(place + "/cwd"), os.makedirs(place + "/tmp")
os.chdir(place + "/cwd")
tempfile.tempdir = place + "/tmp"

sessions, warned = [], []
new_session = npu_profiler._new_session
npu_profiler._new_session = lambda folder: (sessions.append(str(folder)), new_session(folder))[1]
class Keep(logging.Handler):
    def emit(self, record):
        warned.append(record.getMessage())
logging.getLogger("triton_ascend_tune").addHandler(Keep(logging.WARNING))

blocks = lambda *sizes: [triton.Config({"BLOCK": size}) for size in sizes]

@triton.autotune(configs=blocks(256, 4096, 65536), key=["n"])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

# In place, and adding to a sum: wrong after more than one effective launch. Its hooks launch kernels of their own.
@triton.autotune(configs=blocks(1024, 4096), key=["n"], restore_value=["x"], reset_to_zero=["total"])
@triton.jit
def double(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * 2
    tl.store(x + i, v, mask=i < n)
    tl.store(total + i, tl.load(total + i, mask=i < n) + v, mask=i < n)

@triton.autotune(configs=blocks(1024, 4096), key=["n"], auto_profile_dir=place + "/auto")
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

# A user's kernel that is called like an operator that a flush may be.
@triton.autotune(configs=blocks(1024, 4096), key=["n"])
@triton.jit
def zeros_like(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

def row(o):
    s = o.samples
    return s and dict(block=o.candidate.config.kwargs["BLOCK"], method=s.method, mean=s.mean, count=len(s.times_ms),
                      note=s.note, events=s.events and s.events.p50)

def tuned(kernel, *args):
    n = args[-1]
    sessions.clear(), warned.clear()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](*args)
    # triton-ascend prints the same line whenever it compiles.
    printed = [line for line in out.getvalue().splitlines() if "Please DO NOT tune args" not in line]
    return dict(
        rows=[row(o) for o in kernel.verdict.outcomes], method=kernel.verdict.protocol.method,
        best=kernel.best_config.kwargs["BLOCK"], sessions=len(sessions), warned=list(warned), printed=printed,
        left=os.listdir(place + "/tmp") + os.listdir(place + "/cwd"), entries=len(kernel.cache),
        timings=[t[0] for t in kernel.configs_timings.values()],
    )

def tune_add(n):
    x, y, out = torch.rand(n), torch.rand(n), torch.empty(n, device="npu")
    answer = tuned(add, x.npu(), y.npu(), out, n)
    return dict(answer, equal=torch.equal(out.cpu(), x + y))
"""

GOOD = """
answers = {}
n = 100_003
os.environ["TRITON_BENCH_METHOD"] = "npu"
answers["add"] = tune_add(n)
answers["hit"] = tune_add(n)
x = torch.rand(n)
z, total = x.npu(), torch.full((n,), 7.0, device="npu")
answers["double"] = tuned(double, z, total, n)
answers["double"]["equal"] = torch.equal(z.cpu(), x * 2) and torch.equal(total.cpu(), x * 2)
y = torch.empty(n, device="npu")
answers["zeros_like"] = tuned(zeros_like, x.npu(), y, n)
os.environ["TRITON_BENCH_METHOD"] = "default"
answers["copy"] = tuned(copy, x.npu(), y, n)
answers["again"] = tuned(copy, x.npu(), y, n)
tables = glob.glob(place + "/auto/**/kernel_details.csv", recursive=True)
answers["kept"] = [open(table).read().count(",copy,copy,") for table in tables]
answers["old key"] = tune_add(n)
answers["new key"] = tune_add(n + 1)
os.environ["TRITON_BENCH_METHOD"] = "profiler"
answers["new key again"] = tune_add(n + 1)
add.cache.clear()
answers["afresh"] = tune_add(n + 1)
answers["start method"] = multiprocessing.get_start_method(allow_none=True)
report(answers)
"""


@pytest.fixture(scope="module")
def good(run_on_sim: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_on_sim(PROGRAM + GOOD, {"TEST_FOLDER": str(tmp_path_factory.mktemp("good"))}, timeout=500)


def test_one_session_gives_the_mean_of_each_candidate(good: Any) -> None:
    small, large, overflow = good["add"]["rows"]
    assert overflow is None and good["add"]["timings"][2] == float("inf")
    for found in (small, large):
        assert (found["method"], found["count"], found["note"]) == ("profiler", 30, "")
        assert 0 < found["mean"] < found["events"] < 2 * found["mean"]
    assert good["add"]["timings"][:2] == [small["mean"], large["mean"]]
    assert good["add"]["best"] == min((small, large), key=lambda found: found["mean"])["block"]
    assert (good["add"]["sessions"], good["add"]["method"], good["add"]["equal"]) == (1, "profiler", True)


def test_nothing_is_left_printed_or_changed(good: Any) -> None:
    """FR-48."""
    for name in ("add", "double", "zeros_like", "afresh"):
        assert (good[name]["left"], good[name]["printed"], good[name]["warned"]) == ([], [], [])
    assert good["start method"] is None


def test_kernels_of_hooks_are_not_the_kernel(good: Any) -> None:
    assert good["double"]["equal"] and good["double"]["sessions"] == 1
    assert all(found["method"] == "profiler" for found in good["double"]["rows"])


def test_a_users_kernel_that_is_called_like_an_operator_is_not_lost(good: Any) -> None:
    assert good["zeros_like"]["method"] == "profiler" and good["zeros_like"]["warned"] == []
    assert all(found["count"] == 30 for found in good["zeros_like"]["rows"])


def test_auto_prof_dir_keeps_a_profile_of_the_winner_and_no_other(good: Any) -> None:
    assert (good["copy"]["method"], good["copy"]["sessions"], good["copy"]["left"]) == ("event", 1, [])
    assert good["again"]["sessions"] == 0
    assert good["kept"] == [35]


def test_switching_the_method_in_one_process(good: Any) -> None:
    """A chosen key stays chosen; a new one uses the new method; a cleared cache tunes afresh."""
    assert good["hit"]["sessions"] == good["old key"]["sessions"] == 0
    assert good["old key"]["rows"] == good["add"]["rows"]
    assert (good["new key"]["method"], good["new key"]["sessions"], good["new key"]["entries"]) == ("event", 0, 2)
    assert good["new key again"]["rows"] == good["new key"]["rows"]
    assert (good["afresh"]["method"], good["afresh"]["sessions"], good["afresh"]["entries"]) == ("profiler", 1, 1)


def test_one_kernel_of_several_in_a_call(sim_env: Any) -> None:
    """About 5, 20 and 3 us: events time all three, the profiler the one that is asked for. Launchers of two
    signatures report their names, each of them.
    """
    example = Path(__file__).resolve().parents[2] / "examples" / "08_one_kernel_of_several.py"
    command = [sys.executable, str(example)]
    done = subprocess.run(command, env=sim_env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    events, whole, one = (float(time) for time in re.findall(r"([0-9.]+) us$", done.stdout, re.MULTILINE))
    assert 27.0 < whole < 29.0 and whole < events < whole + 2.0
    assert 19.5 < one < 20.5


QUIRKS = """
import triton.testing
from triton_ascend_tune import do_bench_npu
n = 100_003
x, y, out = torch.rand(n).npu(), torch.rand(n).npu(), torch.empty(n, device="npu")
total = torch.empty(4 << 20, device="npu")
def call():
    total.zero_()
    add.fn[(25,)](x, y, out, n, BLOCK=4096)
timers = (triton.testing.do_bench_npu, do_bench_npu, lambda call: do_bench_npu(call, target_kernel_name="add"))
with contextlib.redirect_stdout(io.StringIO()):
    report([timer(call) for timer in timers])
"""


def test_what_goes_wrong_with_the_wheels_own_timer(run_on_sim: Any, tmp_path: Path) -> None:
    """It reports the operator that takes most time, here one that zeroes 16 MiB, and in microseconds."""
    stock, whole, one = run_on_sim(PROGRAM + QUIRKS, {"TEST_FOLDER": str(tmp_path / "well")}, timeout=300)
    assert stock == pytest.approx(1000 * (whole - one), abs=0.01)
    assert 0 < one < 0.005 < 0.010 < whole < 0.020


def test_a_failed_profile_is_no_infinite_time(run_on_sim: Any, tmp_path: Path) -> None:
    """Of which the wheel's own timer makes NaN, and with it the first config the best one."""
    env = {"TEST_FOLDER": str(tmp_path), "CANN_SIM_FAULTS": "prof_no_data"}
    stock, whole, one = run_on_sim(PROGRAM + QUIRKS, env, timeout=300)
    assert stock == float("inf")
    assert whole == one and 0.010 < one < 0.025  # the whole call between events


# -- faults of the simulated CANN --------------------------------------------------------------------------------------

FAULTY = """
os.environ["TRITON_BENCH_METHOD"] = "npu"
report(tune_add(100_003))
"""


def expect_events(found: Any, *texts: str, sessions: int = 1) -> None:
    """Events measured, with one warning that holds ``texts``, and nothing of the profile is left or used."""
    assert (found["method"], found["sessions"], found["left"]) == ("event", sessions, [])
    assert found["equal"] and all(row["method"] == "event" and row["events"] is None for row in found["rows"] if row)
    [warning] = found["warned"]
    assert warning.startswith("kernel add is measured between device events, not by the profiler: ")
    for text in texts:
        assert text in warning
    assert found["printed"] == []


@pytest.mark.parametrize(
    ("fault", "texts"),
    [
        ("prof_lost:9", ["too few rows", "expected 70 rows of kernel 'add' (2 x (5 + 30) runs), found 67"]),
        ("prof_doubled", ["too many rows", "expected each execution once, found", "rows repeated"]),
        ("prof_extra:40", ["too many rows", "expected each execution once, found", "rows repeated"]),
        ("prof_renamed", ["the kernel is not in kernel_details.csv", "rows of kernel 'add'"]),
        # Of tables without rows torch_npu makes no kernel_details.csv.
        ("prof_empty", ["wrote no kernel_details.csv", "expected 70 rows (2 x (5 + 30) runs), found none"]),
        ("prof_no_data", ["wrote no kernel_details.csv", "expected 70 rows (2 x (5 + 30) runs), found none"]),
        ("prof_crash", ["profiler failed"]),
    ],
)
def test_a_profile_that_is_not_right(run_on_sim: Any, tmp_path: Path, fault: str, texts: list[str]) -> None:
    env = {"TEST_FOLDER": str(tmp_path), "CANN_SIM_FAULTS": fault}
    expect_events(run_on_sim(PROGRAM + FAULTY, env, timeout=300), *texts)


def test_another_process_with_another_method_measures_for_itself(run_on_sim: Any, tmp_path: Path) -> None:
    def sessions(method: str, process: str) -> tuple[str, int]:
        env = {
            "TEST_FOLDER": str(tmp_path / process),
            "TRITON_CACHE_DIR": str(tmp_path / "cache"),
            "TRITON_CACHE_AUTOTUNING": "1",
            "TRITON_BENCH_METHOD": method,
        }
        found = run_on_sim(PROGRAM + "report(tune_add(100_003))", env, timeout=300)
        return found["method"], found["sessions"]

    assert sessions("event", "first") == ("event", 0)
    assert sessions("npu", "second") == ("profiler", 1)  # what events have stored is not taken for it
    assert sessions("npu", "third") == ("profiler", 0)  # its own is


def test_lost_rows_ahead_of_the_first_run_do_no_harm(run_on_sim: Any, tmp_path: Path) -> None:
    """FR-44."""
    env = {"TEST_FOLDER": str(tmp_path), "CANN_SIM_FAULTS": "prof_lost:3"}
    found = run_on_sim(PROGRAM + FAULTY, env, timeout=300)
    assert (found["method"], found["sessions"], found["warned"]) == ("profiler", 1, [])


TWO_PROCESSES = """
import json, subprocess, sys
os.environ["TRITON_BENCH_METHOD"] = "npu"
if "CHILD" in os.environ:
    report(tune_add(100_003))
else:
    answer = place + "/child.json"
    theirs = {"CHILD": "1", "TEST_FOLDER": place + "/child", "CANN_SIM_TEST_REPORT": answer}
    child = subprocess.Popen([sys.executable, __file__], env={**os.environ, **theirs})
    answers = [tune_add(100_003)]
    assert child.wait() == 0
    report([*answers, json.load(open(answer))])
"""


def test_two_processes_take_turns(run_on_sim: Any, tmp_path: Path) -> None:
    """FR-45."""
    for found in run_on_sim(PROGRAM + TWO_PROCESSES, {"TEST_FOLDER": str(tmp_path)}, timeout=300):
        assert (found["method"], found["sessions"], found["warned"]) == ("profiler", 1, [])
        assert [row["count"] for row in found["rows"] if row] == [30, 30]


# -- conditions of the process -----------------------------------------------------------------------------------------

CONDITIONS = """
from unittest import mock
import re
import subprocess
import sys
from pathlib import Path
os.environ["TRITON_BENCH_METHOD"] = "npu"
answers = {}
n = 100_003

users = place + "/users"
handler = torch_npu.profiler.tensorboard_trace_handler(users)
with torch_npu.profiler.profile(activities=[torch_npu.profiler.ProfilerActivity.NPU], on_trace_ready=handler):
    answers["running"] = tune_add(n)
    torch.ones(64, device="npu").abs_()
    torch.npu.synchronize()
[table] = Path(users).rglob("kernel_details.csv")
answers["users rows"] = table.read_text()

# Made before our session, started after it: its paths must have survived.
later = torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.NPU],
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(place + "/later"))
answers["between"] = tune_add(n + 1)
with later:
    torch.ones(64, device="npu").abs_()
    torch.npu.synchronize()
answers["later"] = len(list(Path(place + "/later").rglob("kernel_details.csv")))

path = os.environ["PATH"]
os.environ["PATH"] = "/usr/bin:/bin"
with mock.patch("os.cpu_count", lambda: 1):
    answers["one core"] = tune_add(n + 2)
answers["no msprof"] = tune_add(n + 3)
os.environ["PATH"] = path
multiprocessing.current_process()._config["daemon"] = True
answers["daemon"] = tune_add(n + 4)
multiprocessing.current_process()._config["daemon"] = False
tempfile.tempdir = place + "/none"
answers["folder"] = tune_add(n + 5)
tempfile.tempdir = place + "/tmp"
answers["well again"] = tune_add(n + 6)
report(answers)
"""


@pytest.fixture(scope="module")
def conditions(run_on_sim: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_on_sim(PROGRAM + CONDITIONS, {"TEST_FOLDER": str(tmp_path_factory.mktemp("conditions"))}, timeout=500)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("one core", "a single core"),
        ("no msprof", "no program msprof on PATH"),
        ("daemon", "is a daemon"),
        ("folder", "no folder for its files can be made"),
    ],
)
def test_conditions_that_allow_no_session(conditions: Any, condition: str, text: str) -> None:
    expect_events(conditions[condition], text, sessions=0)


def test_a_running_profiler_of_the_user_is_left_alone(conditions: Any) -> None:
    """FR-43."""
    expect_events(conditions["running"], "a profiler session of the program is running", sessions=0)
    assert "Abs" in conditions["users rows"]  # launched after the tuning


def test_a_profiler_that_the_user_starts_later_has_its_paths(conditions: Any) -> None:
    assert (conditions["between"]["method"], conditions["between"]["sessions"]) == ("profiler", 1)
    assert conditions["later"] == 1


def test_the_profiler_is_used_again_when_it_can_be(conditions: Any) -> None:
    assert (conditions["well again"]["method"], conditions["well again"]["warned"]) == ("profiler", [])
