"""The classic plan: its counts, that it sizes by whole iterations and decides by kernel times, and broken timers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from replay import FakeDevice, run

from triton_ascend_tune.measure.stop_rule import Classic, Exit, Stop


class Scripted:
    """A device that reads ``kernel_ms[index]`` and takes ``whole_ms[index]``; remembers the rounds asked for."""

    def __init__(self, kernel_ms: Sequence[float], whole_ms: Sequence[float]) -> None:
        self.kernel_ms, self.whole_ms = kernel_ms, whole_ms
        self.rounds: list[tuple[int, ...]] = []

    def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
        self.rounds.append(tuple(order))
        return [(self.kernel_ms[index], self.whole_ms[index]) for index in order]


def test_sizes_by_whole_iterations_one_candidate_after_the_other() -> None:
    device = Scripted([0.01, 0.02], [0.5, 1.0])
    decision = run(Classic(2), device)
    assert device.rounds == [(0,) * 5, (0,) * 50, (0,) * 200, (1,) * 5, (1,) * 25, (1,) * 100]
    assert decision.lanes[0].launches == 255
    assert decision.lanes[0].times_ms == (0.01,) * 200
    assert decision.lanes[1].whole_ms == pytest.approx(130.0)
    assert decision.whole_ms == pytest.approx(257.5)
    assert (decision.winner, decision.stop, decision.rounds) == (0, Stop.COUNT, 6)
    assert decision.margin == pytest.approx(1.0)


def test_kernel_time_decides_although_the_iteration_is_dearer() -> None:
    decision = run(Classic(2), Scripted([0.03, 0.01], [0.1, 5.0]))
    assert decision.winner == 1
    assert decision.lanes[0].ratio == pytest.approx(3.0)


def test_a_flush_of_a_hundred_kernels_does_not_starve_or_explode() -> None:
    device = FakeDevice([0.005], flush_ms=0.5)
    decision = run(Classic(1), device)
    assert decision.whole_ms == pytest.approx(125.0 + 5 * 0.505, rel=0.02)
    # Sized by kernel time it would be 20,000 samples, and 10 s of flushes.
    assert 190 <= len(decision.lanes[0].times_ms) <= 200


def test_bounds_on_the_number_of_samples() -> None:
    slow = Scripted([40.0], [50.0])
    run(Classic(1, min_samples=10), slow)
    assert [len(round_) for round_ in slow.rounds] == [5, 1, 10]
    fast = Scripted([0.0001], [0.0001])
    run(Classic(1, max_samples=300), fast)
    assert [len(round_) for round_ in fast.rounds] == [5, 300, 300]


@pytest.mark.parametrize("whole_ms", [0.0, -1.0, math.nan])
def test_a_clock_that_shows_nothing_cannot_size_the_loop(whole_ms: float) -> None:
    device = Scripted([0.01], [whole_ms])
    assert run(Classic(1), device).winner == 0
    assert [len(round_) for round_ in device.rounds] == [5, 1, 10]


def test_one_slow_first_iteration_does_not_halve_the_samples() -> None:
    class SlowFirst(Scripted):
        def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
            samples = super().measure(order)
            return [(0.01, 500.0), *samples[1:]] if len(self.rounds) == 1 else samples

    device = SlowFirst([0.01], [1.0])
    run(Classic(1), device)
    assert [len(round_) for round_ in device.rounds] == [5, 25, 100]


def test_equal_medians_go_to_the_first_in_order() -> None:
    decision = run(Classic(3), Scripted([0.02, 0.01, 0.01], [1.0] * 3))
    assert (decision.winner, decision.ties, decision.margin) == (1, (1, 2), 0.0)


@pytest.mark.parametrize("reading", [0.0, -0.5, math.nan])
def test_unusable_readings_never_win(reading: float) -> None:
    device = Scripted([reading, 0.01], [1.0, 1.0])
    decision = run(Classic(2), device)
    assert decision.winner == 1
    assert decision.lanes[0].exit is Exit.UNUSABLE
    assert decision.lanes[0].times_ms == ()
    assert str(reading) in decision.lanes[0].reason
    assert device.rounds[0] == (0,) * 5
    assert device.rounds[1][0] == 1  # neither warm-up nor repeats on a broken timer


def test_a_failure_ends_the_candidate_and_not_the_tuning() -> None:
    decision = run(Classic(2), Scripted([math.inf, 0.01], [1.0, 1.0]))
    assert (decision.winner, decision.lanes[0].exit, decision.lanes[0].launches) == (1, Exit.FAILED, 5)


def test_nothing_left() -> None:
    decision = run(Classic(2), Scripted([math.inf, math.nan], [1.0, 1.0]))
    assert (decision.winner, decision.ties, decision.margin, decision.stop) == (None, (), None, Stop.NONE_LEFT)


def test_needs_a_candidate() -> None:
    with pytest.raises(ValueError, match="candidates is 0"):
        Classic(0)


def test_a_single_candidate_is_measured() -> None:
    decision = run(Classic(1), Scripted([0.01], [1.0]))
    assert (decision.winner, decision.ties, decision.margin) == (0, (0,), None)
    assert len(decision.lanes[0].times_ms) == 100
