"""Run a measuring plan without a device: a fake clock with noise to order, and streams recorded on a real one.

decision = run(Race(3), FakeDevice([0.010, 0.012, 0.011], seed=1, jitter=0.02))
decision = run(Race(11), Recording.load("matmul_512").stream("gated", offset=40))
"""

from __future__ import annotations

import json
import math
import pathlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from triton_ascend_tune.measure.stop_rule import Decision, StopRule

SAMPLES = pathlib.Path(__file__).parents[1] / "fixtures" / "samples"
RECORDINGS = (
    "matmul_512", "matmul_2048", "matmul_4096", "softmax_short", "softmax_long", "layer_norm_short", "layer_norm_long",
)  # fmt: skip
#: Eleven candidates as a usual list has them, in milliseconds: from 7 us on, 7 % apart, the best in the middle.
SPREAD = [0.007 * (1.0 + 0.07 * place) for place in (4, 9, 2, 7, 5, 0, 3, 10, 1, 8, 6)]


class Source(Protocol):
    """Where samples come from."""

    def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
        """``(kernel_ms, whole_ms)`` for each index of one round."""


def run(plan: StopRule, source: Source) -> Decision:
    """The measuring loop, as the real one drives a plan."""
    while order := plan.next_round():
        for index, (kernel_ms, whole_ms) in zip(order, source.measure(order)):
            plan.add(index, kernel_ms, whole_ms)
    return plan.verdict()


@dataclass
class FakeDevice:
    """A device whose candidates take ``true_ms`` each, on a virtual clock ``now_ms`` that moves by flush and kernel.

    ``jitter``: half-normal, relative. ``outliers``: share of samples that take ``outlier_factor`` times as long.
    ``slow_share`` and ``slow_factor``: bimodal noise. ``drift``: relative slow-down for each 100 ms of device time.
    ``ramp``, ``ramp_ms``: the device starts that much slower and loses it exponentially. ``tick_ms``: START and END are
    rounded down to it. ``last_factor``: multiplies the last one of a round; ``after``: multiplies one that follows
    index 0.
    """

    true_ms: Sequence[float]
    seed: int = 0
    flush_ms: float = 0.06
    jitter: float = 0.0
    outliers: float = 0.0
    outlier_factor: float = 3.0
    slow_share: float = 0.0
    slow_factor: float = 1.1
    drift: float = 0.0
    ramp: float = 0.0
    ramp_ms: float = 5.0
    tick_ms: float = 0.0
    last_factor: float = 1.0
    after: float = 1.0
    now_ms: float = 0.0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self.launches = [0] * len(self.true_ms)

    def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
        samples = []
        for place, index in enumerate(order):
            began = self.now_ms
            self.now_ms += self.flush_ms * (1.0 + 0.01 * self._rng.random())  # keeps START from locking to the tick
            took = self._take(index) * (self.last_factor if place == len(order) - 1 else 1.0)
            took *= self.after if place and order[place - 1] == 0 else 1.0
            start = self.now_ms
            self.now_ms += took
            self.launches[index] += 1
            samples.append((self._read(self.now_ms) - self._read(start), self.now_ms - began))
        return samples

    def _take(self, index: int) -> float:
        rng = self._rng
        time = self.true_ms[index] * (1.0 + self.jitter * abs(rng.gauss(0.0, 1.0)))
        time *= 1.0 + self.drift * self.now_ms / 100.0
        time *= 1.0 + self.ramp * math.exp(-self.now_ms / self.ramp_ms)
        if rng.random() < self.outliers:
            time *= self.outlier_factor
        if rng.random() < self.slow_share:
            time *= self.slow_factor
        return time

    def _read(self, at_ms: float) -> float:
        return math.floor(at_ms / self.tick_ms) * self.tick_ms if self.tick_ms else at_ms


@dataclass(frozen=True)
class Recording:
    """One file of ``benchmarks/record_samples.py``."""

    name: str
    configs: tuple[str, ...]
    modes: dict[str, dict[str, list]]

    @classmethod
    def load(cls, name: str) -> Recording:
        content = json.loads((SAMPLES / f"{name}.json").read_text())
        return cls(name, tuple(content["configs"]), content["modes"])

    def medians_ms(self, mode: str) -> list[float]:
        """The reference: the median of all recorded rounds of each config."""
        return [median(times) / 1e6 for times in self.modes[mode]["kernel_ns"]]

    def stream(self, mode: str, offset: int = 0, columns: Sequence[int] | None = None) -> RecordedStream:
        """Replay from round ``offset`` on; ``columns`` permutes or picks the configs."""
        return RecordedStream(self.modes[mode], offset, tuple(columns or range(len(self.configs))))


@dataclass
class RecordedStream:
    """Recorded samples. Each round of the plan takes the next recorded round and starts again at its end.

    Whole-iteration time is what that round took on the device, by the share of the samples that the plan asked for:
    flush and gaps equally, the kernels as read.
    """

    mode: dict[str, list]
    offset: int
    columns: tuple[int, ...]

    def measure(self, order: Sequence[int]) -> list[tuple[float, float]]:
        times_ns = self.mode["kernel_ns"]
        samples, used = [], dict.fromkeys(order, 0)
        for index in order:
            row = (self.offset + used[index]) % len(self.mode["order"])
            used[index] += 1
            kernels_ms = sum(times[row] for times in times_ns) / 1e6
            rest_ms = (self.mode["round_device_us"][row] / 1e3 - kernels_ms) / len(times_ns)
            kernel_ms = times_ns[self.columns[index]][row] / 1e6
            samples.append((kernel_ms, kernel_ms + max(rest_ms, 0.0)))
        self.offset += max(used.values())
        return samples


def main() -> None:
    """Print what racing and the classic plan choose on every recording, and what it takes: device milliseconds."""
    from triton_ascend_tune.measure.racing import Race
    from triton_ascend_tune.measure.stop_rule import Classic

    seeds = range(100)
    print("case              mode      within 2 %  worst   race ms: median, max  rounds  launches  classic ms")
    for mode in ("gated", "ungated", "warm"):
        for name in RECORDINGS:
            recording = Recording.load(name)
            reference = recording.medians_ms(mode)
            runs = [run(Race(len(reference), seed=s), recording.stream(mode, offset=37 * s % 200)) for s in seeds]
            regrets = [reference[d.winner] / min(reference) - 1.0 for d in runs]
            classic = run(Classic(len(reference)), recording.stream(mode))
            print(
                f"{name:17} {mode:8} {sum(r <= 0.02 for r in regrets):6}/{len(seeds)}  {max(regrets):6.2%}"
                f"  {median(d.whole_ms for d in runs):12.1f} {max(d.whole_ms for d in runs):6.1f}"
                f"  {median(d.rounds for d in runs):8.0f}"
                f"  {median(sum(lane.launches for lane in d.lanes) for d in runs):8.0f}  {classic.whole_ms:10.0f}"
            )


if __name__ == "__main__":
    main()
