"""What to sample next, and when it is enough: the interface of a measuring plan, and the classic plan.

A plan is pure logic. The measuring loop asks for a round, takes one sample for each index in it (all behind one gate if
it can; a long round may be cut into pieces), and hands the times back:

    while round_ := plan.next_round():
        for index, kernel_ms, whole_ms in loop.measure(round_):
            plan.add(index, kernel_ms, whole_ms)
    decision = plan.verdict()

A candidate's index is its place in the user's order. Two times belong to one sample and are never mixed. *Kernel time*
(START to END) decides. *Whole-iteration time* (flush, launch and host work included) sizes and bounds the loop; where
only the time of a round is known, its share goes to each sample. All times are milliseconds.
"""

from __future__ import annotations

import abc
import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

#: Unusable readings in a row (zero, negative, not a number) after which a candidate counts as not measurable: one or
#: two may be events read too early, three are a broken timer.
MAX_UNUSABLE = 3


class Exit(enum.Enum):
    """Why a candidate was sampled no further than the others."""

    BEHIND = "behind"
    FAR_BEHIND = "far behind"
    BUDGET = "budget"
    FAILED = "failed"
    UNUSABLE = "unusable"


class Stop(enum.Enum):
    """Why sampling ended."""

    SEPARATED = "separated"  # all others are behind
    TIED = "tied"  # others are within the tolerance
    CLOSE = "close"  # others are neither, but none can be faster by more than the plan promises
    BUDGET = "budget"
    COUNT = "count"  # the plan asks for so many
    ALONE = "alone"
    NONE_LEFT = "none left"


@dataclass(frozen=True)
class Lane:
    """What one candidate ran.

    ``times_ms``: kernel times that count, in the order taken. ``launches``: all samples, warm-up included, which took
    ``whole_ms``. ``ratio``: estimated time over the winner's, None where not comparable. ``exit``, ``exit_round`` and
    ``reason``: why and after how many rounds the candidate left; None and "" if it stayed.
    """

    index: int
    times_ms: tuple[float, ...]
    launches: int
    whole_ms: float
    ratio: float | None = None
    exit: Exit | None = None
    exit_round: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Decision:
    """What a plan chose. ``winner`` is None if no candidate could be timed.

    ``ties``: all candidates that count as equally fast, the winner among them, in the user's order. ``margin``: the
    best of the others over the winner, minus one; negative if the winner was preferred to a tied one that reads faster,
    None if nothing compares. ``rounds``: rounds that were sampled, warm-up included. ``whole_ms``: what they took.
    """

    winner: int | None
    ties: tuple[int, ...]
    margin: float | None
    stop: Stop
    rounds: int
    whole_ms: float
    lanes: tuple[Lane, ...]


class StopRule(abc.ABC):
    """A measuring plan. One object serves one tuning and is used by one thread."""

    @abc.abstractmethod
    def next_round(self) -> Sequence[int]:
        """Indices to sample now, in this order, an index possibly several times; empty when the plan is finished."""

    @abc.abstractmethod
    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        """One sample of the current round.

        ``kernel_ms``: infinity says that the candidate failed and must not be launched again; a value that is zero,
        negative or not a number is a reading that cannot be used: its cost counts, the reading does not.
        """

    @abc.abstractmethod
    def verdict(self) -> Decision:
        """The choice on what was sampled so far; final once ``next_round`` was empty."""


def check_count(candidates: int) -> int:
    """A plan needs something to measure."""
    if candidates < 1:
        raise ValueError(f"candidates is {candidates}; a measuring plan needs at least 1")
    return candidates


def usable(kernel_ms: float) -> bool:
    """Whether a reading is a time at all."""
    return math.isfinite(kernel_ms) and kernel_ms > 0.0


class Classic(StopRule):
    """One candidate after the other, as stock Triton does: estimate, warm-up, repeats; the lowest P50 wins.

    Unlike there, the estimate is made of whole iterations and decides nothing but the counts: ``estimate_runs`` runs,
    ``warmup_ms`` of warm-up, ``repeat_ms`` of samples, at least ``min_samples`` and at most ``max_samples`` of them.
    Equal medians go to the first in the user's order.
    """

    def __init__(
        self,
        candidates: int,
        *,
        estimate_runs: int = 5,
        warmup_ms: float = 25.0,
        repeat_ms: float = 100.0,
        min_samples: int = 10,
        max_samples: int = 10_000,
    ) -> None:
        self._count = check_count(candidates)
        self._estimate_runs = max(1, estimate_runs)
        self._warmup_ms = warmup_ms
        self._repeat_ms = repeat_ms
        self._min_samples = max(1, min_samples)
        self._max_samples = max(self._min_samples, max_samples)
        self._current = -1
        self._phases: list[str] = []
        self._phase = ""
        self._rounds = 0
        self._times: list[list[float]] = [[] for _ in range(candidates)]
        self._launches = [0] * candidates
        self._whole_ms = [0.0] * candidates
        self._left: dict[int, tuple[Exit, int, str]] = {}
        self._unusable = 0
        self._estimates_ms: list[float] = []

    def next_round(self) -> Sequence[int]:
        if not self._phases or self._current in self._left:
            if self._current + 1 >= self._count:
                self._phases, self._current = [], self._count
                return ()
            self._current += 1
            self._phases = ["estimate", "warmup", "repeat"]
            self._unusable = 0
            self._estimates_ms = []
        self._phase = self._phases.pop(0)
        self._rounds += 1
        return (self._current,) * self._runs(self._phase)

    def _runs(self, phase: str) -> int:
        if phase == "estimate":
            return self._estimate_runs
        # The median: one slow first iteration must not halve the number of samples.
        estimate_ms = median(self._estimates_ms) if self._estimates_ms else 0.0
        wanted_ms, low = (self._warmup_ms, 1) if phase == "warmup" else (self._repeat_ms, self._min_samples)
        if not usable(estimate_ms):  # a clock that shows nothing cannot size a loop
            return low
        # Compared before it is rounded: the quotient of a tiny estimate can exceed what an int conversion takes.
        return (
            self._max_samples
            if wanted_ms >= estimate_ms * self._max_samples
            else max(low, int(wanted_ms / estimate_ms))
        )

    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        self._launches[index] += 1
        self._whole_ms[index] += whole_ms
        if self._phase == "estimate":
            self._estimates_ms.append(whole_ms)
        if index in self._left:
            return
        if usable(kernel_ms):
            self._unusable = 0
            if self._phase == "repeat":
                self._times[index].append(kernel_ms)
        elif kernel_ms == math.inf:
            self._left[index] = (Exit.FAILED, self._rounds, "failed while it was measured")
            self._times[index].clear()
        else:
            self._unusable += 1
            if self._unusable >= MAX_UNUSABLE:
                self._left[index] = (
                    Exit.UNUSABLE,
                    self._rounds,
                    f"{MAX_UNUSABLE} unusable readings, last {kernel_ms} ms",
                )
                self._times[index].clear()

    def verdict(self) -> Decision:
        medians = {index: median(times) for index, times in enumerate(self._times) if times}
        winner = min(medians, key=lambda index: (medians[index], index), default=None)
        others = [value for index, value in medians.items() if index != winner]
        best = medians[winner] if winner is not None else math.nan
        lanes = []
        for index, times in enumerate(self._times):
            left, left_round, reason = self._left.get(index, (None, None, ""))
            if not times and self._launches[index] and left is None:
                left, left_round, reason = Exit.UNUSABLE, self._rounds, "no usable reading"
            ratio = medians[index] / best if index in medians else None
            lanes.append(
                Lane(index, tuple(times), self._launches[index], self._whole_ms[index], ratio, left, left_round, reason)
            )
        return Decision(
            winner=winner,
            ties=tuple(index for index, value in medians.items() if value == best),
            margin=min(others) / best - 1.0 if others else None,
            stop=Stop.NONE_LEFT if winner is None else Stop.COUNT,
            rounds=self._rounds,
            whole_ms=math.fsum(self._whole_ms),
            lanes=tuple(lanes),
        )
