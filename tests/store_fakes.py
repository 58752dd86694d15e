"""A made-up device whose tunings keep their results on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tuning_fakes import World, add_kernel, blocks, tuner

from triton_ascend_tune import store

TIMES = {16: 3.0, 32: 1.0, 64: 2.0, 128: 4.0}


def records(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "triton").rglob("*.tune.json"))


def measured(world: World) -> set[int]:
    """The blocks that were launched more often than a program's own call does."""
    launches = world.logged("launch")
    return {block for block in launches if launches.count(block) > 1}


def another_process(world: World, *sizes: int, configs: Any = None, kernel: Any = add_kernel, **options: Any) -> Any:
    """A tuner that has nothing in memory, and that keeps its results on disk."""
    store.failures.forget()
    world.log.clear()
    world.protocols.clear()
    tuned = tuner(world, kernel, configs or blocks(*(sizes or (16, 32, 64))), **options)
    tuned.cache_results = True
    return tuned
