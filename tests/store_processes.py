"""What the processes of ``test_store_processes`` do: each tunes the same kernel with the same folder of results.

They come out of a fork server that has this module loaded, so they start in no time and share nothing but the folder.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tuning_fakes import World, active, add, add_kernel, blocks, tuner

from triton_ascend_tune import identity

identity._triton()  # reads all of Triton's library: once in the server, and not in each process

SIZES = tuple(1 << bit for bit in range(3, 13))
#: Two are nearly equal, so that a choice by chance would show.
TIMES = {size: 1.0 + (abs(bit - 4) * 0.01) for bit, size in enumerate(SIZES)}
WINNER = SIZES[4]


def tune(folder: Path, log: Path, plan: str = "classic", delay: float = 0.0, device: int = 0) -> None:
    """Tunes, and writes down what it measures: one line each, in one piece."""
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    os.environ["TRITON_ASCEND_TUNE_PLAN"] = plan
    os.environ["TRITON_ASCEND_TUNE_WORKERS"] = "1"
    world = World()
    world.device = device

    def time_of(settings: dict[str, Any]) -> float:
        if delay:
            time.sleep(delay)
        tell(log, f"measured {settings['BLOCK']}")
        return TIMES[settings["BLOCK"]]

    world.times = time_of
    with active(world):
        tuned = tuner(world, add_kernel, blocks(*SIZES))
        tuned.cache_results = True
        tell(log, "begin")
        add(tuned)
        tell(log, f"winner {tuned.best_config.kwargs['BLOCK']}")


def tell(log: Path, line: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)
