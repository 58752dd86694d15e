"""A contest in several rounds: what the first candidates did decides which come next, and the best meet them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from triton_ascend_tune import choose, contest
from triton_ascend_tune.memory import Memory
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.values import Candidate, Outcome, Status

#: The best so far that are measured again beside the new ones, so that both are compared under the same conditions.
FINALISTS = 3


class Asked(contest.Scout, Protocol):
    """What the rounds ask of a ``proposal.Proposal``."""

    def more(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Further configs, now that ``outcomes`` of all those before are known."""

    def origin(self, config: Any) -> str:
        """Why a config is tried."""


def go_on(
    settled: contest.Settled,
    proposal: Asked,
    memory: Memory,
    steps: contest.Steps,
    stages: Stages,
) -> contest.Settled:
    """``settled`` with the outcomes of what ``proposal`` has more of, until it has nothing.

    A finalist's outcome is the one of its last round. The choice is the last round's, in which the best of all took
    part.
    """
    outcomes, choice, all_known = list(settled.outcomes), settled.choice, settled.all_known
    _note_rescues(outcomes, outcomes, proposal)
    while True:
        with stages.of("propose"):
            configs = proposal.more(outcomes)
        if not configs:
            return contest.Settled(outcomes, choice, all_known)
        first = 1 + max((outcome.candidate.index for outcome in outcomes), default=-1)
        fresh = [Candidate(first + place, config, config.all_kwargs()) for place, config in enumerate(configs)]
        finalists = _best(outcomes)
        racers = [outcomes[place].candidate for place in finalists] + fresh
        round_ = contest.settle(racers, memory, steps, stages, proposal)
        for place, outcome in zip(finalists, round_.outcomes):
            # A finalist that fails now has a time from before; it is no reason to lose it.
            if outcome.status is Status.TIMED:
                outcomes[place] = outcome
        new = round_.outcomes[len(finalists) :]
        outcomes += new
        _note_rescues(outcomes, new, proposal)
        choice, all_known = round_.choice, all_known and round_.all_known


def _best(outcomes: Sequence[Outcome]) -> list[int]:
    timed = [
        (time, place)
        for place, outcome in enumerate(outcomes)
        if outcome.status is Status.TIMED and (time := choose.time_of(outcome)) is not None
    ]
    return [place for _, place in sorted(timed)[:FINALISTS]]


def _note_rescues(outcomes: list[Outcome], new: Sequence[Outcome], proposal: Asked) -> None:
    """Failures that got a second chance say under which name."""
    for candidate in [outcome.candidate for outcome in new]:
        origin = proposal.origin(candidate.config)
        if not origin.startswith("rescue of "):
            continue
        for place, outcome in enumerate(outcomes):
            values = dict(outcome.candidate.config.kwargs)
            if outcome.status is Status.FAILED and origin == f"rescue of {values}":
                tried = ", ".join(f"{name}={value!r}" for name, value in candidate.config.kwargs.items())
                outcomes[place] = replace(outcome, reason=f"{outcome.reason}; tried again as {tried}")
