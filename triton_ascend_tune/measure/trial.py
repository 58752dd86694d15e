"""What goes into a measurement, and what comes out of one that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triton_ascend_tune.values import Stage


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
