"""A race that outlives its process: its finished rounds are kept as it goes, and another process takes them up.

What a plan does next is a function of its arguments and of what it was told. So the rounds that were taken, told again
to a new plan, make it exactly what the old one was: who has dropped out stays out, spent time stays spent, and the next
round has the number, the candidates and the order that it would have had. Only whole rounds are kept. Candidates are
compared within rounds, and those of an unfinished one would meet in two processes, on a device in two states; such a
round is taken again.

A process that takes up a race finds a device that has been idle. So it runs the next round once to be thrown away, as a
race begins with rounds that are thrown away.

Checkpoints are written between two rounds, when the gate is open and nothing runs on the device. One is written when
the time since the last is ``SHARE`` times what that cost, so that writing takes about 1/20 of a race however slow the
disk is, and a last one when the race is over, until its results are stored. A race that is killed loses what it sampled
since; that is the running round where rounds take longer than that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triton_ascend_tune.measure.stop_rule import Decision, StopRule
from triton_ascend_tune.values import Progress, Sample

#: So many times the cost of a checkpoint lie between two of them.
SHARE = 20.0
#: What the first one is taken to cost, in seconds: a race that is over within ``SHARE`` times this writes the last one
#: alone. Writing 1 to 64 KiB took 0.2 to 4 ms on the disk of a busy virtual machine.
FIRST_COST_S = 0.001


@dataclass(frozen=True)
class Checkpoints:
    """``taken``: the rounds of an earlier process, none for a new race. ``keep``: called with all rounds so far."""

    taken: Progress
    keep: Callable[[Progress], None]


def failed_in(taken: Progress) -> set[int]:
    """The trials that failed while ``taken`` was sampled."""
    return {index for round_ in taken.rounds for index, kernel_ms, _ in round_ if kernel_ms == math.inf}


def replay(plan: StopRule, taken: Progress) -> bool:
    """Tells a new ``plan`` what was sampled; False, and ``plan`` is spoilt, if it would have sampled something else."""
    for round_ in taken.rounds:
        if sorted(plan.next_round()) != sorted(index for index, _, _ in round_):
            return False
        for sample in round_:
            plan.add(*sample)
    return True


class Resumable(StopRule):
    """``plan``, which was told of ``taken``, with its further rounds kept by ``keep``.

    ``gated``: whether all rounds so far were. ``clock``: seconds.
    """

    def __init__(
        self,
        plan: StopRule,
        taken: Progress,
        keep: Callable[[Progress], None],
        gated: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._plan = plan
        self._rounds = list(taken.rounds)
        self._keep = keep
        self._gated = gated
        self._clock = clock
        self._kept = len(self._rounds)
        self._order: Sequence[int] = ()
        self._round: list[Sample] = []
        self._settles = bool(self._rounds)  # a round to be thrown away is still to come
        self._settling = False
        self._last_s, self._cost_s = clock(), FIRST_COST_S

    def next_round(self) -> Sequence[int]:
        if self._settling:
            self._settling = False
            return self._order
        if self._round:
            self._rounds.append(tuple(self._round))
            self._round = []
        self._order = self._plan.next_round()
        if self._kept < len(self._rounds) and self._due():
            self._write()
        if self._settles:
            self._settles, self._settling = False, bool(self._order)
        return self._order

    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        if self._settling:  # one that fails does so in the round that counts, too: the loop launches it no more
            return
        self._round.append((index, kernel_ms, whole_ms))
        self._plan.add(index, kernel_ms, whole_ms)

    def verdict(self) -> Decision:
        return self._plan.verdict()

    def _due(self) -> bool:
        if self._order:
            return self._clock() - self._last_s >= SHARE * self._cost_s
        return self._plan.verdict().winner is not None  # where nothing was timed there is nothing to store

    def _write(self) -> None:
        began_s = self._clock()
        self._keep(Progress(tuple(self._rounds), self._gated(), over=not self._order))
        self._kept = len(self._rounds)
        self._last_s = self._clock()
        self._cost_s = self._last_s - began_s
