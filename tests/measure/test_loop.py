"""The loop that plans run in: failures in the middle of a round, readings that are none, and what comes out."""

from __future__ import annotations

import gc
import logging
import math
import weakref
from collections.abc import Callable, Sequence

import pytest
from fake import Clock, FakeDevice

from triton_ascend_tune.measure.event import measure
from triton_ascend_tune.measure.loop import PlanLoop
from triton_ascend_tune.measure.stop_rule import Decision, Stop, StopRule
from triton_ascend_tune.measure.trial import Failure, Trial
from triton_ascend_tune.values import Protocol, Samples, Stage


class RefusedError(Exception):
    pass


class Script(StopRule):
    """Asks for the given rounds and writes down what it is told."""

    def __init__(self, *rounds: Sequence[int]) -> None:
        self._rounds = list(rounds)
        self.told: list[tuple[int, float]] = []

    def next_round(self) -> Sequence[int]:
        return self._rounds.pop(0) if self._rounds else ()

    def add(self, index: int, kernel_ms: float, whole_ms: float) -> None:
        self.told.append((index, round(kernel_ms, 6)))

    def verdict(self) -> Decision:
        return Decision(None, (), None, Stop.COUNT, 0, 0.0, ())


@pytest.fixture
def clock() -> Clock:
    return Clock()


def looped(clock: Clock, trials: Sequence[Trial], plan: StopRule, gate: bool = True) -> tuple[PlanLoop, FakeDevice]:
    device = FakeDevice(clock, gate=gate)
    with device.timer(Protocol()) as timer:
        loop = PlanLoop(timer, trials, (RefusedError,))
        loop.run(plan)
    return loop, device


def failing(clock: Clock, at: int, error: BaseException, ms: float = 1.0) -> Callable[[], None]:
    """A launch that takes ``ms`` and raises ``error`` from the ``at``-th call on."""
    calls = [0]

    def launch() -> None:
        calls[0] += 1
        if calls[0] >= at:
            raise error
        clock.now_ms += ms

    return launch


def test_each_round_is_taken_as_asked_and_told_in_that_order(clock: Clock) -> None:
    plan = Script([1, 0, 1], [0])
    loop, device = looped(clock, [Trial(clock.work(1.0)), Trial(clock.work(2.0))], plan)
    assert plan.told == [(1, 2.0), (0, 1.0), (1, 2.0), (0, 1.0)]
    assert device.timers[0].orders == [[0], [1], [1, 0, 1], [0]]
    assert loop.gated


def test_an_ungated_round_is_noticed(clock: Clock) -> None:
    assert not looped(clock, [Trial(clock.work(1.0))], Script([0]), gate=False)[0].gated


def test_a_refused_launch_fails_its_trial_and_the_others_go_on(clock: Clock) -> None:
    error = RefusedError("\n  grid too large\nmore")
    plan = Script([0, 1, 2], [2, 1, 0])
    trials = [Trial(clock.work(2.0)), Trial(failing(clock, 1, error)), Trial(clock.work(1.0))]
    loop, device = looped(clock, trials, plan)
    assert loop.failures == {1: Failure(Stage.LAUNCH, "RefusedError: grid too large", error)}
    assert plan.told == [(0, 2.0), (2, 1.0), (1, math.inf), (2, 1.0), (0, 2.0), (1, math.inf)]
    assert device.timers[0].orders[3:] == [[0, 2], [2, 0]]  # never launched again


def test_a_launch_that_fails_within_a_round_costs_that_round_only(clock: Clock) -> None:
    """FR-32."""
    plan = Script([0, 1], [1, 0])
    trials = [Trial(clock.work(2.0)), Trial(failing(clock, 3, RefusedError("late")))]
    loop, device = looped(clock, trials, plan)
    assert loop.failures[1].stage is Stage.LAUNCH
    assert plan.told == [(0, 2.0), (1, 1.0), (0, 2.0), (1, math.inf)]
    assert device.timers[0].orders[2:] == [[0, 1], [1, 0], [0]]


def test_a_fault_that_only_the_wait_reports_is_traced_to_its_trial(clock: Clock) -> None:
    """FR-29."""
    broken = [False]

    def launch() -> None:
        clock.now_ms += 1.0
        if broken[0]:
            clock.synchronize_error = RefusedError("aicore exception")

    def breaks_later() -> None:
        broken[0] = True
        clock.now_ms += 1.0

    plan = Script([0, 1], [1, 0])
    trials = [Trial(breaks_later), Trial(launch)]
    loop, _ = looped(clock, trials, plan)
    assert list(loop.failures) == [1]
    assert loop.failures[1].stage is Stage.MEASURE
    assert loop.failures[1].reason == "RefusedError: aicore exception"
    assert plan.told[-2:] == [(0, 1.0), (1, math.inf)]


def test_a_fault_in_a_round_that_no_trial_shows_alone_is_raised(clock: Clock) -> None:
    launches = [0]

    def launch() -> None:
        launches[0] += 1
        clock.now_ms += 1.0
        if launches[0] == 3:
            clock.synchronize_error = RefusedError("lost")

    device = FakeDevice(clock)
    with pytest.raises(RefusedError, match="lost"), device.timer(Protocol()) as timer:
        PlanLoop(timer, [Trial(launch), Trial(clock.work(1.0))], (RefusedError,)).run(Script([0, 0, 1]))


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_hook_that_raises_is_never_the_trials_failure(clock: Clock, place: str, at: int) -> None:
    error = RefusedError("bug in a hook")
    hook = failing(clock, at, error)
    device = FakeDevice(clock)
    with pytest.raises(RefusedError) as caught:
        measure([Trial(clock.work(1.0), **{place: hook})], Protocol(), device, tolerated=(RefusedError,))
    assert caught.value is error
    assert device.open == 0


@pytest.mark.parametrize("error", [ValueError("not about the trial"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [1, 3])
def test_other_exceptions_come_out(clock: Clock, error: BaseException, at: int) -> None:
    device = FakeDevice(clock)
    with pytest.raises(type(error)):
        measure([Trial(failing(clock, at, error))], Protocol(), device, tolerated=(RefusedError,))
    assert device.open == 0


def test_all_failed(clock: Clock) -> None:
    trials = [Trial(failing(clock, 1, RefusedError("x"))), Trial(failing(clock, 1, RefusedError("y")))]
    for plan in ("race", "classic", "fixed"):
        measurement = measure(trials, Protocol(plan=plan), FakeDevice(clock), (RefusedError,))
        assert measurement.decision.winner is None
        assert [r.reason for r in measurement.results if isinstance(r, Failure)] == [
            "RefusedError: x",
            "RefusedError: y",
        ]


def test_readings_that_are_none_are_left_out_in_their_place(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    plan = Script([0] * 4)
    launch = clock.work(9.0, 1.0, 0.0, -1.0, 2.0)  # the first run is not counted
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        looped(clock, [Trial(launch, name="BLOCK: 8")], plan)
    times = [time for _, time in plan.told]
    assert (times[0], times[3]) == (1.0, 2.0)
    assert math.isnan(times[1]) and math.isnan(times[2])
    assert "BLOCK: 8: 2 times between events were zero, negative or not finite" in caplog.text


def test_some_unusable_readings_do_not_fail_a_classic_trial(clock: Clock) -> None:
    launch = clock.work(*[0.1] * 9, 0.0)  # every tenth reading is zero
    [samples] = measure([Trial(launch)], Protocol(plan="classic"), FakeDevice(clock, flush_ms=0.9)).results
    assert isinstance(samples, Samples)
    assert len(samples.times_ms) == 90
    assert samples.times_ms == pytest.approx([0.1] * 90)


def test_a_kept_error_keeps_nothing_of_the_launch_alive(clock: Clock) -> None:
    class Argument:
        pass

    arguments = []

    def refuse() -> None:
        argument = Argument()
        arguments.append(weakref.ref(argument))
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise RefusedError("outer") from inner

    device = FakeDevice(clock)
    [failure] = measure([Trial(refuse)], Protocol(), device, tolerated=(RefusedError,)).results
    timer = weakref.ref(device.timers.pop())
    gc.collect()
    assert isinstance(failure, Failure)
    assert failure.error is not None
    assert arguments[0]() is None
    assert timer() is None


def test_the_traceback_of_a_failure_is_in_the_debug_log(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise RefusedError

    with caplog.at_level(logging.DEBUG, "triton_ascend_tune"):
        measure([Trial(refuse, name="BLOCK: 8")], Protocol(), FakeDevice(clock), tolerated=(RefusedError,))
    assert "BLOCK: 8 failed (launch)" in caplog.text
    assert "in refuse" in caplog.text
