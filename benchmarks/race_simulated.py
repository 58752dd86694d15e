"""What a tuning picks, and what it costs, on the simulated CANN with a slow host and noisy durations: ours and stock.

    triton-ascend-tune sim run -- python benchmarks/race_simulated.py [--json FILE] [--tunings N]

The program starts itself once more for each side, with 20 us of host time for a launch and 2 % jitter, and once without
noise for the true times. Every tuning but the first gets the list in another order, the same for both sides. The stock
side is the wheel's own tuner (``TRITON_ASCEND_TUNE=0``). Times are simulated: they say what the engine does with given
times, nothing about a real NPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from typing import Any

import torch
import torch_npu  # noqa: F401 - makes the device
import triton
import triton.language as tl

BLOCKS = [256, 512, 1024, 2048, 4096, 8192]
ELEMENTS = 50_000
TOLERANCE = 0.01
NOISE = {"CANN_SIM_HOST_LAUNCH_US": "20", "CANN_SIM_JITTER": "0.02"}
SIDES = {"ours": "1", "stock": "0"}


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def tune(tunings: int) -> None:
    """The child: tunes so many times, prints the picks and the P50s of the last tuning as JSON."""
    x = torch.rand(ELEMENTS).to("npu")
    out = torch.zeros_like(x)
    picks: list[int] = []
    seconds: list[float] = []
    for number in range(tunings):
        order = BLOCKS[:]
        if number:
            random.Random(number).shuffle(order)
        kernel = triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in order], key=["n"])(double)
        began = time.perf_counter()
        kernel[lambda meta: (triton.cdiv(ELEMENTS, meta["BLOCK"]),)](x, out, ELEMENTS)
        torch.npu.synchronize()
        seconds.append(time.perf_counter() - began)
        picks.append(kernel.best_config.kwargs["BLOCK"])
    timings = {c.kwargs["BLOCK"]: t[0] if isinstance(t, list) else t for c, t in kernel.configs_timings.items()}
    print("RESULT" + json.dumps({"picks": picks, "p50_ms": timings, "seconds": seconds}))


def run(tunings: int, side: str, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", "--tunings", str(tunings)],
        env={**os.environ, "TRITON_ASCEND_TUNE": SIDES[side], **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.rpartition("RESULT")[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tunings", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        tune(arguments.tunings)
        return
    true_ms = run(1, "ours", {"TRITON_ASCEND_TUNE_PLAN": "fixed"})["p50_ms"]
    best = min(true_ms.values())
    print("simulated CANN: times are not those of any real device")
    print("true times, us: " + ", ".join(f"{block}: {ms * 1e3:.2f}" for block, ms in true_ms.items()))
    results: dict[str, Any] = {"true_ms": true_ms}
    for side in SIDES:
        result = results[side] = run(arguments.tunings, side, NOISE)
        regrets = [true_ms[str(pick)] / best - 1.0 for pick in result["picks"]]
        result["regret_percent"] = [round(100 * regret, 2) for regret in regrets]
        result["best_or_tie"] = sum(regret <= TOLERANCE for regret in regrets)
        median_s = sorted(result["seconds"])[len(regrets) // 2]
        shown = ", ".join(f"{block}: {ms * 1e3:.2f}" for block, ms in result["p50_ms"].items())
        print(
            f"{side:5} best or a tie of it (1 %): {result['best_or_tie']}/{len(regrets)}, worst {max(regrets):.1%}; "
            f"real time of a tuning {median_s:.2f} s; last P50s, us: {shown}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
