"""A clock that is a number, and a timer and a device on it: the plans run on them without any hardware."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from triton_ascend_tune.measure.device import Device
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import Conditions, Protocol


@dataclass
class FakeRun:
    trials: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    kernel_ms: list[float] = field(default_factory=list)
    iteration_ms: list[float] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    gated: bool = False
    host_ms: float = 0.0


class FakeTimer:
    """Does with a number what ``_native.EventTimer`` does with events.

    ``orders``: what was asked for, in each run; ``ungated``: the runs in which a gate was not wanted. ``gate``: whether
    there is one.
    """

    def __init__(self, clock: Clock, flush_ms: float, gate: bool = True) -> None:
        self._clock = clock
        self._flush_ms = flush_ms
        self.gate = gate
        self.orders: list[list[int]] = []
        self.ungated: list[int] = []
        self.interruption: tuple[int, str] | None = None

    @property
    def sizes(self) -> list[int]:
        return [len(order) for order in self.orders]

    @property
    def conditions(self) -> Conditions:
        return Conditions("fake" if self.gate else "", "" if self.gate else "there is none", 1024, 0.001)

    def run(self, trials: Sequence[Trial], order: Sequence[int], gated: bool = True) -> FakeRun:
        if not gated:
            self.ungated.append(len(self.orders))
        self.orders.append(list(order))
        run = FakeRun(gated=gated and self.gate)
        for place, index in enumerate(order):
            self._sample(run, place, index, trials[index])
        self._clock.fault("synchronize", self)
        self.interruption = None
        return run

    def _sample(self, run: FakeRun, place: int, index: int, trial: Trial) -> None:
        opening = self._clock.now_ms
        if trial.before:
            self.interruption = (index, "before")
            trial.before()
        self._clock.now_ms += self._flush_ms
        start = self._clock.now_ms
        self.interruption = (index, "launch")
        trial.launch()
        kernel_ms = self._clock.now_ms - start
        if trial.after:
            self.interruption = (index, "after")
            trial.after()
        if math.isfinite(kernel_ms) and kernel_ms > 0:
            run.trials.append(index)
            run.places.append(place)
            run.kernel_ms.append(kernel_ms)
            run.iteration_ms.append(self._clock.now_ms - opening)
        else:
            run.rejected.append(index)


class Clock:
    """``now_ms`` moves only when a trial, a flush or a hook moves it."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.synchronize_error: Exception | None = None

    def work(self, *ms: float) -> FakeWork:
        """A callable that takes ``ms`` each time; with several values, one after the other and then from the front."""
        return FakeWork(self, ms)

    def fault(self, step: str, timer: FakeTimer) -> None:
        if self.synchronize_error is not None:
            error, self.synchronize_error = self.synchronize_error, None
            timer.interruption = (0, step)
            raise error


class FakeWork:
    def __init__(self, clock: Clock, ms: Sequence[float]) -> None:
        self._clock = clock
        self._ms = ms
        self.calls = 0

    def __call__(self) -> None:
        self._clock.now_ms += self._ms[self.calls % len(self._ms)]
        self.calls += 1


class FakeDevice(Device):
    """``flush_ms``: what a flush takes. ``timers``: those handed out; ``open``: how many of them are in use."""

    def __init__(self, clock: Clock, flush_ms: float = 0.1, gate: bool = True) -> None:
        self._clock = clock
        self._flush_ms = flush_ms
        self._gate = gate
        self.timers: list[FakeTimer] = []
        self.protocols: list[Protocol] = []
        self.open = 0

    @contextmanager
    def timer(self, protocol: Protocol) -> Iterator[FakeTimer]:
        self.protocols.append(protocol)
        flush_ms = self._flush_ms if protocol.flush != "none" else 0.0
        self.timers.append(FakeTimer(self._clock, flush_ms, self._gate and protocol.gate))
        self.open += 1
        try:
            yield self.timers[-1]
        finally:
            self.open -= 1

    def synchronize(self) -> None:
        return None
