"""Which candidate wins: what the measuring plan chose; without a plan the lowest P50, or mean of profiler records, and
among equals the first in the order given.

A plan that compares in pairs within rounds may choose one whose P50 over all rounds is not the lowest: candidates
within the tolerance tie and the first of them wins, and a P50 may come from fewer rounds than another's. The P50s are
reported as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.labels import config_names
from triton_ascend_tune.values import Candidate, Choice, Outcome, Protocol, Status, Verdict


def choose(
    contest: Sequence[Outcome],
    protocol: Protocol,
    kernel: str,
    pruned: Sequence[Outcome] = (),
    choice: Choice | None = None,
) -> Verdict:
    """The verdict over ``contest``, in the order in which ties are decided; ``pruned`` only completes the report.

    ``choice``: what the plan chose among ``contest``; None without a plan, as with a user's timer.

    NoCandidateError, with every candidate's reason and the first error as its cause, if none was timed.
    """
    outcomes = tuple(sorted([*contest, *pruned], key=lambda outcome: outcome.candidate.index))
    timed = [outcome for outcome in contest if outcome.status is Status.TIMED]
    if not timed:
        raise _nothing_timed(outcomes, kernel)
    if choice is not None:
        return Verdict(choice.winner, outcomes, protocol, choice.margin, choice)
    winner = min(timed, key=_score)  # the first of equals
    return Verdict(winner, outcomes, protocol, _margin(winner, timed))


def preferred(verdict: Verdict, candidate: Candidate | None) -> Verdict:
    """``verdict`` with ``candidate`` as its winner, if that was timed: what a plan once chose by more than times."""
    for outcome in verdict.outcomes:
        if outcome.candidate is candidate and outcome.status is Status.TIMED:
            timed = [each for each in verdict.outcomes if each.status is Status.TIMED]
            return replace(verdict, winner=outcome, margin=_margin(outcome, timed))
    return verdict


def time_of(outcome: Outcome) -> float | None:
    """The deciding number in milliseconds: that of the samples, or the first of what a user's ``do_bench`` returned.

    None if it has none.
    """
    if outcome.samples is not None:
        return outcome.samples.score
    value = outcome.timings[0] if isinstance(outcome.timings, (list, tuple)) and outcome.timings else outcome.timings
    return float(value) if isinstance(value, (int, float)) else None


def usable(timings: Any) -> bool:
    """Whether what a user's ``do_bench`` returned can be chosen: not None, and no infinity or NaN at its head."""
    head = timings[0] if isinstance(timings, (list, tuple)) and timings else timings
    return head is not None and not (isinstance(head, float) and not math.isfinite(head))


def _score(outcome: Outcome) -> Any:
    if outcome.samples is not None:
        return (outcome.samples.score,)
    # What a user's do_bench returns is compared as stock Triton compares it, item by item; a scalar is its own head.
    return tuple(outcome.timings) if isinstance(outcome.timings, (list, tuple)) else (outcome.timings,)


def _margin(winner: Outcome, timed: Sequence[Outcome]) -> float | None:
    best = time_of(winner)
    others = [time for outcome in timed if outcome is not winner and (time := time_of(outcome)) is not None]
    if not others or not best or best < 0:
        return None
    return min(others) / best - 1.0


def _nothing_timed(outcomes: Sequence[Outcome], kernel: str) -> NoCandidateError:
    failed = [outcome for outcome in outcomes if outcome.status is Status.FAILED]
    lines = [f"No config of kernel {kernel} can be used: {len(failed)} failed, {len(outcomes) - len(failed)} pruned."]
    for name, outcome in zip(config_names(outcomes), outcomes):
        where = f"{outcome.status.value} in {outcome.stage.value}" if outcome.stage else outcome.status.value
        lines.append(f"  {name}: {where}: {outcome.reason}")
    error = NoCandidateError("\n".join(lines), outcomes)
    error.__cause__ = next((outcome.error for outcome in failed if outcome.error is not None), None)
    return error
