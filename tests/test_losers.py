"""What of a tuning's compilations stays in Triton's cache."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from triton.runtime.cache import get_cache_manager
from tuning_fakes import World, add, add_kernel, blocks, tuner, world  # noqa: F401

from triton_ascend_tune import losers

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


class Compiled:
    def __init__(self, block: int) -> None:
        self.hash = name_of(block)


def name_of(block: int) -> str:
    return f"{block:064x}"


@pytest.fixture
def folder(world: World) -> Path:  # noqa: F811
    """Triton's cache, of a compiler that leaves a file for each kernel there, as the real ones do."""
    world.times, compile = TIMES, world.compile
    cache = Path(os.environ["TRITON_CACHE_DIR"])

    def leave_a_file(*args: Any, **keywords: Any) -> Any:
        kernel = compile(*args, **keywords)
        kernel.hash = name_of(kernel.settings["BLOCK"])
        write(kernel.settings["BLOCK"])
        return kernel

    import triton.compiler

    triton.compiler.compile = leave_a_file  # `world` puts the real one back
    return cache


def write(block: int) -> Path:
    return Path(get_cache_manager(name_of(block)).put("{}", "add_kernel.json", binary=False))


def left() -> set[int]:
    return {block for block in TIMES if get_cache_manager(name_of(block)).get_file("add_kernel.json")}


def test_by_default_everything_stays(folder: Path, world: World) -> None:  # noqa: F811
    add(tuner(world, add_kernel, blocks(*TIMES)))
    assert left() == set(TIMES)


def test_the_winners_alone(folder: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """FR-18."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_KEEP", "winner")
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    made = tuner(world, add_kernel, blocks(*TIMES))
    assert add(made).settings["BLOCK"] == 32
    assert left() == {32}
    assert add(made).settings["BLOCK"] == 32 and len(list(folder.rglob("*.tune.json"))) == 4  # the results stay


def test_what_was_there_before_stays(folder: Path) -> None:
    os.utime(write(16), (1.0, 1.0))
    losers.remove([Compiled(16)], [], since=time.time() - 60)
    assert left() == {16}
    write(16)
    assert losers.remove([Compiled(16), Compiled(16), None], [None], since=time.time() - 60) == 1
    assert left() == set()


def test_a_kernel_of_the_winner_too_stays(folder: Path) -> None:
    write(16)
    assert losers.remove([Compiled(16)], [Compiled(16)], since=0.0) == 0
    assert left() == {16}


def test_a_senseless_value_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("TRITON_ASCEND_TUNE_KEEP", "none")
    with pytest.raises(ValueError, match="TRITON_ASCEND_TUNE_KEEP is 'none'; allowed: unset, or one of all, winner"):
        add(tuner(world, add_kernel, blocks(16, 32)))
