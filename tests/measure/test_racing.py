"""What the race chooses, on a fake clock and on streams recorded on a real device; nothing here needs one."""

from __future__ import annotations

import collections
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay import RECORDINGS, SPREAD, FakeDevice, Recording, run

from triton_ascend_tune.measure.racing import MIN_ROUNDS, WARMUP_ROUNDS, Fixed, Race
from triton_ascend_tune.measure.stop_rule import Classic, Stop

SEEDS = range(10)
#: Winner within 2 % of the best: what a race promises at a tolerance of 1 %.
PROMISED = 1.01**2 + 1e-9
#: Like SPREAD, with near-ties: 0, 1, 2, 3 and 5 % and more behind.
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
