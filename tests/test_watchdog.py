"""Compilers that abort, hang or print garbage: each is one failed candidate."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, tuner, world  # noqa: F401

from triton_ascend_tune.values import Stage
from triton_ascend_tune.watchdog import CompileTimeoutError, WatchedExecutor, descendants

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}
HANG = [sys.executable, "-c", "import time; time.sleep(1000)"]
#: Its child holds the pipe that the caller reads, as hivmc does behind bishengir-compile.
HANG_WITH_CHILD = [sys.executable, "-c", f"import subprocess; subprocess.run({HANG!r})"]
#: Starts the next program when one has ended, as a driver that goes on would.
HANG_AGAIN = [sys.executable, "-c", f"import subprocess\nwhile True: subprocess.run({HANG!r})"]
ABORT = [sys.executable, "-c", "import os; os.abort()"]
GARBAGE = [sys.executable, "-c", "import sys; sys.stderr.buffer.write(bytes(range(256)) * 100); sys.exit(3)"]
FINE = [sys.executable, "-c", "pass"]


def run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


@pytest.fixture
def executor() -> Iterator[WatchedExecutor]:
    with WatchedExecutor(2, 0.5) as made:
        yield made
    assert not [thread for thread in threading.enumerate() if "triton-ascend-tune" in thread.name]


@pytest.mark.parametrize("command", [HANG, HANG_WITH_CHILD, HANG_AGAIN])
def test_what_hangs_is_killed_with_all_that_it_started(executor: WatchedExecutor, command: list[str]) -> None:
    start = time.monotonic()
    with pytest.raises(CompileTimeoutError, match=r"^took longer than 0\.5 s$") as caught:
        executor.submit(run, command).result(60)
    assert time.monotonic() - start < 30
    assert caught.value.__cause__ is None


def test_others_are_left_alone(executor: WatchedExecutor) -> None:
    mine = subprocess.Popen(HANG)
    slow = executor.submit(run, HANG)
    quick = executor.submit(run, FINE)
    assert quick.result(60) == b""
    with pytest.raises(CompileTimeoutError):
        slow.result(60)
    assert mine.poll() is None
    mine.kill()
    mine.wait()


def test_in_time_and_with_its_own_error(executor: WatchedExecutor) -> None:
    assert executor.submit(lambda x, y=0: x + y, 1, y=2).result(60) == 3
    with pytest.raises(ZeroDivisionError):
        executor.submit(lambda: 1 / 0).result(60)
    with pytest.raises(subprocess.CalledProcessError):
        executor.submit(run, ABORT).result(60)


def test_late_and_well_counts_as_well(executor: WatchedExecutor) -> None:
    def slow() -> str:
        time.sleep(0.8)
        return "done"

    assert executor.submit(slow).result(60) == "done"


def test_the_processes_of_a_thread() -> None:
    others = subprocess.Popen(HANG)  # started by this thread, so none of the other's
    seen: list[Any] = []

    def look() -> None:
        mine = subprocess.Popen(HANG)
        seen.append((descendants(threading.get_native_id()), [mine.pid]))
        mine.kill()
        mine.wait()
        seen.append((descendants(threading.get_native_id()), []))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    others.kill()
    others.wait()
    assert len(seen) == 2
    assert all(found == expected for found, expected in seen)
    assert descendants(0) == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux says which processes a thread has started")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (HANG_WITH_CHILD, "CompileTimeoutError: took longer than 1 s"),
        (ABORT, "CalledProcessError: Command"),
        (GARBAGE, "CalledProcessError: "),
    ],
)
@pytest.mark.parametrize("workers", ["1", "3"])
def test_each_is_one_failed_candidate(
    world: World,  # noqa: F811
    monkeypatch: Any,
    command: list[str],
    reason: str,
    workers: str,
) -> None:
    """FR-28, as far as the compiler is a program; FR-24, W-17."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", workers)
    monkeypatch.setenv("TRITON_ASCEND_TUNE_COMPILE_TIMEOUT", "1")
    world.times = TIMES
    original = world.compile

    def compile_(src: Any, **options: Any) -> Any:
        kernel = original(src, **options)
        run(command if kernel.settings["BLOCK"] == 16 else FINE)
        return kernel

    monkeypatch.setattr("triton.compiler.compile", compile_)
    tuned = tuner(world, add_kernel, blocks(*TIMES))
    add(tuned)
    failed, *others = tuned.verdict.outcomes
    assert failed.stage is Stage.COMPILE and failed.reason.startswith(reason)
    assert "\n" not in failed.reason and len(failed.reason) <= 512
    assert [outcome.samples.p50 for outcome in others] == [1.0, 2.0]


@pytest.mark.parametrize("value", ["0", "-1", "soon", "inf", "nan"])
def test_a_limit_that_is_none_is_named(world: World, monkeypatch: Any, value: str) -> None:  # noqa: F811
    monkeypatch.setenv("TRITON_ASCEND_TUNE_COMPILE_TIMEOUT", value)
    with pytest.raises(ValueError, match=f"TRITON_ASCEND_TUNE_COMPILE_TIMEOUT is '{value}'"):
        add(tuner(world, add_kernel, blocks(16, 32)))
