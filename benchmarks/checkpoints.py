"""What it costs a race to be able to go on after a kill: the same tuning with its rounds kept and not.

    triton-ascend-tune sim run -- python benchmarks/checkpoints.py [--json FILE] [--tunings N]
    TRITON_ASCEND_TUNE_TARGETS=cuda python benchmarks/checkpoints.py

Four sides take turns in one process, with everything compiled beforehand and an empty folder of results for each
tuning: no results on disk; results, but no rounds; results and rounds, as it is by default; and every round written,
which is what the default keeps from happening. What is timed is the race itself, from opening the device to the
decision, in real time of the host.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import tempfile
import time
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.driver import driver

from triton_ascend_tune.measure import checkpoints, event

BLOCKS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ELEMENTS = 50_000
#: Side -> whether rounds are kept, and ``checkpoints.SHARE``.
SIDES: dict[str, tuple[bool, float]] = {
    "no results": (False, checkpoints.SHARE),
    "results": (False, checkpoints.SHARE),
    "rounds": (True, checkpoints.SHARE),
    "every round": (True, 0.0),
}


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def tune(side: str, x: torch.Tensor, out: torch.Tensor, seed: int) -> dict[str, float]:
    """One tuning: milliseconds of its race, how many rounds it took, how many times they were written, and how long."""
    keeps_rounds, share = SIDES[side]
    checkpoints.SHARE = share
    configs = [triton.Config({"BLOCK": block}) for block in BLOCKS]
    random.Random(seed).shuffle(configs)
    tuner: Any = triton.autotune(configs=configs, key=["n"])(double)
    tuner.cache_results = side != "no results"
    found: dict[str, float] = {"writes": 0, "write_ms": 0.0}

    def measure(trials: Any, protocol: Any, device: Any, tolerated: Any, kept: Any = None) -> Any:
        def keep(progress: Any) -> None:
            began = time.perf_counter()
            kept.keep(progress)
            found["writes"] += 1
            found["write_ms"] += (time.perf_counter() - began) * 1e3

        counted = checkpoints.Checkpoints(kept.taken, keep) if kept is not None and keeps_rounds else None
        began = time.perf_counter()
        measurement = event.measure(trials, protocol, device, tolerated, counted)
        found["race_ms"] = (time.perf_counter() - began) * 1e3
        return measurement

    tuner.measurer = measure
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        tuner[lambda meta: (triton.cdiv(ELEMENTS, meta["BLOCK"]),)](x, out, ELEMENTS)
    found["rounds"] = tuner.verdict.choice.rounds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tunings", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to FILE")
    arguments = parser.parse_args()
    backend = driver.active.get_current_target().backend
    x = torch.rand(ELEMENTS).to(backend)
    out = torch.zeros_like(x)
    tune("no results", x, out, 0)  # compiles, and calibrates the device
    found: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for number in range(arguments.tunings):
        for side in SIDES:
            found[side].append(tune(side, x, out, number))
    print(f"{arguments.tunings} tunings of {len(BLOCKS)} configs on {backend}; medians")
    results: dict[str, dict[str, float]] = {}
    for side, tunings in found.items():
        row = results[side] = {name: statistics.median(each[name] for each in tunings) for name in tunings[0]}
        share = row["write_ms"] / row["race_ms"]
        per_round = row["race_ms"] / row["rounds"]
        once = row["write_ms"] / row["writes"] if row["writes"] else math.nan
        print(
            f"{side:12} race {row['race_ms']:7.2f} ms, {row['rounds']:3.0f} rounds of {per_round:.2f} ms; "
            f"rounds written {row['writes']:3.0f} times, {once:.2f} ms each, {share:.1%} of the race"
        )
    ratio = results["rounds"]["race_ms"] / results["results"]["race_ms"]
    print(f"keeping rounds / not keeping them: {ratio:.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"backend": backend, "medians": results, "ratio": ratio}, indent=1) + "\n")


if __name__ == "__main__":
    main()
