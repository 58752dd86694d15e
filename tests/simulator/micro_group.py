"""Where the cases of the micro-kernels are collected: a program per family, with what NumPy expects of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from micro_calls import TYPES, Operand, Program, View

Expectation = tuple[
    View, np.ndarray, float
]  # operand, what it should hold afterwards, tolerance in units of the last place

PROGRAMS: dict[str, Program] = {}
EXPECTED: dict[str, list[Expectation]] = {}

REALS, NUMBERS = ("half", "float"), ("int16_t", "int32_t", "half", "float")
INTEGERS = tuple(f"{sign}int{n}_t" for n in (8, 16, 32, 64) for sign in ("", "u"))
BITWISE = ("bool", *INTEGERS, "half", "bfloat16_t", "float")
SHAPES = {1: (37,), 2: (5, 16), 3: (3, 4, 16)}


class Group:
    """The calls of one family, in one program."""

    def __init__(self, name: str) -> None:
        self.program = Program(name)
        self.expected: list[Expectation] = []
        self.random = np.random.Generator(np.random.PCG64(len(PROGRAMS)))
        PROGRAMS[name], EXPECTED[name] = self.program, self.expected

    def values(self, kind: str, sizes: tuple[int, ...], special: bool = True) -> np.ndarray:
        """Random elements; floats in +-8 with infinities, NaN, zeros and a subnormal among them if ``special``."""
        if kind == "bool":
            return self.random.integers(0, 2, sizes).astype(np.uint8)
        dtype = np.dtype(TYPES[kind][1])
        if kind == "bfloat16_t":
            return to_bfloat16(self.values("float", sizes, special))
        if dtype.kind != "f":
            limits = np.iinfo(dtype)
            return self.random.integers(limits.min, limits.max, sizes, dtype, endpoint=True)
        values = (self.random.random(sizes) * 16 - 8).astype(dtype)
        if special:
            flat, odd = values.reshape(-1), [np.inf, -np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).smallest_subnormal]
            places = self.random.permutation(flat.size)[: len(odd)]
            flat[places] = np.array(odd[: len(places)]).astype(dtype)
        return values

    def source(self, kind: str, sizes: tuple[int, ...], special: bool = True, **where: Any) -> tuple[View, np.ndarray]:
        values = self.values(kind, sizes, special)
        return self.program.place(values, kind, **where), values

    def target(self, kind: str, sizes: tuple[int, ...], **where: Any) -> View:
        return self.program.place(None, kind, sizes, **where)

    def call(self, name: str, *operands: Operand) -> None:
        self.program.call(name, *operands)

    def expect(self, target: View, values: np.ndarray, ulps: float = 0) -> None:
        self.expected.append((target, values, ulps))


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bits_of(values: np.ndarray) -> np.ndarray:
    return values.view(np.dtype(f"uint{values.dtype.itemsize * 8}"))


def group(build: Callable[[Group], None]) -> Callable[[Group], None]:
    with np.errstate(all="ignore"):
        build(Group(build.__name__))
    return build
