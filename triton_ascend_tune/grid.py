"""The grid of a candidate before it is launched: whether the device takes it, and whether two are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Blocks that one launch on an Ascend NPU may have, unless triton-ascend spreads more over the cores.
MAX_BLOCKS = 65535


def grid_of(grid: Any, arguments: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The grid of a launch with ``arguments``; None if it cannot be told from them.

    A grid that is a function is asked as the launch will ask it; one that fails here says so there, in its own words.
    """
    try:
        value = grid(dict(arguments)) if callable(grid) else grid
        return tuple(int(each) for each in value)
    except Exception:
        return None


def refused(grid: tuple[int, ...] | None, target: str, spread: bool) -> str:
    """Why ``target`` ("npu:...") does not launch ``grid``, or "". ``spread``: ``settings.spreads_blocks()``."""
    if grid is None or not target.startswith("npu:") or spread:
        return ""
    blocks = 1
    for size in grid:
        blocks *= size
    if blocks <= MAX_BLOCKS:
        return ""
    return f"grid {grid} has {blocks} blocks; allowed are {MAX_BLOCKS}, or more with TRITON_ALL_BLOCKS_PARALLEL=1"
