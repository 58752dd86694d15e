"""A million launches over ten thousand keys: what the process holds, after each hundred thousand.

The kernel below the tuner does nothing and no device is needed. One run keeps all choices, as stock Triton does; one
keeps a hundred (``options(winners=100)``), and 99 of 100 of its calls have one of fifty keys, as in a program with some
usual lengths. What Python holds is counted in blocks of its allocator, because ``tracemalloc`` would slow a million
calls down too much.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import sys
import time
from typing import Any

import hit_path
import torch
import triton
from triton.runtime.autotuner import Autotuner

import triton_ascend_tune
from triton_ascend_tune.classes import make_tuner_class


def resident_mib() -> float:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(calls: int, keys: int, winners: int | None) -> list[dict[str, Any]]:
    configs = [triton.Config({"BLOCK": 1024}, num_warps=4) for _ in range(2)]
    cls: Any = make_tuner_class(Autotuner)
    tuner = cls(
        hit_path.four,
        hit_path.four.arg_names,
        configs,
        hit_path.KERNELS[hit_path.four],
        None,
        None,
        do_bench=hit_path.bench,
    )
    if winners is not None:
        triton_ascend_tune.options(winners=winners)(tuner)
    x = torch.ones(16)
    draw = random.Random(0)
    rows = []
    start = time.perf_counter()
    for number in range(calls):
        # Every key comes once, then any of them; or mostly one of a few where only a few are kept.
        few = winners is not None and draw.random() < 0.99
        length = number if number < keys and not few else draw.randrange(winners // 2 if few else keys)
        tuner[(1,)](x, x, length, 1)
        if (number + 1) % max(1, calls // 10) == 0:
            rows.append(
                {
                    "calls": number + 1,
                    "winners": len(tuner.cache),
                    "hits": tuner._plan.hits.count(),
                    "blocks": sys.getallocatedblocks(),
                    "resident_mib": round(resident_mib(), 1),
                    "seconds": round(time.perf_counter() - start, 1),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    hit_path.set_up("none")
    content = {}
    for title, winners in (("all choices kept", None), ("a hundred kept", 100)):
        rows = content[title] = run(options.calls, options.keys, winners)
        print(title)
        print("  " + " ".join(f"{name:>12}" for name in rows[0]))
        for row in rows:
            print("  " + " ".join(f"{value:12}" for value in row.values()))
        print(f"  blocks from the second to the last row: {rows[-1]['blocks'] - rows[1]['blocks']:+}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
