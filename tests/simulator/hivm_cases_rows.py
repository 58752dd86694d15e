"""Launches of the modules that reduce, scan, normalise or sort."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hivm_fixtures import to_float
from hivm_launch import Case, Launch, blank, cdiv, drawn, odd, rounded, stored

Function = Callable[[np.ndarray], np.ndarray]


def signed(values: np.random.RandomState, shape: tuple[int, ...], dtype: str, sign: int) -> np.ndarray:
    """Numbers of either sign (0), or all of one: a mask leaves out zeros, which must not win a maximum then."""
    x = drawn(values, shape, dtype)
    return x if sign == 0 else stored(np.abs(to_float(x, dtype)) * sign, dtype)


def rows_of(
    function: Function,
    tolerance: float = 0.0,
    sign: int = 0,
    dtype: str = "float32",
    out: str = "",
) -> Case:
    """One number of each row of at most 128, eight rows a program."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, columns = odd(shapes, 60), odd(shapes, 127)
        x = signed(values, (rows, columns), dtype, sign)
        expected = rounded(function(to_float(x, dtype)), out or dtype)
        return Launch((cdiv(rows, 8),), [x, blank(rows, out or dtype), rows, columns], {1: expected}, tolerance)

    return make


def columns_of(
    function: Function, tolerance: float = 0.0, sign: int = 0, dtype: str = "float32", out: str = ""
) -> Case:
    """One number of each column of at most 16, 64 columns a program."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, columns = odd(shapes, 15), odd(shapes, 300)
        x = signed(values, (rows, columns), dtype, sign)
        expected = rounded(function(to_float(x, dtype)), out or dtype)
        return Launch((cdiv(columns, 64),), [x, blank(columns, out or dtype), rows, columns], {1: expected}, tolerance)

    return make


def whole(function: Function, dtype: str, sign: int = 0, out: str = "") -> Case:
    """One number of an array of at most 512."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, 512)
        x = signed(values, (n,), dtype, sign)
        expected = rounded(np.asarray([function(to_float(x, dtype))]), out or dtype)
        return Launch((1,), [x, blank(1, out or dtype), n], {1: expected})

    return make


def fixed(function: Function, shape: tuple[int, ...], tolerance: float = 0.0, around: float = 0.0) -> Case:
    """float32 contents of a size that the module says; with ``around``, numbers near it."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        x = drawn(values, shape, "float32")
        if around:
            x = (np.float32(around) + x * np.float32(0.05)).astype(np.float32)
        expected = function(x.astype(np.float64))
        return Launch((1,), [x, blank(expected.shape)], {1: expected}, tolerance)

    return make


def reduce3d(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = shapes.randint(2, 40)
    x = drawn(values, (n, 8, 32), "float32")
    return Launch((cdiv(n, 2),), [x, blank((n, 32)), n], {1: x.astype(np.float64).sum(1)}, 1e-5)


def max_with_index(shapes: random.Random, values: np.random.RandomState) -> Launch:
    x = drawn(values, 128, "float32")
    found = {1: np.array([x.max()], np.float64), 2: np.array([x.argmax()], np.float64)}
    return Launch((1,), [x, blank(1), blank(1, "int32")], found)


def histogram(shapes: random.Random, values: np.random.RandomState) -> Launch:
    x = values.randint(0, shapes.randint(1, 16), 128).astype(np.int32)
    return Launch((1,), [x, blank(16, "int32")], {1: np.bincount(x, minlength=16).astype(np.float64)})


def cumsum_blocks(axis: int) -> Case:
    """Blocks of 16 rows and at most 64 columns, both multiples of 16."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        blocks, columns = shapes.randint(1, 9), 16 * shapes.randint(1, 4)
        x = drawn(values, (16 * blocks, columns), "float32")
        expected = x.astype(np.float64).reshape(blocks, 16, columns).cumsum(axis + 1).reshape(x.shape)
        return Launch((blocks,), [x, blank(x.shape), 16 * blocks, columns], {1: expected}, 1e-5)

    return make


def cumsum_1d(dtype: str, high: int, tolerance: float = 0.0) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, high)
        x = drawn(values, n, dtype)
        return Launch((1,), [x, blank(n, dtype), n], {1: to_float(x, dtype).cumsum()}, tolerance)

    return make


def softmax_of(x: np.ndarray) -> np.ndarray:
    part = np.exp(x.astype(np.float64))
    return part / part.sum(1, keepdims=True)


def row_softmax(dtype: str = "float32", widest: int = 256, tolerance: float = 1e-5, step: int = 1) -> Case:
    """Programs that go through rows in turn: any number of them. ``step``: of the numbers of rows."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, columns = odd(shapes, 60, step), odd(shapes, widest)
        x = drawn(values, (rows, columns), dtype)
        given = [blank(x.shape, dtype), x, columns, columns, rows, columns]
        return Launch((shapes.randint(1, 50),), given, {0: rounded(softmax_of(x), dtype)}, tolerance)

    return make


def softmax(widest: int, step: int = 1) -> Case:
    """Eight rows a program; rows lie apart."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, columns = odd(shapes, 60, step), odd(shapes, widest, step)
        pitch = columns + step * shapes.randint(0, 40)
        x, out = drawn(values, (rows, pitch), "float32"), blank((rows, pitch))
        expected = out.astype(np.float64)
        expected[:, :columns] = softmax_of(x[:, :columns])
        return Launch((cdiv(rows, 8),), [out, x, pitch, rows, columns], {0: expected}, 1e-5)

    return make


def layer_norm(dtype: str, tolerance: float, step: int = 1) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, n = shapes.randint(1, 6), odd(shapes, 5000 if step > 1 else 1200, step)
        x = drawn(values, (rows, n), dtype) + np.dtype(dtype).type(0.5)
        w, b = drawn(values, n, dtype), drawn(values, n, dtype)
        wide, eps = x.astype(np.float64), values.uniform(1e-5, 1e-3)
        mean = wide.mean(1)
        rstd = 1 / np.sqrt(wide.var(1) + eps)
        y = (wide - mean[:, None]) * rstd[:, None] * w + b
        given = [x, blank(x.shape, dtype), w, b, blank(rows), blank(rows), n, n, eps]
        return Launch((rows,), given, {1: rounded(y, dtype), 4: mean, 5: rstd}, tolerance)

    return make


def rms_norm(dtype: str, tolerance: float) -> Case:
    """Rows of at most 1024 in one block; they lie apart."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        rows, n = shapes.randint(1, 9), odd(shapes, 1000)
        pitch, eps = n + shapes.randint(0, 9), values.uniform(1e-5, 1e-3)
        x, w, out = drawn(values, (rows, pitch), dtype), drawn(values, n, dtype), blank((rows, pitch), dtype)
        wide, expected = to_float(x, dtype)[:, :n], to_float(out, dtype)
        expected[:, :n] = wide / np.sqrt((wide**2).mean(1, keepdims=True) + eps) * to_float(w, dtype)
        return Launch((rows,), [x, w, out, pitch, n, eps], {2: rounded(expected, dtype)}, tolerance)

    return make


def cross_entropy(shapes: random.Random, values: np.random.RandomState) -> Launch:
    rows, classes = odd(shapes, 20), odd(shapes, 1000)
    x, target = drawn(values, (rows, classes), "float32"), values.randint(0, classes, rows).astype(np.int64)
    wide = x.astype(np.float64)
    loss = np.log(np.exp(wide).sum(1)) - wide[np.arange(rows), target]
    return Launch((rows,), [x, target, blank(rows), rows, classes], {2: loss}, 1e-5)


def nested_loops(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n, m = shapes.randint(2, 6), shapes.randint(2, 6)
    x = drawn(values, (n, m, 128), "float32")
    return Launch((1,), [x, blank(128), n, m], {1: (x.astype(np.float64).sum(1) ** 2).sum(0)}, 1e-5)


CASES: dict[str, Case] = {
    "row_sum_fp32": rows_of(lambda x: x.sum(1), 1e-5),
    "row_sum_fp16": rows_of(lambda x: x.sum(1), 2e-2, dtype="float16"),
    "row_sum_i32": rows_of(lambda x: x.sum(1), dtype="int32"),
    "row_max_fp32": rows_of(lambda x: x.max(1), sign=1),
    "row_max_i32": rows_of(lambda x: x.max(1), sign=1, dtype="int32"),
    "row_max_bf16": rows_of(lambda x: x.max(1), sign=1, dtype="bfloat16"),
    "row_min_fp32": rows_of(lambda x: x.min(1), sign=-1),
    "row_argmax_fp32": rows_of(lambda x: x.argmax(1), sign=1, out="int32"),
    "row_argmin_fp32": rows_of(lambda x: x.argmin(1), sign=-1, out="int32"),
    "row_xor_i32": rows_of(lambda x: np.bitwise_xor.reduce(x.astype(np.int32), 1), dtype="int32"),
    "any_positive": rows_of(lambda x: (x > 2).any(1), out="int32"),
    # The compiler reduces with plain max: tl.abs in the function that combines is lost.
    "custom_reduce_rows": rows_of(lambda x: x.max(1), sign=1),
    "col_sum_fp32": columns_of(lambda x: x.sum(0), 1e-5),
    "col_sum_i32": columns_of(lambda x: x.sum(0), dtype="int32"),
    "col_max_fp32": columns_of(lambda x: x.max(0), sign=1),
    "col_min_fp32": columns_of(lambda x: x.min(0), sign=-1),
    "col_argmax_fp32": columns_of(lambda x: x.argmax(0), sign=1, out="int32"),
    "col_argmin_fp32": columns_of(lambda x: x.argmin(0), sign=-1, out="int32"),
    "min_1d_fp32": whole(np.min, "float32", sign=-1),
    "max_1d_fp16": whole(np.max, "float16", sign=1),
    "argmax_1d_fp32": whole(np.argmax, "float32", sign=1, out="int32"),
    "sum_1d_i32": whole(np.sum, "int32"),
    "prod_rows_fp32": fixed(lambda x: x.prod(1), (8, 64), 1e-5, around=1.0),
    "cumprod_axis0_fp32": fixed(lambda x: x.cumprod(0), (16, 64), 1e-5, around=1.0),
    "scan_add": fixed(np.cumsum, (128,), 1e-5),
    "sort_1d": fixed(np.sort, (128,)),
    "sort_rows": fixed(np.sort, (4, 128)),
    "static_unroll": fixed(lambda x: (x * np.arange(1, 5)[:, None]).sum(0), (4, 128), 1e-5),
    "reduce3d": reduce3d,
    "max_with_index": max_with_index,
    "histogram_in_block": histogram,
    "cumsum_axis0_fp32": cumsum_blocks(0),
    "cumsum_axis1_fp32": cumsum_blocks(1),
    "cumsum_1d_fp32": cumsum_1d("float32", 255, 1e-5),
    "cumsum_1d_i32": cumsum_1d("int32", 255),
    "running_sum": cumsum_1d("float32", 900, 1e-5),
    "softmax_loop_multibuffer": row_softmax(),
    "vadd_option_no_multibuffer": row_softmax(),
    "softmax_fp32_B1024": row_softmax(widest=1000, step=16),
    "softmax_fp32_B4096": row_softmax(widest=4000, step=16),
    "softmax_fp16_B1024": row_softmax("float16", widest=1000, tolerance=2e-3, step=16),
    "softmax2d_R8_B256_odd": softmax(256),
    "softmax2d_R8_B512": softmax(512, step=16),
    "layernorm_fp32_B256_odd": layer_norm("float32", 1e-4),
    "layernorm_fp32_B512": layer_norm("float32", 1e-4, step=16),
    "layernorm_fp32_B2048": layer_norm("float32", 1e-4, step=16),
    "layernorm_fp16_B1024": layer_norm("float16", 2e-2, step=16),
    "rms_norm_fp32": rms_norm("float32", 1e-5),
    "rms_norm_fp16": rms_norm("float16", 5e-3),
    "rms_norm_bf16": rms_norm("bfloat16", 3e-2),
    "cross_entropy_fp32": cross_entropy,
    "nested_loops": nested_loops,
}
