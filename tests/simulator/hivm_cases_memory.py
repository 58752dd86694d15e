"""Launches of the modules that move elements: strides, windows, permutations, gathers, atomics, grids."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hivm_fixtures import to_float
from hivm_launch import Case, Launch, blank, cdiv, drawn, odd


def fixed(function: Callable[..., np.ndarray], *shapes_of: tuple[int, ...]) -> Case:
    """Arrays of sizes that the module says -> one more."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        given = [drawn(values, shape, "float32") for shape in shapes_of]
        expected = function(*given).astype(np.float64)
        return Launch((1,), [*given, blank(expected.shape)], {len(given): expected})

    return make


def array(function: Callable[[np.ndarray], np.ndarray], block: int, top: int = 2000, spread: int = 1) -> Case:
    """An array of n times ``spread`` -> one of n."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, top)
        x = drawn(values, n * spread, "float32")
        return Launch((cdiv(n, block),), [x, blank(n), n], {1: function(x).astype(np.float64)})

    return make


def shifted(x: np.ndarray) -> np.ndarray:
    """The sum of both neighbours."""
    wide = np.pad(x, 1)
    return wide[:-2] + wide[2:]


def strided_arg(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n, stride = odd(shapes, 1000), shapes.randint(2, 7)
    x = drawn(values, n * stride, "float32")
    return Launch((cdiv(n, 128),), [x, blank(n), n, stride], {1: (x[::stride] * np.float32(3)).astype(np.float64)})


def strided_store(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 1000)
    x, out = drawn(values, n, "float32"), blank(2 * n)
    expected = out.astype(np.float64)
    expected[::2] = x
    return Launch((cdiv(n, 128),), [x, out, n], {1: expected})


def convolve(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 1500)
    x, w = drawn(values, n, "float32"), drawn(values, 5, "float32")
    expected = np.correlate(np.pad(x.astype(np.float64), (0, 4)), w.astype(np.float64), "valid")
    return Launch((cdiv(n, 256),), [x, w, blank(n), n], {2: expected}, 1e-5)


def pad_other(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 900)
    total = n + shapes.randint(0, 300)
    x = drawn(values, n, "float32")
    expected = np.pad(x, (0, total - n), constant_values=-7.5).astype(np.float64)
    return Launch((cdiv(total, 256),), [x, blank(total), n, total], {1: expected})


def left_window(shapes: random.Random, values: np.random.RandomState) -> Launch:
    start = shapes.randint(2, 120)
    end = shapes.randint(start, 256)  # of a window of negative size the compiler makes no sense
    x, at = drawn(values, 256, "float32"), np.arange(256)
    return Launch((1,), [x, blank(256), end, start], {1: np.where((at >= start) & (at < end), x, -3.0)})


def transpose(dtype: str) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, columns = odd(shapes, 100), odd(shapes, 200)
        x = drawn(values, (rows, columns), dtype)
        grid = (cdiv(rows, 32), cdiv(columns, 64))
        return Launch(grid, [x, blank((columns, rows), dtype), rows, columns], {1: x.T.astype(np.float64)})

    return make


def block_pointer(shapes: random.Random, values: np.random.RandomState) -> Launch:
    rows, columns = odd(shapes, 70), odd(shapes, 200)
    x = drawn(values, (rows, columns), "float32")
    grid = (cdiv(rows, 16), cdiv(columns, 64))
    return Launch(grid, [x, blank(x.shape), rows, columns], {1: (x + np.float32(1)).astype(np.float64)})


def broadcast_add(shapes: random.Random, values: np.random.RandomState) -> Launch:
    rows, columns = odd(shapes, 60), odd(shapes, 127)
    a, b = drawn(values, rows, "float32"), drawn(values, columns, "float32")
    expected = (a[:, None] + b).astype(np.float64)
    return Launch((cdiv(rows, 8),), [a, b, blank((rows, columns)), rows, columns], {2: expected})


def block3d(shapes: random.Random, values: np.random.RandomState) -> Launch:
    size = (odd(shapes, 9), shapes.randint(2, 8), odd(shapes, 31))
    x = drawn(values, size, "float32")
    return Launch((cdiv(size[0], 2),), [x, blank(size), *size], {1: (x * 2 + np.float32(1)).astype(np.float64)})


def store3d_strided(shapes: random.Random, values: np.random.RandomState) -> Launch:
    """The strides are those that the module was compiled for multiples of 16 of."""
    a, b, c = odd(shapes, 9), shapes.randint(2, 8), odd(shapes, 31)
    line = 16 * shapes.randint(cdiv(c, 16), 4)
    plane = line * shapes.randint(b, 10)
    x, out = drawn(values, (a, b, c), "float32"), blank((a, plane))
    expected = out.astype(np.float64)
    for i in range(b):
        expected[:, i * line : i * line + c] = x[:, i]
    return Launch((cdiv(a, 2),), [x, out, a, b, c, plane, line], {1: expected})


def rope(shapes: random.Random, values: np.random.RandomState) -> Launch:
    rows = odd(shapes, 40)
    x, cos, sin = (drawn(values, (rows, width), "float32") for width in (64, 32, 32))
    wide = x.astype(np.float64)
    a, b = wide[:, :32], wide[:, 32:]
    expected = np.concatenate([a * cos - b * sin, b * cos + a * sin], 1)
    return Launch((rows,), [x, cos, sin, blank(x.shape), rows], {3: expected}, 1e-6)


def gather(index: str, block: int = 256, step: int = 1) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n, size = odd(shapes, 1500, step), odd(shapes, 3000)
        x, at = drawn(values, size, "float32"), values.randint(0, size, n).astype(index)
        return Launch((cdiv(n, block),), [x, at, blank(n), n], {2: x[at].astype(np.float64)})

    return make


def gather_rows(index: str, width: int, block: int) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n, rows = odd(shapes, 40), odd(shapes, 60)
        table, at = drawn(values, (rows, width), "float32"), values.randint(0, rows, n).astype(index)
        return Launch((cdiv(n, block),), [table, at, blank((n, width)), n], {2: table[at].astype(np.float64)})

    return make


def gather_in_block(shapes: random.Random, values: np.random.RandomState) -> Launch:
    x, at = drawn(values, 128, "float32"), values.randint(0, 128, 128).astype(np.int32)
    return Launch((1,), [x, at, blank(128)], {2: x[at].astype(np.float64)})


def scatter(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 1000)
    size = n + shapes.randint(0, 300)
    x, at, out = drawn(values, n, "float32"), values.permutation(size)[:n].astype(np.int32), blank(size)
    expected = out.astype(np.float64)
    expected[at] = x
    return Launch((cdiv(n, 256),), [x, at, out, n], {2: expected})


def split(shapes: random.Random, values: np.random.RandomState) -> Launch:
    x = drawn(values, 256, "float32")
    even, odd_ones = x[0::2].astype(np.float64), x[1::2].astype(np.float64)
    return Launch((1,), [x, blank(128), blank(128)], {1: even, 2: odd_ones})


def pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([a, b], 1).reshape(-1)


def grid_3d(longest: int, cores: int = 0) -> Case:
    """Each program writes its own three numbers, 16 times."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        grid = x, y, z = (shapes.randint(2, 9), shapes.randint(2, longest), shapes.randint(2, 9))
        i, j, k = np.indices(grid).reshape(3, -1)
        expected = np.repeat(i * 10000 + j * 100 + k, 16).astype(np.float64)
        blocks = min(x * y * z, cores) if cores else None
        return Launch(grid, [blank(expected.shape, "int32"), x, y, z], {0: expected}, blocks=blocks)

    return make


def atomic_block(function: Any, dtype: str, start: int, tolerance: float = 0.0) -> Case:
    """Programs that combine their 256 elements, the last one fewer, into the same 256."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, 2000)
        x, out = drawn(values, n, dtype), np.full(256, start).astype(dtype)
        parts = np.full((cdiv(n, 256), 256), float(start))
        parts.reshape(-1)[:n] = to_float(x, dtype)
        return Launch((len(parts),), [x, out, n], {1: function.reduce(parts, 0)}, tolerance)

    return make


def atomic_sum(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 9000, 16)
    x = drawn(values, n, "float32")
    return Launch((cdiv(n, 1024),), [x, np.zeros(1, np.float32), n], {1: x.astype(np.float64).sum(keepdims=True)}, 1e-4)


def atomic_bits(shapes: random.Random, values: np.random.RandomState) -> Launch:
    programs = shapes.randint(1, 7)
    x = values.randint(0, 2**20, (programs, 64)).astype(np.int32)
    ones, zeros = np.full(64, 2**20 - 1, np.int32), np.zeros(64, np.int32)
    results = (np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x))
    given = [x, ones, zeros, zeros.copy(), x.size]
    return Launch((programs,), given, {1 + i: r.astype(np.float64) for i, r in enumerate(results)})


def atomic_cas(shapes: random.Random, values: np.random.RandomState) -> Launch:
    """The compiler reads the old value again after the exchange, so that everyone sees the new one."""
    programs, taken = shapes.randint(1, 19), shapes.choice([0, 1, 5])
    lock = np.array([taken], np.int32)
    seen = np.full(programs, float(taken or 1))
    return Launch((programs,), [lock, blank(programs, "int32")], {0: np.array([taken or 1.0]), 1: seen})


def atomic_pair(dtype: str, new: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Case:
    """64 cells become ``new`` of the given and the old value; the old ones are returned."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        x, cells = drawn(values, 64, dtype), drawn(values, 64, dtype)
        results = {1: new(x, cells).astype(np.float64), 2: cells.astype(np.float64)}
        return Launch((1,), [x, cells, blank(64, dtype)], results)

    return make


def histogram_atomic(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 1500)
    x = values.randint(0, 16, n).astype(np.int32)
    expected = np.bincount(x, minlength=16).astype(np.float64)
    return Launch((cdiv(n, 256),), [x, np.zeros(16, np.int32), n], {1: expected})


CASES: dict[str, Case] = {
    "strided_arg": strided_arg,
    "strided_two": array(lambda x: x[0::2] - x[1::2], 128, spread=2),
    "strided_store": strided_store,
    "shifted": array(shifted, 256),
    "convolve_rows": convolve,
    "pad_other": pad_other,
    "left_window": left_window,
    "transpose_fp32": transpose("float32"),
    "transpose_fp16": transpose("float16"),
    "block_pointer": block_pointer,
    "broadcast_add": broadcast_add,
    "block3d": block3d,
    "store3d_strided": store3d_strided,
    "rope_fp32": rope,
    "gather": gather("int32", block=1024, step=16),
    "gather_odd": gather("int32"),
    "gather_i64_odd": gather("int64"),
    "gather_rows": gather_rows("int32", 64, 4),
    "embedding": gather_rows("int64", 128, 1),
    "gather_in_block": gather_in_block,
    "scatter": scatter,
    "split": split,
    "join": fixed(pairs, (128,), (128,)),
    "interleave": fixed(pairs, (128,), (128,)),
    "cat": fixed(lambda a, b: np.concatenate([a, b]), (128,), (128,)),
    "flip_1d": fixed(np.flip, (128,)),
    "device_assert": fixed(lambda x: x, (128,)),
    "print_value": fixed(lambda x: x, (16,)),
    "block4d": fixed(lambda x: x * 2, (1024,)),
    "reshape_add": fixed(lambda x: (x.reshape(8, 64) + np.arange(64, dtype=np.float32)).reshape(-1), (512,)),
    "outer_product": fixed(np.outer, (32,), (64,)),
    "permute3d": fixed(lambda x: x.transpose(1, 0, 2), (4, 8, 32)),
    "permute_last_two": fixed(lambda x: x.transpose(0, 2, 1), (4, 16, 32)),
    "store_transposed": fixed(np.transpose, (32, 64)),
    "grid_3d": grid_3d(9),
    "grid_3d_all_blocks_parallel": grid_3d(60, cores=40),
    "atomic_add_block_fp32": atomic_block(np.add, "float32", 0, 1e-5),
    "atomic_add_block_fp16": atomic_block(np.add, "float16", 0, 1e-2),
    "atomic_add_block_i32": atomic_block(np.add, "int32", 0),
    "atomic_max_block_fp32": atomic_block(np.maximum, "float32", -1000),
    "atomic_max_block_i32": atomic_block(np.maximum, "int32", -1000),
    "atomic_min_block_i32": atomic_block(np.minimum, "int32", 1000),
    "atomic_sum": atomic_sum,
    "atomic_and_or_xor": atomic_bits,
    "atomic_cas": atomic_cas,
    "atomic_exchange": atomic_pair("int32", lambda x, cells: x),
    "atomic_add_old": atomic_pair("float32", np.add),
    "histogram_atomic": histogram_atomic,
}
