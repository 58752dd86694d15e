"""The command line: what its commands pass on, and how errors that are meant for the user come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from triton_ascend_tune import simulator
from triton_ascend_tune.cli import app

runner = CliRunner()


def test_sim_build_prints_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(simulator, "build", lambda out, jobs: asked.append((out, jobs)) or tmp_path / "sdk")
    result = runner.invoke(app, ["sim", "build", "--out", str(tmp_path), "--jobs", "2"])
    assert (result.exit_code, result.output, asked) == (0, f"{tmp_path / 'sdk'}\n", [(tmp_path, 2)])


def test_sim_env_prints_exports_for_a_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(simulator, "build", lambda: tmp_path)
    monkeypatch.setattr(simulator, "environment", lambda sdk: {"ASCEND_HOME_PATH": f"{sdk} x"})
    result = runner.invoke(app, ["sim", "env"])
    assert (result.exit_code, result.output) == (0, f"export ASCEND_HOME_PATH='{tmp_path} x'\n")


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["--", "python", "train.py", "--epochs", "3"], ["python", "train.py", "--epochs", "3"]),
        (["python", "-m", "train"], ["python", "-m", "train"]),
        (["--", "git", "log", "--", "file"], ["git", "log", "--", "file"]),
        (["--", "program", "--help"], ["program", "--help"]),
    ],
)
def test_sim_run_passes_the_command_on_unchanged(
    arguments: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(simulator, "run", lambda given: ran.append(list(given)))
    result = runner.invoke(app, ["sim", "run", *arguments])
    assert (result.exit_code, ran) == (0, [command]), result.output


def test_sim_run_without_a_command_says_what_is_missing() -> None:
    result = runner.invoke(app, ["sim", "run"])
    assert result.exit_code == 1
    assert "a command to run is needed" in result.stderr


@pytest.mark.parametrize("command", [["sim", "build"], ["sim", "env"], ["sim", "run", "--", "true"]])
def test_a_simulator_that_cannot_be_built_gives_one_line_and_no_traceback(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Path:
        raise simulator.SimulatorError("torch-npu is not installed")

    monkeypatch.setattr(simulator, "build", broken)
    result = runner.invoke(app, command)
    assert (result.exit_code, result.stderr) == (1, "triton-ascend-tune: torch-npu is not installed\n")
