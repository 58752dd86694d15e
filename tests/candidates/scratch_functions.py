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
