"""Mapped key values, and the warning for kernels that keep tuning."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tuning_fakes import StockTuner, World, add, add_kernel, blocks, fresh, torch, triton, tuner, world  # noqa: F401

import triton_ascend_tune
from triton_ascend_tune import key_mapping

key_map = triton_ascend_tune.key_map


def mapped(rule: Any, *values: Any) -> list[Any]:
    function = key_mapping._function(rule, "n")
    return [function(value) for value in values]


def test_power_of_two() -> None:
    assert mapped("power_of_two", 0, 1, 2, 3, 4, 5, 1000, 1024, 1025) == [0, 1, 2, 4, 4, 8, 1024, 1024, 2048]
    assert mapped("power_of_two", -3, None, 2.5, "x") == [-3, None, 2.5, "x"]


def test_multiples() -> None:
    assert mapped(64, 0, 1, 64, 65, None, 1.5) == [0, 64, 64, 128, None, 1.5]


def test_buckets() -> None:
    assert mapped([128, 1024], 1, 128, 129, 1024, 1025, 9999, None) == [
        128, 128, 1024, 1024, "above 1024", "above 1024", None,
    ]  # fmt: skip


def test_a_function() -> None:
    assert mapped(lambda n: n // 10, 19, 21) == [1, 2]


@pytest.mark.parametrize("rule", ["power of two", 0, -8, True, [], [2, 1], [1, 1], [1, "2"], 1.5, None])
def test_what_is_no_mapping_is_named(rule: Any) -> None:
    with pytest.raises(ValueError, match=r"key_map: n is .*; allowed: 'power_of_two'"):
        key_map(n=rule)


def test_lengths_share_a_choice_and_the_kernel_gets_them_as_they_are(world: World) -> None:  # noqa: F811
    """FR-08: lengths 1000 to 1100, with and without the mapping."""
    world.times = {16: 2.0, 32: 1.0}
    seen: list[int] = []
    plain = tuner(world, add_kernel, blocks(16, 32))
    tuned = key_map(n="power_of_two")(
        tuner(
            world,
            add_kernel,
            blocks(16, 32),
            prune_configs_by={"early_config_prune": lambda configs, named, **_: seen.append(named["n"]) or configs},
        )
    )
    for n in range(1000, 1101):
        add(tuned, n=n)
        add(plain, n=n)
    assert len(tuned.cache) == 2 and len(plain.cache) == 101
    assert seen == [1000, 1025]


def test_only_the_named_arguments_are_mapped(world: World) -> None:  # noqa: F811
    world.times = {16: 2.0, 32: 1.0}
    tuned = key_map(n=64)(tuner(world, add_kernel, blocks(16, 32), key=["n", "MODE"]))
    for n, mode in ((1, 0), (64, 0), (1, 1), (65, 1)):
        add(tuned, n=n, MODE=mode)
    assert [key[:2] for key in tuned.cache] == [(64, 0), (64, 1), (128, 1)]


def test_mappings_add_up_and_may_come_late(world: World) -> None:  # noqa: F811
    world.times = {16: 2.0, 32: 1.0}
    tuned = key_map(n=64)(key_map(MODE=lambda _: "any")(tuner(world, add_kernel, blocks(16, 32), key=["n", "MODE"])))
    add(tuned)
    key_map(n=lambda _: "every n")(tuned)
    add(tuned, n=3, MODE=7)
    assert [key[:2] for key in tuned.cache] == [(64, "any"), ("every n", "any")]


def test_tensors_are_mapped_by_their_shape(world: World) -> None:  # noqa: F811
    world.times = {16: 2.0, 32: 1.0}
    tuned = key_map(x_ptr=lambda text: len(text))(tuner(world, add_kernel, blocks(16, 32), key=["x_ptr"]))
    for n in (10, 20, 200):
        add(tuned, n=n)
    assert len(tuned.cache) == 2


def test_heuristics_around_the_tuner(world: World) -> None:  # noqa: F811
    tuned = tuner(world, add_kernel, blocks(16, 32))
    outer = triton.heuristics({"MODE": lambda _: 0})(tuned)
    assert key_map(n=4)(outer) is outer
    assert set(vars(tuned)[key_mapping.ATTRIBUTE]) == {"n"}


def test_a_stock_tuner_only_carries_it(world: World) -> None:  # noqa: F811
    world.times = {16: 2.0, 32: 1.0}
    stock = key_map(n="power_of_two")(tuner(world, add_kernel, blocks(16, 32), cls=StockTuner, do_bench=world.bench))
    add(stock)
    assert stock.best_config.kwargs == {"BLOCK": 32}


def test_what_it_cannot_decorate_is_named(world: World) -> None:  # noqa: F811
    with pytest.raises(TypeError, match=r"above it; not JITFunction"):
        key_map(n=4)(fresh(add_kernel))
    with pytest.raises(ValueError, match=r"MODE not in the key of the kernel, which is \['n'\]"):
        key_map(MODE=4)(tuner(world, add_kernel, blocks(16, 32)))


def test_one_warning_for_a_kernel_that_keeps_tuning(world: World, caplog: Any) -> None:  # noqa: F811
    """FR-08: it names what keeps changing."""
    world.times = {16: 2.0, 32: 1.0}
    tuned = tuner(world, add_kernel, blocks(16, 32))
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        for n in range(1, 80):
            add(tuned, n=n, dtype=torch.float16 if n == 7 else torch.float32)
    assert [record.message for record in caplog.records] == [
        "kernel add_kernel has been tuned 32 times in this process; its key differs in n (32 values), "
        "x_ptr.dtype (2 values), y_ptr.dtype (2 values). If near values can share a choice, map them: "
        "triton_ascend_tune.key_map(n='power_of_two')"
    ]
