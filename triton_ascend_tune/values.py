"""The frozen values that travel along one tuning: key, candidate, protocol, samples, outcome, verdict.

Stages take these and return these; no stage reaches back into another. All times are milliseconds, as in
``triton.testing``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
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
class Candidate:
    """One user config as it will be launched. ``index`` is its place in the user's list; ties go to the lowest."""

    index: int
    config: Any  # the installed Triton's own Config
    kwargs: Mapping[str, Any]  # config.all_kwargs(): constexprs and compile options


@dataclass(frozen=True)
class Protocol:
    """How a time is taken. Results taken under different protocols are never compared or reused for one another.

    ``method``: "event" or "profiler". ``plan``: "race" (interleaved rounds with drop-outs), "classic" (one candidate
    after the other, sized by time) or "fixed" (``warmup_rounds`` and ``rounds`` interleaved rounds, whatever they
    take). ``flush``: what happens to the caches before each sample: "write" or "read" ``flush_bytes`` of memory, or
    "none". ``gate``: whether a round is queued behind a closed gate where the device has one that works.

    ``warmup_ms``, ``repeat_ms`` bound the whole iterations (flush, launch and host work included) spent on one
    candidate by race and classic; ``max_samples`` and, in the classic plan, ``min_samples`` and ``estimate_runs`` bound
    their number. ``tolerance``: candidates that differ by less count as equally fast; the first of them wins. ``seed``:
    of the order within rounds. ``measure.protocol`` says which values are allowed.
    """

    method: str = "event"
    plan: str = "race"
    flush: str = "write"
    flush_bytes: int = FLUSH_BYTES
    gate: bool = True
    statistic: str = "p50"
    tolerance: float = 0.01
    seed: int = 0
    estimate_runs: int = 5
    warmup_ms: float = 25.0
    repeat_ms: float = 100.0
    min_samples: int = 10
    max_samples: int = 10_000
    rounds: int = 30
    warmup_rounds: int = 5

    @property
    def identity(self) -> str:
        """Every field in one line: what results of this protocol are stored under."""
        return ":".join(str(value) for value in astuple(self))


@dataclass(frozen=True)
class Samples:
    """Kernel times of one candidate in milliseconds, in the order taken; never empty, all finite and positive.

    ``method``: "event" or "profiler", what took them. ``note``: what a reader of the times must know, e.g. that
    profiler records were attributed by their order. ``events``: the same candidate's times between events, where the
    profiler took these and both are known; their ``note`` names the gate behind which they were taken.
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
class Conditions:
    """What a measurement found on the device, beyond its protocol.

    ``gate``: the kind of gate behind which samples were taken; empty if some or all were not, and then
    ``ungated_because`` says why. ``flush_bytes``: size of the buffer that there was memory for. ``event_overhead_ms``:
    what START and END read with nothing between them; it is contained in every time and not subtracted.
    """

    gate: str = ""
    ungated_because: str = ""
    flush_bytes: int = 0
    event_overhead_ms: float = 0.0


@dataclass(frozen=True)
class Choice:
    """What a measuring plan chose among outcomes, and how it came to it.

    ``ties``: all that count as equally fast, the winner among them. ``margin``: see ``Verdict``. ``stop``: why sampling
    ended, a value of ``measure.stop_rule.Stop``. ``rounds``: those that were sampled, which took ``whole_ms``.
    """

    winner: Outcome
    ties: tuple[Outcome, ...]
    margin: float | None
    stop: str
    rounds: int
    whole_ms: float
    conditions: Conditions


#: One sample of a race: the trial's index, its kernel time and the time of its whole iteration, in milliseconds. A
#: kernel time of NaN is a reading that could not be used, of infinity a failure.
Sample = tuple[int, float, float]


@dataclass(frozen=True)
class Progress:
    """What a race has sampled so far: its whole rounds, each in the order in which its samples were added.

    ``gated``: whether all of them were taken behind a gate. ``over``: whether the race has ended with them.
    """

    rounds: tuple[tuple[Sample, ...], ...] = ()
    gated: bool = True
    over: bool = False


@dataclass(frozen=True)
class Verdict:
    """The choice: the winner, all outcomes in the user's order, and how far ahead the winner was.

    ``margin``: best of the others / winner - 1; None with a single timed candidate. It is negative where the winner was
    preferred to a tied one that reads faster, because it comes first in the user's order. ``protocol`` is the one
    really used. ``choice``: how the plan came to it; None after a user's own timer.
    """

    winner: Outcome
    outcomes: Sequence[Outcome]
    protocol: Protocol
    margin: float | None = None
    choice: Choice | None = None
