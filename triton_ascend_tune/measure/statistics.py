"""The statistics behind a measuring plan: robust paired comparison of times, without any third-party package.

Two candidates are compared by the logarithms of their times *in the same round*: whatever slows a whole round down (a
clock that drifts, a neighbour, the start-up ramp) falls out of the difference. The differences are averaged with the
20 % trimmed mean, and the bounds are those of Yuen's test for dependent samples (Yuen 1974; Wilcox, "Introduction to
Robust Estimation and Hypothesis Testing", which also gives 20 % as the usual compromise):

* up to a fifth of the rounds may be outliers on either side without moving the mean much;
* with few samples an outlier widens the bounds, so that the answer is "not yet" and not a wrong one;
* a coarse timer makes the median jump from tick to tick, while the mean of times that start at a random place between
  two ticks is still right. A rank test sees ties only.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

#: Share of samples cut at each end. See the module's text.
TRIM = 0.2
#: Above this many degrees of freedom Student's t is within 0.4 % of the normal distribution at the levels used here.
NORMAL_FROM_DF = 300
#: Variance of the sum of two independent roundings (START and END), in squared ticks: two times 1/12.
ROUNDING_VARIANCE = 1.0 / 6.0
#: Two times closer than this share of each other are one value: 32-bit milliseconds differ by 6e-8 after conversion.
SAME_VALUE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """How much slower ``a`` is than ``b``, as the logarithm of the ratio of their times.

    ``mean``: the estimate; ``error``: its standard error; ``df``: degrees of freedom; ``count``: rounds with both.
    """

    mean: float
    error: float
    df: int
    count: int

    def lower(self, alpha: float) -> float:
        """The true value is above this with confidence ``1 - alpha``."""
        return self.mean - student_t_quantile(1.0 - alpha, self.df) * self.error if self.error else self.mean

    def upper(self, alpha: float) -> float:
        """The true value is below this with confidence ``1 - alpha``."""
        return self.mean + student_t_quantile(1.0 - alpha, self.df) * self.error if self.error else self.mean


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean without the lowest and highest ``TRIM`` of the values. ``values`` must not be empty."""
    ordered = sorted(values)
    cut = int(TRIM * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    return math.fsum(kept) / len(kept)


def compare(differences: Sequence[float], floor: float = 0.0) -> Comparison | None:
    """Yuen's test on paired differences; None without any. A single one has an estimate and an infinite error.

    ``floor``: least variance of one difference. Readings of a coarse timer may all be equal and still be off.
    """
    count = len(differences)
    if count < 2:
        return Comparison(differences[0], math.inf, 1, 1) if differences else None
    ordered = sorted(differences)
    cut = int(TRIM * count)
    kept = ordered[cut : count - cut]
    left = len(kept)
    total = math.fsum(kept)
    # The variance of a trimmed mean comes from the winsorised sample: cut values replaced by the nearest kept one.
    centre = (total + cut * (kept[0] + kept[-1])) / count
    squares = math.fsum([(value - centre) ** 2 for value in kept])
    squares += cut * ((kept[0] - centre) ** 2 + (kept[-1] - centre) ** 2)
    squares = max(squares, floor * (count - 1))
    return Comparison(total / left, math.sqrt(squares / (left * (left - 1))), left - 1, count)


class TimerTick:
    """The step of the timer: the smallest distance between two different readings seen so far, 0.0 before there is one.

    The readings of a fine timer fill up quickly and the answer becomes negligible; those of a coarse one cannot come
    closer than a tick. With few readings the answer is too large, which errs to the safe side.
    """

    def __init__(self) -> None:
        self._readings: list[float] = []
        self.step = 0.0

    def add(self, reading: float) -> None:
        place = bisect.bisect_left(self._readings, reading)
        for neighbour in self._readings[max(0, place - 1) : place + 1]:
            distance = abs(reading - neighbour)
            if distance <= SAME_VALUE * reading:
                return
        for neighbour in self._readings[max(0, place - 1) : place + 1]:
            distance = abs(reading - neighbour)
            self.step = min(self.step, distance) if self.step else distance
        self._readings.insert(place, reading)


def rounding_floor(tick: float, time_a: float, time_b: float) -> float:
    """Variance that rounding to ``tick`` adds to the logarithm of ``time_a / time_b``."""
    return ROUNDING_VARIANCE * ((tick / time_a) ** 2 + (tick / time_b) ** 2)


@functools.lru_cache(maxsize=4096)
def student_t_quantile(probability: float, df: int) -> float:
    """Quantile of Student's t for ``probability`` in [0.5, 1) and whole ``df >= 1``."""
    if not 0.5 <= probability < 1.0 or df < 1:
        raise ValueError(f"student_t_quantile: probability {probability}, df {df}; allowed: [0.5, 1) and df >= 1")
    if df >= NORMAL_FROM_DF:
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 1.0
    while _student_t_cdf(high, df) < probability:
        high *= 2.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _student_t_cdf(middle, df) < probability else (low, middle)
    return high


def _student_t_cdf(t: float, df: int) -> float:
    """P(T <= t) for t >= 0: the finite series for whole df (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term = cosine if odd else 1.0
    total = term if df > 1 else 0.0
    for k in range(3 if odd else 2, df - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = (angle + sine * total) * 2.0 / math.pi if odd else sine * total
    return 0.5 + inside / 2.0
