"""Kernels in the idioms of public libraries, written anew, with their axes stated by hand."""

import triton
import triton.language as tl
from triton.language import arange, program_id

#: Kernel name -> its axes, written from the kernel: those that are stored first, then what is reduced away.
AXES = {
    "rms_norm_row": ["x: length unknown, grid dimension 0", "y: length n_cols, whole BLOCK, contiguous, reduced"],
    "rms_norm_loop": ["x: length unknown, grid dimension 0", "y: length n_cols, tiling BLOCK, contiguous, reduced"],
    "rope": [
        "x: length unknown, grid dimension 1",
        "y: length seq, split BLOCK_S, grid dimension 0",
        "z: length half, whole BLOCK_D, contiguous",
    ],
    "swiglu": ["x: length unknown, grid dimension 0", "y: length n_cols, split BLOCK, contiguous, grid dimension 1"],
    "cross_entropy": ["x: length unknown, grid dimension 0", "y: length vocab, tiling BLOCK, contiguous, reduced"],
    "dequantise": [
        "x: length rows, split BR, grid dimension 0",
        "y: length cols, split BC, contiguous, grid dimension 1",
    ],
    "causal_conv": [
        "x: length unknown, grid dimension 0",
        "y: length seq, split BT, contiguous, grid dimension 1",
    ],
    "paged_gather": [
        "x: length unknown, grid dimension 0",
        "y: length page, whole BLOCK_P",
        "z: length dim, tiling BLOCK_D, contiguous",
    ],
    "softmax_rows": ["x: length rows, split ROWS, grid dimension 0", "y: length cols, contiguous, reduced"],
    "helper_functions": ["x: length n, split BLOCK, contiguous, grid dimension 0"],
    "reversed_masks": ["x: length n, split BLOCK, contiguous, grid dimension 0"],
    "method_reductions": [
        "x: length rows, split ROWS, contiguous, grid dimension 0",
        "y: length cols, tiling COLS, contiguous, reduced",
    ],
    "custom_reduce": [
        "x: length rows, split ROWS, contiguous, grid dimension 0",
        "y: length cols, tiling COLS, contiguous, reduced",
    ],
    "moving_pointers": ["x: length n, split BLOCK, tiling SUB, contiguous, grid dimension 0"],
    "while_loop": ["x: length n, tiling BLOCK, contiguous"],
    "column_sum": ["x: length cols, split BC, contiguous, grid dimension 0", "y: length rows, tiling BR, reduced"],
    "varlen": ["x: length unknown, grid dimension 0", "y: length unknown, tiling BLOCK, contiguous"],
    "coarsened": ["x: length n, tiling BLOCK, contiguous, grid dimension 0"],
    "half_tile": ["x: length n, split BLOCK, grid dimension 0"],
    "sequences": ["x: length n, split BLOCK, contiguous, grid dimension 0"],
}
#: Kernel name -> what it must say that it cannot tell.
NOTES = {
    "varlen": ["a length is loaded from memory", "the length of the axis that BLOCK cuts could not be told"],
    "coarsened": ["constexpr ITERS belongs to no axis"],
}
#: What the calls pass besides tensors and lengths.
PASSED = {
    "rope": {"half": 64},
    "causal_conv": {"TAPS": 4},
    "softmax_rows": {"COLS": 1024},
}


@triton.jit
def rms_norm_row(x, w, out, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n_cols
    v = tl.load(x + row * n_cols + cols, mask=ok, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / n_cols + eps)
    tl.store(out + row * n_cols + cols, v * scale * tl.load(w + cols, mask=ok), mask=ok)


@triton.jit
def rms_norm_loop(x, w, out, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * n_cols
    out += row * n_cols
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n_cols, other=0.0)
        total += v * v
    scale = tl.rsqrt(tl.sum(total, 0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        ok = cols < n_cols
        tl.store(out + cols, tl.load(x + cols, mask=ok) * scale * tl.load(w + cols, mask=ok), mask=ok)


@triton.jit
def rope(q, cos, sin, seq, heads, half, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr):
    ps = tl.program_id(0)
    head = tl.program_id(1)
    s = ps * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    ok = (s[:, None] < seq) & (d[None, :] < half)
    angle = s[:, None] * half + d[None, :]
    c = tl.load(cos + angle, mask=ok, other=0.0)
    si = tl.load(sin + angle, mask=ok, other=0.0)
    first = q + s[:, None] * heads * half * 2 + head * half * 2 + d[None, :]
    a = tl.load(first, mask=ok, other=0.0)
    b = tl.load(first + half, mask=ok, other=0.0)
    tl.store(first, a * c - b * si, mask=ok)
    tl.store(first + half, b * c + a * si, mask=ok)


@triton.jit
def swiglu(gate, up, out, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = cols < n_cols
    g = tl.load(gate + row * n_cols + cols, mask=ok, other=0.0).to(tl.float32)
    u = tl.load(up + row * n_cols + cols, mask=ok, other=0.0)
    tl.store(out + row * n_cols + cols, g * tl.sigmoid(g) * u, mask=ok)


@triton.jit
def cross_entropy(logits, labels, loss, vocab, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits += row * stride
    label = tl.load(labels + row)
    high = float("-inf")
    total = 0.0
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(logits + cols, mask=cols < vocab, other=float("-inf"))
        new = tl.maximum(high, tl.max(v))
        total = total * tl.exp(high - new) + tl.sum(tl.exp(v - new))
        high = new
    tl.store(loss + row, high + tl.log(total) - tl.load(logits + label))


@triton.jit
def dequantise(packed, scale, out, rows, cols, group, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(axis=0) * BR + tl.arange(0, BR)
    c = tl.program_id(axis=1) * BC + tl.arange(0, BC)
    ok = (r < rows)[:, None] & (c < cols)[None, :]
    v = tl.load(packed + r[:, None] * cols + c[None, :], mask=ok, other=0)
    s = tl.load(scale + r[:, None] * (cols // group) + c[None, :] // group, mask=ok, other=0.0)
    tl.store(out + r[:, None] * cols + c[None, :], v.to(tl.float32) * s, mask=ok)


@triton.jit
def causal_conv(x, w, out, seq, BT: tl.constexpr, TAPS: tl.constexpr):
    channel = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    total = tl.zeros([BT], dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        source = t - tap
        ok = (source >= 0) & (source < seq)
        total += tl.load(x + channel * seq + source, mask=ok, other=0.0) * tl.load(w + channel * TAPS + tap)
    tl.store(out + channel * seq + t, total, mask=t < seq)


@triton.jit
def paged_gather(cache, table, out, page, dim, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr):
    place = tl.program_id(0)
    block = tl.load(table + place)
    p = tl.arange(0, BLOCK_P)
    for d0 in range(0, dim, BLOCK_D):
        d = d0 + tl.arange(0, BLOCK_D)
        ok = (p[:, None] < page) & (d[None, :] < dim)
        inner = p[:, None] * dim + d[None, :]
        tl.store(out + place * page * dim + inner, tl.load(cache + block * page * dim + inner, mask=ok), mask=ok)


@triton.jit
def softmax_rows(out, src, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    place = r[:, None] * cols + c[None, :]
    ok = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(src + place, mask=ok, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(out + place, e / tl.sum(e, axis=1)[:, None], mask=ok)


@triton.jit
def _offsets(pid, BLOCK: tl.constexpr):
    return pid * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def _masked(pointer, where, n):
    return tl.load(pointer + where, mask=where < n, other=0.0)


@triton.jit
def helper_functions(a, b, n, BLOCK: tl.constexpr):
    where = _offsets(tl.program_id(0), BLOCK)
    tl.store(b + where, _masked(a, where, n) + 1.0, mask=where < n)


@triton.jit
def reversed_masks(a, b, n, low, BLOCK: tl.constexpr):
    where = program_id(0) * BLOCK + arange(0, BLOCK)
    ok = (n > where) & (where >= low)
    tl.store(b + where, tl.load(a + where, mask=ok), mask=ok)


@triton.jit
def method_reductions(src, dst, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for c0 in range(0, cols, COLS):
        c = c0 + tl.arange(0, COLS)
        acc += tl.load(src + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols), other=0.0)
    tl.store(dst + r, tl.exp(acc.sum(axis=-1)), mask=r < rows)


@triton.jit
def _larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def custom_reduce(src, dst, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for c0 in range(0, cols, COLS):
        c = c0 + tl.arange(0, COLS)
        ok = (r[:, None] < rows) & (c[None, :] < cols)
        acc = _larger(acc, tl.load(src + r[:, None] * cols + c[None, :], mask=ok, other=0.0))
    tl.store(dst + r, tl.reduce(acc, 1, _larger), mask=r < rows)


@triton.jit
def moving_pointers(a, b, n, BLOCK: tl.constexpr, SUB: tl.constexpr):
    where = tl.program_id(0) * BLOCK + tl.arange(0, SUB)
    a += where
    b += where
    for _ in range(BLOCK // SUB):
        tl.store(b, tl.load(a, mask=where < n), mask=where < n)
        where += SUB
        a += SUB
        b += SUB


@triton.jit
def while_loop(a, b, n, BLOCK: tl.constexpr):
    start = 0
    while start < n:
        where = start + tl.arange(0, BLOCK)
        tl.store(b + where, tl.load(a + where, mask=where < n), mask=where < n)
        start += BLOCK


@triton.jit
def column_sum(src, dst, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros([BC], dtype=tl.float32)
    for r0 in range(0, rows, BR):
        r = r0 + tl.arange(0, BR)
        ok = (r[:, None] < rows) & (c[None, :] < cols)
        acc += tl.sum(tl.load(src + r[:, None] * cols + c[None, :], mask=ok, other=0.0), axis=0)
    tl.store(dst + c, acc, mask=c < cols)


@triton.jit
def varlen(a, b, starts, BLOCK: tl.constexpr):
    seq = tl.program_id(0)
    first = tl.load(starts + seq)
    length = tl.load(starts + seq + 1) - first
    for s in range(0, length, BLOCK):
        where = s + tl.arange(0, BLOCK)
        tl.store(b + first + where, tl.load(a + first + where, mask=where < length), mask=where < length)


@triton.jit
def coarsened(a, b, n, BLOCK: tl.constexpr, ITERS: tl.constexpr):
    base = tl.program_id(0) * BLOCK * ITERS
    for i in range(ITERS):
        where = base + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(b + where, tl.load(a + where, mask=where < n), mask=where < n)


@triton.jit
def half_tile(a, b, n, BLOCK: tl.constexpr):
    pair = tl.program_id(0) * BLOCK + 2 * tl.arange(0, BLOCK // 2)
    x = tl.load(a + pair, mask=pair < n)
    y = tl.load(a + pair + 1, mask=pair + 1 < n)
    tl.store(b + pair, y, mask=pair < n)
    tl.store(b + pair + 1, x, mask=pair + 1 < n)


@triton.jit
def sequences(a, b, n, flag, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if flag:  # noqa: SIM108 - both branches are what is read here
        where = pid * BLOCK + tl.arange(0, BLOCK)
    else:
        where = tl.arange(0, BLOCK) + BLOCK * pid
    ok = where < n
    tl.store(b + where, tl.load(a + where, mask=ok), mask=ok)
