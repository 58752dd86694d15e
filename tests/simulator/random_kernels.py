"""Drives Triton kernels on the simulated CANN with random shapes, types, strides, masks and block sizes.

    python random_kernels.py --cases N [--seed S] [NAME ...]

N cases of each kernel, drawn by hypothesis and compared with torch on the CPU; a wrong number is an AssertionError that
shows the smallest such case. Expects the environment of the simulator. Prints one line per kernel.

A case takes milliseconds and a compilation half a second of a core, so sizes are not specialised (though strides are,
whether they are 1), and types and block sizes come in a few combinations.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

FLOATS = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
numbers, cases = itertools.count(), itertools.count()


@triton.jit(do_not_specialize=["low", "n"])
def add_kernel(x, y, out, low, n, stride_x, stride_y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i >= low) & (i < n)
    tl.store(out + i, tl.load(x + i * stride_x, mask=mask) + tl.load(y + i * stride_y, mask=mask), mask=mask)


@triton.jit(do_not_specialize=["pitch", "rows", "columns"])
def softmax_kernel(out, x, pitch, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    v = tl.load(x + row * pitch + column, mask=mask, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(out + row * pitch + column, (v / tl.sum(v, axis=1)[:, None]).to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["pitch", "rows", "columns"])
def reduce_kernel(
    x, out, pitch, rows, columns, OP: tl.constexpr, OTHER: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    v = tl.load(x + row[:, None] * pitch + column[None, :], mask=mask, other=OTHER)
    if OP == "sum":
        result = tl.sum(v, axis=1)
    elif OP == "max":
        result = tl.max(v, axis=1)
    else:
        result = tl.min(v, axis=1)
    tl.store(out + row, result, mask=row < rows)


@triton.jit(do_not_specialize=["M", "N", "K"], do_not_specialize_on_alignment=["am", "ak", "bk", "bn"])
def matmul_kernel(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    m = tl.program_id(0) // tiles_n * BM + tl.arange(0, BM)
    n = tl.program_id(0) % tiles_n * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit(do_not_specialize=["n"])
def gather_kernel(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(x + at, mask=i < n, other=0.0), mask=i < n)


def drawn(*shape: int, dtype: str) -> torch.Tensor:
    """Another tensor at each call, the same ones in each run."""
    generator = torch.Generator().manual_seed(next(numbers))
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(*shape, generator=generator).to(kind)
    return torch.randint(-100, 100, shape, generator=generator).to(kind)


def check(result: torch.Tensor, expected: torch.Tensor, tolerance: float = 0.0) -> None:
    torch.testing.assert_close(result.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    next(cases)


@given(
    n=st.integers(1, 3000),
    low=st.integers(0, 40),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    variant=st.sampled_from(
        [
            ("float32", 64),
            ("float32", 1024),
            ("float16", 256),
            ("bfloat16", 1024),
            ("int32", 256),
            ("int16", 64),
            ("int8", 256),
        ]
    ),
)
@example(n=10, low=8, strides=(1, 2), variant=("float32", 64))  # rows of one element with padding on their left
def add(n: int, low: int, strides: tuple[int, int], variant: tuple[str, int]) -> None:
    dtype, block = variant
    # Of an empty window, low > n, the compiler makes a view of negative size, which the simulator reports.
    low = min(low, n)
    x, y = (drawn(n * stride, dtype=dtype) for stride in strides)
    out = torch.full((n,), 7, dtype=x.dtype)
    on_device = out.npu()
    add_kernel[(triton.cdiv(n, block),)](x.npu(), y.npu(), on_device, low, n, *strides, BLOCK=block)
    out[low:n] = (x[:: strides[0]] + y[:: strides[1]])[low:n]
    check(on_device, out)


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 256),
    gap=st.integers(0, 20),
    dtype=st.sampled_from(["float32", "float16"]),
    block=st.sampled_from([(1, 256), (4, 256), (8, 512)]),
)
def softmax(rows: int, columns: int, gap: int, dtype: str, block: tuple[int, int]) -> None:
    x = drawn(rows, columns + gap, dtype=dtype)
    out = torch.zeros_like(x)
    on_device = out.npu()
    grid = (triton.cdiv(rows, block[0]),)
    softmax_kernel[grid](on_device, x.npu(), columns + gap, rows, columns, ROWS=block[0], BLOCK=block[1])
    out[:, :columns] = torch.softmax(x[:, :columns].float(), 1).to(x.dtype)
    check(on_device, out, FLOATS[dtype])


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 128),
    gap=st.integers(0, 20),
    op=st.sampled_from(["sum", "max", "min"]),
    dtype=st.sampled_from(["float32", "int32"]),
    block=st.sampled_from([(1, 128), (8, 128)]),
)
def reduction(rows: int, columns: int, gap: int, op: str, dtype: str, block: tuple[int, int]) -> None:
    whole = drawn(rows, columns + gap, dtype=dtype)
    x = whole[:, :columns]
    low, high = (-1e30, 1e30) if dtype == "float32" else (-(2**30), 2**30)
    other = {"sum": 0, "max": low, "min": high}[op]
    on_device = torch.zeros(rows, dtype=x.dtype).npu()
    reduce_kernel[(triton.cdiv(rows, block[0]),)](
        whole.npu(), on_device, columns + gap, rows, columns, OP=op, OTHER=other, ROWS=block[0], BLOCK=block[1]
    )
    expected = x.sum(1).to(x.dtype) if op == "sum" else x.amax(1) if op == "max" else x.amin(1)
    check(on_device, expected, 1e-4 if op == "sum" and dtype == "float32" else 0.0)


@given(
    shape=st.tuples(st.integers(1, 150), st.integers(1, 150), st.integers(1, 200)),
    transposed=st.tuples(st.booleans(), st.booleans()),
    variant=st.sampled_from(
        [
            ("float16", (16, 16, 16)),
            ("float16", (64, 32, 64)),
            ("float16", (128, 64, 32)),
            ("bfloat16", (32, 64, 32)),
            ("float32", (32, 64, 32)),
            ("float32", (64, 32, 64)),
        ]
    ),
)
def matmul(
    shape: tuple[int, int, int], transposed: tuple[bool, bool], variant: tuple[str, tuple[int, int, int]]
) -> None:
    m, n, k = shape
    dtype, block = variant
    a = drawn(k, m, dtype=dtype).t() if transposed[0] else drawn(m, k, dtype=dtype)
    b = drawn(n, k, dtype=dtype).t() if transposed[1] else drawn(k, n, dtype=dtype)
    c = torch.zeros((m, n), dtype=a.dtype).npu()
    left, right = (x.t().npu() if turned else x.npu() for x, turned in zip((a, b), transposed, strict=True))
    grid = (triton.cdiv(m, block[0]) * triton.cdiv(n, block[1]),)
    strides = (*a.stride(), *b.stride())
    matmul_kernel[grid](left, right, c, m, n, k, *strides, BM=block[0], BN=block[1], BK=block[2])
    expected = a.double() @ b.double()
    scale = expected.abs().mean()
    check(c.cpu().double() / scale, expected / scale, FLOATS[dtype])


@given(
    n=st.integers(1, 1500),
    size=st.integers(1, 3000),
    index=st.sampled_from(["int32", "int64"]),
    dtype=st.sampled_from(["float32", "float16"]),
    block=st.sampled_from([64, 256]),
)
def gather(n: int, size: int, index: str, dtype: str, block: int) -> None:
    x, at = drawn(size, dtype=dtype), drawn(n, dtype=index).abs() * 31 % size
    out = torch.zeros(n, dtype=x.dtype).npu()
    gather_kernel[(triton.cdiv(n, block),)](x.npu(), at.npu(), out, n, BLOCK=block)
    check(out, x[at.long()])


KERNELS: dict[str, Callable[[], Any]] = {f.__name__: f for f in (add, softmax, reduction, matmul, gather)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", choices=[*KERNELS, []])
    options = parser.parse_args()
    profile = settings(
        max_examples=options.cases, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    for name in options.names or KERNELS:
        before = next(cases)
        seed(options.seed)(profile(KERNELS[name]))()
        print(f"{name}: {next(cases) - before - 1} cases are right", flush=True)


if __name__ == "__main__":
    main()
