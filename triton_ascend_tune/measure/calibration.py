"""What has to be known of a device once, before anything is measured on it: whether its events give times, what an
empty interval reads, and which gate works."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_ascend_tune.measure.trial import Trial

if TYPE_CHECKING:
    from triton_ascend_tune import _native

#: Intervals around real work, of which more than half must be times.
CHECKS = 8
#: Empty intervals whose median is the overhead.
EMPTY_INTERVALS = 33


class UnusableClockError(RuntimeError):
    """The device's events give times that are zero, negative or not finite."""


@dataclass(frozen=True)
class Calibration:
    """``gate``: kind of the gate that works, empty if none does or none was asked for, with ``problem`` saying why.

    ``event_overhead_ms``: median of what START and END read with nothing between them, behind the gate where there is
    one; 0.0 where they mostly read no time at all.
    """

    gate: str
    problem: str
    event_overhead_ms: float


def calibrate(
    runtime: _native.DeviceRuntime, stream: Callable[[], int], work: Callable[[], object], use_gate: bool
) -> Calibration:
    """Measures the device that ``runtime`` and ``stream`` belong to; ``work`` queues something that takes time there.

    UnusableClockError if most intervals around ``work`` are no times.
    """
    from triton_ascend_tune import _native

    gate, problem = _native.choose_gate(runtime) if use_gate else ("", "switched off")
    timer = _native.EventTimer(runtime, work, stream, gate=gate)
    checked = timer.run([Trial(work)], [0] * CHECKS)
    if 2 * len(checked.kernel_ms) <= CHECKS:
        raise UnusableClockError(
            f"{len(checked.rejected)} of {CHECKS} times between events around work on the device were zero, negative "
            "or not finite: nothing can be measured by events here"
        )
    empty = timer.run([Trial(_nothing)], [0] * EMPTY_INTERVALS)
    overhead_ms = statistics.median([*empty.kernel_ms, *[0.0] * len(empty.rejected)])
    return Calibration(gate, problem, overhead_ms)


def _nothing() -> None:
    pass
