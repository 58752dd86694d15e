"""Simulated time of a half precision matmul over its tile sizes, with and without double buffering.

    triton-ascend-tune sim run -- python benchmarks/matmul_blocks.py [--svg FILE] [--json FILE]

The kernel is that of ``examples/04_matmul.py``. Each bar is the device time between two events around one launch after
a flush of L2, so it is a cold time; on the simulator it is the same in every run. ``docs/matmul_blocks.md`` explains
the order. Without ``--svg`` it only prints.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch_npu  # noqa: F401
import triton

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "04_matmul.py"
FLUSH_BYTES = 192 << 20
SIZES = {"even": (1024, 1024, 1024), "tails": (1040, 1040, 1040)}  # M, N, K
TILES = [
    (32, 32, 32),
    (32, 32, 128),
    (64, 64, 32),
    (64, 64, 64),
    (64, 64, 128),
    (128, 64, 64),
    (64, 128, 64),
    (128, 128, 32),
    (128, 128, 64),
    (128, 128, 128),
    (128, 256, 64),
    (256, 128, 64),
]


def kernel() -> Any:
    """The example's kernel without its tuner."""
    spec = importlib.util.spec_from_file_location("matmul_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.matmul_kernel.fn


def time_us(launch: Callable[[], Any], flush: torch.Tensor) -> float:
    """Device time of one launch with a cold L2, after one that compiles."""
    launch()
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    start.record()
    launch()
    end.record()
    torch.npu.synchronize()
    return start.elapsed_time(end) * 1e3


def measure() -> list[dict[str, Any]]:
    """One row for each size, tile and way of buffering; microseconds."""
    function, flush = kernel(), torch.empty(FLUSH_BYTES, dtype=torch.int8, device="npu")
    rows = []
    for label, (m, n, k) in SIZES.items():
        a, b, c = (torch.empty(s, dtype=torch.float16).npu() for s in ((m, k), (k, n), (m, n)))
        for tile, double in itertools.product(TILES, (True, False)):
            blocks = triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1])
            options = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile, strict=True), GROUP_M=4, multibuffer=double)
            strides = (*a.stride(), *b.stride(), *c.stride())
            us = time_us(partial(function[(blocks,)], a, b, c, m, n, k, *strides, **options), flush)
            rows.append({"size": label, "tile": list(tile), "double": double, "blocks": blocks, "us": us})
    return rows


def svg(rows: list[dict[str, Any]]) -> str:
    """A bar chart: a group of bars for each tile, one bar for each size and way of buffering."""
    colours = {
        ("even", True): "#1f6fb2",
        ("even", False): "#9cc4e4",
        ("tails", True): "#c05a1c",
        ("tails", False): "#ecbd9a",
    }
    names = {
        ("even", True): "1024, double buffer",
        ("even", False): "1024, single buffer",
        ("tails", True): "1040, double buffer",
        ("tails", False): "1040, single buffer",
    }
    bar, gap, left, top = 9, 12, 130, 50
    longest = max(row["us"] for row in rows)
    group = bar * len(colours) + gap
    height = top + group * len(TILES) + 20
    font = 'font-family="sans-serif" font-size="11"'
    title = (
        "Simulated microseconds of a matmul (fp16, M = N = K, cold L2) by BLOCK_M x BLOCK_N x BLOCK_K; not calibrated"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{height}" {font}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="16" font-size="13">{title}</text>',
    ]
    for i, (key, colour) in enumerate(colours.items()):
        parts.append(f'<rect x="{left + 165 * i}" y="26" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + 165 * i + 14}" y="35">{names[key]}</text>')
    for i, tile in enumerate(TILES):
        y = top + group * i
        label = " x ".join(map(str, tile))
        parts.append(f'<text x="{left - 8}" y="{y + group / 2}" text-anchor="end">{label}</text>')
        for j, (size, double) in enumerate(colours):
            us = next(r["us"] for r in rows if (r["size"], r["double"], tuple(r["tile"])) == (size, double, tile))
            width = us / longest * 600
            at = y + bar * j
            parts.append(
                f'<rect x="{left}" y="{at}" width="{width:.1f}" height="{bar - 1}" fill="{colours[size, double]}"/>'
            )
            parts.append(f'<text x="{left + width + 4:.1f}" y="{at + bar - 1}" font-size="9">{us:.1f}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measure()
    print(f"{'size':6s} {'tile':14s} {'blocks':>6s} {'double us':>10s} {'single us':>10s}")
    for row in rows:
        if row["double"]:
            single = next(r for r in rows if r["tile"] == row["tile"] and r["size"] == row["size"] and not r["double"])
            tile = "x".join(map(str, row["tile"]))
            print(f"{row['size']:6s} {tile:14s} {row['blocks']:6d} {row['us']:10.2f} {single['us']:10.2f}")
    if options.svg:
        options.svg.write_text(svg(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
