"""Measuring by events on a clock that is a number: the plans that a protocol names, and what they hand over."""

from __future__ import annotations

import pytest
from fake import Clock, FakeDevice

from triton_ascend_tune.measure.event import make_plan, measure
from triton_ascend_tune.measure.racing import Fixed, Race
from triton_ascend_tune.measure.stop_rule import Classic, Stop
from triton_ascend_tune.measure.trial import Failure, Trial
from triton_ascend_tune.values import Protocol, Samples, Stage

CLASSIC = Protocol(plan="classic")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(("name", "cls"), [("race", Race), ("classic", Classic), ("fixed", Fixed)])
def test_the_plan_is_the_one_that_the_protocol_names(name: str, cls: type) -> None:
    assert type(make_plan(Protocol(plan=name), 2)) is cls


def test_the_race_is_the_default_and_its_decision_is_handed_over(clock: Clock) -> None:
    device = FakeDevice(clock)
    measurement = measure([Trial(clock.work(ms)) for ms in (0.02, 0.01, 0.03)], Protocol(), device)
    assert measurement.decision.winner == 1
    assert measurement.decision.stop is Stop.SEPARATED
    assert measurement.conditions.gate == "fake"
    assert measurement.conditions.event_overhead_ms == 0.001
    assert [round(r.p50, 6) for r in measurement.results if isinstance(r, Samples)] == [0.02, 0.01, 0.03]
    assert device.open == 0


def test_the_race_interleaves_and_drops_who_is_behind(clock: Clock) -> None:
    device = FakeDevice(clock)
    measure([Trial(clock.work(ms)) for ms in (0.01, 0.02, 0.03)], Protocol(), device)
    alone, rounds = device.timers[0].orders[:3], device.timers[0].orders[3:]
    assert alone == [[0], [1], [2]]
    assert device.timers[0].ungated == [0, 1, 2]  # a first launch may wait for the device
    assert sorted(rounds[0]) == [0, 1, 2]
    assert 0 in rounds[-1]
    assert len(rounds[-1]) == 2  # the confirmation: the leader and a runner-up


def test_ties_go_to_the_first(clock: Clock) -> None:
    measurement = measure([Trial(clock.work(ms)) for ms in (0.01004, 0.01, 0.02)], Protocol(), FakeDevice(clock))
    assert measurement.decision.winner == 0
    assert measurement.decision.ties == (0, 1)
    assert measurement.decision.margin == pytest.approx(-0.004, abs=1e-4)


@pytest.mark.parametrize(("tolerance", "winner"), [(0.001, 1), (0.01, 0)])
def test_the_tolerance_is_the_protocols(clock: Clock, tolerance: float, winner: int) -> None:
    trials = [Trial(clock.work(ms)) for ms in (0.01004, 0.01)]
    assert measure(trials, Protocol(tolerance=tolerance), FakeDevice(clock)).decision.winner == winner


def test_the_seed_orders_the_rounds(clock: Clock) -> None:
    def orders(seed: int) -> list[list[int]]:
        device = FakeDevice(clock)
        measure([Trial(clock.work(0.01)) for _ in range(6)], Protocol(seed=seed), device)
        return device.timers[0].orders[6:8]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_a_fixed_plan_counts(clock: Clock) -> None:
    """FR-61."""
    device = FakeDevice(clock)
    fast, slow = clock.work(0.01), clock.work(5.0)
    measurement = measure([Trial(slow), Trial(fast)], Protocol(plan="fixed", rounds=4, warmup_rounds=2), device)
    assert fast.calls == slow.calls == 1 + 2 + 4
    assert measurement.decision.winner == 1
    assert [len(r.times_ms) for r in measurement.results if isinstance(r, Samples)] == [4, 4]


def test_the_classic_loop_is_sized_by_whole_iterations_and_reports_kernel_times(clock: Clock) -> None:
    """FR-38."""
    device = FakeDevice(clock, flush_ms=0.5)
    launch, before, after = clock.work(0.25), clock.work(1.0), clock.work(0.25)
    measurement = measure([Trial(launch, before, after)], CLASSIC, device)
    # 2 ms per iteration: 12 of warm-up, 50 samples; one first run and five for the estimate before them.
    assert device.timers[0].sizes == [1, 5, 12, 50]
    assert launch.calls == before.calls == after.calls == 68
    [samples] = measurement.results
    assert isinstance(samples, Samples)
    assert samples.times_ms == pytest.approx([0.25] * 50)


def test_a_large_flush_does_not_starve_a_short_kernel(clock: Clock) -> None:
    """FR-38."""
    [samples] = measure([Trial(clock.work(0.005))], CLASSIC, FakeDevice(clock, flush_ms=50.0)).results
    assert isinstance(samples, Samples)
    assert len(samples.times_ms) == CLASSIC.min_samples


def test_samples_keep_their_order_and_quantiles_follow(clock: Clock) -> None:
    protocol = Protocol(plan="classic", min_samples=5, repeat_ms=0.0, warmup_ms=0.0)
    # One first run, five of the estimate and one of warm-up precede the five samples.
    launch = clock.work(*[1.0] * 7, 3.0, 1.0, 5.0, 2.0, 4.0)
    [samples] = measure([Trial(launch)], protocol, FakeDevice(clock)).results
    assert isinstance(samples, Samples)
    assert samples.times_ms == pytest.approx([3.0, 1.0, 5.0, 2.0, 4.0])
    assert samples.triple == pytest.approx([3.0, 1.8, 4.2])


def test_one_timer_and_one_flush_buffer_for_all_trials(clock: Clock) -> None:
    device = FakeDevice(clock)
    measure([Trial(clock.work(float(ms))) for ms in (3, 1, 2)], CLASSIC, device)
    assert device.protocols == [CLASSIC]
    assert device.open == 0


def test_ungated_is_said(clock: Clock) -> None:
    conditions = measure([Trial(clock.work(1.0))], Protocol(gate=False), FakeDevice(clock)).conditions
    assert (conditions.gate, conditions.ungated_because) == ("", "there is none")


@pytest.mark.parametrize("plan", ["race", "classic", "fixed"])
@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_times_that_are_never_usable_fail_the_trial_alone(clock: Clock, bad: float, plan: str) -> None:
    """FR-37."""
    launch = clock.work(bad)
    measurement = measure([Trial(launch), Trial(clock.work(1.0))], Protocol(plan=plan), FakeDevice(clock))
    failure, samples = measurement.results
    assert isinstance(failure, Failure)
    assert failure.stage is Stage.MEASURE
    assert "unusable readings" in failure.reason
    assert isinstance(samples, Samples)
    assert measurement.decision.winner == 1


def test_what_is_no_protocol_of_events_is_refused(clock: Clock) -> None:
    with pytest.raises(ValueError, match=r"protocol\.method is 'profiler'.*'event'"):
        measure([Trial(clock.work(1.0))], Protocol(method="profiler"), FakeDevice(clock))
    with pytest.raises(ValueError, match=r"protocol\.plan is 'guess'; allowed: 'race', 'classic', 'fixed'"):
        measure([Trial(clock.work(1.0))], Protocol(plan="guess"), FakeDevice(clock))


def test_no_trials_touch_no_device(clock: Clock) -> None:
    device = FakeDevice(clock)
    with pytest.raises(ValueError, match="candidates is 0"):
        measure([], Protocol(), device)
    assert device.timers == []
