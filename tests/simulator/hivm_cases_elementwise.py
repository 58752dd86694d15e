"""Launches of the modules that compute element by element, in one pass over an array."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hivm_fixtures import to_float
from hivm_launch import Case, Launch, blank, cdiv, drawn, odd, rounded, stored

Function = Callable[..., Any]


def elementwise(
    function: Function,
    sources: tuple[str, ...],
    target: str,
    tolerance: float = 0.0,
    block: int = 512,
    top: int = 4000,
    step: int = 1,
    cores: int = 0,
    low: int = -100,
    scale: float = 1.0,
) -> Case:
    """``function`` of float64 arrays (int64 where all are whole numbers).

    ``top``: the largest size; ``cores``: that many blocks at most, each in a loop; ``low``: of whole numbers;
    ``scale``: what other numbers are spread by.
    """

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, top, step)
        given = [drawn(values, n, dtype, low) for dtype in sources]
        if scale != 1:
            given = [x * x.dtype.type(scale) if x.dtype.kind == "f" else x for x in given]
        wide = [x.astype(np.int64) if "int" in dtype else to_float(x, dtype) for x, dtype in zip(given, sources)]
        with np.errstate(all="ignore"):
            expected = rounded(function(*wide), target)
        grid = cdiv(n, block)
        blocks = min(grid, cores) if cores else None
        return Launch((grid,), [*given, blank(n, target), n], {len(given): expected}, tolerance, blocks)

    return make


def vadd(dtype: str, block: int, **more: Any) -> Case:
    """Bools are added as the bytes that they are stored in: True and True give 2."""
    return elementwise(np.add, (dtype, dtype), dtype, block=block, **more)


def unary(function: Function, low: float, high: float, tolerance: float, dtype: str = "float32") -> Case:
    """Of one array of numbers between two bounds, none of them near 0, where some functions have a pole."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, 4000)
        x = values.uniform(low, high, n).astype(np.float32)
        x = stored(np.where(np.abs(x) < 0.05, np.float32(0.5), x), dtype)
        expected = rounded(function(to_float(x, dtype)), dtype)
        return Launch((cdiv(n, 512),), [x, blank(n, dtype), n], {1: expected}, tolerance)

    return make


def binary(function: Function, dtype: str, tolerance: float = 0.0, low: int | None = None) -> Case:
    """``low``: of the second operand, where not every number is allowed; it is then below 9."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        n = odd(shapes, 4000)
        a = drawn(values, n, dtype)
        b = drawn(values, n, dtype) if low is None else drawn(values, n, dtype, low, 9)
        if low is None:
            b[::3] = a[::3]  # equal pairs, for comparisons
        b[b == 0] = 3  # and nothing divides by zero
        expected = rounded(np.asarray(function(a, b)), dtype)
        return Launch((cdiv(n, 512),), [a, b, blank(n, dtype), n], {2: expected}, tolerance)

    return make


def chosen(compare: Function, dtype: str) -> Case:
    return binary(lambda a, b: np.where(compare(a, b), a, b), dtype)


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division towards zero."""
    return np.trunc(a.astype(np.float64) / b)


def cast(source: str, target: str) -> Case:
    return elementwise(lambda x: np.trunc(x) if "int" in target else x, (source,), target, scale=8)


def not_a_number(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 4000)
    x = drawn(values, n, "float32")
    x[:: shapes.randint(2, 9)] = np.nan
    return Launch((cdiv(n, 512),), [x, blank(n), n], {1: np.where(np.isnan(x), 1.0, x.astype(np.float64))})


def scalar_args(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n, alpha, shift = odd(shapes, 4000), values.uniform(-3, 3), values.uniform(-3, 3)
    flag = shapes.choice([0, 2, 7])
    x = drawn(values, n, "float32")
    expected = x * np.float32(alpha) + (np.float32(shift) if flag else 0)
    return Launch((cdiv(n, 512),), [x, blank(n), n, alpha, shift, flag], {1: expected.astype(np.float64)}, 1e-6)


def dropout(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n, p = odd(shapes, 2000), float(np.float32(values.uniform(0.1, 0.9)))
    x = drawn(values, n, "float32")
    expected = np.where(x > p, x / (1 - p), 0.0)
    return Launch((cdiv(n, 256),), [x, blank(n), n, p], {1: expected}, 1e-6)


def signed_philox(seed: int, n: int) -> np.ndarray:
    """tl.rand as the module has it: Philox 4x32-10 whose products are signed, which is not what tl.rand is meant to be.

    Counter (offset, 0, 0, 0), key (seed, 0), first word of the output, spread over [0, 1).
    """
    mask = (1 << 32) - 1

    def signed(v: int) -> int:
        return v - (1 << 32) if v >> 31 else v

    numbers = np.empty(n)
    for i in range(n):
        c, k0, k1 = [i, 0, 0, 0], seed & mask, 0
        for _ in range(10):
            a, b = signed(0xD2511F53) * signed(c[0]), signed(0xCD9E8D57) * signed(c[2])
            c = [((b >> 32) ^ c[1] ^ k0) & mask, b & mask, ((a >> 32) ^ c[3] ^ k1) & mask, a & mask]
            k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
        x = signed(c[0])
        numbers[i] = (x if x >= 0 else -x - 1) * 4.6566127342e-10
    return numbers


def random_uniform(shapes: random.Random, values: np.random.RandomState) -> Launch:
    seed, n = shapes.randint(2, 2**31 - 1), odd(shapes, 900)
    return Launch((cdiv(n, 256),), [blank(n), seed, n], {0: signed_philox(seed, n)}, 1e-6)


def branch(shapes: random.Random, values: np.random.RandomState) -> Launch:
    n = odd(shapes, 2000)
    x = drawn(values, n, "float32")
    even = np.arange(n) // 256 % 2 == 0
    return Launch((cdiv(n, 256),), [x, blank(n), n], {1: np.where(even, x + 1, x * 2).astype(np.float64)})


def loop_carried(shapes: random.Random, values: np.random.RandomState) -> Launch:
    steps, n = shapes.randint(0, 9), odd(shapes, 1000)
    x = drawn(values, (steps, n), "float32")
    total, peak = np.zeros(n), np.full(n, -1e30)
    for i in range(steps):
        total, peak = total * 0.5 + x[i] * 0.75**i, np.maximum(peak, x[i])
    return Launch((cdiv(n, 256),), [x if steps else blank(1), blank(n), n, steps], {1: total + peak}, 2e-6)


def while_loop(shapes: random.Random, values: np.random.RandomState) -> Launch:
    x, limit = drawn(values, 256, "float32"), shapes.randint(0, 40)
    expected = x.astype(np.float64)
    for _ in range(limit):
        expected = expected * 0.5 + 1
    return Launch((1,), [x, blank(256), limit], {1: expected}, 1e-6)


def every_scalar(shapes: random.Random, values: np.random.RandomState) -> Launch:
    """argk: a bool, i32, f32 and three more integers, added up; every program writes the same."""
    flag, i, f = shapes.random() < 0.5, shapes.randint(-50, 50), float(np.float32(values.uniform(-3, 3)))
    more = [shapes.randint(2, 99) for _ in range(3)]
    x, q = drawn(values, 256, "float32"), drawn(values, 256, "float32")
    v = x.astype(np.float64) * f + i + sum(more)
    grid = tuple(shapes.randint(1, 4) for _ in range(3))
    return Launch(grid, [x, blank(256), q, flag, i, f, *more], {1: v * (2 if flag else 1) + q}, 1e-6)


CASES: dict[str, Case] = {
    "vadd_i32_B1024_odd": vadd("int32", 1024, low=-(2**31)),
    "vadd_i16_B1024_odd": vadd("int16", 1024),
    "vadd_i64_B512_odd": vadd("int64", 512),
    "vadd_i8_B1024_odd": vadd("int8", 1024),
    "vadd_bf16_B1024_odd": vadd("bfloat16", 1024),
    "vadd_u32": vadd("uint32", 128),
    "vadd_bool": vadd("bool", 128),
    "vadd_block_not_power_of_two": vadd("float32", 100),
    "vadd_fp16_B1024": vadd("float16", 1024, step=16),
    "vadd_fp32_B1024": vadd("float32", 1024, step=16),
    "vadd_fp32_B4096": vadd("float32", 4096, top=9000, step=16),
    "vadd_fp32_B16384": vadd("float32", 16384, top=40000, step=16),
    "vadd_all_blocks_parallel": vadd("float32", 512, top=60000, cores=40),
    "unary_exp_fp32": unary(np.exp, -5, 5, 1e-6),
    "unary_exp_fp16": unary(np.exp, -5, 5, 2e-3, "float16"),
    "unary_exp2_fp32": unary(np.exp2, -5, 5, 1e-6),
    "unary_log_fp32": unary(np.log, 0.1, 9, 1e-6),
    "unary_log2_fp32": unary(np.log2, 0.1, 9, 1e-6),
    "unary_sqrt_fp32": unary(np.sqrt, 0, 9, 1e-6),
    "unary_rsqrt_fp32": unary(lambda x: 1 / np.sqrt(x), 0.1, 9, 1e-6),
    "unary_recip_fp32": unary(lambda x: 1 / x, 0.1, 9, 1e-6),
    "unary_sigmoid_fp32": unary(lambda x: 1 / (1 + np.exp(-x)), -5, 5, 2e-6),
    "unary_sin_fp32": unary(np.sin, -5, 5, 4e-6),
    "unary_cos_fp32": unary(np.cos, -5, 5, 4e-6),
    "unary_erf_fp32": unary(np.vectorize(math.erf), -5, 5, 4e-6),
    "unary_floor_fp32": unary(np.floor, -50, 50, 0),
    "unary_ceil_fp32": unary(np.ceil, -50, 50, 0),
    "unary_abs_fp32": unary(np.abs, -5, 5, 0),
    "unary_abs_fp16": unary(np.abs, -5, 5, 0, "float16"),
    "unary_neg_fp32": unary(np.negative, -5, 5, 0),
    "unary_relu_fp32": unary(lambda x: np.maximum(x, 0), -5, 5, 0),
    "unary_square_fp32": unary(lambda x: x * x + 2, -5, 5, 1e-6),
    "unary_square_bf16": unary(lambda x: x * x + 2, -5, 5, 1e-2, "bfloat16"),
    "library_tanh_fp32": unary(np.tanh, -4, 4, 4e-6),
    "library_expm1_fp32": unary(np.expm1, -3, 3, 4e-6),
    "library_log1p_fp32": unary(np.log1p, 0, 9, 4e-6),
    "library_atan_fp32": unary(np.arctan, -5, 5, 4e-6),
    "library_tan_fp32": unary(np.tan, -4, 4, 1e-3),
    "library_pow_fp32": unary(lambda x: np.abs(x) ** x, -4, 4, 1e-4),
    "library_relu_fp32": unary(lambda x: np.maximum(x, 0), -4, 4, 0),
    "library_clamp_fp32": unary(lambda x: np.clip(x, -1, 1), -4, 4, 0),
    "library_round_fp32": unary(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -4, 4, 0),
    "library_ilogb_fp32": unary(lambda x: np.floor(np.log2(np.abs(x))), -4, 4, 0),
    "library_isnan_fp32": not_a_number,
    "binary_sub_fp32": binary(np.subtract, "float32"),
    "binary_mul_fp32": binary(np.multiply, "float32"),
    "binary_div_fp32": binary(np.divide, "float32", 1e-6),
    "binary_max_fp32": binary(np.maximum, "float32"),
    "binary_min_fp32": binary(np.minimum, "float32"),
    "binary_fma_fp32": binary(lambda a, b: a.astype(np.float64) * b + a, "float32", 2e-6),
    "binary_mul_fp16": binary(np.multiply, "float16"),
    "binary_sub_i32": binary(np.subtract, "int32"),
    "binary_mul_i32": binary(np.multiply, "int32"),
    "binary_mul_i64": binary(np.multiply, "int64"),
    "binary_max_i32": binary(np.maximum, "int32"),
    "binary_min_i32": binary(np.minimum, "int32"),
    "binary_and_i32": binary(np.bitwise_and, "int32"),
    "binary_and_i16": binary(np.bitwise_and, "int16"),
    "binary_or_i32": binary(np.bitwise_or, "int32"),
    "binary_xor_i32": binary(np.bitwise_xor, "int32"),
    "binary_shl_i32": binary(np.left_shift, "int32", low=1),
    "binary_shr_i32": binary(np.right_shift, "int32", low=1),
    "binary_floordiv_i32": binary(divided, "int32"),
    "binary_mod_i32": binary(np.fmod, "int32"),
    "shift_right_i32": elementwise(lambda x: (x >> 3) + (x << 2) - np.trunc(x / 4), ("int32",), "int32"),
    "umulhi": elementwise(lambda a, b: a * b >> 32, ("int32", "int32"), "int32", block=256, low=-(2**31)),
    "compare_eq_fp32": chosen(np.equal, "float32"),
    "compare_ne_fp32": chosen(np.not_equal, "float32"),
    "compare_lt_fp32": chosen(np.less, "float32"),
    "compare_le_fp32": chosen(np.less_equal, "float32"),
    "compare_gt_fp32": chosen(np.greater, "float32"),
    "compare_ge_fp32": chosen(np.greater_equal, "float32"),
    "compare_ge_fp16": chosen(np.greater_equal, "float16"),
    "compare_lt_i32": chosen(np.less, "int32"),
    "compare_ne_i32": chosen(np.not_equal, "int32"),
    "compare_gt_i64": chosen(np.greater, "int64"),
    "store_bool": elementwise(lambda x: (x > 0) & (x < 1) | (x < -1), ("float32",), "bool"),
    "load_bool": elementwise(lambda b, x: np.where(b, x, -x), ("bool", "float32"), "float32"),
    "swiglu_fp16": elementwise(
        lambda x, y: x / (1 + np.exp(-x)) * y, ("float16", "float16"), "float16", 2e-3, block=256
    ),
    "scalar_args": scalar_args,
    "dropout_like": dropout,
    "random_uniform": random_uniform,
    "branch": branch,
    "loop_carried": loop_carried,
    "while_loop": while_loop,
    "argk": every_scalar,
}

_SHORT = {"fp": "float", "bf": "bfloat", "i": "int", "u": "uint"}
_CASTS = (
    "bf16_fp32 fp16_bf16 fp16_fp32 fp16_i32 fp16_i8 fp32_bf16 fp32_fp16 fp32_i32 fp32_i64 fp32_i8 i16_fp32 i16_i32 "
    "i32_fp16 i32_fp32 i32_i16 i32_i64 i32_i8 i64_fp32 i64_i32 i8_fp16 i8_i32 u8_fp32"
)


def _type(short: str) -> str:
    letters = short.rstrip("0123456789")
    return _SHORT[letters] + short[len(letters) :]


CASES |= {f"cast_{pair}": cast(*map(_type, pair.split("_"))) for pair in _CASTS.split()}
