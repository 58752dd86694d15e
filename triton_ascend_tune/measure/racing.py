"""Interleaved plans: the race, which spends samples where the ranking is open, and the fixed plan, which counts.

Both sample all candidates in rounds, in an order that is drawn anew for each round, so that drift, the place in a round
and the predecessor fall on all alike; both compare in pairs within rounds (see ``statistics``).

The race, round by round:

1. *Warm-up*: the first rounds are thrown away (``WARMUP_ROUNDS``).
2. *Leader*: the live candidate with the lowest trimmed mean of its distance to the round's median.
3. *Drop-outs*: a candidate leaves when it is slower than the leader by more than the tolerance with confidence
   ``1 - ALPHA_DROP``, or by ``FAR_BEHIND`` in every sample so far.
4. *Ties*: all live candidates whose estimate is within the tolerance of the leader's.
5. *Choice*: the first of the ties in the user's order, if it is with confidence ``1 - ALPHA_STOP`` at most ``PROMISE``
   tolerances slower than any live candidate; where that takes too long (``PATIENCE``) the leader, if it is. If neither
   is, sampling goes on until the budget is spent, and then the first of the ties wins.
6. *Confirmation*: the finalists, at least two, run ``CONFIRM_ROUNDS`` more rounds. A choice that 5 makes on all
   rounds is final; if it makes none the race goes on among them.

What a candidate may cost is bounded by what the classic plan would spend on it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from triton_ascend_tune.measure.rounds import Field, Runner, Standing
from triton_ascend_tune.measure.stop_rule import Decision, Exit, Stop, StopRule

#: Rounds thrown away. The first round still meets cold instruction caches and an idle clock; on an H200 nothing of that
#: was left in the second. One round is enough once it has lasted as long as the classic warm-up.
WARMUP_ROUNDS = 2
#: No test says anything useful before: with two differences Student's t has one degree of freedom.
MIN_ROUNDS = 3
#: Error rate of one drop-out test. Dropping the best one cannot be repaired, and the test is made at every look.
ALPHA_DROP = 0.002
#: Error rate of one stop test. A stop that came too early is caught by the confirmation.
ALPHA_STOP = 0.005
#: The choice is promised within this many tolerances of the best: one is given away on purpose to the user's order,
#: the other is left to the noise.
PROMISE = 2.0
#: A candidate that reads this many times the leader's slowest time in every sample is out after two samples, warm-up
#: included. Outliers on GPUs are seen up to 3x; spilled or serialised kernels are often 5x to 100x slower, and
#: on those most of a race's time would be spent.
FAR_BEHIND = 4.0
#: Fresh rounds before a choice is final.
CONFIRM_ROUNDS = 5
#: Up to this many rounds the race looks after each one, later when an eighth more has come in: looking costs host time
#: and every look is another chance of a wrong answer.
DENSE_LOOKS = 16
#: Once the leader could be chosen, the first of the ties has until this many times the rounds spent so far to qualify.
#: More makes the choice among equals repeat more often and the slowest races longer: of 60 races of eight equal
#: candidates with 2 % jitter the first in order won 35 at 1.0, 45 at 1.5, 55 at 2.0 and 59 without a bound, and the
#: longest race on the stream of a 512x512 matmul recorded on an H200 took 38, 51, 60 and 93 ms.
PATIENCE = 1.5


class _Phase(enum.Enum):
    WARMUP = enum.auto()
    RACE = enum.auto()
    CONFIRM = enum.auto()
    DONE = enum.auto()


class Fixed(StopRule):
    """The same launches whatever they take: ``warmup_rounds`` and ``rounds`` interleaved rounds over all candidates.

    Order and counts depend on the arguments only, so that every rank of a distributed program does the same. Nobody
    drops out, not even a candidate that failed, because its launches may be collective.
    """

    def __init__(
        self, candidates: int, *, rounds: int = 30, warmup_rounds: int = 5, tolerance: float = 0.01, seed: int = 0
    ) -> None:
        if rounds < 1:
            raise ValueError(f"rounds is {rounds}; a fixed plan needs at least 1")
        self._field = Field(candidates, seed)
        self._warmup_rounds = max(0, warmup_rounds)
        self._total = self._warmup_rounds + rounds
        self._tolerance = tolerance

    def next_round(self) -> Sequence[int]:
        return self._field.draw(self._field.runners) if self._field.rounds < self._total else ()

    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        self._field.add(index, kernel_ms, whole_ms, self._field.rounds <= self._warmup_rounds)

    def verdict(self) -> Decision:
        return self._field.decide(self._field.runners, self._tolerance, Stop.COUNT)


class Race(StopRule):
    """Interleaved rounds with drop-outs; see the module's text.

    ``warmup_ms`` plus ``repeat_ms`` bound the whole-iteration time of each candidate as in the classic plan, with
    ``MIN_ROUNDS`` measured rounds in any case; ``max_samples`` bounds the rounds. ``tick_ms``: the timer's step where
    it is known, 0.0 for a perfect timer; otherwise it is read off the samples. A ``tolerance`` of 0.0 knows no ties and
    spends the whole budget on candidates that are equally fast.
    """

    def __init__(
        self,
        candidates: int,
        *,
        tolerance: float = 0.01,
        warmup_ms: float = 25.0,
        repeat_ms: float = 100.0,
        max_samples: int = 10_000,
        seed: int = 0,
        tick_ms: float | None = None,
    ) -> None:
        if not 0.0 <= tolerance < 1.0:
            raise ValueError(f"tolerance is {tolerance}; allowed are 0.0 up to, not including, 1.0")
        self._field = Field(candidates, seed, tick_ms)
        self._tolerance = tolerance
        self._warmup_ms = warmup_ms
        self._budget_ms = warmup_ms + repeat_ms
        self._max_rounds = max(MIN_ROUNDS, max_samples)
        self._phase = _Phase.WARMUP
        self._warmup_rounds = 0
        self._next_look = MIN_ROUNDS
        self._confirm_until = 0
        self._waiting_since = 0
        self._stop = Stop.NONE_LEFT
        self._choice: Runner | None = None

    # --- StopRule -----------------------------------------------------------------------------------------------------

    def next_round(self) -> Sequence[int]:
        self._advance()
        return () if self._phase is _Phase.DONE else self._field.draw(self._field.live)

    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        self._field.add(index, kernel_ms, whole_ms, self._phase is _Phase.WARMUP)

    def verdict(self) -> Decision:
        return self._field.decide(self._field.live, self._tolerance, self._stop, self._choice)

    # --- between two rounds -------------------------------------------------------------------------------------------

    @property
    def _measured(self) -> int:
        return self._field.rounds - self._warmup_rounds

    def _advance(self) -> None:
        """Digest the round that has just been added."""
        if self._phase is _Phase.DONE:
            return
        if not self._field.live:
            self._finish(Stop.NONE_LEFT)
            return
        if self._phase is _Phase.WARMUP:
            self._end_warmup()
            return
        if self._phase is _Phase.RACE:
            self._drop_far_behind()
        if self._measured >= (self._confirm_until if self._phase is _Phase.CONFIRM else self._next_look):
            self._look()
        if self._measured >= MIN_ROUNDS:
            self._mind_the_budget()

    def _end_warmup(self) -> None:
        rounds = self._field.rounds
        whole_ms = math.fsum(runner.whole_ms for runner in self._field.runners)
        if rounds >= WARMUP_ROUNDS or (rounds and whole_ms >= self._warmup_ms):
            self._warmup_rounds = rounds
            self._phase = _Phase.RACE

    def _drop_far_behind(self) -> None:
        """Needs no statistics: every sample, warm-up included, is several times the leader's slowest."""
        leader = self._field.leader(self._field.live)
        if leader is None or self._measured > MIN_ROUNDS:
            return
        limit = FAR_BEHIND * max(*leader.warmup, *leader.times, 0.0)
        for runner in self._field.live:
            times = [*runner.warmup, *runner.times]
            if len(times) >= 2 and min(times) > limit:
                reason = f"at least {min(times) / limit * FAR_BEHIND:.1f} times as slow as candidate {leader.index}"
                runner.leave(Exit.FAR_BEHIND, self._field.rounds, reason)

    def _look(self) -> None:
        """Drop who is behind, and see whether the choice may be made."""
        measured = self._measured
        self._next_look = measured + (1 if measured < DENSE_LOOKS else max(1, measured // 8))
        confirmed = self._phase is _Phase.CONFIRM
        self._phase = _Phase.RACE
        self._choice = None
        standing = self._field.standing(self._field.live, self._tolerance)
        if standing is None:  # nothing usable yet; a candidate that stays so leaves by itself
            return
        for runner in self._field.live:
            versus = standing.versus.get(runner.index)
            if versus and versus.count >= MIN_ROUNDS and versus.lower(ALPHA_DROP) > math.log1p(self._tolerance):
                slower = math.expm1(versus.lower(ALPHA_DROP))
                reason = f"over {slower:.1%} slower than candidate {standing.leader.index} in {versus.count} rounds"
                runner.leave(Exit.BEHIND, self._field.rounds, reason)
        choice = self._choose(standing)
        if choice is None:
            return
        self._choice = choice  # also what wins if the budget does not last through the confirmation
        if confirmed or len(self._field.runners) == 1:
            self._finish(self._why(standing))
            return
        if len(self._field.live) == 1:
            self._call_runner_up(choice)
        self._phase = _Phase.CONFIRM
        self._confirm_until = measured + CONFIRM_ROUNDS

    def _choose(self, standing: Standing) -> Runner | None:
        """The first of the ties if it qualifies; the leader if it does and the first was waited for; else None."""
        first = standing.tied[0]
        if self._promised(first):
            return first
        if first is standing.leader or not self._promised(standing.leader):
            return None
        self._waiting_since = self._waiting_since or self._measured
        return standing.leader if self._measured >= PATIENCE * self._waiting_since else None

    def _promised(self, choice: Runner) -> bool:
        """Whether ``choice`` is surely within the promise of every live candidate."""
        promise = PROMISE * math.log1p(self._tolerance)
        for runner in self._field.live:
            if runner is choice:
                continue
            versus = self._field.compare(choice, runner)
            if versus is None or versus.count < MIN_ROUNDS or versus.upper(ALPHA_STOP) > promise:
                return False
        return True

    def _call_runner_up(self, choice: Runner) -> None:
        """A separated leader is measured again beside the nearest of those it left behind."""
        nearest: tuple[float, Runner] | None = None
        for runner in self._field.runners:
            if runner.exit is Exit.BEHIND:
                versus = self._field.compare(runner, choice)
                if versus and (nearest is None or versus.mean < nearest[0]):
                    nearest = versus.mean, runner
        if nearest:
            nearest[1].return_to_race()

    def _mind_the_budget(self) -> None:
        """Nobody starts a round that it cannot pay; the race ends when that concerns one that may still win."""
        if self._phase is _Phase.DONE:
            return
        poor = []
        for runner in self._field.live:
            if runner.whole_ms + runner.whole_ms / runner.launches > self._budget_ms:
                poor.append(runner)
        if not poor and self._measured < self._max_rounds:
            return
        standing = self._field.standing(self._field.live, self._tolerance)
        if standing is None or self._measured >= self._max_rounds or any(runner in standing.tied for runner in poor):
            self._finish(Stop.BUDGET)
            return
        for runner in poor:
            reason = f"no time left after {runner.whole_ms:.1f} ms, and not among the fastest"
            runner.leave(Exit.BUDGET, self._field.rounds, reason)

    def _why(self, standing: Standing) -> Stop:
        if len(self._field.runners) == 1:
            return Stop.ALONE
        if len(standing.tied) > 1:
            return Stop.TIED
        return Stop.SEPARATED if len(self._field.live) == 1 else Stop.CLOSE

    def _finish(self, stop: Stop) -> None:
        self._phase = _Phase.DONE
        self._stop = stop
