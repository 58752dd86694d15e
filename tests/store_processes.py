"""What the processes of ``test_store_processes`` do: each tunes the same kernel with the same folder of results.

They come out of a fork server that has this module loaded, so they start in no time and share nothing but the folder.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

from tuning_fakes import Stopwatch, World, active, add, add_kernel, blocks, tuner, with_engine

from triton_ascend_tune import identity
from triton_ascend_tune.measure import checkpoints

identity._triton()  # reads all of Triton's library: once in the server, and not in each process

SIZES = tuple(1 << bit for bit in range(3, 13))
#: Two are nearly equal, so that a choice by chance would show.
TIMES = {size: 1.0 + (abs(bit - 4) * 0.01) for bit, size in enumerate(SIZES)}
WINNER = SIZES[4]


def race(
    folder: Path, log: Path, delay: float = 0.0, most: float = math.inf, device: int = 0, jitter: float = 0.1
) -> None:
    """Tunes by the default plan with the real engine. Writes a line for each launch and one for each whole round.

    ``delay``: seconds of each sample. ``most``: rounds after which it waits to be killed. ``jitter``: that of the
    times, relative; it depends on the number of the round in its race, whichever process takes it.
    """
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    os.environ["TRITON_ASCEND_TUNE_WORKERS"] = "1"
    if delay:
        checkpoints.SHARE = 0.0  # keep every round, even if this machine is so busy that writing takes long
    before = len(kept_rounds(folder)) if jitter else 0  # others write there meanwhile where there is none
    done = [-1 if before else 0]  # the first round of one that goes on is thrown away
    world = World()
    world.device = device

    def time_of(settings: dict[str, Any]) -> float:
        block = settings["BLOCK"]
        tell(log, f"launched {block}")
        return TIMES[block] * (1.0 + jitter * abs(random.Random(f"{before + done[0]}/{block}").gauss(0.0, 1.0)))

    def sampled(blocks: list[int]) -> None:
        time.sleep(delay * len(blocks))
        if done[0] >= most:
            time.sleep(60)
        tell(log, f"round {' '.join(map(str, blocks))}")
        done[0] += 1

    world.times = time_of
    with active(world):
        tuned = with_engine(tuner(world, add_kernel, blocks(*SIZES)), Stopwatch(world, sampled))
        tuned.cache_results = True
        tell(log, "begin")
        add(tuned)
        tell(log, f"winner {tuned.best_config.kwargs['BLOCK']}")


def contents(folder: Path) -> list[dict[str, Any]]:
    """All records. Every one is whole at any moment; what a kill leaves of one is in a temporary folder of Triton's."""
    paths = [path for path in folder.rglob("*.tune.json") if not path.parent.name.startswith("tmp.")]
    return [json.loads(path.read_text()) for path in paths]


def kept_rounds(folder: Path) -> list[list[int]]:
    """The blocks in each round of the race that is not over; none if there is no such race."""
    for content in contents(folder):
        if "rounds" in content:
            return [[SIZES[index] for index, _, _ in round_] for round_ in content["rounds"]]
    return []


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
