"""From candidates to outcomes: what is remembered, what cannot be launched, what compiles, what is measured.

Every candidate ends as timed or failed. Only what is not known yet is compiled and measured:

1. a time on disk counts as measured, whenever it was taken under the same protocol;
2. a grid that the device does not launch is a failure without compiling;
3. what is known not to compile is not compiled again, as long as another candidate is left;
4. candidates that are the same launch (see ``same_binary``) are measured once, and all get the time.

A measuring plan compares candidates with each other, so it gets all that are left at once, and their results are
remembered when it is through. Where that plan can be taken up by another process, its rounds are kept meanwhile, and
its candidates take part again even if some have their results already: only all of them together make a choice. Where
candidates are measured one by one, each is remembered as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triton_ascend_tune import same_binary, trials
from triton_ascend_tune.compile import Compiled
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.memory import Memory
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.values import Candidate, Choice, Outcome, Stage, Status


@dataclass(frozen=True)
class Steps:
    """What a contest does to candidates.

    ``grid``: of one candidate, None if unknown; ``refused``: why a grid is not launched, or ""; ``compile``: all given,
    in order; ``measure``: all given, in order, with the plan's checkpoints or None; ``one_by_one``: whether measuring
    each alone is the same; ``resumable``: whether what was measured of all can be taken up.
    """

    grid: Callable[[Candidate], tuple[int, ...] | None]
    refused: Callable[[tuple[int, ...] | None], str]
    compile: Callable[[Sequence[Candidate]], Sequence[Compiled]]
    measure: Callable[[Sequence[Candidate], Checkpoints | None], trials.Measured]
    one_by_one: bool
    resumable: bool


@dataclass(frozen=True)
class Settled:
    """One outcome for each candidate, in order.

    ``choice``: the measuring plan's, if it has compared all that were timed; otherwise None. ``all_known``: nothing was
    compiled or measured.
    """

    outcomes: list[Outcome]
    choice: Choice | None
    all_known: bool


def settle(candidates: Sequence[Candidate], memory: Memory, steps: Steps, stages: Stages) -> Settled:
    """The outcomes of ``candidates``. Raises what the steps raise; what was known by then is remembered."""
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
    with stages.of("store"):
        known.update(_known_failures(candidates, known, racing, memory))

    left = [place for place in range(len(candidates)) if place not in known]
    with stages.of("compile"):
        compiled = dict(zip(left, steps.compile([candidates[place] for place in left]) if left else ()))
    for place, each in compiled.items():
        if each.error is not None:
            known[place] = trials.failed(each)
            memory.remember(known[place])
    ready = [place for place in left if place not in known]
    twins = {
        ready[group[0]]: [ready[other] for other in group[1:]]
        for group in same_binary.groups([compiled[place] for place in ready], [grids[place] for place in ready])
    }

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
    if from_store or len(batches) > 1:
        choice = None  # of some only
    return Settled([known[place] for place in range(len(candidates))], choice, not left)


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
