"""The race and the fixed plan on a fake clock and on streams recorded on a real device; nothing here needs one."""

from __future__ import annotations

import collections
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay import RECORDINGS, FakeDevice, Recording, run

from triton_ascend_tune.measure.racing import CONFIRM_ROUNDS, MIN_ROUNDS, WARMUP_ROUNDS, Fixed, Race
from triton_ascend_tune.measure.stop_rule import Classic, Exit, Stop

SEEDS = range(10)
#: Winner within 2 % of the best: what a race promises at a tolerance of 1 %.
PROMISED = 1.01**2 + 1e-9

#: Eleven candidates as a usual list has them, in milliseconds: from 7 us on, 7 % apart, the best in the middle.
SPREAD = [0.007 * (1.0 + 0.07 * place) for place in (4, 9, 2, 7, 5, 0, 3, 10, 1, 8, 6)]
#: The same kind with near-ties: 0, 1, 2, 3 and 5 % and more behind.
CLOSE = [0.005 * (1.0 + gap) for gap in (0.30, 0.05, 0.02, 0.10, 0.0, 0.20, 0.03, 0.15, 0.01, 0.40, 0.25)]

NOISE: dict[str, dict[str, Any]] = {
    "none": {},
    "jitter 2 %": {"jitter": 0.02},
    "jitter 5 %": {"jitter": 0.05},
    "drift": {"jitter": 0.02, "drift": 0.5},
    "ramp": {"jitter": 0.02, "ramp": 0.5, "ramp_ms": 5.0},
    "outliers": {"jitter": 0.02, "outliers": 0.05, "outlier_factor": 3.0},
    "bimodal": {"jitter": 0.02, "slow_share": 0.3, "slow_factor": 1.1},
    "ticks of 0.5 us": {"jitter": 0.02, "tick_ms": 0.0005},
    "ticks of 1 us": {"jitter": 0.02, "tick_ms": 0.001},
    "last of a round reads low": {"jitter": 0.02, "last_factor": 0.95},
    "slower after candidate 0": {"jitter": 0.02, "after": 1.05},
}


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("true_ms", [SPREAD, CLOSE], ids=["spread", "close"])
def test_finds_the_best_whatever_the_noise(true_ms: list[float], noise: str) -> None:
    for seed in SEEDS:
        decision = run(Race(len(true_ms), seed=seed), FakeDevice(true_ms, seed=seed, **NOISE[noise]))
        assert decision.winner is not None
        assert true_ms[decision.winner] / min(true_ms) <= PROMISED, f"seed {seed}: {decision}"
        assert decision.whole_ms <= 125.0 * len(true_ms) / 4  # and does so in much less than the classic plan's time


@pytest.mark.parametrize("noise", ["jitter 2 %", "drift", "ramp", "outliers", "slower after candidate 0"])
def test_a_clear_best_takes_few_rounds(noise: str) -> None:
    rounds = sorted(run(Race(11, seed=s), FakeDevice(SPREAD, seed=s, **NOISE[noise])).rounds for s in SEEDS)
    assert rounds[len(rounds) // 2] <= 15
    assert rounds[-1] <= 30


def test_drift_that_fools_the_classic_plan_does_not_fool_the_race() -> None:
    """One candidate after the other on a device that grows slower: whoever comes first looks best."""
    true_ms, drift = [0.0106, 0.0103, 0.0100], {"jitter": 0.01, "drift": 0.05}
    assert run(Classic(3), FakeDevice(true_ms, seed=1, **drift)).winner != 2
    assert {run(Race(3, seed=s), FakeDevice(true_ms, seed=s, **drift)).winner for s in SEEDS} == {2}


def test_coarse_ticks_separate_what_falls_on_one_tick() -> None:
    """5.05 and 5.45 us read 5 or 6 us with 1 us ticks, and their medians are equal."""
    for seed in SEEDS:
        decision = run(Race(2, seed=seed), FakeDevice([0.00545, 0.00505], seed=seed, tick_ms=0.001))
        assert decision.winner == 1


# --- ties ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "at_least"), [("none", 20), ("jitter 2 %", 12), ("jitter 5 %", 6), ("outliers", 12), ("bimodal", 5)]
)
def test_identical_candidates_end_without_a_rank_and_mostly_in_the_users_order(noise: str, at_least: int) -> None:
    first = 0
    for seed in range(20):
        decision = run(Race(8, seed=seed), FakeDevice([0.005] * 8, seed=seed, **NOISE[noise]))
        assert decision.stop in (Stop.TIED, Stop.CLOSE)
        assert decision.winner in decision.ties
        assert decision.whole_ms < 125.0
        first += decision.winner == 0
    assert first >= at_least  # where blind luck gives 2.5


def test_a_tie_within_the_tolerance_goes_to_the_first_in_order() -> None:
    for true_ms in ([0.01005, 0.0100, 0.0200], [0.0100, 0.01005, 0.0200]):
        decision = run(Race(3, seed=1), FakeDevice(true_ms, jitter=0.001))
        assert (decision.winner, decision.ties, decision.stop) == (0, (0, 1), Stop.TIED)
        assert decision.margin == pytest.approx(true_ms[1] / true_ms[0] - 1.0, abs=1e-3)


def test_a_gap_beyond_the_tolerance_is_no_tie() -> None:
    decision = run(Race(2), FakeDevice([0.0103, 0.0100], jitter=0.001))
    assert (decision.winner, decision.ties, decision.stop) == (1, (1,), Stop.SEPARATED)
    assert decision.margin == pytest.approx(0.03, abs=2e-3)


def test_the_tolerance_is_settable() -> None:
    assert run(Race(2, tolerance=0.1), FakeDevice([0.0105, 0.0100], jitter=0.001)).winner == 0
    assert run(Race(2, tolerance=0.001), FakeDevice([0.0105, 0.0100], jitter=0.001)).winner == 1


# --- number of candidates --------------------------------------------------------------------------------------------


def test_one_candidate_is_measured_a_few_times() -> None:
    decision = run(Race(1), FakeDevice([0.01], jitter=0.02))
    assert (decision.winner, decision.ties, decision.margin, decision.stop) == (0, (0,), None, Stop.ALONE)
    assert decision.rounds == WARMUP_ROUNDS + MIN_ROUNDS
    assert len(decision.lanes[0].times_ms) == MIN_ROUNDS


@pytest.mark.parametrize("true_ms", [[0.01, 0.02], [0.02, 0.01]])
def test_two_candidates(true_ms: list[float]) -> None:
    decision = run(Race(2), FakeDevice(true_ms, jitter=0.02))
    assert decision.winner == true_ms.index(0.01)
    assert decision.margin == pytest.approx(1.0, abs=0.1)


def test_sixty_candidates() -> None:
    rng = random.Random(5)
    true_ms = [0.01 * (1.0 + rng.random()) for _ in range(60)]
    for seed in range(3):
        decision = run(Race(60, seed=seed), FakeDevice(true_ms, seed=seed, jitter=0.03, outliers=0.02))
        assert decision.winner is not None
        assert true_ms[decision.winner] / min(true_ms) <= PROMISED
        assert decision.whole_ms < 60.0  # of 7500 that the classic plan takes


def test_no_candidate() -> None:
    for plan in (Race, Fixed):
        with pytest.raises(ValueError, match="candidates is 0"):
            plan(0)


@pytest.mark.parametrize("tolerance", [-0.01, 1.0, math.nan])
def test_impossible_tolerance(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance is"):
        Race(2, tolerance=tolerance)


# --- order -----------------------------------------------------------------------------------------------------------


def test_every_place_and_every_predecessor_come_up_about_equally_often() -> None:
    plan, places, followers = Fixed(5, rounds=2000, warmup_rounds=0), collections.Counter(), collections.Counter()
    while order := plan.next_round():
        assert sorted(order) == list(range(5))
        places.update(enumerate(order))
        followers.update(zip(order, order[1:]))
    # Expected 400 of each, standard deviation 18; five of them.
    assert len(places) == 25 and all(abs(count - 400) < 90 for count in places.values())
    assert len(followers) == 20 and all(abs(count - 400) < 90 for count in followers.values())


def test_the_same_seed_gives_the_same_race_and_another_one_another_order() -> None:
    def race(seed: int) -> tuple[list[tuple[int, ...]], Any]:
        plan, device, orders = Race(4, seed=seed), FakeDevice(SPREAD[:4], seed=7, jitter=0.03), []
        while order := plan.next_round():
            orders.append(tuple(order))
            for index, sample in zip(order, device.measure(order)):
                plan.add(index, *sample)
        return orders, plan.verdict()

    assert race(1) == race(1)
    assert race(1)[0][:5] != race(2)[0][:5]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    gaps=st.lists(st.floats(0.0, 0.5), min_size=2, max_size=12),
    jitter=st.sampled_from([0.0, 0.005, 0.02]),
    order=st.randoms(use_true_random=False),
    seed=st.integers(0, 2**32),
)
def test_permuting_the_list_never_changes_the_winner_beyond_the_promise(
    gaps: list[float], jitter: float, order: random.Random, seed: int
) -> None:
    true_ms = [0.01 * (1.0 + gap) for gap in gaps]
    shuffled = true_ms.copy()
    order.shuffle(shuffled)
    for times in (true_ms, shuffled):
        decision = run(Race(len(times), seed=seed), FakeDevice(times, seed=seed, jitter=jitter))
        assert decision.winner is not None
        assert times[decision.winner] / min(times) <= PROMISED


@pytest.mark.parametrize("name", RECORDINGS)
def test_permuting_recorded_candidates_never_changes_the_winner_beyond_the_promise(name: str) -> None:
    recording = Recording.load(name)
    reference = recording.medians_ms("gated")
    for seed in SEEDS:
        columns = list(range(len(reference)))
        random.Random(seed).shuffle(columns)
        decision = run(Race(len(columns)), recording.stream("gated", offset=20 * seed, columns=columns))
        assert decision.winner is not None
        assert reference[columns[decision.winner]] / min(reference) <= 1.02


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


# --- recorded on an H200 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["gated", "ungated", "warm"])
@pytest.mark.parametrize("name", RECORDINGS)
def test_recorded_streams_from_every_start(name: str, mode: str) -> None:
    """Within 2 % of the best in 10 of 10 seeds and starting rounds, in at most 1/20 of the classic plan's time."""
    recording = Recording.load(name)
    reference = recording.medians_ms(mode)
    for seed in SEEDS:
        decision = run(Race(len(reference), seed=seed), recording.stream(mode, offset=20 * seed))
        assert decision.winner is not None
        assert reference[decision.winner] / min(reference) <= 1.02, f"seed {seed}: {decision.winner}"
        assert decision.whole_ms <= 125.0 * len(reference) / 20
