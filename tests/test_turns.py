"""Turns between processes, by locks on files."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from triton_ascend_tune import flights, turns

#: Takes the turn at the path given, says so, and keeps it until it is told or killed.
HOLDER = """
import sys
from pathlib import Path
from triton_ascend_tune import turns
with turns.turn(Path(sys.argv[1]), 10):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the turn at ``path``."""
    arguments = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "mine\n"
        try:
            yield process
        finally:
            process.kill()


def test_another_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_elsewhere(path) as process, ThreadPoolExecutor(1) as executor:

        def wait() -> bool:
            with turns.turn(path, 30):
                return process.poll() is not None or went_on

        went_on = False
        waiting = executor.submit(wait)
        with pytest.raises(turns.NoTurnError, match=r"another process has had .*lock for more than 0\.2 s"):
            turns.turn(path, 0.2).__enter__()
        assert not waiting.done()
        went_on = True
        process.communicate("\n", timeout=30)
        assert waiting.result(30)


def test_a_turn_ends_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_elsewhere(path) as process:
        process.send_signal(signal.SIGKILL)
        with turns.turn(path, 30):
            pass


def test_who_has_the_turn_may_ask_again(tmp_path: Path) -> None:
    with turns.turn(tmp_path / "lock", 1), turns.turn(tmp_path / "lock", 1):
        pass
    with held_elsewhere(tmp_path / "lock"):  # and it was given back
        pass


@pytest.mark.parametrize("reason", ["too long", "no folder"])
def test_want_of_a_turn_stops_nothing(tmp_path: Path, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "triton_ascend_tune")
    if reason == "too long":
        with held_elsewhere(tmp_path / "lock"), turns.if_possible(tmp_path / "lock", 0.1, "this"):
            pass
        assert "this goes on without its turn: another process" in caplog.text
    else:
        (tmp_path / "file").write_text("")
        with turns.if_possible(tmp_path / "file" / "lock", 0.1, "this"):
            pass
        assert "this goes on without its turn" in caplog.text and "cannot be locked" in caplog.text


def test_what_fails_during_a_turn_is_raised_as_it_is_and_ends_it(tmp_path: Path) -> None:
    with pytest.raises(turns.NoTurnError, match="my own"), turns.if_possible(tmp_path / "lock", 1, "this"):
        raise turns.NoTurnError("my own")
    with held_elsewhere(tmp_path / "lock"):
        pass


def test_processes_measure_on_a_device_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FR-40."""
    monkeypatch.setattr(turns, "_SHARED", tmp_path)
    monkeypatch.setattr(flights, "DEVICE_PATIENCE_S", 30.0)
    with held_elsewhere(turns.shared_path("npu3")) as process, ThreadPoolExecutor(1) as executor:

        def measure(device: str) -> None:
            with flights.device("npu:0", device):
                pass

        executor.submit(measure, "npu4").result(30)
        waiting = executor.submit(measure, "npu3")
        with pytest.raises(turns.NoTurnError):
            turns.turn(turns.shared_path("npu3"), 0.2).__enter__()
        assert not waiting.done()
        process.communicate("\n", timeout=30)
        waiting.result(30)
