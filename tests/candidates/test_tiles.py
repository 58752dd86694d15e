"""Tiles: bounded, useful, never wrong, and quickly found."""

from __future__ import annotations

import math
from typing import Any

import product_idioms
import pytest
import worked_examples
from kernel_calls import arguments

from triton_ascend_tune.candidates import hardware, tiles
from triton_ascend_tune.candidates.axes import analyse
from triton_ascend_tune.candidates.footprint import Footprint

A2 = hardware.known("Ascend910B3")


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def proposed(
    module: Any, name: str, grid: Any, limit: int = 64, chip: hardware.Hardware = A2, **sizes: int
) -> tiles.Tiles:
    kernel = getattr(module, name)
    analysis = analyse(kernel, {**arguments(kernel, module), **sizes})
    return tiles.propose(analysis, Footprint(analysis.trace, chip), chip, grid, limit)


def sizes_of(found: tiles.Tiles, name: str) -> list[int]:
    return [tile.values[name] for tile in found.chosen]


def test_large_square_matrices_look_at_few_combinations() -> None:
    """Not at the product of what fits, which has millions; ``benchmarks/candidates.py`` says how long it takes."""
    asked = 0

    def grid(values: Any) -> tuple[int, ...]:
        nonlocal asked
        asked += 1
        return ceil(4096, values["BM"]), ceil(4096, values["BN"])

    found = proposed(product_idioms, "matmul_block_ptr", grid, M=4096, N=4096, K=4096)
    assert 0 < asked <= 2 * tiles.MAX_COMBINATIONS
    assert 16 <= len(found.chosen) <= 64
    for tile in found.chosen:
        assert tile.values["BM"] * tile.values["BN"] * 4 <= A2.l0c
    assert {"BM": 128, "BN": 256, "BK": 64} in [dict(tile.values) for tile in found.chosen]


@pytest.mark.parametrize("n", [1, 5, 100, 98_432, 1_000_003, 1 << 24, 1 << 31])
def test_one_axis_covers_the_cores_and_fits(n: int) -> None:
    found = proposed(worked_examples, "e1", lambda v: (ceil(n, v["BS"]),), n=n)
    sizes = sizes_of(found, "BS")
    assert 1 <= len(sizes) <= 64 and len(set(sizes)) == len(sizes)
    assert all(size * 4 <= A2.ub for size in sizes)
    if 98_432 <= n <= 1 << 24:
        # Some candidate gives all 40 cores the same number of programs.
        assert any(ceil(n, size) % 40 in (0, 38, 39) for size in sizes)
    for tile in found.chosen:
        assert not found.dropped or tile.values not in [values for values, _ in found.dropped]


def test_there_are_no_near_duplicates() -> None:
    found = proposed(worked_examples, "e2", lambda v: (ceil(98_432, v["BS"]),), n=98_432)
    for place, one in enumerate(found.chosen):
        for other in found.chosen[place + 1 :]:
            assert any(
                max(one.values[name], other.values[name]) >= tiles.NEAR * min(one.values[name], other.values[name])
                for name in one.values
            ), (one.values, other.values)
    assert all(tile.values["BS"] % tile.values["SUB"] == 0 for tile in found.chosen)


def test_effort_bounds_the_number() -> None:
    for limit in tiles.LIMITS.values():
        found = proposed(
            worked_examples, "e14", lambda v: (ceil(64, v["BA"]), ceil(48, v["BB"])), limit, A=64, B=48, C=9
        )
        assert len(found.chosen) <= limit


def test_a_parameter_that_nothing_moves_covers_its_axis() -> None:
    found = proposed(worked_examples, "e14", lambda v: (ceil(64, v["BA"]), ceil(48, v["BB"])), A=64, B=48, C=100)
    assert set(sizes_of(found, "BC")) <= {104, 128}


def test_a_fixed_grid_leaves_nothing_out() -> None:
    found = proposed(worked_examples, "e1", lambda v: (40,), n=98_432)
    assert min(sizes_of(found, "BS")) * 40 >= 98_432
    assert any("too few programs" in reason for _, reason in found.dropped)


def test_too_large_grids_are_dropped() -> None:
    found = proposed(worked_examples, "e1", lambda v: (ceil(1 << 24, v["BS"]),), n=1 << 24)
    assert all(ceil(1 << 24, size) <= 65535 for size in sizes_of(found, "BS"))


def test_what_cannot_fit_is_dropped_with_the_reason() -> None:
    found = proposed(worked_examples, "e1", lambda v: (ceil(1_000_003, v["BS"]),), n=1_000_003)
    assert any(reason == "unified buffer: needs about 256 KiB, has 192 KiB" for _, reason in found.dropped)


def test_an_unknown_length_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"length of axis x, which BS cuts, is not known.*axes"):
        proposed(worked_examples, "e10", lambda v: (40,))


def test_lengths_below_sixteen_do_not_matter_to_matrices() -> None:
    found = proposed(product_idioms, "matmul_block_ptr", lambda v: (ceil(3, v["BM"]), ceil(5, v["BN"])), M=3, N=5, K=7)
    assert found.chosen and all(tile.values["BM"] == 16 for tile in found.chosen)


def test_tiles_are_powers_of_two_where_triton_demands_it() -> None:
    chip = hardware.cuda("90", {"multiprocessor_count": 132, "max_shared_mem": 232_448})
    found = proposed(worked_examples, "e1", lambda v: (ceil(1_000_003, v["BS"]),), chip=chip, n=1_000_003)
    assert all(math.log2(size).is_integer() for size in sizes_of(found, "BS"))
