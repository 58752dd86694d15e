"""Launches of the modules that multiply matrices, alone or with a vector part."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hivm_fixtures import to_float
from hivm_launch import Case, Launch, blank, cdiv, drawn, odd, rounded, stored


def matmul(
    bm: int,
    bn: int,
    dtype: str = "float16",
    tolerance: float = 3e-3,
    epilogue: bool = False,
    parallel: bool = False,
    step: int = 1,
    out: str = "",
) -> Case:
    """``step``: what the sizes are multiples of, if a module was compiled for that; ``parallel``: at most 20 blocks;
    ``epilogue``: bias and leaky relu."""

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        m, n, k = (odd(shapes, most, step) for most in (200, 200, 300))
        a, b = (stored(values.standard_normal(shape) * 0.5, dtype) for shape in ((m, k), (k, n)))
        c = to_float(a, dtype) @ to_float(b, dtype)
        given = [a, b, blank((m, n), out or dtype)]
        if epilogue:
            bias = drawn(values, n, "float32")
            given.append(bias)
            c = c + bias
            c = np.where(c > 0, c, c * 0.01)
        tiles = cdiv(m, bm) * cdiv(n, bn)
        blocks = min(tiles, 20) if parallel else None
        return Launch((tiles,), [*given, m, n, k, k, n, n], {2: rounded(c, out or dtype)}, tolerance, blocks)

    return make


def persistent(shapes: random.Random, values: np.random.RandomState) -> Launch:
    """Programs that go through tiles in turn: any number of them."""
    m, n, k = odd(shapes, 200), odd(shapes, 200), odd(shapes, 200)
    a, b = drawn(values, (m, k), "float16"), drawn(values, (k, n), "float16")
    c = a.astype(np.float64) @ b.astype(np.float64)
    return Launch((shapes.randint(1, 9),), [a, b, blank((m, n), "float16"), m, n, k], {2: c}, 3e-3)


def dot(transposed: str, dtype: str) -> Case:
    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        m, n, k = odd(shapes, 150), odd(shapes, 150), odd(shapes, 150)
        a = drawn(values, (k, m) if transposed == "a" else (m, k), dtype)
        b = drawn(values, (n, k) if transposed == "b" else (k, n), dtype)
        left, right = a.astype(np.float64), b.astype(np.float64)
        c = (left.T if transposed == "a" else left) @ (right.T if transposed == "b" else right)
        return Launch((cdiv(m, 64), cdiv(n, 64)), [a, b, blank((m, n)), m, n, k], {2: c}, 1e-4)

    return make


def attention(shapes: random.Random, values: np.random.RandomState) -> Launch:
    blocks, context, scale = (
        shapes.randint(1, 4),
        64 * shapes.randint(1, 12),
        float(np.float32(values.uniform(0.05, 0.2))),
    )
    q, k, v = (drawn(values, (n, 64), "float16") for n in (64 * blocks, context, context))
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    out = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    return Launch((blocks,), [q, k, v, blank(q.shape, "float16"), scale, context], {3: out}, 1e-2)


def fixed(
    function: Callable[..., np.ndarray],
    *shapes_of: tuple[int, ...],
    dtypes: str = "float16",
    out: str = "float32",
    tolerance: float = 1e-4,
) -> Case:
    """Arrays of sizes that the module says -> one more. ``dtypes``: one for all, or one each."""
    kinds = dtypes.split() if " " in dtypes else [dtypes] * len(shapes_of)

    def make(shapes: random.Random, values: np.random.RandomState) -> Launch:
        given = [drawn(values, shape, kind) for shape, kind in zip(shapes_of, kinds, strict=True)]
        expected = function(*(to_float(x, kind) for x, kind in zip(given, kinds, strict=True)))
        return Launch((1,), [*given, blank(expected.shape, out)], {len(given): rounded(expected, out)}, tolerance)

    return make


def chained(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return rounded(a @ b, "float16") @ c


CASES: dict[str, Case] = {
    "matmul_fp16_64x64x64_odd": matmul(64, 64),
    "matmul_fp32_32x64x32_odd": matmul(32, 64, "float32", 1e-4),
    "matmul_bf16_64x64x64_odd": matmul(64, 64, "bfloat16", 2e-2),
    "matmul_fp16_16x16x16": matmul(16, 16, step=8),
    "matmul_fp16_32x32x32": matmul(32, 32, step=16),
    "matmul_fp16_64x64x64": matmul(64, 64, step=16),
    "matmul_fp16_128x128x64": matmul(128, 128, step=16),
    "matmul_fp16_128x256x64": matmul(128, 256, step=16),
    "matmul_fp16_128x128x128": matmul(128, 128, step=16),
    "matmul_fp16_128x256x256": matmul(128, 256),
    "matmul_fp32_64x64x32": matmul(64, 64, "float32", step=16, out="float16"),
    "matmul_fp32_128x128x128": matmul(128, 128, "float32", 1e-4),
    "matmul_all_blocks_parallel": matmul(32, 32, parallel=True),
    "matmul_relu_64x64x64_odd": matmul(64, 64, epilogue=True),
    "matmul_relu_64x64x64": matmul(64, 64, epilogue=True, step=16),
    "matmul_relu_128x128x64": matmul(128, 128, epilogue=True, step=16),
    "matmul_relu_all_blocks_parallel": matmul(32, 32, epilogue=True, parallel=True),
    "matmul_persistent": persistent,
    "dot_transposed_b_fp16": dot("b", "float16"),
    "dot_transposed_a_fp16": dot("a", "float16"),
    "dot_transposed_b_fp32": dot("b", "float32"),
    "dot_transposed_a_fp32": dot("a", "float32"),
    "attention_fp16": attention,
    "dot_once_fp16": fixed(np.matmul, (64, 96), (96, 32)),
    "dot_small_k8": fixed(np.matmul, (16, 8), (8, 16)),
    "dot_batched": fixed(np.matmul, (3, 32, 32), (3, 32, 32)),
    "dot_hf32": fixed(np.matmul, (64, 96), (96, 32), dtypes="float32"),
    "dot_once_i8": fixed(np.matmul, (64, 96), (96, 32), dtypes="int8", out="int32", tolerance=0),
    "matmul_i8_64x64x64": fixed(np.matmul, (64, 64), (64, 64), dtypes="int8", out="int32", tolerance=0),
    "dot_add": fixed(lambda a, b, d: a @ b + d, (64, 96), (96, 32), (64, 32), dtypes="float16 float16 float32"),
    "dot_row_sum": fixed(lambda a, b: (a @ b).sum(1), (64, 96), (96, 32)),
    "dot_chain": fixed(chained, (64, 96), (96, 32), (32, 64), tolerance=5e-2),
    "dot_after_vector": fixed(lambda a, b: rounded(a * 0.5 + 1, "float16") @ b, (64, 64), (64, 64)),
}
CASES |= {
    f"matmul_option_{option}": matmul(64, 64)
    for option in (
        "barrier_all",
        "l0c_no_multibuffer",
        "local_multibuffer_only",
        "no_multibuffer",
        "sync_solver",
        "unit_flag",
    )
}
CASES |= {
    f"matmul_relu_option_{option}": matmul(64, 64, epilogue=True)
    for option in (
        "block_all",
        "cv_balance",
        "no_bind_sub_block",
        "no_multibuffer",
        "tile_loops",
        "unit_flag",
        "workspace4",
    )
}
