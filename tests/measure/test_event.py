"""The classic plan on a clock that is a number: how often, how long, and what happens to times that are none."""

from __future__ import annotations

import gc
import logging
import weakref

import pytest
from fake import Clock, FakeDevice

from triton_ascend_tune.measure.event import Counts, measure, size_loop
from triton_ascend_tune.measure.trial import Failure, Trial
from triton_ascend_tune.values import FLUSH_BYTES, Protocol, Samples, Stage

PROTOCOL = Protocol()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    ("iteration_ms", "warmup", "samples"),
    [
        (1.0, 25, 100),
        (0.3, 83, 333),  # rounded down: the budget is a bound
        (40.0, 1, 10),  # 100 ms would be 2 samples; the floor holds
        (200.0, 1, 10),
        (0.001, 10_000, 10_000),  # the cap, also for the warm-up
    ],
)
def test_counts_fill_the_budget_within_bounds(iteration_ms: float, warmup: int, samples: int) -> None:
    assert size_loop(iteration_ms, PROTOCOL) == Counts(warmup, samples)


def test_the_loop_is_sized_by_whole_iterations_and_reports_kernel_times(clock: Clock) -> None:
    device = FakeDevice(clock, flush_ms=0.5)
    launch, before, after = clock.work(0.25), clock.work(1.0), clock.work(0.25)
    (samples,) = measure([Trial(launch, before, after)], PROTOCOL, device)
    # 2 ms per iteration: 12 of warm-up, 50 samples; one first run and five for the estimate before them.
    assert device.timers[0].sizes == [1, 5, 12, 50]
    assert launch.calls == before.calls == after.calls == 68
    assert isinstance(samples, Samples)
    assert samples.times_ms == pytest.approx([0.25] * 50)


def test_a_large_flush_does_not_starve_a_short_kernel(clock: Clock) -> None:
    (samples,) = measure([Trial(clock.work(0.005))], PROTOCOL, FakeDevice(clock, flush_ms=50.0))
    assert isinstance(samples, Samples)
    assert len(samples.times_ms) == PROTOCOL.min_samples


def test_one_slow_run_does_not_spoil_the_estimate(clock: Clock) -> None:
    device = FakeDevice(clock, flush_ms=0.5)
    slow_once = clock.work(*[0.5, 400.0, *[0.5] * 1000])
    measure([Trial(slow_once)], PROTOCOL, device)
    assert device.timers[0].sizes == [1, 5, 25, 100]


def test_samples_keep_their_order_and_quantiles_follow(clock: Clock) -> None:
    protocol = Protocol(min_samples=5, repeat_ms=0.0, warmup_ms=0.0)
    # One first run, five of the estimate and one of warm-up precede the five samples.
    launch = clock.work(*[1.0] * 7, 3.0, 1.0, 5.0, 2.0, 4.0)
    (samples,) = measure([Trial(launch)], protocol, FakeDevice(clock))
    assert isinstance(samples, Samples)
    assert samples.times_ms == pytest.approx([3.0, 1.0, 5.0, 2.0, 4.0])
    assert samples.triple == pytest.approx([3.0, 1.8, 4.2])


def test_one_timer_and_one_flush_buffer_for_all_trials(clock: Clock) -> None:
    device = FakeDevice(clock)
    results = measure([Trial(clock.work(float(ms))) for ms in (3, 1, 2)], PROTOCOL, device)
    assert [round(r.p50, 6) for r in results if isinstance(r, Samples)] == [3.0, 1.0, 2.0]
    assert device.flush_bytes == [FLUSH_BYTES]
    assert device.open == 0


def test_no_trials_touch_no_device(clock: Clock) -> None:
    device = FakeDevice(clock)
    assert measure([], PROTOCOL, device) == []
    assert device.timers == []


def test_some_rejected_times_are_taken_again(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice(clock, flush_ms=0.9)
    launch = clock.work(*[0.1] * 9, 0.0)  # every tenth reading is zero
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        (samples,) = measure([Trial(launch, name="BLOCK: 8")], PROTOCOL, device)
    assert isinstance(samples, Samples)
    assert samples.times_ms == pytest.approx([0.1] * 100)
    assert device.timers[0].sizes[-1] < 12  # only what was missing
    assert "BLOCK: 8: " in caplog.text
    assert "zero, negative or not finite" in caplog.text


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_times_that_are_never_usable_fail_the_trial_alone(clock: Clock, bad: float) -> None:
    launch = clock.work(bad)
    results = measure([Trial(launch), Trial(clock.work(1.0))], PROTOCOL, FakeDevice(clock))
    assert isinstance(results[0], Failure)
    assert results[0].stage is Stage.MEASURE
    assert results[0].reason == "20 of 20 times between events were zero, negative or not finite"
    assert launch.calls == 21  # five, and five again three times: bounded
    assert isinstance(results[1], Samples)


class RefusedError(Exception):
    pass


def test_a_refused_launch_fails_its_trial_and_the_others_go_on(clock: Clock) -> None:
    error = RefusedError("\n  grid too large\nmore")

    def refuse() -> None:
        raise error

    trials = [Trial(clock.work(2.0)), Trial(refuse), Trial(clock.work(1.0))]
    device = FakeDevice(clock)
    results = measure(trials, PROTOCOL, device, tolerated=(RefusedError,))
    assert results[1] == Failure(Stage.LAUNCH, "RefusedError: grid too large", error)
    assert isinstance(results[0], Samples)
    assert isinstance(results[2], Samples)
    assert device.open == 0


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
    (failure,) = measure([Trial(refuse)], PROTOCOL, device, tolerated=(RefusedError,))
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
        (failure,) = measure([Trial(refuse, name="BLOCK: 8")], PROTOCOL, FakeDevice(clock), tolerated=(RefusedError,))
    assert isinstance(failure, Failure)
    assert failure.reason == "RefusedError"
    assert "BLOCK: 8 failed (launch)" in caplog.text
    assert "in refuse" in caplog.text


def test_a_fault_that_the_wait_reports_belongs_to_the_trial(clock: Clock) -> None:
    clock.synchronize_error = RefusedError("aicore exception")
    results = measure([Trial(clock.work(1.0))], PROTOCOL, FakeDevice(clock), tolerated=(RefusedError,))
    assert isinstance(results[0], Failure)
    assert (results[0].stage, results[0].reason) == (Stage.MEASURE, "RefusedError: aicore exception")


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_hook_that_raises_is_never_the_trials_failure(clock: Clock, place: str) -> None:
    error = RefusedError("bug in a hook")

    def hook() -> None:
        raise error

    device = FakeDevice(clock)
    with pytest.raises(RefusedError) as caught:
        measure([Trial(clock.work(1.0), **{place: hook})], PROTOCOL, device, tolerated=(RefusedError,))
    assert caught.value is error
    assert device.open == 0


@pytest.mark.parametrize("error", [ValueError("not about the trial"), KeyboardInterrupt()])
def test_other_exceptions_come_out(clock: Clock, error: BaseException) -> None:
    def launch() -> None:
        raise error

    device = FakeDevice(clock)
    with pytest.raises(type(error)):
        measure([Trial(launch)], PROTOCOL, device, tolerated=(RefusedError,))
    assert device.open == 0


def test_protocols_of_other_methods_are_refused(clock: Clock) -> None:
    with pytest.raises(ValueError, match=r"protocol\.method is 'profiler'.*'event'"):
        measure([Trial(clock.work(1.0))], Protocol(method="profiler"), FakeDevice(clock))
    with pytest.raises(ValueError, match=r"protocol\.plan is 'race'.*'classic'"):
        measure([Trial(clock.work(1.0))], Protocol(plan="race"), FakeDevice(clock))
