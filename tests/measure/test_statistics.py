"""Robust paired comparison: known values, coverage under noise, and what outliers and ticks do to it."""

from __future__ import annotations

import math
import random

import pytest

from triton_ascend_tune.measure.statistics import (
    TimerTick,
    compare,
    rounding_floor,
    student_t_quantile,
    trimmed_mean,
)


# Percentage points as printed in tables of Student's distribution.
@pytest.mark.parametrize(
    ("probability", "df", "value"),
    [(0.95, 1, 6.314), (0.975, 2, 4.303), (0.995, 3, 5.841), (0.99, 4, 3.747), (0.995, 10, 3.169), (0.999, 30, 3.385),
     (0.975, 120, 1.980), (0.995, 1000, 2.581)],
)  # fmt: skip
def test_quantiles_agree_with_the_tables(probability: float, df: int, value: float) -> None:
    assert student_t_quantile(probability, df) == pytest.approx(value, rel=2.5e-3)


@pytest.mark.parametrize(("probability", "df"), [(0.4, 5), (1.0, 5), (0.9, 0)])
def test_quantiles_refuse_what_they_cannot_do(probability: float, df: int) -> None:
    with pytest.raises(ValueError, match="student_t_quantile"):
        student_t_quantile(probability, df)


def test_trimmed_mean_ignores_a_fifth_on_each_side() -> None:
    assert trimmed_mean([1.0]) == 1.0
    assert trimmed_mean([1.0, 2.0, 3.0, 4.0, 1e9]) == pytest.approx(3.0)
    assert trimmed_mean([-1e9, 2.0, 3.0, 4.0, 1e9]) == pytest.approx(3.0)


def test_comparison_by_hand() -> None:
    # n = 5, one cut on each side: kept 2, 3, 7; winsorised 2, 2, 3, 7, 7 with mean 4.2 and squares 26.8 in all.
    result = compare([3.0, -50.0, 7.0, 2.0, 90.0])
    assert result is not None
    assert result.mean == pytest.approx(4.0)
    assert result.error == pytest.approx(math.sqrt(26.8 / (3 * 2)))
    assert (result.df, result.count) == (2, 5)
    assert result.upper(0.025) == pytest.approx(4.0 + 4.303 * result.error, rel=1e-3)
    assert result.lower(0.025) == pytest.approx(4.0 - 4.303 * result.error, rel=1e-3)


def test_few_differences() -> None:
    assert compare([]) is None
    single = compare([0.5])
    assert single is not None
    assert (single.mean, single.lower(0.01), single.upper(0.01)) == (0.5, -math.inf, math.inf)


def test_equal_differences_are_certain_unless_the_timer_is_coarse() -> None:
    exact = compare([0.1] * 6)
    assert exact is not None
    assert exact.lower(0.001) == pytest.approx(0.1)
    coarse = compare([0.1] * 6, floor=rounding_floor(0.5, 5.0, 5.5))
    assert coarse is not None
    assert coarse.lower(0.001) < 0.0 < 0.1 < coarse.upper(0.001)


@pytest.mark.parametrize("count", [3, 5, 8, 15, 40])
@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_bounds_hold_as_often_as_they_promise(count: int, outliers: float) -> None:
    """True difference 0: in 4000 trials the lower bound lies above it no more often than alpha and chance allow."""
    alpha = 0.01
    rng = random.Random(count)

    def log_time() -> float:
        return abs(rng.gauss(0.0, 0.02)) + (math.log(3.0) if rng.random() < outliers else 0.0)

    wrong = 0
    for _ in range(4000):
        result = compare([log_time() - log_time() for _ in range(count)])
        assert result is not None
        wrong += result.lower(alpha) > 0.0
    # 4 standard deviations of a binomial count around alpha, and a third on top for Yuen's approximation.
    assert wrong <= 4000 * alpha * 1.33 + 4 * math.sqrt(4000 * alpha)


def test_mean_of_a_coarse_timer_finds_what_the_median_cannot() -> None:
    rng = random.Random(3)

    def read(true_us: float) -> float:
        start = rng.random()
        return math.floor(start + true_us) - math.floor(start)  # 1 us ticks

    pairs = [(read(5.3), read(5.0)) for _ in range(600)]
    assert sorted(a for a, _ in pairs)[300] == sorted(b for _, b in pairs)[300] == 5.0
    result = compare([math.log(a / b) for a, b in pairs])
    assert result is not None
    assert result.lower(0.005) > 0.01
    assert result.upper(0.005) < 0.1


def test_tick_of_a_coarse_timer() -> None:
    tick = TimerTick()
    assert tick.step == 0.0
    for reading in (0.0050, 0.0065, 0.0050, 0.0055, 0.0100, 0.0055000000001):
        tick.add(reading)
    assert tick.step == pytest.approx(0.0005)


def test_tick_of_a_fine_timer_becomes_negligible() -> None:
    tick, rng = TimerTick(), random.Random(1)
    for _ in range(100):
        tick.add(0.005 * (1.0 + 0.01 * rng.random()))
    assert 0.0 < tick.step < 1e-6
