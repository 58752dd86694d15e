"""Storing, compiling at once and equal binaries on the real triton-ascend, over the simulated CANN."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import threading, triton, torch
import triton.language as tl
import triton_ascend_tune.trials as trials

measured, threads = [], set()
original = trials.measure_candidates
def listen(entries, *args, **kwargs):
    measured.extend([str(e.candidate.config.kwargs["BLOCK"]), e.candidate.config.num_stages] for e in entries)
    return original(entries, *args, **kwargs)
trials.measure_candidates = listen

# Triton loads its backends from their files, so this is not the module of that name.
backend = triton.backends.backends["ascend"].compiler.add_stages.__globals__
lower = backend["linalg_to_bin_enable_npu_compile_A2_A3"]
def told(*args):
    threads.add(threading.get_ident())
    return lower(*args)
backend["linalg_to_bin_enable_npu_compile_A2_A3"] = told

sizes = SIZES
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_stages=s) for b in sizes for s in (1, 2)], key=["n"]
)
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

n = 40000
x, y = torch.rand(n), torch.rand(n)
out = torch.empty(n, device="npu")
add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to("npu"), y.to("npu"), out, n)
caches = [type(kernel).__name__ for cache in add.fn.cache.values() for kernel in cache.values()]
report({
    "measured": measured,
    "equal": torch.equal(out.cpu(), x + y),
    "best": add.best_config.kwargs["BLOCK"],
    "threads": len(threads),
    "main": threading.get_ident() in threads,
    "outcomes": [[o.status.value, o.reason, o.samples and o.samples.times_ms] for o in add.verdict.outcomes],
    "kernels": sorted(set(caches)),
    "hit": not hasattr(add, "bench_time"),
})
"""


def program(*sizes: int) -> str:
    return PROGRAM.replace("SIZES", str(sizes))


@pytest.fixture(scope="module")
def runs(run_on_sim: Any, tmp_path_factory: Any) -> dict[str, Any]:
    """Three processes, one folder: cold, again, and with one size more."""
    folder = tmp_path_factory.mktemp("cache")
    env = {"TRITON_CACHE_DIR": str(folder), "TRITON_CACHE_AUTOTUNING": "1", "TRITON_ASCEND_TUNE_WORKERS": "3"}
    programs = {
        "cold": program(1024, 4096, 65536),
        "again": program(1024, 4096, 65536),
        "more": program(1024, 2048, 4096, 65536),
    }
    answers = {name: run_on_sim(code, env=env, timeout=300) for name, code in programs.items()}
    return {**answers, "records": [json.loads(path.read_text()) for path in Path(folder).rglob("*.tune.json")]}


def test_the_real_compiler_runs_in_several_threads(runs: dict[str, Any]) -> None:
    """FR-50 on triton-ascend 3.2.0, which has no asynchronous mode of its own."""
    cold = runs["cold"]
    assert cold["threads"] > 1 and not cold["main"]
    assert cold["equal"] and cold["kernels"] == ["CompiledKernel"]
    assert [status for status, _, _ in cold["outcomes"]] == ["timed"] * 4 + ["failed"] * 2


def test_stages_that_the_backend_ignores_are_measured_once(runs: dict[str, Any]) -> None:
    """W-59."""
    assert runs["cold"]["measured"] == [["1024", 1], ["4096", 1]]
    times = [times for _, _, times in runs["cold"]["outcomes"]]
    assert times[0] == times[1] and times[2] == times[3]


def test_a_second_process_compiles_and_measures_nothing(runs: dict[str, Any]) -> None:
    """FR-01, FR-31: times and unified buffer overflows alike come from the records."""
    again = runs["again"]
    assert again["measured"] == [] and again["threads"] == 0 and again["hit"]
    assert again["outcomes"] == runs["cold"]["outcomes"]
    assert "unified buffer overflow" in again["outcomes"][4][1]
    assert again["best"] == runs["cold"]["best"] and again["equal"]


def test_an_added_size_is_measured_alone(runs: dict[str, Any]) -> None:
    """FR-13."""
    assert runs["more"]["measured"] == [["2048", 1]] and runs["more"]["equal"]


def test_records_of_the_simulator_are_none_of_a_device(runs: dict[str, Any], run_on_sim: Any) -> None:
    """The version of the simulated CANN is in what names a record."""
    statuses = sorted(record.get("status", "winner") for record in runs["records"])
    assert statuses == ["failed"] * 2 + ["timed"] * 6 + ["winner"] * 2
    answer = run_on_sim(
        """
        import torch, triton
        from triton_ascend_tune import identity, memory
        from triton.runtime.driver import driver
        target, simulated = driver.active.get_current_target(), memory._simulator()
        report([simulated, identity.toolchain(target, simulated) == identity.toolchain(target, None)])
        """
    )
    assert answer[0] and answer[1] is False


RACE = """
import json, os, signal, triton, torch
import triton.language as tl
from triton_ascend_tune.measure import checkpoints, device

checkpoints.SHARE = 0.0  # keep every round: this race is over in a few milliseconds of real time
kill_at, rounds = int(os.environ["KILL_AT"]), []
run = device.DeviceTimer.run
def counted(timer, trials, order, gated=True):
    done = run(timer, trials, order, gated)
    if gated:
        rounds.append(sorted(order))
        if len(rounds) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    return done
device.DeviceTimer.run = counted

@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (256, 1024, 2048, 4096, 8192)], key=["n"])
@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

n = 50000
x = torch.rand(n)
out = torch.empty(n, device="npu")
double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to("npu"), out, n)
report({
    "best": double.best_config.kwargs["BLOCK"],
    "times": [o.samples.times_ms for o in double.verdict.outcomes],
    "rounds": rounds,
    "equal": torch.equal(out.cpu(), x * 2),
})
"""


def test_a_killed_race_goes_on_where_it_was(run_on_sim: Any, tmp_path: Path) -> None:
    """FR-17, with the real engine, launches and events: the samples and the choice are those of a race in peace."""
    env = {"TRITON_CACHE_AUTOTUNING": "1", "KILL_AT": "0"}
    whole = run_on_sim(RACE, env={**env, "TRITON_CACHE_DIR": str(tmp_path / "peace")})
    env["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    kept = 0
    for kill_at in (3, 1, 5):
        done = run_on_sim(RACE, env={**env, "KILL_AT": str(kill_at)}, check=False)
        assert done.returncode == -9, done.stderr
        # The round of the kill is lost, and so is the one that is thrown away.
        kept += max(0, kill_at - 1 - (1 if kept else 0))
        [race] = [c for p in (tmp_path / "cache").rglob("*.tune.json") if "rounds" in (c := json.loads(p.read_text()))]
        assert [sorted(index for index, _, _ in round_) for round_ in race["rounds"]] == whole["rounds"][:kept]
    last = run_on_sim(RACE, env=env)
    assert kept == 5 and last["rounds"] == whole["rounds"][kept : kept + 1] + whole["rounds"][kept:]
    assert (last["best"], last["times"]) == (whole["best"], whole["times"])
    assert last["equal"]
