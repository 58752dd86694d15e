"""The one loop that every plan runs in: asks the plan for a round, has the timer take it, hands the times back."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from triton_ascend_tune.measure.stop_rule import StopRule
from triton_ascend_tune.measure.timer import TRIAL_STEPS, Run, Timer
from triton_ascend_tune.measure.trial import Failure, Trial, failure_of
from triton_ascend_tune.values import Stage

_log = logging.getLogger("triton_ascend_tune")


class PlanLoop:
    """The loop over ``trials`` on ``timer``.

    An exception of a type in ``tolerated`` that a launch raises, or that the device reports of it, fails its trial
    alone: it is not launched again, its plan is told, the others go on. Any other exception, and whatever ``before`` or
    ``after`` raises, comes out unchanged. ``failures``: by trial. ``gated``: whether every round so far was taken
    behind the gate.
    """

    def __init__(self, timer: Timer, trials: Sequence[Trial], tolerated: tuple[type[BaseException], ...] = ()) -> None:
        self._timer = timer
        self._trials = trials
        self._tolerated = tolerated
        self._unusable: Counter[int] = Counter()
        self._met: set[int] = set()
        self.failures: dict[int, Failure] = {}
        self.gated = True

    def run(self, plan: StopRule) -> None:
        """Runs ``plan`` to its end. A trial that the plan never asks for is not launched."""
        while order := plan.next_round():
            self._round(plan, order)
        for index, count in self._unusable.items():
            name = self._trials[index].name
            _log.warning("%s: %d times between events were zero, negative or not finite; left out", name, count)

    def all_fail(self, indices: Iterable[int]) -> bool:
        """Launches each alone, and tells whether that fails every one of them."""
        indices = sorted(indices)
        self._run_each_alone(indices)
        return all(index in self.failures for index in indices)

    def _run_each_alone(self, indices: Iterable[int]) -> None:
        """One launch of each trial, not counted, by itself and ungated.

        For what a first run alone pays (loading the binary, growing a pool), which may even wait for the device and so
        must not happen behind a closed gate; and because a fault that only the device reports can be blamed on one.
        """
        for index in indices:
            self._met.add(index)
            try:
                self._timer.run(self._trials, [index], gated=False)
            except self._tolerated as error:
                self._fail(index, error, self._step(error))

    def _round(self, plan: StopRule, order: Sequence[int]) -> None:
        """Takes ``order`` and hands it to ``plan``. A trial that fails meanwhile costs the round, which is repeated."""
        self._run_each_alone(sorted(set(order) - self._met))
        while todo := [index for index in order if index not in self.failures]:
            try:
                run = self._timer.run(self._trials, todo)
            except self._tolerated as error:
                self._blame(error, todo)
                continue
            self.gated = self.gated and run.gated
            self._add(plan, todo, run)
            break
        for index in dict.fromkeys(order):
            if index in self.failures:
                plan.add(index, math.inf, 0.0)

    def _add(self, plan: StopRule, order: Sequence[int], run: Run) -> None:
        times = dict(zip(run.places, zip(run.kernel_ms, run.iteration_ms)))
        for place, index in enumerate(order):
            if place not in times:
                self._unusable[index] += 1
            plan.add(index, *times.get(place, (math.nan, 0.0)))

    def _blame(self, error: BaseException, order: Sequence[int]) -> None:
        """Finds the trials of a round that ``error`` is about. Raises it if there are none."""
        step = self._step(error)
        interruption = self._timer.interruption
        indices = list(dict.fromkeys(order))
        if interruption is not None and (step == "launch" or len(indices) == 1):
            self._fail(interruption[0], error, step)
            return
        # The device says only that something before the wait has failed.
        known = len(self.failures)
        self._run_each_alone(indices)
        if len(self.failures) == known:
            raise error

    def _step(self, error: BaseException) -> str:
        """Where the timer was when it raised ``error``, which is raised again if that says nothing about a trial."""
        step = self._timer.interruption[1] if self._timer.interruption else ""
        if step not in TRIAL_STEPS:
            raise error
        return step

    def _fail(self, index: int, error: BaseException, step: str) -> None:
        stage = Stage.LAUNCH if step == "launch" else Stage.MEASURE
        self.failures[index] = failure_of(error, stage, self._trials[index])
