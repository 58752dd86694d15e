"""From candidates to outcomes: what is timed, what runs around it, and which exceptions end a tuning."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tuning_fakes import World, blocks, measurement

from triton_ascend_tune.compile import Compiled
from triton_ascend_tune.hooks import Hooks
from triton_ascend_tune.measure.stop_rule import Decision, Stop
from triton_ascend_tune.measure.trial import Failure, Measurement
from triton_ascend_tune.trials import TOLERATED, Entry, failed, measure_candidates, timings_of
from triton_ascend_tune.values import Candidate, Conditions, Outcome, Protocol, Samples, Stage, Status

PROTOCOL = Protocol()
NO_HOOKS = Hooks(None, None, (), (), ())


def entry(run: Any = lambda: None, hooks: Hooks = NO_HOOKS, pre_hook: Any = None, index: int = 0) -> Entry:
    config = blocks(16, pre_hook=pre_hook)[0]
    return Entry(Candidate(index, config, config.all_kwargs()), run, {"x": 1}, hooks)


def engine(entries: Any) -> list[Outcome]:
    world = World()
    world.time = lambda: 2.0  # type: ignore[method-assign]
    return measure_candidates(entries, PROTOCOL, None, world.measure).outcomes


def raising(error: BaseException) -> Any:
    def run() -> None:
        raise error

    return run


def test_samples_become_a_timed_outcome() -> None:
    outcome = engine([entry()])[0]
    assert (outcome.status, outcome.timings) == (Status.TIMED, [2.0, 2.0, 2.0])


def test_without_hooks_the_engine_gets_nothing_to_call_around_a_launch() -> None:
    seen: list[Any] = []

    def measurer(trials: Any, *_: Any) -> Any:
        seen.extend((trial.before, trial.after) for trial in trials)
        return measurement([Samples((1.0,))] * len(trials))

    measure_candidates([entry(), entry(pre_hook=lambda _: None)], PROTOCOL, None, measurer)
    assert seen[0] == (None, None)
    assert seen[1][0] is not None and seen[1][1] is not None


def test_a_refused_launch_is_that_candidates_failure_with_the_original_error() -> None:
    error = RuntimeError("grid should be less than 65536!")
    outcomes = engine([entry(raising(error)), entry()])
    assert (outcomes[0].status, outcomes[0].stage) == (Status.FAILED, Stage.LAUNCH)
    assert outcomes[0].reason == "RuntimeError: grid should be less than 65536!"
    assert outcomes[0].error is error
    assert outcomes[1].status is Status.TIMED


def test_any_error_class_of_a_launch_gets_through_the_engine_to_its_candidate() -> None:
    assert engine([entry(raising(ZeroDivisionError("grid")))])[0].reason == "ZeroDivisionError: grid"


def test_the_plans_choice_is_handed_on_by_outcome() -> None:
    decision = Decision(1, (1, 2), -0.004, Stop.TIED, 9, 12.5, ())
    conditions = Conditions("notify", "", 1024, 0.002)
    results = (Samples((3.0,)), Samples((2.0,)), Samples((1.992,)))
    measured = measure_candidates(
        [entry(index=i) for i in range(3)], PROTOCOL, None, lambda *_: Measurement(results, decision, conditions)
    )
    outcomes, choice = measured.outcomes, measured.choice
    assert choice is not None
    assert choice.winner is outcomes[1]
    assert [tied is outcome for tied, outcome in zip(choice.ties, outcomes[1:])] == [True, True]
    assert (choice.margin, choice.stop, choice.rounds, choice.whole_ms) == (-0.004, "tied", 9, 12.5)
    assert choice.conditions == conditions


def test_nothing_timed_is_no_choice() -> None:
    result = Failure(Stage.MEASURE, "no time", None)
    assert measure_candidates([entry()], PROTOCOL, None, lambda *_: measurement([result])).choice is None
    assert measure_candidates([], PROTOCOL, None, lambda *_: pytest.fail("nothing to measure")).outcomes == []


def test_an_engines_own_failure_keeps_its_words() -> None:
    result = Failure(Stage.MEASURE, "5 of 6 times between events were zero", None)
    outcome = measure_candidates([entry()], PROTOCOL, None, lambda *_: measurement([result])).outcomes[0]
    assert (outcome.stage, outcome.reason) == (Stage.MEASURE, "5 of 6 times between events were zero")


@pytest.mark.parametrize("error", [TypeError("bad argument"), KeyboardInterrupt()])
def test_what_is_not_about_the_candidate_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        engine([entry(raising(error)), entry()])
    with pytest.raises(type(error)):
        measure_candidates([entry(raising(error))], PROTOCOL, None, engine, do_bench=lambda call, quantiles: call())


@pytest.mark.parametrize("where", ["config", "before", "after", "reporting"])
@pytest.mark.parametrize("by_user", [False, True])
def test_what_a_hook_raises_is_raised_whatever_its_class(where: str, by_user: bool) -> None:
    def bug(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"bug in {where}")

    quiet = lambda *_, **__: None  # noqa: E731
    hooks = Hooks(bug if where == "before" else quiet, bug if where in ("after", "reporting") else quiet, (), (), ())
    run = raising(RuntimeError("launch")) if where == "reporting" else lambda: None
    made = entry(run, hooks, pre_hook=bug if where == "config" else None)
    bench = (lambda call, quantiles: call()) if by_user else None
    with pytest.raises(RuntimeError, match=f"bug in {where}"):
        measure_candidates([made], PROTOCOL, None, World().measure, bench)


@pytest.mark.parametrize("error", [ValueError("bug"), AssertionError("bug"), OSError("bug"), IndexError("bug")])
def test_what_a_users_timer_raises_itself_is_raised(error: Exception) -> None:
    def bench(call: Any, quantiles: Any) -> Any:
        call()
        raise error

    with pytest.raises(type(error), match="bug"):
        measure_candidates([entry()], PROTOCOL, None, engine, bench)


def test_what_a_users_timer_makes_of_a_refused_launch_is_the_candidates_failure() -> None:
    def bench(call: Any, quantiles: Any) -> Any:
        try:
            call()
        except ZeroDivisionError as error:
            raise ValueError("no time") from error

    (outcome,) = measure_candidates([entry(raising(ZeroDivisionError()))], PROTOCOL, None, engine, bench).outcomes
    assert (outcome.status, outcome.reason) == (Status.FAILED, "ValueError: no time")


def test_order_of_hooks_around_a_launch() -> None:
    log: list[Any] = []
    hooks = Hooks(lambda a: log.append("pre"), lambda a, exception: log.append(("post", exception)), (), (), ())
    made = entry(lambda: log.append("kernel"), hooks, pre_hook=lambda a: log.append("config"))
    made()
    assert log == ["config", "pre", "kernel", ("post", None)]


def test_an_interrupt_between_the_hooks_still_restores() -> None:
    log: list[Any] = []
    hooks = Hooks(lambda a: None, lambda a, exception: log.append(type(exception)), (), (), ())

    def interrupted(trials: Any, *_: Any) -> Any:
        trials[0].before()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_candidates([entry(hooks=hooks)], PROTOCOL, None, interrupted)
    assert log == [KeyboardInterrupt]


def test_a_users_timer_is_called_once_for_each_candidate_with_stocks_quantiles() -> None:
    seen: list[Any] = []

    def bench(call: Any, quantiles: Any) -> float:
        seen.append(quantiles)
        call()
        return 1.5

    outcomes = measure_candidates([entry(), entry(raising(RuntimeError("x")))], PROTOCOL, None, engine, bench).outcomes
    assert seen == [(0.5, 0.2, 0.8)] * 2
    assert outcomes[0].timings == 1.5
    assert (outcomes[1].status, outcomes[1].stage) == (Status.FAILED, Stage.LAUNCH)
    assert outcomes[1].reason == "RuntimeError: x"


@pytest.mark.parametrize("returned", [math.inf, math.nan, [math.nan] * 3, None])
def test_a_users_timer_that_gives_no_time_is_a_failure(returned: Any) -> None:
    outcome = measure_candidates([entry()], PROTOCOL, None, engine, lambda call, quantiles: returned).outcomes[0]
    assert (outcome.status, outcome.stage) == (Status.FAILED, Stage.MEASURE)
    assert repr(returned) in outcome.reason


def test_configs_timings_has_infinities_for_failures_and_nothing_for_pruned() -> None:
    one, two, three, odd = blocks(1, 2, 3, 4)
    odd.kwargs["BLOCK"] = [4]  # hashed by contents from Triton 3.5 on, and then not hashable
    outcomes = [
        Outcome(Candidate(0, one, {}), Status.TIMED, timings=[1.0, 1.0, 1.0]),
        failed(Compiled(Candidate(1, two, {}), error=RuntimeError("no"))),
        Outcome(Candidate(2, three, {}), Status.PRUNED, Stage.PRUNE),
        Outcome(Candidate(3, odd, {}), Status.TIMED, timings=[2.0]),
    ]
    timings = timings_of(outcomes)
    assert timings[one] == [1.0, 1.0, 1.0]
    assert timings[two] == [math.inf] * 3
    assert three not in timings


def test_what_the_engine_may_hold_against_a_trial_does_not_include_plain_exceptions() -> None:
    assert Exception not in TOLERATED
