"""What an interleaved plan has seen so far, and how the candidates compare on it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from triton_ascend_tune.measure import statistics
from triton_ascend_tune.measure.stop_rule import MAX_UNUSABLE, Decision, Exit, Lane, Stop, check_count, usable


@dataclass
class Runner:
    """The growing record of one candidate. ``logs``: the logarithm of its usable time in each round that counts."""

    index: int
    logs: dict[int, float] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    warmup: list[float] = field(default_factory=list)
    launches: int = 0
    whole_ms: float = 0.0
    unusable: int = 0
    exit: Exit | None = None
    exit_round: int | None = None
    reason: str = ""

    def leave(self, why: Exit, rounds: int, reason: str) -> None:
        self.exit, self.exit_round, self.reason = why, rounds, reason

    def return_to_race(self) -> None:
        self.exit, self.exit_round, self.reason = None, None, ""

    @property
    def typical(self) -> float:
        """Geometric mean of its times: only good for a scale."""
        return math.exp(math.fsum(self.logs.values()) / len(self.logs))

    @property
    def ranked(self) -> bool:
        """Whether its times may be compared at all."""
        return bool(self.logs) and self.exit not in (Exit.FAILED, Exit.UNUSABLE)


@dataclass(frozen=True)
class Standing:
    """One look at the field. ``versus``: the others against the leader; ``tied``: it and its ties, in order."""

    leader: Runner
    versus: Mapping[int, statistics.Comparison | None]
    tied: Sequence[Runner]


class Field:
    """All runners of an interleaved plan and how they compare."""

    def __init__(self, candidates: int, seed: int, tick_ms: float | None = None) -> None:
        self.runners = [Runner(index) for index in range(check_count(candidates))]
        self.rounds = 0  # warm-up included
        self._tick = statistics.TimerTick()
        self._known_tick_ms = tick_ms
        self._seed = seed

    @property
    def live(self) -> list[Runner]:
        return [runner for runner in self.runners if runner.exit is None]

    def draw(self, runners: Iterable[Runner]) -> tuple[int, ...]:
        """The order of the next round: depends on the seed, the round and who runs, and on nothing else."""
        order = [runner.index for runner in runners]
        self.rounds += 1
        random.Random(f"{self._seed}/{self.rounds}").shuffle(order)
        return tuple(order)

    def add(self, index: int, kernel_ms: float, whole_ms: float, warmup: bool) -> None:
        runner = self.runners[index]
        runner.launches += 1
        runner.whole_ms += whole_ms
        if usable(kernel_ms):
            runner.unusable = 0
            if warmup:
                runner.warmup.append(kernel_ms)
            else:
                runner.logs[self.rounds] = math.log(kernel_ms)
                runner.times.append(kernel_ms)
                self._tick.add(kernel_ms)
        elif kernel_ms == math.inf:
            runner.leave(Exit.FAILED, self.rounds, "failed while it was measured")
        else:
            runner.unusable += 1
            if runner.unusable >= MAX_UNUSABLE:
                reason = f"{MAX_UNUSABLE} unusable readings, last {kernel_ms} ms"
                runner.leave(Exit.UNUSABLE, self.rounds, reason)

    def leader(self, runners: Sequence[Runner]) -> Runner | None:
        """The fastest by trimmed mean of the distance to the round's median; the first in order where equal."""
        ranked = [runner for runner in runners if runner.ranked]
        if not ranked:
            return None
        centre: dict[int, float] = {}
        for at in {at for runner in ranked for at in runner.logs}:
            centre[at] = median([runner.logs[at] for runner in ranked if at in runner.logs])
        places = {
            runner.index: statistics.trimmed_mean([log - centre[at] for at, log in runner.logs.items()])
            for runner in ranked
        }
        return min(ranked, key=lambda runner: (places[runner.index], runner.index))

    def compare(self, a: Runner, b: Runner) -> statistics.Comparison | None:
        """How much slower ``a`` is than ``b`` in the rounds that both ran in."""
        other = b.logs
        differences = [log - other[at] for at, log in a.logs.items() if at in other]
        if not differences:
            return None
        tick = self._tick.step if self._known_tick_ms is None else self._known_tick_ms
        return statistics.compare(differences, statistics.rounding_floor(tick, a.typical, b.typical) if tick else 0.0)

    def standing(self, runners: Sequence[Runner], tolerance: float) -> Standing | None:
        """How ``runners`` stand now; None while none of them has a time that counts."""
        leader = self.leader(runners)
        if leader is None:
            return None
        versus = {runner.index: self.compare(runner, leader) for runner in runners if runner is not leader}
        limit = math.log1p(tolerance)
        tied = []
        for runner in runners:
            against = versus.get(runner.index)
            if runner is leader or (runner.ranked and against and against.mean <= limit):
                tied.append(runner)
        return Standing(leader, versus, tied)

    def decide(self, runners: Sequence[Runner], tolerance: float, stop: Stop, choice: Runner | None = None) -> Decision:
        """The verdict on the samples so far. ``choice``, or else the first of the ties among ``runners``, wins."""
        standing = self.standing(runners, tolerance)
        tied = standing.tied if standing else []
        winner = choice or (tied[0] if tied else None)
        lanes = tuple(self._lane(runner, winner) for runner in self.runners)
        others = [lane.ratio for lane in lanes if lane.ratio is not None and self.runners[lane.index] is not winner]
        return Decision(
            winner=winner.index if winner else None,
            ties=tuple(runner.index for runner in tied),
            margin=min(others) - 1.0 if others else None,
            stop=stop if winner else Stop.NONE_LEFT,
            rounds=self.rounds,
            whole_ms=math.fsum(runner.whole_ms for runner in self.runners),
            lanes=lanes,
        )

    def _lane(self, runner: Runner, winner: Runner | None) -> Lane:
        ratio = 1.0 if runner is winner else None
        if winner and runner is not winner and runner.ranked:
            versus = self.compare(runner, winner)
            ratio = math.exp(versus.mean) if versus else None
        return Lane(
            index=runner.index,
            times_ms=tuple(runner.times) if runner.ranked else (),
            launches=runner.launches,
            whole_ms=runner.whole_ms,
            ratio=ratio,
            exit=runner.exit,
            exit_round=runner.exit_round,
            reason=runner.reason,
        )
