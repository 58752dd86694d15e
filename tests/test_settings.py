"""Environment variables: what is accepted, what is refused, and when they are read."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from triton_ascend_tune import settings

PACKAGE = Path(settings.__file__).parent


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable set, and a Triton without knobs, as 3.2 and its triton-ascend build have it."""
    for name in (
        settings.ENABLED,
        settings.TARGETS,
        settings.REPORT,
        settings.METHOD,
        settings.PRINT,
        settings.INTERPRET,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace())  # type: ignore[arg-type]


def test_defaults() -> None:
    assert settings.current() == settings.Settings(
        enabled=True, targets=("npu",), method="event", print_autotuning=False, report=False, interpret=False
    )


@pytest.mark.parametrize(
    ("value", "enabled"),
    [
        ("0", False),
        ("false", False),
        ("OFF", False),
        ("no", False),
        ("1", True),
        ("on", True),
        ("", True),
        (" 0 ", False),
    ],
)
def test_enabled(value: str, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.ENABLED, value)
    assert settings.current().enabled is enabled


@pytest.mark.parametrize(
    ("value", "method"),
    [
        ("", "event"),
        ("default", "event"),
        ("event", "event"),
        ("Default", "event"),
        ("npu", "profiler"),
        ("NPU", "profiler"),
        ("profiler", "profiler"),
    ],
)
def test_method(value: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.METHOD, value)
    assert settings.current().method == method


@pytest.mark.parametrize(
    ("value", "targets"),
    [
        ("", ("npu",)),
        ("npu", ("npu",)),
        ("cuda", ("npu", "cuda")),
        ("npu, CUDA", ("npu", "cuda")),
        ("cuda,", ("npu", "cuda")),
    ],
)
def test_targets(value: str, targets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.TARGETS, value)
    assert settings.current().targets == targets


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        (settings.METHOD, "npu2", "default, event, npu, profiler"),
        (settings.ENABLED, "maybe", "1, true, on, yes, 0, false, off, no"),
        (settings.REPORT, "2", "1, true, on, yes, 0, false, off, no"),
        (settings.TARGETS, "npu,hip", "npu, cuda"),
    ],
)
def test_an_illegal_value_is_named_with_what_is_allowed(
    variable: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError) as raised:
        settings.current()
    for part in (variable, repr(value), allowed):
        assert part in str(raised.value)


def test_a_variable_is_read_when_asked_for_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.current().method == "event"
    monkeypatch.setenv(settings.METHOD, "npu")
    assert settings.current().method == "profiler"


@pytest.mark.parametrize(("value", "prints"), [("1", True), ("true", False), ("0", False), ("2", False), ("", False)])
def test_printing_without_knobs_needs_exactly_one(value: str, prints: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.PRINT, value)
    assert settings.current().print_autotuning is prints


def test_the_knobs_of_the_installed_triton_win(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = SimpleNamespace(autotuning=SimpleNamespace(print=True), runtime=SimpleNamespace(interpret=True))
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(knobs=knobs))  # type: ignore[arg-type]
    monkeypatch.setenv(settings.PRINT, "0")
    current = settings.current()
    assert (current.print_autotuning, current.interpret) == (True, True)


def test_what_cann_says_about_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ASCEND_RT_VISIBLE_DEVICES", "PROFILER_SAMPLECONFIG", "PROFILING_MODE"):
        monkeypatch.delenv(variable, raising=False)
    assert (settings.physical_npu(1), settings.profiled_from_outside()) == ("npu1", False)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", " 4, 6,")
    monkeypatch.setenv("PROFILING_MODE", "dynamic")
    assert (settings.physical_npu(1), settings.profiled_from_outside()) == ("npu6", True)


def test_no_other_module_reads_the_environment_for_settings() -> None:
    """``simulator`` composes the environment of a child process, which is no setting."""
    readers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                readers.add(str(path.relative_to(PACKAGE)))
    assert readers <= {"settings.py", "simulator.py"}


@pytest.mark.parametrize("value", ["0", "-1", "soon", "inf", "nan"])
def test_the_time_for_a_tuning_is_a_positive_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert settings.tuning_seconds() is None
    monkeypatch.setenv("TRITON_ASCEND_TUNE_SECONDS", "2.5")
    assert settings.tuning_seconds() == 2.5
    monkeypatch.setenv("TRITON_ASCEND_TUNE_SECONDS", value)
    with pytest.raises(ValueError, match=f"TRITON_ASCEND_TUNE_SECONDS is '{value}'; allowed: .*more than 0"):
        settings.tuning_seconds()
