"""From candidates to outcomes: what is remembered, what cannot be launched, what compiles, what is measured.

Every candidate ends as timed, failed or given up. Only what is not known yet is compiled and measured:

1. a time on disk counts as measured, whenever it was taken under the same protocol;
2. a grid that the device does not launch is a failure without compiling;
3. what is known not to compile is not compiled again, as long as another candidate is left;
4. candidates that are the same launch (see ``same_binary``) are compiled once, if that is known before, and measured
   once; what becomes of the first becomes of all;
5. who proposes the candidates hears of each failure while the others compile: what he proposes instead is compiled with
   them, and what he gives up in the light of it is not compiled.

A measuring plan compares candidates with each other, so it gets all that are left at once, and their results are
remembered when it is through. Where that plan can be taken up by another process, its rounds are kept meanwhile, and
its candidates take part again even if some have their results already: only all of them together make a choice. Where
candidates are measured one by one, each is remembered as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from triton_ascend_tune import same_binary, trials
from triton_ascend_tune.compile import Compiled, Revise
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.memory import Memory
from triton_ascend_tune.records import Race
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.values import Candidate, Choice, Outcome, Stage, Status


@dataclass(frozen=True)
class Steps:
    """What a contest does to candidates.

    ``grid``: of one candidate, None if unknown; ``refused``: why a grid is not launched, or ""; ``compile``: all given,
    in order, and what is asked as soon as one is known; ``measure``: all given, in order, with the plan's checkpoints
    or None; ``one_by_one``: whether measuring each alone is the same; ``resumable``: whether what was measured of all
    can be taken up; ``compilation``: what a candidate has in common with those that compile to the same as it, or None.
    """

    grid: Callable[[Candidate], tuple[int, ...] | None]
    refused: Callable[[tuple[int, ...] | None], str]
    compile: Callable[[Sequence[Candidate], Revise | None], Sequence[Compiled]]
    measure: Callable[[Sequence[Candidate], Checkpoints | None], trials.Measured]
    one_by_one: bool
    resumable: bool
    compilation: Callable[[Candidate], Hashable | None] = lambda _: None


class Scout(Protocol):
    """Who proposes candidates, as far as he is heard while they compile."""

    def instead(self, failure: Outcome) -> list[Any]:
        """Configs to try in the place of a candidate that did not compile."""

    def hopeless(self, config: Any) -> str:
        """Why a config cannot work after the failures so far, or ""."""


@dataclass(frozen=True)
class Settled:
    """One outcome for each candidate, in order, then for those that were proposed meanwhile.

    ``choice``: the measuring plan's, if it has compared all that were timed; otherwise None. ``all_known``: nothing was
    compiled or measured.
    """

    outcomes: list[Outcome]
    choice: Choice | None
    all_known: bool


def settle(
    candidates: Sequence[Candidate], memory: Memory, steps: Steps, stages: Stages, scout: Scout | None = None
) -> Settled:
    """The outcomes of ``candidates``. Raises what the steps raise; what was known by then is remembered."""
    contest = _Contest(candidates, memory, steps, stages, scout)
    contest.recall()
    contest.look_at_grids()
    contest.recall_failures()
    left = contest.unknown()
    twins = contest.compile(left)
    choice = contest.measure(twins)
    outcomes = [contest.known[place] for place in range(len(contest.candidates))]
    return Settled(outcomes, choice, all_known=not left)


class _Contest:
    """One contest under way. Candidates are told by their places in ``candidates``, which only grows.

    ``known``: what has become of each so far. ``grids``: those of the others. ``racing``: who takes part in the race
    ``unfinished`` that is taken up. ``replaced``: who is known to fail and got substitutes. ``from_store``: how many
    times were not measured here.
    """

    def __init__(
        self, candidates: Sequence[Candidate], memory: Memory, steps: Steps, stages: Stages, scout: Scout | None
    ) -> None:
        self.candidates = list(candidates)
        self.known: dict[int, Outcome] = {}
        self.grids: dict[int, tuple[int, ...] | None] = {}
        self.racing: set[int] = set()
        self.unfinished: Race | None = None
        self.replaced: set[int] = set()
        self.from_store = 0
        self._memory, self._steps, self._stages, self._scout = memory, steps, stages, scout

    def unknown(self) -> list[int]:
        return [place for place in range(len(self.candidates)) if place not in self.known]

    def recall(self) -> None:
        """Takes up what earlier tunings know: substitutes for what fails, times, and a race that is not over."""
        if self._scout is not None:
            with self._stages.of("propose"):
                # At once, and not in a later round: a race that is taken up must find the candidates that it had.
                failures = [self._memory.failed_before(candidate) for candidate in self.candidates]
                self.replaced = {place for place, failure in enumerate(failures) if failure is not None}
                self.candidates += self._instead(filter(None, failures))
        with self._stages.of("store"):
            times = self._memory.times(self.candidates)
            if self._steps.resumable:
                self.unfinished = self._memory.unfinished(self.candidates, times)
            if self.unfinished is not None:
                self.racing = {place for group in self.unfinished.racers for place in group}
            self.known = {place: outcome for place, outcome in times.items() if place not in self.racing}
            self.from_store = len(self.known)

    def look_at_grids(self) -> None:
        """Sets aside what the device does not launch, and what the scout gives up."""
        with self._stages.of("prune"):
            for place in self.unknown():
                refused = self._refused(place)
                if refused is None and place not in self.racing | self.replaced:
                    refused = self._given_up(self.candidates[place])
                if refused is not None:
                    self.known[place] = refused

    def recall_failures(self) -> None:
        """Sets aside what is known not to compile, but for those of a race that is taken up.

        Not if no candidate would be left: then they are tried again.
        """
        with self._stages.of("store"):
            found = {}
            for place in self.unknown():
                if place not in self.racing and (before := self._memory.failed_before(self.candidates[place])):
                    found[place] = before
            some_timed = any(outcome.status is Status.TIMED for outcome in self.known.values())
            if some_timed or len(self.known) + len(found) < len(self.candidates):
                self.known.update(found)

    def compile(self, left: Sequence[int]) -> dict[int, list[int]]:
        """Compiles the candidates ``left`` and what is proposed meanwhile.

        Returns the places of those to measure, each with the places of those that are the same launch.
        """
        with self._stages.of("compile"):
            alike = self._alike(left)
            chosen = [self.candidates[places[0]] for places in alike]
            done = self._steps.compile(chosen, self._revise if self._scout is not None else None) if left else ()
        of_candidate = {id(each.candidate): each for each in done}
        for first, *others in alike:
            for same in (self.candidates[place] for place in others):
                of_candidate[id(same)] = replace(of_candidate[id(self.candidates[first])], candidate=same)
        compiled = {place: of_candidate[id(self.candidates[place])] for place in self.unknown()}
        for place, each in compiled.items():
            if each.error is not None:
                self.known[place] = trials.failed(each)
                self._memory.remember(self.known[place])
        ready = self.unknown()
        groups = same_binary.groups([compiled[place] for place in ready], [self.grids[place] for place in ready])
        return {ready[group[0]]: [ready[other] for other in group[1:]] for group in groups}

    def _alike(self, left: Sequence[int]) -> list[list[int]]:
        """The places ``left``, those together that compile to the same and are launched over the same grid.

        Each alone where a scout is heard, who may take any of them back.
        """
        if self._scout is not None:
            return [[place] for place in left]
        same = [self._steps.compilation(self.candidates[place]) for place in left]
        groups = same_binary.together(same, [self.grids[place] for place in left])
        return [[left[other] for other in group] for group in groups]

    def measure(self, twins: dict[int, list[int]]) -> Choice | None:
        """Measures and remembers what ``compile`` has left; the choice, if all were compared with each other."""
        choice = None
        # Measured one by one only if somebody profits from it: a measuring plan may prepare its device but once.
        alone = self._steps.one_by_one and self._memory.keeps_times
        batches = [[place] for place in twins] if alone else [list(twins)]
        for number, batch in enumerate(filter(None, batches), 1):
            with self._stages.of("store"):
                racers = tuple((place, *twins[place]) for place in batch)
                checkpoints = None
                if self._steps.resumable:
                    checkpoints = self._memory.checkpoints(self.candidates, racers, self.unfinished)
            with self._stages.of("measure", f"{number}/{len(batches)}" if len(batches) > 1 else ""):
                measured = self._steps.measure([self.candidates[place] for place in batch], checkpoints)
            choice = measured.choice
            with self._stages.of("store"):
                for place, outcome in zip(batch, measured.outcomes):
                    for same in (place, *twins[place]):
                        # The choice refers to the outcomes themselves.
                        twin = outcome if same == place else replace(outcome, candidate=self.candidates[same])
                        self.known[same] = twin
                        self._memory.remember(self.known[same])
        return choice if len(batches) == 1 and not self.from_store else None

    def _revise(self, done: Compiled, waiting: Sequence[Candidate]) -> Sequence[Candidate]:
        """Whom to compile next, now that ``done`` is known; the scout is heard if it failed."""
        if done.error is None:
            return waiting
        with self._stages.of("propose"):
            fresh = self._instead([trials.failed(done)])
            given_up = {id(each): outcome for each in waiting if (outcome := self._given_up(each)) is not None}
        for place in self.unknown():
            if id(self.candidates[place]) in given_up:
                self.known[place] = given_up[id(self.candidates[place])]
        promising = [candidate for candidate in fresh if self._joins(candidate)]
        return promising + [each for each in waiting if id(each) not in given_up]

    def _joins(self, candidate: Candidate) -> bool:
        """Whether a candidate that comes in now is to be compiled."""
        place = len(self.candidates)
        self.candidates.append(candidate)
        refused = self._refused(place)
        if (stored := self._memory.times([candidate]).get(0)) is not None:
            self.known[place] = stored
            self.from_store += 1
        elif refused is not None:
            self.known[place] = refused
        return place not in self.known

    def _refused(self, place: int) -> Outcome | None:
        """The failure of a candidate whose grid is not launched; notes the grid."""
        self.grids[place] = self._steps.grid(self.candidates[place])
        reason = self._steps.refused(self.grids[place])
        return Outcome(self.candidates[place], Status.FAILED, Stage.LAUNCH, reason) if reason else None

    def _instead(self, failures: Iterable[Outcome]) -> list[Candidate]:
        """What the scout proposes in the place of ``failures``, numbered on from all candidates."""
        assert self._scout is not None
        configs = [config for failure in failures for config in self._scout.instead(failure)]
        first = 1 + max((candidate.index for candidate in self.candidates), default=-1)
        return [Candidate(first + place, config, config.all_kwargs()) for place, config in enumerate(configs)]

    def _given_up(self, candidate: Candidate) -> Outcome | None:
        reason = self._scout.hopeless(candidate.config) if self._scout is not None else ""
        return Outcome(candidate, Status.PRUNED, Stage.PRUNE, f"by {reason}", timings=None) if reason else None
