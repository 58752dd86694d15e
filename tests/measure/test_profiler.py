"""A session of torch_npu's profiler: what refuses it, what can go wrong in it, and what it leaves behind."""

from __future__ import annotations

import contextlib
import io
import logging
import multiprocessing
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import filelock
import pytest
from fake_npu import FakeNpu, install
from profiles import FLUSH

from triton_ascend_tune import settings, turns
from triton_ascend_tune.measure import npu_profiler, profiler_lock
from triton_ascend_tune.measure.npu_profiler import NpuProfiler
from triton_ascend_tune.measure.profile_error import Problem, ProfileError
from triton_ascend_tune.measure.profiler import LEAD_FLUSHES, Session, profile
from triton_ascend_tune.measure.trial import Trial

SESSION = Session(warmup=1, active=3)


@pytest.fixture
def npu() -> FakeNpu:
    return FakeNpu()


@pytest.fixture
def profiler(npu: FakeNpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NpuProfiler:
    """On a machine of its own: locks and temporary files lie below ``tmp_path``."""
    for folder in ("bin", "tmp", "locks"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(turns, "_SHARED", tmp_path / "locks")
    for variable in ("ASCEND_RT_VISIBLE_DEVICES", "PROFILER_SAMPLECONFIG", "PROFILING_MODE"):
        monkeypatch.delenv(variable, raising=False)
    return install(npu, monkeypatch, tmp_path / "bin")


def run(profiler: NpuProfiler, npu: FakeNpu, session: Session = SESSION, trials: Any = None, **options: Any) -> Any:
    trials = trials or [Trial(npu.kernel("k", 10.0), name="first"), Trial(npu.kernel("k", 20.0), name="second")]
    return profile(profiler, trials, lambda: ["k"] * len(trials), session, **options)


def refused(profiler: NpuProfiler, npu: FakeNpu, session: Session = SESSION) -> str:
    """The reason; nothing may have been opened."""
    with pytest.raises(ProfileError) as caught:
        run(profiler, npu, session)
    assert caught.value.problem is Problem.REFUSED
    assert npu.log == []
    return caught.value.detail


def failed(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, **options: Any) -> ProfileError:
    """The error of a session that was opened; it must have been closed, and nothing may be left of it."""
    with pytest.raises(ProfileError) as caught:
        run(profiler, npu, **options)
    assert npu.log[-1] == "stop" and not npu.recording
    assert list((tmp_path / "tmp").iterdir()) == []
    return caught.value


def test_one_session_for_all_and_nothing_left(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    first, second = run(profiler, npu)
    assert first.times_ms == pytest.approx((0.010,) * 3) and second.times_ms == pytest.approx((0.020,) * 3)
    assert npu.log == [FLUSH, "start", *[FLUSH] * LEAD_FLUSHES, *[FLUSH, "k"] * 8, "stop"]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert npu.folders[0].parent.parent == tmp_path / "tmp"


def test_each_session_has_a_folder_of_its_own(profiler: NpuProfiler, npu: FakeNpu) -> None:
    """FR-47."""
    run(profiler, npu)
    run(profiler, npu)
    assert len({folder.parent for folder in npu.folders}) == 2


def test_nothing_gets_out_of_the_parser(profiler: NpuProfiler, npu: FakeNpu, capfd: pytest.CaptureFixture[str]) -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    run(profiler, npu)
    assert multiprocessing.get_start_method(allow_none=True) == before
    assert npu.pool._pool == "the parent's"
    assert capfd.readouterr() == ("", "")


def test_the_paths_of_the_users_own_profiler_stay(profiler: NpuProfiler, npu: FakeNpu) -> None:
    """A profiler object has set them when it was made, and may be started after this session."""
    run(profiler, npu)
    assert vars(npu.paths) == {"is_prof_inited": False, "_dir_path": "the user's", "_worker_name": "the user"}


def test_without_a_flush_there_are_only_the_calls(profiler: NpuProfiler, npu: FakeNpu) -> None:
    run(profiler, npu, Session(warmup=0, active=2, flush_bytes=0))
    assert npu.log == ["start", *["k"] * 4, "stop"]


def test_hooks_run_around_each_launch_before_the_flush(profiler: NpuProfiler, npu: FakeNpu) -> None:
    trial = Trial(npu.kernel("k", 10.0), before=npu.kernel("pre", 5.0), after=npu.kernel("post", 3.0))
    [samples] = run(profiler, npu, Session(warmup=0, active=2), [trial])
    assert samples.mean == pytest.approx(0.010)
    assert npu.log[2 + LEAD_FLUSHES : -1] == ["pre", FLUSH, "k", "post"] * 2


# -- refusals: nothing is opened ---------------------------------------------------------------------------------------


def test_a_running_session_is_not_disturbed(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    """FR-43."""
    npu.paths.is_prof_inited = True
    before = dict(vars(npu.paths))
    assert "a profiler session of the program is running" in refused(profiler, npu)
    assert vars(npu.paths) == before
    assert list((tmp_path / "tmp").iterdir()) == list((tmp_path / "locks").iterdir()) == []


def test_a_profiler_that_does_not_say_whether_it_runs(profiler: NpuProfiler, npu: FakeNpu) -> None:
    del npu.paths.is_prof_inited
    assert "cannot be asked: AttributeError" in refused(profiler, npu)


@pytest.mark.parametrize("variable", ["PROFILER_SAMPLECONFIG", "PROFILING_MODE"])
def test_under_msprof(profiler: NpuProfiler, npu: FakeNpu, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "dynamic")
    assert "runs under msprof" in refused(profiler, npu)


def test_a_single_core(profiler: NpuProfiler, npu: FakeNpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert "a single core" in refused(profiler, npu)


def test_no_msprof(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    (tmp_path / "bin" / "msprof").unlink()
    assert "no program msprof on PATH" in refused(profiler, npu)


def test_a_daemon(profiler: NpuProfiler, npu: FakeNpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    assert "is a daemon" in refused(profiler, npu)


def test_a_folder_that_cannot_be_made(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert "no folder for its files can be made" in refused(profiler, npu, Session(folder=folder))


def test_a_device_that_another_process_profiles(profiler: NpuProfiler, npu: FakeNpu) -> None:
    """FR-45."""
    waiting = profiler_lock.alone_on_device("npu0", timeout_s=0.1)
    with filelock.FileLock(profiler_lock.lock_path("npu0")), pytest.raises(ProfileError) as caught:
        waiting.__enter__()
    assert (
        caught.value.problem is Problem.REFUSED
        and "no turn at profiling npu0: another process has had" in caught.value.detail
    )
    run(profiler, npu)  # and when it is free again, that was all


def test_threads_take_turns(profiler: NpuProfiler, npu: FakeNpu) -> None:
    entered, results = threading.Event(), []

    def hold() -> None:
        with profiler_lock.alone_in_process():
            entered.set()
            time.sleep(0.3)
            results.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    run(profiler, npu)
    results.append("second")
    thread.join()
    assert results == ["first", "second"]
    waiting = profiler_lock.alone_in_process(timeout_s=0.01)
    with profiler_lock.alone_in_process(), pytest.raises(ProfileError, match="another thread"):
        waiting.__enter__()


def test_the_lock_is_of_the_physical_device_and_for_everybody(
    profiler: NpuProfiler, npu: FakeNpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "6,7")
    assert [settings.physical_npu(number) for number in range(3)] == ["npu6", "npu7", "npu2"]
    assert profiler.device == "npu6"
    umask = os.umask(0o077)
    try:
        with profiler_lock.alone_on_device(profiler.device):
            path = profiler_lock.lock_path("npu6")
            assert path.parent == tmp_path / "locks" and path.stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(umask)


# -- sessions that fail ------------------------------------------------------------------------------------------------


def test_a_session_that_does_not_start(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    npu.start_prints = "[2026-01-01 00:00:00] [ERROR] [7] profiler.py: Call start failed. Exception: no library"
    error = failed(profiler, npu, tmp_path)
    assert (error.problem, error.detail) == (Problem.FAILED, "Call start failed. Exception: no library")
    assert "k" not in npu.log


def test_a_session_that_cannot_be_made(
    profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a torch_npu that takes other arguments."""
    monkeypatch.delattr(sys.modules["torch_npu.profiler"], "AiCMetrics")
    with pytest.raises(ProfileError, match="AttributeError") as caught:
        run(profiler, npu)
    assert caught.value.problem is Problem.FAILED
    assert npu.log == [FLUSH] and list((tmp_path / "tmp").iterdir()) == []


def test_no_file(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    """FR-42."""
    npu.parse = lambda profile: None
    error = failed(profiler, npu, tmp_path)
    assert error.problem is Problem.NO_FILE and "expected 8 rows (2 x (1 + 3) runs), found none" in error.detail


def test_no_file_and_an_error_of_the_parser(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    npu.parse = lambda profile: None
    npu.parse_prints = "[2026-01-01 00:00:00] [ERROR] [7] profiler.py: Task [KernelViewParser] run failed."
    error = failed(profiler, npu, tmp_path)
    assert (error.problem, error.detail) == (Problem.FAILED, "Task [KernelViewParser] run failed.")


def test_a_parser_that_raises(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    def parse(profile: Path) -> None:
        raise RuntimeError("broken")

    npu.parse = parse
    error = failed(profiler, npu, tmp_path)
    assert (error.problem, error.detail) == (Problem.FAILED, "parsing failed: RuntimeError: broken")


def test_a_parser_that_hangs_is_stopped(
    profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npu_profiler, "PARSING_TIMEOUT_S", 0.3)
    npu.parse = lambda profile: time.sleep(60)
    start = time.monotonic()
    assert "parsing did not end within 0.3 s" in failed(profiler, npu, tmp_path).detail
    assert time.monotonic() - start < 30
    assert multiprocessing.active_children() == []


def test_an_empty_table(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    npu.change = lambda rows: []
    error = failed(profiler, npu, tmp_path)
    assert error.problem is Problem.EMPTY and "expected 8 rows (2 x (1 + 3) runs), found none" in error.detail


@pytest.mark.parametrize(
    ("change", "problem", "found"),
    [
        (lambda rows: rows[LEAD_FLUSHES + 2 :], Problem.TOO_FEW, "found 7"),
        (lambda rows: [*rows, ("k", 1.0)], Problem.TOO_MANY, "found 9: from 1 to 2 in a run"),
        (lambda rows: [row for row in rows if row[0] == FLUSH], Problem.NO_ROW, "found none"),
    ],
)
def test_rows_that_are_not_those_expected(
    profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, change: Any, problem: Problem, found: str
) -> None:
    npu.change = change
    error = failed(profiler, npu, tmp_path)
    assert error.problem is problem and "expected 8 rows of kernel 'k'" in error.detail and found in error.detail


def test_a_launch_that_fails_ends_the_session_and_is_named(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    def launch() -> None:
        raise RuntimeError("out of\nmemory")

    trials = [Trial(npu.kernel("k", 1.0)), Trial(launch, name="BLOCK: 7")]
    error = failed(profiler, npu, tmp_path, trials=trials, tolerated=(RuntimeError,))
    assert error.detail == "BLOCK: 7 failed while it was profiled: out of memory"


@pytest.mark.parametrize("where", ["launch", "before", "after"])
def test_other_exceptions_come_out_and_nothing_is_left(
    profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, where: str
) -> None:
    """FR-48."""

    def bug() -> None:
        raise KeyError("bug")

    trial = Trial(**{"launch": npu.kernel("k", 1.0), where: bug})  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="bug"):
        run(profiler, npu, trials=[trial], tolerated=(RuntimeError,))
    assert npu.log[-1] == "stop" and not npu.recording and not npu.paths.is_prof_inited
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_interrupt_leaves_nothing(profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(profiler, npu, trials=[Trial(interrupt)])
    assert not npu.recording and list((tmp_path / "tmp").iterdir()) == []


# -- what is kept, and what is heard -----------------------------------------------------------------------------------


def test_a_profile_is_kept_where_the_user_says(
    profiler: NpuProfiler, npu: FakeNpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "triton_ascend_tune"):
        run(profiler, npu, Session(1, 3, folder=tmp_path / "mine" / "here", keep=True))
    [kept] = (tmp_path / "mine" / "here").iterdir()
    assert list(kept.rglob("kernel_details.csv")) and str(kept) in caplog.text
    run(profiler, npu, Session(1, 3, folder=tmp_path / "mine" / "here"))
    assert list((tmp_path / "mine" / "here").iterdir()) == [kept]


def test_only_this_thread_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    stream = sys.stdout
    with npu_profiler._listening() as heard:
        print("mine")
        other = threading.Thread(target=print, args=("theirs",))
        other.start()
        other.join()
    assert heard.text == "mine\n" and sys.stdout is stream and stream.getvalue() == "theirs\n"  # type: ignore[attr-defined]


def test_a_stream_that_was_replaced_meanwhile_stays() -> None:
    mine = io.StringIO()
    with contextlib.ExitStack() as stack:
        before = sys.stdout
        stack.callback(setattr, sys, "stdout", before)
        with npu_profiler._listening():
            sys.stdout = mine
        assert sys.stdout is mine


@pytest.mark.parametrize(("warmup", "active"), [(-1, 3), (0, 0)])
def test_counts_that_are_none(warmup: int, active: int) -> None:
    with pytest.raises(ValueError, match="allowed are"):
        Session(warmup, active)
