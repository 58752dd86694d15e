"""The choice: P50 decides, ties go to the first, failures never win; all failed is one error with the whole list."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tuning_fakes import blocks

from triton_ascend_tune.choose import choose, time_of, usable
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.values import Candidate, Choice, Conditions, Outcome, Protocol, Samples, Stage, Status

PROTOCOL = Protocol()
CONFIGS = blocks(1, 2, 3, 4)


def candidate(index: int) -> Candidate:
    return Candidate(index, CONFIGS[index], CONFIGS[index].all_kwargs())


def timed(index: int, *times: float) -> Outcome:
    samples = Samples(times)
    return Outcome(candidate(index), Status.TIMED, samples=samples, timings=samples.triple)


def by_user(index: int, timings: Any) -> Outcome:
    return Outcome(candidate(index), Status.TIMED, timings=timings)


def failed(index: int, reason: str = "too big", error: BaseException | None = None) -> Outcome:
    return Outcome(candidate(index), Status.FAILED, Stage.COMPILE, reason, error=error)


def winner(*contest: Outcome) -> int:
    return choose(contest, PROTOCOL, "add").winner.candidate.index


def test_the_lowest_median_wins_whatever_the_rest_of_the_samples() -> None:
    assert winner(timed(0, 1.0, 5.0, 5.0), timed(1, 4.0, 4.0, 9.0)) == 1


def test_ties_go_to_the_first_in_the_order_of_the_contest() -> None:
    assert winner(timed(0, 2.0), timed(1, 2.0)) == 0
    assert winner(timed(1, 2.0), timed(0, 2.0)) == 1  # the order that a perf_model made


def test_a_failure_never_wins_and_the_report_keeps_the_users_order() -> None:
    verdict = choose([failed(2), timed(1, 2.0), timed(0, 3.0)], PROTOCOL, "add", pruned=[failed(3)])
    assert verdict.winner.candidate.index == 1
    assert [outcome.candidate.index for outcome in verdict.outcomes] == [0, 1, 2, 3]


def test_the_plans_choice_holds_though_another_median_is_lower() -> None:
    contest = [timed(0, 1.005), timed(1, 1.0), failed(2)]
    choice = Choice(contest[0], (contest[0], contest[1]), -0.004, "tied", 8, 1.0, Conditions())
    verdict = choose(contest, PROTOCOL, "add", choice=choice)
    assert verdict.winner is contest[0]
    assert (verdict.margin, verdict.choice) == (-0.004, choice)


def test_margin_is_the_distance_to_the_runner_up() -> None:
    assert choose([timed(0, 2.0), timed(1, 3.0), timed(2, 9.0)], PROTOCOL, "add").margin == pytest.approx(0.5)
    assert choose([timed(0, 2.0), failed(1)], PROTOCOL, "add").margin is None


def test_what_a_users_timer_returns_is_compared_item_by_item() -> None:
    assert winner(by_user(0, [2.0, 1.9, 2.1]), by_user(1, [2.0, 1.8, 2.2])) == 1
    assert winner(by_user(0, 2.0), by_user(1, [1.0, 1.0, 1.0])) == 1
    assert winner(by_user(0, -1.0), by_user(1, 0.0)) == 0


@pytest.mark.parametrize(
    ("timings", "expected"),
    [
        (1.0, True),
        (0.0, True),
        ([1.0, math.nan], True),
        (math.inf, False),
        (math.nan, False),
        ([math.inf] * 3, False),
        (None, False),
    ],
)
def test_only_finite_heads_are_usable(timings: Any, expected: bool) -> None:
    assert usable(timings) is expected


def test_deciding_time_of_every_form() -> None:
    assert time_of(timed(0, 1.0, 2.0, 4.0)) == 2.0
    assert time_of(by_user(0, [3.0, 1.0])) == 3.0
    assert time_of(by_user(0, 5)) == 5.0
    assert time_of(failed(0)) is None


def test_all_failed_lists_every_candidate_and_chains_the_first_error() -> None:
    cause = RuntimeError("ub overflow")
    with pytest.raises(NoCandidateError) as caught:
        choose([failed(0, "first"), failed(1, "second", cause)], PROTOCOL, "add", pruned=[failed(2, "third")])
    message = str(caught.value)
    assert message.startswith("No config of kernel add can be used: 3 failed, 0 pruned.")
    assert [line.rpartition(": ")[2] for line in message.splitlines()[1:]] == ["first", "second", "third"]
    assert caught.value.__cause__ is cause
    assert isinstance(caught.value, RuntimeError)
    assert len(caught.value.outcomes) == 3
