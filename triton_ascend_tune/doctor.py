"""Looks at this interpreter's installation the way a tuning would, and says what is wrong if something is.

Everything is tried for real (imports, the active driver, the device's library) in the current process, so an answer
holds for programs that run in the same environment. Nothing here raises: whatever fails becomes a problem, in words.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune import activation, settings

#: Distributions whose versions matter when something goes wrong.
DISTRIBUTIONS = ("triton-ascend-tune", "triton", "triton-ascend", "torch", "torch-npu", "ascendnpu-ir")

_ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Report:
    """What was found. ``problems`` is empty exactly when tunings will work; ``notes`` explain, but are not wrong.

    ``versions``: distribution -> version, or None if not installed. ``ways_in``: those taken in this process, the one
    that took effect first. ``target``: backend and architecture, such as "npu Ascend910B2". ``runtime``: path of the
    device's library. ``simulated``: the version of the simulated CANN behind it, or None. ``method``: in force.
    """

    versions: dict[str, str | None] = field(default_factory=dict)
    python: str = sys.executable
    ways_in: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    target: str | None = None
    tuned: bool = False
    runtime: str | None = None
    simulated: str | None = None
    method: str | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "healthy": self.healthy}


def examine() -> Report:
    """Examines the installation; takes seconds, and longer where Triton compiles its helpers for the first time."""
    report = Report(versions={name: _version(name) for name in DISTRIBUTIONS})
    with _warnings_as_notes(report):
        _packages(report)
        _settings(report)
        _native(report)
        if _import("torch", report) and _import("triton", report):
            _replacement(report)
            _target(report)
        _runtime(report)
    # Each provides the package triton, so that the other one is not missing.
    for one, other in (("triton", "triton-ascend"), ("triton-ascend", "triton")):
        if report.versions[one] and not report.versions[other]:
            del report.versions[other]
            break
    return report


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _packages(report: Report) -> None:
    if report.versions["triton"] and report.versions["triton-ascend"]:
        report.problems.append(
            "both triton and triton-ascend are installed and overwrite each other's files: uninstall both, then install"
            " triton-ascend alone"
        )
    if report.versions["triton-ascend"] and not report.versions["torch-npu"]:
        report.problems.append("triton-ascend needs torch-npu, which is not installed")


def _settings(report: Report) -> None:
    try:
        current = settings.current()
    except ValueError as error:
        report.problems.append(str(error))
        return
    report.method = current.method
    if not current.enabled:
        report.problems.append(f"{settings.ENABLED} switches the package off: tuners are stock")
    if current.interpret:
        report.problems.append(f"{settings.INTERPRET} is set: under Triton's interpreter tuners are stock")


def _native(report: Report) -> None:
    try:
        importlib.import_module("triton_ascend_tune._native")
    except Exception as error:
        report.problems.append(f"the native module does not load, so nothing can be timed: {_line(error)}")


def _import(name: str, report: Report) -> bool:
    try:
        importlib.import_module(name)
    except Exception as error:
        # A missing CANN already surfaces here: torch loads torch_npu by itself.
        report.problems.append(f"import {name} fails: {_line(error)}")
        return False
    return True


def _replacement(report: Report) -> None:
    activation.check()
    state = activation.state()
    report.ways_in, report.replaced = list(state.ways), list(state.replaced)
    report.problems += state.problems
    try:
        off = not settings.enabled()
    except ValueError:
        off = True  # reported with the settings
    if not report.replaced and not off:
        report.problems.append(
            "triton.autotune is still Triton's own: neither the entry point nor the start-up hook of this package took"
            " effect; reinstall triton-ascend-tune into this interpreter's site-packages, or call"
            " triton_ascend_tune.install()"
        )


def _target(report: Report) -> None:
    try:
        from triton.runtime.driver import driver

        target = driver.active.get_current_target()
    except Exception as error:
        report.problems.append(f"Triton has no active target, so no kernel can run: {_line(error)}")
        return
    report.target = f"{target.backend} {target.arch}"
    try:
        report.tuned = activation.acts_on(target.backend)
        tuned = settings.targets()
    except ValueError:
        return  # reported with the settings
    if target.backend not in tuned:
        report.problems.append(
            f"kernels for the target {target.backend} keep Triton's own tuner; tuned are: {', '.join(tuned)}"
            f" (see {settings.TARGETS})"
        )


def _runtime(report: Report) -> None:
    """The Ascend runtime library; missing is wrong only where the Ascend stack is installed."""
    try:
        from triton_ascend_tune._native import AclRuntime
    except ImportError:
        return  # reported with the native module
    try:
        runtime = AclRuntime()
    except Exception as error:
        if report.versions["triton-ascend"]:
            report.problems.append(f"the Ascend runtime is not usable: {_line(error)}")
        return
    report.runtime, report.simulated = runtime.library_path, runtime.simulator_version


@contextmanager
def _warnings_as_notes(report: Report) -> Iterator[None]:
    """Other packages warn about what they miss; that belongs into the report and not between its lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, (DeprecationWarning, PendingDeprecationWarning, SyntaxWarning)):
            note = _line(warning.message)
            if note not in report.notes:
                report.notes.append(note)


def _line(error: BaseException | Warning | str) -> str:
    """One line for an exception or a warning, without colours and layout; for an error with its type and its cause."""
    text = " ".join(_ANSI_COLOUR.sub("", str(error)).split())
    if not isinstance(error, BaseException) or isinstance(error, Warning):
        return text
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{text} (because of {_line(error.__cause__)})" if error.__cause__ else text
