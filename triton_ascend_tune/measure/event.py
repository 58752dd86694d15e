"""Times between device events, by the classic plan: one trial after the other, each for a bounded time.

Two times are kept apart throughout. Kernel time is what is reported. The time of a whole iteration (flush, hooks,
launch and the host's work included) sizes the loop: sized by kernel time alone, a kernel of 5 us would be run twenty
thousand times behind as many flushes.
"""

from __future__ import annotations

import logging
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from triton_ascend_tune.measure.device import Device
from triton_ascend_tune.measure.timer import TRIAL_STEPS, Timer
from triton_ascend_tune.measure.trial import Failure, Trial, failure_of
from triton_ascend_tune.values import Protocol, Samples, Stage

#: Times that samples whose events gave no usable time are taken again before the clock is called unusable.
RETRIES = 3

_log = logging.getLogger("triton_ascend_tune")


@dataclass(frozen=True)
class Counts:
    """How often a trial runs: ``warmup`` samples that are thrown away, then ``samples`` that count."""

    warmup: int
    samples: int


class UnusableClockError(Exception):
    """Most events of a trial gave times that are zero, negative or not finite."""


def measure(
    trials: Sequence[Trial],
    protocol: Protocol,
    device: Device,
    tolerated: tuple[type[BaseException], ...] = (),
) -> list[Samples | Failure]:
    """The samples of each trial, or why it has none, in the order of ``trials``.

    An exception of a type in ``tolerated`` that a launch raises, or that the device reports of it, makes a Failure of
    its trial alone and the others go on. Any other exception, and whatever ``before`` or ``after`` raises, comes out
    unchanged. ValueError: a protocol that is not the classic plan by events.
    """
    if protocol.method != "event":
        raise ValueError(f"protocol.method is {protocol.method!r}; measure by events allows: 'event'")
    if protocol.plan != "classic":
        raise ValueError(f"protocol.plan is {protocol.plan!r}; allowed: 'classic'")
    if not trials:
        return []
    with device.timer(protocol.flush_bytes) as timer:
        return [_measure_one(timer, trial, protocol, tolerated) for trial in trials]


def size_loop(iteration_ms: float, protocol: Protocol) -> Counts:
    """The counts that fill ``warmup_ms`` and ``repeat_ms`` with whole iterations, within the bounds of the protocol.

    The floor is there for a large flush, which must not starve a short kernel of samples.
    """
    samples = min(int(protocol.repeat_ms / iteration_ms), protocol.max_samples)
    warmup = min(int(protocol.warmup_ms / iteration_ms), protocol.max_samples)
    return Counts(warmup=max(1, warmup), samples=max(1, protocol.min_samples, samples))


def _measure_one(
    timer: Timer, trial: Trial, protocol: Protocol, tolerated: tuple[type[BaseException], ...]
) -> Samples | Failure:
    try:
        timer.run([trial], [0])  # what a first run alone pays: loading the binary, growing a pool
        _, iterations = _take(timer, trial, protocol.estimate_runs)
        # The median: one slow first iteration must not halve the number of samples.
        counts = size_loop(statistics.median(iterations), protocol)
        timer.run([trial], [0] * counts.warmup)
        kernels, _ = _take(timer, trial, counts.samples)
    except UnusableClockError as error:
        return failure_of(error, Stage.MEASURE, trial, str(error))
    except tolerated as error:
        step = timer.interruption[1] if timer.interruption else ""
        if step not in TRIAL_STEPS:
            raise
        return failure_of(error, Stage.LAUNCH if step == "launch" else Stage.MEASURE, trial)
    return Samples(tuple(kernels))


def _take(timer: Timer, trial: Trial, count: int) -> tuple[list[float], list[float]]:
    """``count`` kernel times and as many iteration times; at least half of that where a clock keeps failing.

    UnusableClockError: fewer than half after the retries.
    """
    kernels: list[float] = []
    iterations: list[float] = []
    rejected = 0
    for _ in range(1 + RETRIES):
        run = timer.run([trial], [0] * (count - len(kernels)))
        kernels += run.kernel_ms
        iterations += run.iteration_ms
        rejected += len(run.rejected)
        if len(kernels) >= count:
            break
    if 2 * len(kernels) < count:
        raise UnusableClockError(
            f"{rejected} of {rejected + len(kernels)} times between events were zero, negative or not finite"
        )
    if rejected:
        _log.warning("%s: %d times between events were zero, negative or not finite; left out", trial.name, rejected)
    return kernels, iterations
