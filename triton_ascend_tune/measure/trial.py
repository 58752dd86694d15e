"""What goes into a measurement, and what comes out of one that failed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from triton_ascend_tune.measure.stop_rule import Decision
from triton_ascend_tune.tracebacks import forget_tracebacks
from triton_ascend_tune.values import Conditions, Protocol, Samples, Stage

_log = logging.getLogger("triton_ascend_tune")


@dataclass(frozen=True)
class Trial:
    """One thing to time, ready to run again and again.

    Only ``launch`` is timed. ``before`` and ``after`` run once per sample outside the timed interval, on the same
    stream (reset, restore, hooks); None means that nothing is called. ``name`` is for messages.
    """

    launch: Callable[[], object]
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None
    name: str = ""


@dataclass(frozen=True)
class Failure:
    """Why a trial has no samples. ``stage`` is LAUNCH when the launch was refused or faulted, otherwise MEASURE."""

    stage: Stage
    reason: str  # one line
    error: BaseException | None = None


@dataclass(frozen=True)
class Measurement:
    """What a measuring method found.

    ``results``: the samples of each trial, or why it has none, in the order of the trials; ``decision``: what the plan
    chose among them, by their places in that order, or None of a method that has no plan: then the lowest time wins.
    ``protocol``: the one used, where it is another than the one asked for.
    """

    results: tuple[Samples | Failure, ...]
    decision: Decision | None = None
    conditions: Conditions = field(default_factory=Conditions)
    protocol: Protocol | None = None


def failure_of(error: BaseException, stage: Stage, trial: Trial, reason: str = "") -> Failure:
    """The Failure that ``error`` makes of ``trial``. Without a ``reason``: its type and the first line of its text.

    The error loses its tracebacks, after they went to the debug log. A traceback holds every frame up to the program's
    first, and an error may be kept as long as its tuner: flush buffer and arguments of the launch would stay on the
    device for as long.
    """
    _log.debug("%s failed (%s)", trial.name or "a trial", stage.value, exc_info=error)
    if not reason:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    forget_tracebacks(error)
    return Failure(stage, reason, error)
