"""What a case of ``hivm_cases_*.py`` is: a function that draws one launch of a module of ``tests/fixtures/hivm``.

Sizes are drawn from a ``random.Random``, contents from a ``RandomState``, whose streams NumPy keeps for ever.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hivm_fixtures import to_float


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch: the grid, the values of the parameters that were not specialised away, and what is written."""

    grid: tuple[int, ...]
    values: list[Any]
    expected: dict[int, np.ndarray]  # by position in ``values``: what the kernel is meant to write, by NumPy
    tolerance: float = 0.0
    blocks: int | None = None  # all programs of the grid if not given

    @property
    def programs(self) -> tuple[int, int, int]:
        """The three numbers of programs."""
        x, y, z = (*self.grid, 1, 1)[:3]
        return x, y, z

    @property
    def block_count(self) -> int:
        """How many blocks are launched."""
        x, y, z = self.programs
        return self.blocks or x * y * z


Case = Callable[[random.Random, np.random.RandomState], Launch]


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def odd(shapes: random.Random, high: int, step: int = 1) -> int:
    """A size from 2 to ``high``; half of the time odd, now and then a multiple of 16.

    ``step``: what all sizes are multiples of, if the module was compiled for that.
    """
    n = shapes.randint(2, high)
    n = n | 1 if shapes.random() < 0.5 else max(16, n // 16 * 16) if shapes.random() < 0.3 else n
    return cdiv(min(n, high), step) * step


def bf16(values: np.ndarray) -> np.ndarray:
    """float32 -> the bits of bfloat16, to nearest even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers in stored form: bf16 as bits, bool as bytes."""
    return bf16(values) if dtype == "bfloat16" else values.astype("uint8" if dtype == "bool" else dtype)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """float64 numbers as they are after being stored as ``dtype``."""
    return to_float(stored(values, dtype), dtype)


def drawn(
    values: np.random.RandomState, shape: int | tuple[int, ...], dtype: str, low: int = -100, high: int = 100
) -> Any:
    """Numbers of any type in stored form; whole numbers from ``low`` to below ``high``, others spread around 0."""
    if dtype == "bool":
        return values.randint(0, 2, shape).astype(np.uint8)
    if dtype == "bfloat16":
        return bf16(values.standard_normal(shape).astype(np.float32))
    if dtype.startswith("float"):
        return values.standard_normal(shape).astype(dtype)
    return values.randint(max(low, 0) if dtype.startswith("u") else low, high, shape).astype(dtype)


def blank(shape: int | tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """An array to be written, not of zeros: what must stay as it is shows."""
    return stored(np.full(shape, 1.0 if dtype == "bool" else 77.0), dtype)
