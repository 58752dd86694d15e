"""From candidates to outcomes: what is remembered, what cannot be launched, what compiles, what is measured.

Every candidate ends as timed, failed or given up. Only what is not known yet is compiled and measured:

1. a time on disk counts as measured, whenever it was taken under the same protocol;
2. a grid that the device does not launch is a failure without compiling;
3. what is known not to compile is not compiled again, as long as another candidate is left;
4. candidates that are the same launch (see ``same_binary``) are measured once, and all get the time;
5. who proposes the candidates hears of each failure while the others compile: what he proposes instead is compiled with
   them, and what he gives up in the light of it is not compiled.

A measuring plan compares candidates with each other, so it gets all that are left at once, and their results are
remembered when it is through. Where that plan can be taken up by another process, its rounds are kept meanwhile, and
its candidates take part again even if some have their results already: only all of them together make a choice. Where
candidates are measured one by one, each is remembered as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from triton_ascend_tune import same_binary, trials
from triton_ascend_tune.compile import Compiled, Revise
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.memory import Memory
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.values import Candidate, Choice, Outcome, Stage, Status


@dataclass(frozen=True)
class Steps:
    """What a contest does to candidates.

    ``grid``: of one candidate, None if unknown; ``refused``: why a grid is not launched, or ""; ``compile``: all given,
    in order, and what is asked as soon as one is known; ``measure``: all given, in order, with the plan's checkpoints
    or None; ``one_by_one``: whether measuring each alone is the same; ``resumable``: whether what was measured of all
    can be taken up.
    """

    grid: Callable[[Candidate], tuple[int, ...] | None]
    refused: Callable[[tuple[int, ...] | None], str]
    compile: Callable[[Sequence[Candidate], Revise | None], Sequence[Compiled]]
    measure: Callable[[Sequence[Candidate], Checkpoints | None], trials.Measured]
    one_by_one: bool
    resumable: bool


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
    candidates = list(candidates)
    with stages.of("propose"):
        # At once, and not in a later round: a race that is taken up must find the candidates that it had.
        failures = [memory.failed_before(candidate) for candidate in candidates] if scout is not None else []
        spoken_for = {place for place, failure in enumerate(failures) if failure is not None}
        candidates += _instead(filter(None, failures), scout, candidates)
    with stages.of("store"):
        times = memory.times(candidates)
        unfinished = memory.unfinished(candidates, times) if steps.resumable else None
        racing = {place for group in unfinished.racers for place in group} if unfinished is not None else set()
        known = {place: outcome for place, outcome in times.items() if place not in racing}
    from_store = len(known)
    with stages.of("prune"):
        grids = {place: steps.grid(candidate) for place, candidate in enumerate(candidates) if place not in known}
        for place, grid in grids.items():
            if reason := steps.refused(grid):
                known[place] = Outcome(candidates[place], Status.FAILED, Stage.LAUNCH, reason)
            elif place not in racing | spoken_for and (given_up := _given_up(candidates[place], scout)) is not None:
                known[place] = given_up
    with stages.of("store"):
        known.update(_known_failures(candidates, known, racing, memory))

    left = [place for place in range(len(candidates)) if place not in known]

    def revise(done: Compiled, waiting: Sequence[Candidate]) -> Sequence[Candidate]:
        nonlocal from_store
        if done.error is None:
            return waiting
        with stages.of("propose"):
            fresh = _instead([trials.failed(done)], scout, candidates)
            given_up = {id(each): outcome for each in waiting if (outcome := _given_up(each, scout)) is not None}
        promising: list[Candidate] = []
        for candidate in fresh:
            place = len(candidates)
            candidates.append(candidate)
            grids[place] = steps.grid(candidate)
            if (outcome := memory.times([candidate]).get(0)) is not None:
                known[place] = outcome
                from_store += 1
            elif reason := steps.refused(grids[place]):
                known[place] = Outcome(candidate, Status.FAILED, Stage.LAUNCH, reason)
            else:
                left.append(place)
                promising.append(candidate)
        known.update({place: given_up[id(candidates[place])] for place in left if id(candidates[place]) in given_up})
        return promising + [each for each in waiting if id(each) not in given_up]

    with stages.of("compile"):
        chosen = [candidates[place] for place in left]
        done = steps.compile(chosen, revise if scout is not None else None) if left else ()
        of_candidate = {id(each.candidate): each for each in done}
    left = [place for place in left if place not in known]
    compiled = {place: of_candidate[id(candidates[place])] for place in left}
    for place, each in compiled.items():
        if each.error is not None:
            known[place] = trials.failed(each)
            memory.remember(known[place])
    ready = [place for place in left if place not in known]
    groups = same_binary.groups([compiled[place] for place in ready], [grids[place] for place in ready])
    twins = {ready[group[0]]: [ready[other] for other in group[1:]] for group in groups}
    measured, choice = _measured(twins, candidates, memory, steps, stages, unfinished)
    known.update(measured)
    if from_store:
        choice = None  # of some only
    return Settled([known[place] for place in range(len(candidates))], choice, not left)


def _measured(
    twins: dict[int, list[int]],
    candidates: Sequence[Candidate],
    memory: Memory,
    steps: Steps,
    stages: Stages,
    unfinished: Any,
) -> tuple[dict[int, Outcome], Choice | None]:
    """The outcomes of candidates by place, all remembered, and the choice if all were compared with each other.

    ``twins``: the places to measure, and those that are the same launch. ``unfinished``: the race that is taken up.
    """
    known: dict[int, Outcome] = {}
    choice = None
    # Measured one by one only if somebody profits from it: a measuring plan may prepare its device but once.
    batches = [[place] for place in twins] if steps.one_by_one and memory.keeps_times else [list(twins)]
    for number, batch in enumerate(filter(None, batches), 1):
        with stages.of("store"):
            racers = tuple((place, *twins[place]) for place in batch)
            checkpoints = memory.checkpoints(candidates, racers, unfinished) if steps.resumable else None
        with stages.of("measure", f"{number}/{len(batches)}" if len(batches) > 1 else ""):
            measured = steps.measure([candidates[place] for place in batch], checkpoints)
        choice = measured.choice
        with stages.of("store"):
            for place, outcome in zip(batch, measured.outcomes):
                for same in (place, *twins[place]):
                    known[same] = outcome if same == place else replace(outcome, candidate=candidates[same])
                    memory.remember(known[same])
    return known, choice if len(batches) == 1 else None


def _instead(failures: Iterable[Outcome], scout: Scout | None, candidates: Sequence[Candidate]) -> list[Candidate]:
    """What the scout proposes in the place of ``failures``, numbered on from ``candidates``."""
    configs = [config for failure in failures for config in scout.instead(failure)] if scout is not None else []
    first = 1 + max((candidate.index for candidate in candidates), default=-1)
    return [Candidate(first + place, config, config.all_kwargs()) for place, config in enumerate(configs)]


def _given_up(candidate: Candidate, scout: Scout | None) -> Outcome | None:
    reason = scout.hopeless(candidate.config) if scout is not None else ""
    return Outcome(candidate, Status.PRUNED, Stage.PRUNE, f"by {reason}", timings=None) if reason else None


def _known_failures(
    candidates: Sequence[Candidate], known: dict[int, Outcome], racing: set[int], memory: Memory
) -> dict[int, Outcome]:
    """The failures to compile that are remembered, but for those of a race that is taken up.

    None if no candidate would be left: then they are tried again.
    """
    found = {}
    for place, candidate in enumerate(candidates):
        if place not in known and place not in racing and (outcome := memory.failed_before(candidate)) is not None:
            found[place] = outcome
    some_timed = any(outcome.status is Status.TIMED for outcome in known.values())
    return found if some_timed or len(known) + len(found) < len(candidates) else {}
