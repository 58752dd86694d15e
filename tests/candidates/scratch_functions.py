"""Kernels with one function each that takes room on the chip besides its operand and its result."""

from __future__ import annotations

import triton
import triton.language as tl

#: Constexprs that a call passes; here none.
PASSED: dict[str, dict[str, int]] = {}


@triton.jit
def error_function(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.erf(tl.load(src + at, mask=at < n, other=0.0)), mask=at < n)


@triton.jit
def sums(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.cumsum(tl.load(src + at, mask=at < n, other=0.0), 0), mask=at < n)


@triton.jit
def ordered(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.sort(tl.load(src + at, mask=at < n, other=0.0)), mask=at < n)


@triton.jit
def remainder(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.load(src + at, mask=at < n, other=0) % 7, mask=at < n)


@triton.jit
def chosen_by_index(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.where(at < n, tl.load(src + at, mask=at < n) - 1.0, 0.0), mask=at < n)


@triton.jit
def chosen_by_sign(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src + at, mask=at < n)
    tl.store(dst + at, tl.where(x > 0, x, x * 0.1), mask=at < n)


@triton.jit
def chosen_by_data(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(src + at, mask=at < n), tl.load(dst + at, mask=at < n)
    tl.store(dst + at, tl.where(x > y, x, y), mask=at < n)


@triton.jit
def chosen_by_column(src, dst, n, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row[:, None] * COLUMNS + column[None, :]
    x = tl.load(src + at, mask=row[:, None] < rows)
    tl.store(dst + at, tl.where(column[None, :] < n, x, -float("inf")), mask=row[:, None] < rows)


@triton.jit
def chosen_by_both(src, dst, n, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row[:, None] * COLUMNS + column[None, :]
    x = tl.load(src + at, mask=row[:, None] < rows)
    causal = (column[None, :] < n) & (row[:, None] >= column[None, :])
    tl.store(dst + at, tl.where(causal, x, -float("inf")), mask=row[:, None] < rows)


@triton.jit
def gathered(src, table, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(table + at, mask=at < n, other=0)
    tl.store(dst + at, tl.load(src + place), mask=at < n)
