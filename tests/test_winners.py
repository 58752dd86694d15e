"""How many choices a tuner keeps, and that nothing else of it grows."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, torch, tuner, vectors, world  # noqa: F401

import triton_ascend_tune

VARIABLE = "TRITON_ASCEND_TUNE_WINNERS"


@pytest.fixture
def tuned(world: World) -> Any:  # noqa: F811
    world.times = {16: 3.0, 32: 1.0}
    return tuner(world, add_kernel, blocks(16, 32))


def kept(tuned: Any) -> list[int]:
    return [key[0] for key in tuned.cache]


def test_all_are_kept_by_default(tuned: Any) -> None:
    for n in range(1, 41):
        add(tuned, n=n)
    assert kept(tuned) == list(range(1, 41))


@pytest.mark.parametrize("native", [True, False])
def test_the_least_recently_used_is_dropped(tuned: Any, monkeypatch: Any, native: bool) -> None:
    """A hit counts as a use, and so does a call on the general path."""
    if not native:
        monkeypatch.setitem(sys.modules, "triton_ascend_tune._native", None)
    monkeypatch.setenv(VARIABLE, "3")
    for n in (1, 2, 3, 1, 1, 2, 4):
        add(tuned, n=n)
    assert sorted(kept(tuned)) == [1, 2, 4]
    for n in (1, 5, 6):
        add(tuned, n=n)
    assert sorted(kept(tuned)) == [1, 5, 6]


def test_a_choice_that_the_program_brought_along_is_no_older_than_its_last_use(tuned: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    add(tuned, n=1)
    tuned.cache[(2, *(str(torch.float32) for _ in range(3)))] = tuned.configs[0]
    for n in (2, 3):
        add(tuned, n=n)
    assert sorted(kept(tuned)) == [2, 3]


@pytest.mark.parametrize("place", ["around", "decorator"])
def test_a_program_says_how_many(tuned: Any, monkeypatch: Any, place: str) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    given = triton_ascend_tune.options(winners=2)
    if place == "decorator":
        given(tuned)
        for n in range(1, 6):
            add(tuned, n=n)
    else:
        with given:
            for n in range(1, 6):
                add(tuned, n=n)
    assert kept(tuned) == [4, 5]


def test_a_dropped_choice_is_made_again(world: World, tuned: Any, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setenv(VARIABLE, "1")
    add(tuned, n=1)
    add(tuned, n=2)
    world.times = {16: 0.5, 32: 1.0}
    assert add(tuned, n=1).settings["BLOCK"] == 16
    assert tuned.verdict is not None and kept(tuned) == [1]


def test_a_dropped_choice_comes_back_from_disk(world: World, tuned: Any, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    tuned.cache_results = True
    monkeypatch.setenv(VARIABLE, "1")
    add(tuned, n=1)
    add(tuned, n=2)
    world.log.clear()
    assert add(tuned, n=1).settings["BLOCK"] == 32
    assert world.log == [("launch", 32)]


def test_a_single_survivor_counts_too(world: World, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setenv(VARIABLE, "2")
    prune = {"early_config_prune": lambda configs, named, **_: configs[:1]}
    tuned = tuner(world, add_kernel, blocks(16, 32), prune_configs_by=prune)
    for n in range(1, 5):
        add(tuned, n=n)
    assert kept(tuned) == [3, 4]


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_what_is_no_count_is_named(tuned: Any, monkeypatch: Any, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ValueError, match=f"{VARIABLE} is '{value}'; allowed: unset, or a whole number, 1 and more"):
        add(tuned)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "3"])
def test_what_is_no_count_as_an_option_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"options: winners is .*; allowed: a whole number"):
        triton_ascend_tune.options(winners=value)


def growth(calls: Callable[[], None]) -> int:
    """Bytes that ``calls`` leaves allocated, when it has been done once before."""
    calls()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    calls()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


@pytest.mark.parametrize("path", ["hit", "general", "lone", "mapped"])
def test_calls_of_known_keys_leave_nothing_behind(world: World, path: str) -> None:  # noqa: F811
    world.times = {16: 3.0, 32: 1.0}
    key = ("n", "bias") if path == "general" else ("n",)
    configs = blocks(16) if path == "lone" else blocks(16, 32)
    tuned = tuner(world, add_kernel, configs, key=key, do_bench=lambda *_, **__: 1.0)
    tuned.fn.run = lambda *args, **keywords: None
    if path == "mapped":
        triton_ascend_tune.key_map(n=64)(tuned)
    arguments = vectors()
    bias = [1, 2] if path == "general" else None

    def calls() -> None:
        for n in (*range(1, 301), *range(1, 301)):
            tuned[(4,)](*arguments, n, bias)
        world.log.clear()

    # 600 calls of which each left the smallest object behind would be 10 kB.
    assert growth(calls) < 5_000
    assert len(tuned.cache) == {"lone": 0, "mapped": 5}.get(path, 300)


def test_new_keys_beyond_the_limit_leave_nothing_behind(world: World, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setenv(VARIABLE, "8")
    tuned = tuner(world, add_kernel, blocks(16, 32), do_bench=lambda *_, **__: 1.0)
    tuned.fn.run = lambda *args, **keywords: None
    arguments, start = vectors(), 0

    def calls() -> None:
        nonlocal start
        for n in range(start, start + 200):
            tuned[(4,)](*arguments, 1000 + n)
        start += 200

    assert growth(calls) < 20_000  # 200 winners with their keys would be 100 kB and more
    assert len(tuned.cache) == 8 == tuned._plan.hits.count()
