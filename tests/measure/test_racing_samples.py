"""Which samples the race and the fixed plan take, and which of them count: budget, report, broken readings."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from replay import SPREAD, FakeDevice, run

from triton_ascend_tune.measure.racing import CONFIRM_ROUNDS, MIN_ROUNDS, WARMUP_ROUNDS, Fixed, Race
from triton_ascend_tune.measure.stop_rule import Classic, Exit, Stop

# --- budget ----------------------------------------------------------------------------------------------------------


def test_the_budget_of_the_classic_plan_is_never_exceeded() -> None:
    """FR-62: noise that never settles: +-50 % at random, and a tolerance that this budget cannot resolve."""
    device = FakeDevice([0.01] * 4, flush_ms=0.1, slow_share=0.5, slow_factor=3.0)
    decision = run(Race(4, tolerance=0.002), device)
    assert decision.stop is Stop.BUDGET
    assert decision.winner is not None
    for lane in decision.lanes:
        assert 100.0 < lane.whole_ms <= 125.0


def test_the_number_of_samples_is_bounded_too() -> None:
    device = FakeDevice([0.01] * 3, slow_share=0.5, slow_factor=3.0)
    decision = run(Race(3, tolerance=0.002, max_samples=50), device)
    assert (decision.stop, decision.rounds) == (Stop.BUDGET, WARMUP_ROUNDS + 50)


def test_long_kernels_take_the_fewest_launches_that_can_be_compared() -> None:
    device = FakeDevice([60.0, 66.0, 50.0], jitter=0.01)
    decision = run(Race(3), device)
    assert (decision.winner, decision.stop) == (2, Stop.BUDGET)
    assert max(device.launches) == 1 + MIN_ROUNDS  # one round of warm-up is 176 ms
    assert decision.whole_ms < run(Classic(3), FakeDevice([60.0, 66.0, 50.0], jitter=0.01)).whole_ms / 4


def test_a_hopeless_candidate_is_not_run_for_long() -> None:
    device = FakeDevice([0.01, 30.0, 0.012], jitter=0.05)
    decision = run(Race(3), device)
    lane = decision.lanes[1]
    assert decision.winner == 0
    assert (lane.exit, lane.launches) == (Exit.FAR_BEHIND, 2)
    assert "times as slow as candidate 0" in lane.reason
    assert lane.ratio == pytest.approx(3000.0, rel=0.3)


def test_outliers_do_not_make_a_candidate_hopeless() -> None:
    for seed in range(50):
        device = FakeDevice([0.010, 0.015], seed=seed, outliers=0.4, outlier_factor=3.0)
        assert all(lane.exit is not Exit.FAR_BEHIND for lane in run(Race(2, seed=seed), device).lanes)


def test_a_slow_candidate_without_time_left_leaves_the_others_racing() -> None:
    """3x slower does not count as hopeless; with this noise it is not surely behind when its time is up."""
    device = FakeDevice([10.0, 30.0, 10.0], jitter=0.6, seed=3)
    decision = run(Race(3), device)
    assert decision.lanes[1].exit is Exit.BUDGET
    assert "no time left" in decision.lanes[1].reason
    assert decision.winner in (0, 2)
    assert decision.lanes[0].launches > decision.lanes[1].launches


# --- what is reported ------------------------------------------------------------------------------------------------


def test_the_report_accounts_for_every_launch() -> None:
    device = FakeDevice(SPREAD, seed=2, jitter=0.02)
    decision = run(Race(11, seed=2), device)
    assert [lane.index for lane in decision.lanes] == list(range(11))
    assert [lane.launches for lane in decision.lanes] == device.launches
    assert decision.whole_ms == pytest.approx(device.now_ms)
    for lane in decision.lanes:
        assert len(lane.times_ms) == lane.launches - WARMUP_ROUNDS
        assert lane.ratio == pytest.approx(SPREAD[lane.index] / min(SPREAD), rel=0.05)
        if lane.exit is not None:
            assert lane.exit is Exit.BEHIND
            assert lane.exit_round is not None
            assert lane.launches <= lane.exit_round <= decision.rounds
            assert f"candidate {decision.winner} " in lane.reason
    stayed = [lane for lane in decision.lanes if lane.launches == decision.rounds]
    assert len(stayed) >= 2  # the winner was measured again beside the nearest
    assert all(len(lane.times_ms) >= MIN_ROUNDS + CONFIRM_ROUNDS for lane in stayed)
    others = sorted(lane.ratio for lane in decision.lanes if lane.index != decision.winner and lane.ratio)
    assert decision.margin == pytest.approx(others[0] - 1.0)


def test_a_separated_leader_is_measured_again_beside_the_nearest() -> None:
    decision = run(Race(3), FakeDevice([0.03, 0.01, 0.02], jitter=0.01))
    assert (decision.winner, decision.stop) == (1, Stop.SEPARATED)
    far, best, near = (len(lane.times_ms) for lane in decision.lanes)
    assert best == near == far + CONFIRM_ROUNDS


# --- broken readings -------------------------------------------------------------------------------------------------


class Broken(FakeDevice):
    """``bad[index]`` is read instead of the time, from the launch ``since`` on, with probability ``share``."""

    bad: dict[int, float]
    since = 0
    share = 1.0

    def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
        samples = super().measure(order)
        rng = random.Random(len(order) + self.launches[0])
        return [
            (self.bad[i], whole) if i in self.bad and self.launches[i] > self.since and rng.random() < self.share
            else (kernel, whole)
            for i, (kernel, whole) in zip(order, samples)
        ]  # fmt: skip


@pytest.mark.parametrize("reading", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("since", [0, 4])
def test_unusable_readings_never_win(reading: float, since: int) -> None:
    """FR-37."""
    device = Broken([0.01, 0.02, 0.03], jitter=0.02)
    device.bad, device.since = {0: reading}, since
    decision = run(Race(3), device)
    lane = decision.lanes[0]
    assert decision.winner == 1
    assert (lane.exit, lane.launches, lane.times_ms, lane.ratio) == (Exit.UNUSABLE, since + 3, (), None)


def test_a_few_unusable_readings_cost_their_samples_only() -> None:
    device = Broken([0.02, 0.01], jitter=0.02)
    device.bad, device.share = {0: 0.0, 1: math.nan}, 0.2
    decision = run(Race(2), device)
    assert decision.winner == 1
    assert sum(lane.launches - WARMUP_ROUNDS for lane in decision.lanes) > sum(len(x.times_ms) for x in decision.lanes)


def test_readings_missing_while_the_device_was_fast_do_not_hide_the_best() -> None:
    """Candidate 1 is 10 % faster, but its readings from the first two rounds, before the device halves, are lost."""
    plan, round_ = Fixed(2, rounds=6, warmup_rounds=0), 0
    while order := plan.next_round():
        round_ += 1
        speed = 1.0 if round_ <= 3 else 2.0
        for index in order:
            plan.add(index, math.nan if index == 1 and round_ <= 2 else speed * (0.010, 0.009)[index], 0.1)
    decision = plan.verdict()
    assert (decision.winner, decision.ties) == (1, (1,))
    assert decision.margin == pytest.approx(1.0 / 0.9 - 1.0)


def test_a_failing_candidate_is_launched_no_more() -> None:
    device = Broken([0.01, 0.02, 0.03], jitter=0.02)
    device.bad, device.since = {0: math.inf}, 3
    decision = run(Race(3), device)
    assert (decision.winner, decision.lanes[0].exit, decision.lanes[0].launches) == (1, Exit.FAILED, 4)


@pytest.mark.parametrize("reading", [0.0, math.inf])
@pytest.mark.parametrize("plan", [Race(3), Fixed(3, rounds=4)], ids=["race", "fixed"])
def test_nothing_left(plan: Race | Fixed, reading: float) -> None:
    device = Broken([0.01] * 3)
    device.bad = dict.fromkeys(range(3), reading)
    plan = type(plan)(3)
    decision = run(plan, device)
    assert (decision.winner, decision.ties, decision.margin, decision.stop) == (None, (), None, Stop.NONE_LEFT)


def test_a_clock_that_costs_nothing_still_ends() -> None:
    class Free(FakeDevice):
        def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
            return [(kernel, 0.0) for kernel, _ in super().measure(order)]

    assert run(Race(2), Free([0.01, 0.02], jitter=0.02)).winner == 0


# --- fixed -----------------------------------------------------------------------------------------------------------


def test_fixed_launches_depend_on_nothing_that_is_measured() -> None:
    """FR-60, FR-61."""

    def orders(device: FakeDevice) -> list[tuple[int, ...]]:
        plan, seen = Fixed(4, rounds=6, warmup_rounds=2, seed=9), []
        while order := plan.next_round():
            seen.append(tuple(order))
            for index, sample in zip(order, device.measure(order)):
                plan.add(index, *sample)
        return seen

    broken = Broken([0.01, 0.02, 0.03, 0.04])
    broken.bad = {0: math.inf, 2: 0.0}
    expected = orders(FakeDevice([0.01, 0.02, 0.03, 0.04]))
    assert orders(broken) == expected == orders(FakeDevice([4.0, 0.1, 0.1, 0.1], jitter=0.1))
    assert [len(order) for order in expected] == [4] * 8


def test_fixed_chooses_like_the_race() -> None:
    decision = run(Fixed(11, rounds=30, warmup_rounds=3), FakeDevice(SPREAD, jitter=0.02))
    assert (decision.winner, decision.stop, decision.rounds) == (SPREAD.index(min(SPREAD)), Stop.COUNT, 33)
    assert {(lane.launches, len(lane.times_ms)) for lane in decision.lanes} == {(33, 30)}
    tie = run(Fixed(2, rounds=30), FakeDevice([0.01005, 0.01], jitter=0.001))
    assert (tie.winner, tie.ties) == (0, (0, 1))


def test_fixed_with_a_single_round() -> None:
    decision = run(Fixed(2, rounds=1, warmup_rounds=0), FakeDevice([0.02, 0.01]))
    assert (decision.winner, decision.margin) == (1, pytest.approx(1.0))
    with pytest.raises(ValueError, match="rounds is 0"):
        Fixed(2, rounds=0)
