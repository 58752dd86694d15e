"""Casts to a float that cannot hold every value, by rounding mode, against the two neighbours that the target has."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from micro_calls import TYPES, Program, Result, Scalar, View, run_programs

HALF_AWAY, DOWN, UP, TOWARDS_ZERO, ODD = 1, 2, 3, 4, 5
MODES = (HALF_AWAY, DOWN, UP, TOWARDS_ZERO, ODD)
#: Ties, both sides of ties, the smallest and the largest numbers of f16 and bf16, and what lies beyond.
REALS = [
    *(1 + n * 2.0**-12 for n in range(9)),
    *(1 + n * 2.0**-9 for n in range(9)),
    *(2.0**-24 * x for x in (0.25, 0.5, 0.75, 1, 1.5)),
    *(2.0**-133 * x for x in (0.25, 0.5, 0.75, 1, 1.5)),
    *(65504, 65519, 65520, 65521, 65536, 1e6),
    *(float(np.uint32(bits).view(np.float32)) for bits in (0x7F7F0000, 0x7F7F7FFF, 0x7F7F8000, 0x7F7F8001, 0x7F7FFFFF)),
    *(0.0, np.inf, np.nan, 1 / 3, 100.1),
]
INTEGERS = {"int16_t": 2**11, "int32_t": 2**24, "int64_t": 2**24}
PAIRS = ("float:half", "float:bfloat16_t", "int16_t:half", "int32_t:float", "int64_t:float")


def inputs(kind: str) -> np.ndarray:
    if kind == "float":
        return np.array([*REALS, *(-x for x in REALS)], np.float32)
    limits, exact = np.iinfo(TYPES[kind][1]), INTEGERS[kind]
    near = [exact * scale + n for scale in (1, 2, 4) for n in range(-4, 9)]
    ends = [limits.max - n for n in (0, 1, 15, 16, 17)]
    return np.array([0, *near, *(-x for x in near), *ends, *(-x for x in ends), limits.min], TYPES[kind][1])


def to_bits(kind: str, magnitudes: np.ndarray) -> np.ndarray:
    """The largest number of ``kind`` that is not above each magnitude, as bits."""
    if kind == "bfloat16_t":
        return (magnitudes.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
    dtype = TYPES[kind][1]
    word = f"uint{np.dtype(dtype).itemsize * 8}"
    with np.errstate(over="ignore"):
        rounded = magnitudes.astype(dtype)
    return rounded.view(word).astype(np.int64) - (rounded.astype(np.longdouble) > magnitudes)


def magnitude(kind: str, bits: np.ndarray) -> np.ndarray:
    """The number with these bits; infinity as the number that would follow the largest."""

    def value(bits: np.ndarray) -> np.ndarray:
        if kind == "bfloat16_t":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.longdouble)
        dtype = np.dtype(TYPES[kind][1])
        return bits.astype(f"uint{dtype.itemsize * 8}").view(dtype).astype(np.longdouble)

    return np.where(np.isinf(value(bits)), 2 * value(bits - 1) - value(bits - 2), value(bits))


def expected(kind: str, values: np.ndarray, mode: int) -> np.ndarray:
    """Bits without sign of the casts of finite ``values``."""
    exact = values.astype(np.longdouble)
    size = np.abs(exact)
    inner = to_bits(kind, size)
    outer = inner + 1
    held = magnitude(kind, inner) == size
    outwards = {
        HALF_AWAY: 2 * size >= magnitude(kind, inner) + magnitude(kind, outer),
        DOWN: exact < 0,
        UP: exact > 0,
        TOWARDS_ZERO: np.zeros(len(values), bool),
        ODD: inner % 2 == 0,
    }[mode]
    return np.where(held | ~outwards, inner, outer)


@pytest.fixture(scope="module")
def casts(sim_env: dict[str, str]) -> dict[tuple[str, int, int], np.ndarray]:
    """(pair, mode, rank) -> what the cast made of ``inputs``, as bits."""
    program, places = Program("casts"), {}
    for pair, mode, rank in product(PAIRS, MODES, (1, 2)):
        kind, to_kind = pair.split(":")
        values = inputs(kind)
        values = values[: len(values) // 2 * 2].reshape((-1,) if rank == 1 else (2, -1))
        source = program.place(values, kind)
        target: View = program.place(None, to_kind, values.shape)
        program.call(f"vcast_{kind}_to_{to_kind}_{rank}d_with_mode", source, target, Scalar(mode, "i32"))
        places[pair, mode, rank] = target
    result: Result = run_programs([program], sim_env)["casts"]
    assert not result.error
    read = {key: target.read(result.images["ub"]).reshape(-1) for key, target in places.items()}
    return {key: array.view(f"uint{array.dtype.itemsize * 8}").astype(np.int64) for key, array in read.items()}


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pair", PAIRS)
def test_every_mode_takes_the_right_neighbour(
    pair: str, mode: int, rank: int, casts: dict[tuple[str, int, int], np.ndarray]
) -> None:
    kind, to_kind = pair.split(":")
    values = inputs(kind)
    values, bits = values[: len(values) // 2 * 2], casts[pair, mode, rank]
    sign = 1 << (np.dtype(TYPES[to_kind][1]).itemsize * 8 - 1)
    finite = np.isfinite(values) if kind == "float" else np.ones(len(values), bool)
    negative = np.signbit(values) if kind == "float" else values < 0
    np.testing.assert_array_equal((bits & sign != 0)[finite], negative[finite])
    np.testing.assert_array_equal((bits & (sign - 1))[finite], expected(to_kind, values[finite], mode))
    infinite = 0x7C00 if to_kind == "half" else 0x7F80
    assert all((bits[~finite & ~np.isnan(values)] & (sign - 1)) == infinite) if kind == "float" else True
