"""Several processes and one folder of results: one after the other, killed, and all at once."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_processes import SIZES, WINNER, contents, kept_rounds, race, tune

from triton_ascend_tune.records import FORMAT

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["store_processes"])


@pytest.fixture(autouse=True, scope="module")
def the_server_finds_its_module() -> Iterator[None]:
    """Before Python 3.14 the fork server loads modules from where the interpreter looks by itself alone."""
    with pytest.MonkeyPatch.context() as patch:
        here = Path(__file__).parent
        patch.setenv("PYTHONPATH", os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]))
        yield


def started(*args: Any, target: Any = tune, **options: Any) -> Any:
    process = _context.Process(target=target, args=args, kwargs=options)
    process.start()
    return process


def finished(process: Any) -> None:
    process.join(120)
    assert process.exitcode == 0


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def measured(log: Path) -> list[int]:
    return [int(line.split()[1]) for line in lines(log) if line.startswith("measured")]


def told(log: Path, what: str) -> list[list[int]]:
    """The numbers of each line that begins with ``what``."""
    return [[int(word) for word in line.split()[1:]] for line in lines(log) if line.startswith(f"{what} ")]


def stored_samples(folder: Path) -> dict[str, list[float]]:
    return {each["config"]: each["samples"]["times_ms"] for each in contents(folder) if "samples" in each}


def winners(log: Path) -> list[int]:
    return [int(line.split()[1]) for line in lines(log) if line.startswith("winner")]


def stored(folder: Path) -> set[int]:
    """The candidates with a record."""
    found = contents(folder)
    assert all(content["format"] == FORMAT for content in found)
    configs = [content["config"] for content in found if "samples" in content]
    return {int(config.split(",")[0].removeprefix("BLOCK: ")) for config in configs}


@pytest.mark.parametrize("plan", ["race", "classic", "fixed"])
def test_a_second_process_measures_nothing(tmp_path: Path, plan: str) -> None:
    """FR-01, FR-49, FR-55: of two fresh processes."""
    finished(started(tmp_path / "cache", tmp_path / "one", plan))
    assert sorted(measured(tmp_path / "one")) == sorted(SIZES)
    finished(started(tmp_path / "cache", tmp_path / "two", plan))
    assert measured(tmp_path / "two") == []
    assert winners(tmp_path / "one") == winners(tmp_path / "two") == [WINNER]


def test_killed_at_ten_random_moments_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """FR-17: what has a record is not measured again, and the choice is that of a tuning in peace."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    dice = random.Random(seed)
    folder, kills, runs = tmp_path / "cache", 0, 0
    everything: list[int] = []
    while True:
        log = tmp_path / f"run {runs}"
        before = stored(folder)
        process = started(folder, log, delay=0.05)
        runs += 1
        if kills < 10:
            while not lines(log):
                time.sleep(0.001)
            # Each run gets through about a tenth of a whole tuning, so that all ten of them are cut short.
            time.sleep(dice.uniform(0.0, 0.1))
            process.kill()
            process.join(60)
            assert process.exitcode == -signal.SIGKILL
            kills += 1
        else:
            finished(process)
        assert before.isdisjoint(measured(log))
        everything += measured(log)
        if winners(log):
            break
    assert kills == 10 and runs == 11
    assert set(everything) == set(SIZES) == stored(folder)
    # A kill between the end of a measurement and its record may cost that one, and no more.
    assert len(everything) <= len(SIZES) + kills
    assert winners(log) == [WINNER]


def test_a_race_killed_at_ten_random_moments_goes_on_where_it_was(tmp_path: Path) -> None:
    """FR-17, under the default plan: no finished round is measured twice, and the choice is that of a race in peace."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    dice = random.Random(seed)
    peace, folder, kept = tmp_path / "in peace", tmp_path / "cache", 0
    finished(started(tmp_path / "peace", peace, target=race))
    whole = told(peace, "round")
    assert len(whole) > 30
    for run in range(11):
        log = tmp_path / f"run {run}"
        thrown_away = 1 if kept else 0
        if run < 10:
            wanted = dice.randint(0, 2 * (len(whole) - kept) // (12 - run))
            process = started(folder, log, target=race, delay=0.002, most=wanted + 2)
            while len(told(log, "round")) < wanted + thrown_away or not lines(log):
                time.sleep(0.001)
            time.sleep(dice.uniform(0.0, 0.02))
            process.kill()
            process.join(60)
            assert process.exitcode == -signal.SIGKILL
        else:
            finished(started(folder, log, target=race))
        counted = told(log, "round")[thrown_away:]
        # It goes on with the round after those that were kept, in the same order, ...
        assert counted == whole[kept : kept + len(counted)]
        # ... launches nobody who has dropped out by then, ...
        assert {block for [block] in told(log, "launched")} <= {block for round_ in whole[kept:] for block in round_}
        # ... and keeps what it took: a kill between the end of a round and its record may cost that one, and no more.
        now = kept_rounds(folder) if run < 10 else whole
        assert now == whole[: len(now)]
        assert kept + len(counted) - 1 <= len(now) <= kept + len(counted)
        kept = len(now)
        print("run", run, "has left", kept, "of", len(whole), "rounds")
    assert winners(log) == winners(peace) != []
    assert stored_samples(folder) == stored_samples(tmp_path / "peace")
    assert stored(folder) == set(SIZES) and not kept_rounds(folder)


@pytest.mark.parametrize("target", [tune, race])
def test_sixty_four_processes_on_one_folder(tmp_path: Path, target: Any) -> None:
    """FR-17: nothing is lost and nothing is corrupted, and of the rounds that races keep nothing is left.

    FR-60: one of them measures and the others take its results, so that all choose alike.
    """
    folder, log = tmp_path / "cache", tmp_path / "log"
    options = {"delay": 1e-9, "jitter": 0.0} if target is race else {}
    processes = [started(folder, log, target=target, device=index % 8, **options) for index in range(64)]
    for process in processes:
        finished(process)
    assert winners(log) == [WINNER] * 64
    if target is tune:
        assert sorted(measured(log)) == sorted(SIZES)
    assert stored(folder) == set(SIZES)
    names = [path.name for path in folder.rglob("*")]
    assert len([name for name in names if name.endswith(".tune.json")]) == len(SIZES) + 1
    assert not [name for name in names if name.startswith("tmp.")]
    last = tmp_path / "last"
    finished(started(folder, last, target=target))
    assert measured(last) == told(last, "round") == [] and winners(last) == [WINNER]
