"""The frozen values that travel along one tuning: key, candidate, protocol, samples, outcome, verdict.

Stages take these and return these; no stage reaches back into another. All times are milliseconds, as in
``triton.testing``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
#: Bytes written before each measured launch: the size of the L2 cache that triton-ascend's own driver clears.
FLUSH_BYTES = 192 * MIB


class Status(enum.Enum):
    """How a candidate ended."""

    TIMED = "timed"
    PRUNED = "pruned"
    FAILED = "failed"


class Stage(enum.Enum):
    """Where a candidate ended."""

    PRUNE = "prune"
    COMPILE = "compile"
    LAUNCH = "launch"
    MEASURE = "measure"


@dataclass(frozen=True)
class TuningKey:
    """What one choice is valid for. Equal keys share a winner; ``names`` label ``values`` in messages only."""

    values: tuple[Any, ...]
    names: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Candidate:
    """One user config as it will be launched. ``index`` is its place in the user's list; ties go to the lowest."""

    index: int
    config: Any  # the installed Triton's own Config
    kwargs: Mapping[str, Any]  # config.all_kwargs(): constexprs and compile options


@dataclass(frozen=True)
class Protocol:
    """How a time is taken. Results taken under different protocols are never compared or reused for one another.

    ``method``: "event" or "profiler". ``plan``: "classic" sizes its loop by time. ``warmup_ms``, ``repeat_ms`` bound
    the whole iterations (flush, launch and host work included) spent on one candidate; ``min_samples``,
    ``max_samples`` bound the number of samples whatever they take.
    """

    method: str = "event"
    plan: str = "classic"
    flush_bytes: int = FLUSH_BYTES
    statistic: str = "p50"
    estimate_runs: int = 5
    warmup_ms: float = 25.0
    repeat_ms: float = 100.0
    min_samples: int = 10
    max_samples: int = 10_000


@dataclass(frozen=True)
class Samples:
    """Kernel times of one candidate in milliseconds, in the order taken; never empty, all finite and positive.

    ``method``: "event" or "profiler", what took them. ``note``: what a reader of the times must know, e.g. that profiler
    records were attributed by their order. ``events``: the same candidate's times between events, where the profiler
    took these and both are known.
    """

    times_ms: tuple[float, ...]
    method: str = "event"
    note: str = ""
    events: Samples | None = None

    def quantile(self, q: float) -> float:
        """Linear interpolation between order statistics, as ``triton.testing`` and numpy's default do."""
        ordered = sorted(self.times_ms)
        place = q * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def p50(self) -> float:
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        return math.fsum(self.times_ms) / len(self.times_ms)

    @property
    def score(self) -> float:
        """The number that decides: the mean of profiler records, which no host work can stretch; else the P50."""
        return self.mean if self.method == "profiler" else self.p50

    @property
    def triple(self) -> list[float]:
        """``[score, P20, P80]``, the form of ``configs_timings``: ``[P50, P20, P80]`` unless a profiler measured."""
        return [self.score, self.quantile(0.2), self.quantile(0.8)]


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate; ``timings`` is what ``configs_timings`` shows (``[inf] * 3`` unless timed)."""

    candidate: Candidate
    status: Status
    stage: Stage | None = None
    reason: str = ""
    samples: Samples | None = None
    timings: Any = None  # a user's do_bench may return anything that orders
    error: BaseException | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Verdict:
    """The choice: the winner, all outcomes in the user's order, and how far ahead the winner was.

    ``margin``: runner-up / winner - 1, or None with a single timed candidate. ``protocol`` is the one really used.
    """

    winner: Outcome
    outcomes: Sequence[Outcome]
    protocol: Protocol
    margin: float | None = None
