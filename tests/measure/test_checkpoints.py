"""A race that was cut off and taken up decides as if it had run in one piece, and samples nothing twice."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from fake import Clock, FakeDevice
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_ascend_tune.measure import checkpoints
from triton_ascend_tune.measure.checkpoints import FIRST_COST_S, SHARE, Checkpoints, Resumable, replay
from triton_ascend_tune.measure.event import measure
from triton_ascend_tune.measure.racing import Fixed, Race
from triton_ascend_tune.measure.stop_rule import Decision, Exit, Stop
from triton_ascend_tune.measure.trial import Failure, Measurement, Trial
from triton_ascend_tune.values import Progress, Protocol, Samples

NEW = Progress()
#: Clear losers, one far behind, ties, and one that is only just behind: every way out of a race but a failure.
MIXED = (1.03, 1.30, 1.00, 9.00, 1.005, 1.15, 1.02)


class Noise:
    """The times of candidates in a round are those of its number, whoever asks and however often."""

    def __init__(self, true_ms: Sequence[float], seed: int = 0, jitter: float = 0.02) -> None:
        self.true_ms, self.seed, self.jitter = true_ms, seed, jitter

    def sample(self, round_: int, index: int) -> tuple[float, float]:
        dice = random.Random(f"{self.seed}/{round_}/{index}")
        kernel_ms = self.true_ms[index] * (1.0 + self.jitter * abs(dice.gauss(0.0, 1.0)))
        if dice.random() < 0.03:
            kernel_ms = math.nan
        return kernel_ms, 0.15 + self.true_ms[index]


def raced(noise: Noise, taken: Progress = NEW, rounds: int | None = None, **options: Any) -> tuple[Decision, Progress]:
    """The decision, and what was kept by then; ``rounds``: it is killed when it has sampled so many of its own."""
    plan = Race(len(noise.true_ms), **options)
    assert replay(plan, taken)
    kept = [taken]
    resumable = Resumable(plan, taken, kept.append)
    own, settles = 0, bool(taken.rounds)
    with every_round():
        while order := resumable.next_round():
            if settles:  # thrown away; what it reads must not matter
                samples = [(index, 77.0, 1e9) for index in order]
            elif own == rounds:
                break
            else:
                own += 1
                samples = [(index, *noise.sample(len(taken.rounds) + own, index)) for index in order]
            settles = False
            for sample in samples:
                resumable.add(*sample)
    return resumable.verdict(), kept[-1]


@contextmanager
def every_round() -> Iterator[None]:
    """Within, every round is kept, whatever that takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "SHARE", 0.0)
        yield


@pytest.mark.parametrize("seed", range(5))
def test_cut_off_after_any_round_it_decides_as_in_one_piece(seed: int) -> None:
    """FR-17."""
    noise = Noise(MIXED, seed)
    whole, everything = raced(noise, seed=seed)
    assert {Exit.BEHIND, Exit.FAR_BEHIND} <= {lane.exit for lane in whole.lanes}
    assert whole.rounds == len(everything.rounds)
    for boundary in range(whole.rounds + 1):
        _, kept = raced(noise, rounds=boundary, seed=seed)
        assert kept.rounds == everything.rounds[:boundary]
        assert raced(noise, kept, seed=seed) == (whole, everything)


def test_the_time_that_was_spent_counts() -> None:
    """Two that never separate end by the budget, which a race has but once."""
    noise = Noise((1.0, 1.0))
    whole, everything = raced(noise, tolerance=0.0)
    assert whole.stop is Stop.BUDGET
    half = Progress(everything.rounds[: whole.rounds // 2])
    assert raced(noise, half, tolerance=0.0) == (whole, everything)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(0, 1000))
def test_cut_off_again_and_again_it_decides_as_in_one_piece(lives: list[int], seed: int) -> None:
    """Each life samples some rounds; a life may also end before it has sampled any."""
    noise = Noise(MIXED, seed, jitter=0.01)
    taken = NEW
    for rounds in lives:
        taken = raced(noise, taken, rounds)[1]
    assert raced(noise, taken) == raced(noise)


def test_a_finished_race_is_only_told_again() -> None:
    whole, everything = raced(Noise(MIXED))
    plan = Race(len(MIXED))
    assert replay(plan, everything)
    resumable = Resumable(plan, everything, lambda _: pytest.fail("nothing new"))
    assert resumable.next_round() == () and resumable.verdict() == whole


def test_the_round_that_is_thrown_away_has_the_order_of_the_one_that_counts() -> None:
    taken = raced(Noise(MIXED), rounds=4)[1]
    plan = Race(len(MIXED))
    replay(plan, taken)
    resumable = Resumable(plan, taken, lambda _: None)
    orders = []
    for _ in range(3):
        orders.append(list(resumable.next_round()))
        for index in orders[-1]:
            resumable.add(index, 1.0, 1.0)
    assert orders[0] == orders[1] != orders[2]
    assert resumable.verdict().rounds == len(taken.rounds) + 2


@pytest.mark.parametrize(
    "rounds",
    [
        (((0, 1.0, 1.0), (1, 1.0, 1.0)),),  # one candidate less
        (((0, 1.0, 1.0), (1, 1.0, 1.0), (1, 1.0, 1.0)),),  # one twice
        (((0, 1.0, 1.0), (1, 9.0, 1.0), (2, 1.0, 1.0)),) * 9,  # one that had dropped out runs on
        (((0, 1.0, 1.0), (1, 1.1, 1.0), (2, 1.2, 1.0)),) * 99,  # it would have been over
    ],
)
def test_rounds_that_this_race_would_not_have_taken_are_noticed(rounds: Any) -> None:
    assert not replay(Race(3), Progress(rounds))


def kept_at(round_s: float, write_s: float, rounds: int) -> list[int]:
    """After how many rounds something is kept, where a round and a checkpoint take so many seconds."""
    now: list[float] = [0.0]
    kept: list[int] = []

    def keep(progress: Progress) -> None:
        now[0] += write_s
        kept.append(len(progress.rounds))

    resumable = Resumable(Fixed(2, rounds=rounds), NEW, keep, clock=lambda: now[0])
    while order := resumable.next_round():
        now[0] += round_s
        for index in order:
            resumable.add(index, 1.0, 0.01)
    return kept


def test_long_rounds_are_all_kept() -> None:
    assert kept_at(round_s=0.1, write_s=0.001, rounds=20) == list(range(1, 26))


def test_a_short_race_keeps_its_last_round_alone() -> None:
    rounds = int(SHARE * FIRST_COST_S / 0.001) - 10
    assert kept_at(round_s=0.001, write_s=0.0002, rounds=rounds) == [rounds + 5]


@pytest.mark.parametrize("write_s", [0.0001, 0.004, 0.1])
def test_writing_takes_a_twentieth_of_a_race_whatever_the_disk(write_s: float) -> None:
    kept = kept_at(round_s=0.002, write_s=write_s, rounds=2000)
    assert len(kept) > 1
    assert (len(kept) - 2) * write_s <= 2005 * 0.002 / SHARE  # all but the first and the last


# --- in the engine ----------------------------------------------------------------------------------------------------


class FailedError(RuntimeError):
    pass


class Killed(BaseException):
    pass


class Bench:
    """Trials on a clock. ``kill_at``: that launch ends everything. ``broken``: trials whose launch fails."""

    def __init__(self, *ms: float, broken: Sequence[int] = ()) -> None:
        self.clock = Clock()
        self.device = FakeDevice(self.clock, flush_ms=0.125)  # sums of such numbers are exact
        self.launched: list[int] = []
        self.ms, self.broken, self.kill_at = ms, set(broken), math.inf
        self.kept = NEW

    def measure(self, taken: Progress = NEW, protocol: Protocol = Protocol()) -> Measurement:  # noqa: B008
        trials = [Trial(lambda index=index: self._launch(index)) for index in range(len(self.ms))]
        with every_round():
            return measure(trials, protocol, self.device, (FailedError,), Checkpoints(taken, self._keep))

    def _keep(self, progress: Progress) -> None:
        assert self.device.open == 1  # while its timer is there, and so between two rounds
        self.kept = progress

    def _launch(self, index: int) -> None:
        self.launched.append(index)
        if len(self.launched) >= self.kill_at:
            raise Killed
        if index in self.broken:
            raise FailedError("too large")
        self.clock.now_ms += self.ms[index]


def test_killed_at_any_launch_nothing_finished_is_sampled_again() -> None:
    """FR-17."""
    whole = Bench(1.0, 1.25, 5.0, 1.125)
    expected = whole.measure()
    for kill_at in range(1, len(whole.launched) + 1):
        first, second = Bench(*whole.ms), Bench(*whole.ms)
        first.kill_at = kill_at
        with pytest.raises(Killed):
            first.measure()
        found = second.measure(first.kept)
        assert found == expected
        samples = [sum(s == index for r in first.kept.rounds for s, _, _ in r) for index in range(4)]
        for index in range(4):
            left = found.decision.lanes[index].launches - samples[index]
            # Alone, in the round that is thrown away, and then what was left; nothing of one that had dropped out.
            extra = 2 if first.kept.rounds else 1
            assert second.launched.count(index) == (left + extra if left else 0)


def test_a_candidate_that_failed_is_tried_once_more_and_stays_out() -> None:
    first = Bench(1.0, 2.0, 3.0, broken=[1])
    expected = first.measure()
    second = Bench(1.0, 2.0, 3.0, broken=[1])
    found = second.measure(Progress(first.kept.rounds[:4]))
    assert second.launched.count(1) == 1
    assert isinstance(found.results[1], Failure) and found.results[1].reason == "FailedError: too large"
    assert found.results[1].error is not None
    assert found.decision == expected.decision


def test_if_it_works_now_the_device_was_in_trouble_and_the_race_begins_anew() -> None:
    first = Bench(3.0, 1.0, 2.0, broken=[1])
    first.measure()
    second = Bench(3.0, 1.0, 2.0)
    found = second.measure(Progress(first.kept.rounds[:4]))
    assert found.decision.winner == 1
    assert all(isinstance(result, Samples) for result in found.results)
    assert found.decision.rounds == Bench(3.0, 1.0, 2.0).measure().decision.rounds


def test_rounds_of_another_race_are_not_used() -> None:
    other = Bench(1.0, 2.0)
    other.measure()
    bench = Bench(2.0, 1.0, 3.0)
    assert bench.measure(other.kept).decision == Bench(2.0, 1.0, 3.0).measure().decision


def test_where_everything_fails_nothing_is_kept() -> None:
    bench = Bench(1.0, 2.0, broken=[0, 1])
    assert bench.measure().decision.winner is None
    assert bench.kept == NEW


def test_rounds_without_the_gate_make_an_ungated_race() -> None:
    first = Bench(1.0, 1.001)
    first.device = FakeDevice(first.clock, gate=False)
    first.measure()
    assert not first.kept.gated
    second = Bench(1.0, 1.001)
    conditions = second.measure(Progress(first.kept.rounds[:3], gated=False)).conditions
    assert conditions.gate == "" and conditions.ungated_because
