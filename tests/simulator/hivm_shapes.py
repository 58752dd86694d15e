"""Runs modules of ``tests/fixtures/hivm`` at other shapes than those kept there and compares with NumPy in float64.

    python hivm_shapes.py --out FILE --rounds N

FILE gets a JSON list of ``{"name", "shape", "error", "allowed", "message"}``. Expects the environment of the simulator.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import tempfile
from collections.abc import Callable
from ctypes import c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from acl_calls import Acl, AclError
from hivm_fixtures import Fixture, fixtures, pack_arguments, to_float
from hivm_worker import compile_module


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch: the grid, the values of the parameters that were not specialised away, and what is written."""

    grid: tuple[int, ...]
    values: list[Any]
    expected: dict[int, np.ndarray]  # by position in ``values``
    tolerance: float = 0.0
    blocks: int | None = None  # all programs of the grid if not given


Case = Callable[[random.Random, np.random.Generator], Launch]


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def odd(shapes: random.Random, high: int) -> int:
    """A size from 2 to ``high``; half of the time odd, now and then a multiple of 16."""
    n = shapes.randint(2, high)
    return n | 1 if shapes.random() < 0.5 else max(16, n // 16 * 16) if shapes.random() < 0.3 else n


def bf16(values: np.ndarray) -> np.ndarray:
    """float32 -> the bits of bfloat16, to nearest even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def vadd(dtype: Any, block: int) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        n = odd(shapes, 9000)
        a, b = (values.integers(-(2**31), 2**31, n).astype(dtype) for _ in range(2))
        with np.errstate(over="ignore"):
            return Launch((cdiv(n, block),), [a, b, np.zeros(n, dtype), n], {2: a + b})

    return make


def unary(function: Callable[[np.ndarray], np.ndarray], low: float, high: float, tolerance: float) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        n = odd(shapes, 4000)
        x = values.uniform(low, high, n).astype(np.float32)
        out = np.zeros(n, np.float32)
        return Launch((cdiv(n, 512),), [x, out, n], {1: function(x.astype(np.float64))}, tolerance)

    return make


def drawn(values: np.random.Generator, n: int, dtype: str, low: int = -100, high: int = 100) -> np.ndarray:
    """Numbers of any type, bf16 as bits; whole numbers from ``low`` to below ``high``."""
    if dtype == "bfloat16":
        return bf16(values.standard_normal(n).astype(np.float32))
    if dtype.startswith("float"):
        return values.standard_normal(n).astype(dtype) * np.dtype(dtype).type(8)
    return values.integers(low, high, n).astype(dtype)


def binary(function: Callable[[Any, Any], Any], dtype: str, tolerance: float = 0.0, low: int = -100) -> Case:
    """``low``: of the second operand, where not every number is allowed; it is then below 9."""

    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        n = odd(shapes, 4000)
        a = drawn(values, n, dtype)
        b = drawn(values, n, dtype) if low == -100 else drawn(values, n, dtype, low, 9)
        b[::3] = a[::3] if low == -100 else b[::3]  # equal pairs, for comparisons
        b[b == 0] = 3  # and nothing divides by zero
        expected = to_float(np.asarray(function(a, b)).astype(dtype), dtype)
        return Launch((cdiv(n, 512),), [a, b, np.zeros_like(a), n], {2: expected}, tolerance)

    return make


def chosen(compare: Callable[[Any, Any], Any], dtype: str) -> Case:
    return binary(lambda a, b: np.where(compare(a, b), a, b), dtype)


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division towards zero."""
    return np.trunc(a.astype(np.float64) / b)


def cast(source: str, target: str) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        n = odd(shapes, 4000)
        x = drawn(values, n, source, 0 if source.startswith("u") else -100)
        wide = to_float(x, source)
        kind = "uint16" if target == "bfloat16" else target
        expected = to_float(bf16(wide.astype(np.float32)), target) if target == "bfloat16" else wide.astype(kind)
        return Launch((cdiv(n, 512),), [x, np.zeros(n, kind), n], {1: expected.astype(np.float64)})

    return make


def row_softmax(shapes: random.Random, values: np.random.Generator) -> Launch:
    """Programs that go through rows in turn: any number of them."""
    rows, columns = odd(shapes, 60), odd(shapes, 256)
    x = values.standard_normal((rows, columns)).astype(np.float32)
    part = np.exp(x.astype(np.float64))
    given = [np.zeros_like(x), x, columns, columns, rows, columns]
    return Launch((shapes.randint(1, 50),), given, {0: part / part.sum(1, keepdims=True)}, 1e-5)


def columns_of(function: Callable[[np.ndarray], np.ndarray], dtype: str, out: Any, tolerance: float) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        rows, columns = odd(shapes, 15), odd(shapes, 300)
        x = np.abs(drawn(values, rows * columns, dtype)).reshape(rows, columns)
        x += np.array(1, dtype)  # what a mask leaves out is 0
        given = [x, np.zeros(columns, out), rows, columns]
        return Launch((cdiv(columns, 64),), given, {1: function(x).astype(np.float64)}, tolerance)

    return make


def softmax(shapes: random.Random, values: np.random.Generator) -> Launch:
    rows, columns = odd(shapes, 60), odd(shapes, 256)
    pitch = odd(shapes, 40) + columns
    x = values.standard_normal((rows, pitch)).astype(np.float32)
    part = np.exp(x[:, :columns].astype(np.float64))
    expected = np.zeros((rows, pitch))
    expected[:, :columns] = part / part.sum(1, keepdims=True)
    out = np.zeros((rows, pitch), np.float32)
    return Launch((cdiv(rows, 8),), [out, x, pitch, rows, columns], {0: expected}, 1e-5)


def layer_norm(shapes: random.Random, values: np.random.Generator) -> Launch:
    rows, n = shapes.randint(1, 6), odd(shapes, 1200)
    x = values.standard_normal((rows, n)).astype(np.float32) + np.float32(0.5)
    w, b = (values.standard_normal(n).astype(np.float32) for _ in range(2))
    wide = x.astype(np.float64)
    mean = wide.mean(1)
    rstd = 1 / np.sqrt(wide.var(1) + 1e-5)
    y = (wide - mean[:, None]) * rstd[:, None] * w + b
    zeros = np.zeros(rows, np.float32)
    return Launch((rows,), [x, np.zeros_like(x), w, b, zeros, zeros.copy(), n, n, 1e-5], {1: y, 4: mean, 5: rstd}, 1e-4)


def matmul(
    bm: int,
    bn: int,
    dtype: str = "float16",
    tolerance: float = 3e-3,
    epilogue: bool = False,
    parallel: bool = False,
    step: int = 1,
) -> Case:
    """``step``: what the sizes are multiples of, if a module was compiled for that; ``parallel``: at most 20 blocks."""

    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        m, n, k = (cdiv(odd(shapes, most), step) * step for most in (200, 200, 300))

        def matrix(*shape: int) -> np.ndarray:
            x = values.standard_normal(shape).astype(np.float32) * np.float32(0.5)
            return bf16(x) if dtype == "bfloat16" else x.astype(dtype)

        a, b = matrix(m, k), matrix(k, n)
        c = to_float(a, dtype) @ to_float(b, dtype)
        given: list[Any] = [a, b, np.zeros((m, n), a.dtype)]
        if epilogue:
            bias = values.standard_normal(n).astype(np.float32)
            given.append(bias)
            c = c + bias
            c = np.where(c > 0, c, c * 0.01)
        tiles = cdiv(m, bm) * cdiv(n, bn)
        return Launch((tiles,), [*given, m, n, k, k, n, n], {2: c}, tolerance, min(tiles, 20) if parallel else None)

    return make


def persistent(shapes: random.Random, values: np.random.Generator) -> Launch:
    m, n, k = odd(shapes, 200), odd(shapes, 200), odd(shapes, 200)
    a, b = (values.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = a.astype(np.float64) @ b.astype(np.float64)
    return Launch((3,), [a, b, np.zeros((m, n), np.float16), m, n, k], {2: c}, 3e-3)


def dot(transposed: str, dtype: str) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        m, n, k = odd(shapes, 150), odd(shapes, 150), odd(shapes, 150)
        a = values.standard_normal((k, m) if transposed == "a" else (m, k)).astype(dtype)
        b = values.standard_normal((n, k) if transposed == "b" else (k, n)).astype(dtype)
        left, right = a.astype(np.float64), b.astype(np.float64)
        c = (left.T if transposed == "a" else left) @ (right.T if transposed == "b" else right)
        grid = (cdiv(m, 64), cdiv(n, 64))
        return Launch(grid, [a, b, np.zeros((m, n), np.float32), m, n, k], {2: c}, 1e-4)

    return make


def rows_of(function: Callable[[np.ndarray], np.ndarray], out: Any, tolerance: float, sign: int = 1) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        rows, columns = odd(shapes, 60), odd(shapes, 127)
        x = np.abs(values.standard_normal((rows, columns))).astype(np.float32) * sign  # what a mask leaves out is 0
        return Launch(
            (cdiv(rows, 8),), [x, np.zeros(rows, out), rows, columns], {1: function(x.astype(np.float64))}, tolerance
        )

    return make


def transpose(shapes: random.Random, values: np.random.Generator) -> Launch:
    rows, columns = odd(shapes, 100), odd(shapes, 200)
    x = values.standard_normal((rows, columns)).astype(np.float32)
    return Launch(
        (cdiv(rows, 32), cdiv(columns, 64)),
        [x, np.zeros((columns, rows), np.float32), rows, columns],
        {1: x.T.astype(np.float64)},
    )


def gather(index: Any) -> Case:
    def make(shapes: random.Random, values: np.random.Generator) -> Launch:
        n, size = odd(shapes, 1500), odd(shapes, 3000)
        x, at = values.standard_normal(size).astype(np.float32), values.integers(0, size, n).astype(index)
        return Launch((cdiv(n, 256),), [x, at, np.zeros(n, np.float32), n], {2: x[at].astype(np.float64)})

    return make


def attention(shapes: random.Random, values: np.random.Generator) -> Launch:
    blocks, context = shapes.randint(1, 4), 64 * shapes.randint(1, 12)
    q, k, v = (values.standard_normal((n, 64)).astype(np.float16) for n in (64 * blocks, context, context))
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    weights = np.exp(scores - scores.max(1, keepdims=True))
    out = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    return Launch((blocks,), [q, k, v, np.zeros_like(q), 0.125, context], {3: out}, 1e-2)


CASES: dict[str, Case] = {
    "vadd_i32_B1024_odd": vadd(np.int32, 1024),
    "unary_exp_fp32": unary(np.exp, -5, 5, 1e-6),
    "unary_exp2_fp32": unary(np.exp2, -5, 5, 1e-6),
    "unary_log_fp32": unary(np.log, 0.1, 9, 1e-6),
    "unary_sqrt_fp32": unary(np.sqrt, 0, 9, 1e-6),
    "unary_rsqrt_fp32": unary(lambda x: 1 / np.sqrt(x), 0.1, 9, 1e-6),
    "unary_sigmoid_fp32": unary(lambda x: 1 / (1 + np.exp(-x)), -5, 5, 2e-6),
    "unary_sin_fp32": unary(np.sin, -5, 5, 4e-6),
    "unary_cos_fp32": unary(np.cos, -5, 5, 4e-6),
    "unary_floor_fp32": unary(np.floor, -50, 50, 0),
    "unary_abs_fp32": unary(np.abs, -5, 5, 0),
    "library_tanh_fp32": unary(np.tanh, -4, 4, 4e-6),
    "softmax2d_R8_B256_odd": softmax,
    "layernorm_fp32_B256_odd": layer_norm,
    "matmul_fp16_64x64x64_odd": matmul(64, 64, "float16", 3e-3),
    "matmul_fp32_32x64x32_odd": matmul(32, 64, "float32", 1e-4),
    "matmul_bf16_64x64x64_odd": matmul(64, 64, "bfloat16", 2e-2),
    "matmul_all_blocks_parallel": matmul(32, 32, "float16", 3e-3, parallel=True),
    "matmul_relu_64x64x64_odd": matmul(64, 64, "float16", 3e-3, epilogue=True),
    "matmul_relu_option_workspace4": matmul(64, 64, "float16", 3e-3, epilogue=True),
    "matmul_persistent": persistent,
    "dot_transposed_b_fp16": dot("b", "float16"),
    "dot_transposed_a_fp16": dot("a", "float16"),
    "dot_transposed_b_fp32": dot("b", "float32"),
    "dot_transposed_a_fp32": dot("a", "float32"),
    "row_sum_fp32": rows_of(lambda x: x.sum(1), np.float32, 1e-5),
    "row_max_fp32": rows_of(lambda x: x.max(1), np.float32, 0),
    "row_argmax_fp32": rows_of(lambda x: x.argmax(1), np.int32, 0),
    "transpose_fp32": transpose,
    "gather_odd": gather(np.int32),
    "gather_i64_odd": gather(np.int64),
    "attention_fp16": attention,
    "softmax_loop_multibuffer": row_softmax,
    "vadd_option_no_multibuffer": row_softmax,
    "softmax_fp32_B1024": row_softmax,
    "unary_ceil_fp32": unary(np.ceil, -50, 50, 0),
    "unary_log2_fp32": unary(np.log2, 0.1, 9, 1e-6),
    "unary_neg_fp32": unary(np.negative, -5, 5, 0),
    "unary_recip_fp32": unary(lambda x: 1 / x, 0.1, 9, 1e-6),
    "unary_relu_fp32": unary(lambda x: np.maximum(x, 0), -5, 5, 0),
    "unary_square_fp32": unary(lambda x: x * x + 2, -5, 5, 1e-6),
    "library_expm1_fp32": unary(np.expm1, -3, 3, 4e-6),
    "library_log1p_fp32": unary(np.log1p, 0, 9, 4e-6),
    "library_atan_fp32": unary(np.arctan, -5, 5, 4e-6),
    "row_min_fp32": rows_of(lambda x: x.min(1), np.float32, 0, sign=-1),
    "col_sum_fp32": columns_of(lambda x: x.sum(0, dtype=np.float64), "float32", np.float32, 1e-5),
    "col_max_fp32": columns_of(lambda x: x.max(0), "float32", np.float32, 0),
    "col_argmax_fp32": columns_of(lambda x: x.argmax(0), "float32", np.int32, 0),
    "col_sum_i32": columns_of(lambda x: x.sum(0), "int32", np.int32, 0),
    "binary_sub_fp32": binary(np.subtract, "float32"),
    "binary_mul_fp32": binary(np.multiply, "float32"),
    "binary_div_fp32": binary(np.divide, "float32", 1e-6),
    "binary_max_fp32": binary(np.maximum, "float32"),
    "binary_min_fp32": binary(np.minimum, "float32"),
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
    "cast_bf16_fp32": cast("bfloat16", "float32"),
    "cast_fp16_bf16": cast("float16", "bfloat16"),
    "cast_fp16_fp32": cast("float16", "float32"),
    "cast_fp16_i32": cast("float16", "int32"),
    "cast_fp16_i8": cast("float16", "int8"),
    "cast_fp32_bf16": cast("float32", "bfloat16"),
    "cast_fp32_fp16": cast("float32", "float16"),
    "cast_fp32_i32": cast("float32", "int32"),
    "cast_fp32_i64": cast("float32", "int64"),
    "cast_fp32_i8": cast("float32", "int8"),
    "cast_i16_fp32": cast("int16", "float32"),
    "cast_i16_i32": cast("int16", "int32"),
    "cast_i32_fp16": cast("int32", "float16"),
    "cast_i32_fp32": cast("int32", "float32"),
    "cast_i32_i16": cast("int32", "int16"),
    "cast_i32_i64": cast("int32", "int64"),
    "cast_i32_i8": cast("int32", "int8"),
    "cast_i64_fp32": cast("int64", "float32"),
    "cast_i64_i32": cast("int64", "int32"),
    "cast_i8_fp16": cast("int8", "float16"),
    "cast_i8_i32": cast("int8", "int32"),
    "cast_u8_fp32": cast("uint8", "float32"),
    "vadd_i16_B1024_odd": vadd(np.int16, 1024),
    "vadd_i64_B512_odd": vadd(np.int64, 512),
    "vadd_i8_B1024_odd": vadd(np.int8, 1024),
    "matmul_fp16_16x16x16": matmul(16, 16, step=8),
    "matmul_fp16_32x32x32": matmul(32, 32, step=16),
    "matmul_fp16_64x64x64": matmul(64, 64, step=16),
    "matmul_fp16_128x128x64": matmul(128, 128, step=16),
    "matmul_fp16_128x256x64": matmul(128, 256, step=16),
    "matmul_fp16_128x128x128": matmul(128, 128, step=16),
    "matmul_relu_64x64x64": matmul(64, 64, epilogue=True, step=16),
    "matmul_relu_128x128x64": matmul(128, 128, epilogue=True, step=16),
    "matmul_relu_all_blocks_parallel": matmul(32, 32, epilogue=True, parallel=True),
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
    for option in ("block_all", "cv_balance", "no_bind_sub_block", "no_multibuffer", "tile_loops", "unit_flag")
}


def arguments_of(fixture: Fixture, values: list[Any]) -> tuple[dict[str, Any], ...]:
    """The fixture's arguments with other values in the places of those that are passed."""
    left, arguments = list(values), []
    for argument in fixture.arguments:
        if "absent" in argument:
            arguments.append(argument)
        elif "input" in argument:
            arguments.append({**argument, "array": left.pop(0)})
        else:
            arguments.append({**argument, "scalar": left.pop(0)})
    if left:
        raise ValueError(f"{fixture.name}: {len(left)} values too many")
    return tuple(arguments)


def run(acl: Acl, base: Fixture, stub: c_void_p, launch: Launch) -> tuple[float, str]:
    """Executes a launch; the largest error as the tolerance measures it, and which argument is wrong."""
    grid = (*launch.grid, 1, 1)[:3]
    blocks = launch.blocks or grid[0] * grid[1] * grid[2]
    fixture = dataclasses.replace(
        base,
        grid=grid,
        blocks=blocks,
        workspace_bytes=base.workspace_bytes // base.blocks * blocks,
        arguments=arguments_of(base, launch.values),
    )
    made: list[int] = []

    def allocate(contents: bytes) -> int:
        made.append(acl.malloc(len(contents)))
        acl.upload(made[-1], contents)
        return made[-1]

    arrays = {i: a for i, a in enumerate(fixture.arguments) if "array" in a}
    addresses = {i: allocate(a["array"].tobytes()) for i, a in arrays.items()}
    lock, workspace = allocate(bytes(8 * (base.locks + 1))), allocate(b"\xff" * (fixture.workspace_bytes + 8))
    acl.launch(stub, blocks, pack_arguments(fixture, lock, workspace, addresses))
    acl.sync()
    worst, message = 0.0, ""
    for number, (position, argument) in enumerate(arrays.items()):
        given = argument["array"]
        stored = np.frombuffer(acl.download(addresses[position], given.nbytes), given.dtype).reshape(given.shape)
        expected = launch.expected.get(number)
        if expected is None:
            if stored.tobytes() != given.tobytes():
                message = f"input {number} has changed"
            continue
        result = to_float(stored, argument["dtype"])
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.abs(result - expected) / (np.abs(expected) + np.mean(np.abs(expected)))
        error = np.where(result == expected, 0.0, np.where(np.isnan(error), np.inf, error))
        worst = max(worst, float(error.max()))
        if worst > launch.tolerance:
            message = f"argument {number}: {int((error > launch.tolerance).sum())} of {error.size} elements are wrong"
    for address in made:
        acl("aclrtFree", c_void_p(address))
    return worst, message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    by_name = {fixture.name: fixture for fixture in fixtures()}
    acl, rows = Acl(), []
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            base = by_name[name]
            stub = acl.register(compile_module(name, Path(folder)), base.entry.encode())
            for number in range(options.rounds):
                launch = case(random.Random(f"{name} {number}"), np.random.default_rng(number))
                shape = [value.shape if isinstance(value, np.ndarray) else value for value in launch.values]
                row = {"name": name, "shape": str(shape), "allowed": launch.tolerance}
                try:
                    row["error"], row["message"] = run(acl, base, stub, launch)
                except AclError as error:
                    row["error"], row["message"] = float("inf"), str(error)
                rows.append(row)
    options.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
