"""The sixteen worked examples of the incumbent's description, with the axes stated by hand above each kernel."""

import triton
import triton.language
import triton.language as tl

language = triton.language

#: Kernel name -> its axes. Every line was written from the kernel, not from the analysis.
AXES = {
    "e1": ["x: length n, split BS, contiguous, grid dimension 0"],
    "e2": ["x: length n, split BS, tiling SUB, contiguous, grid dimension 0"],
    # dst is one number per row, so that neighbouring rows are neighbours in memory there.
    "e3": [
        "x: length rows, split RBLK, tiling RT, contiguous, grid dimension 0",
        "y: length width, tiling CT, contiguous, reduced",
    ],
    "e4": ["x: length n, tiling T, contiguous, dealt, grid dimension 0"],
    # The store is transposed: each axis is contiguous in one of the two tensors.
    "e5": [
        "x: length M, split BM, contiguous, grid dimension 0",
        "y: length N, split BN, contiguous, grid dimension 1",
    ],
    "e6": [
        "x: length rows, split RBLK, tiling RT, grid dimension 0",
        "y: length width, contiguous, reduced",
    ],
    "e7": ["x: length n, tiling SUB, contiguous, grid dimension 0"],
    "e8": ["x: length rows, dealt, grid dimension 0", "y: length width, tiling CT, contiguous, reduced"],
    "e9": ["x: length n, split BS, contiguous, grid dimension 0"],
    "e10": ["x: length unknown, split BS, contiguous, grid dimension 0"],
    "e11": ["x: length M, tiling BM, reduced", "y: length N, tiling BN, contiguous, reduced"],
    "e12": ["x: length n, split BS, contiguous, grid dimension 0"],
    "e13": ["x: length rows, split RT, grid dimension 0", "y: length width, tiling CT, contiguous"],
    "e14": [
        "x: length A, split BA, grid dimension 0",
        "y: length B, split BB, grid dimension 1",
        "z: length C, whole BC, contiguous",
    ],
    "e15": ["x: length n, split BS, contiguous, grid dimension 0"],
    "e16": ["x: length rows, tiling RT, dealt, grid dimension 0", "y: length width, contiguous"],
}
#: Kernel name -> what it must say that it cannot tell.
NOTES = {"e10": ["the length of the axis that BS cuts could not be told"]}
#: What the calls pass besides tensors and lengths.
PASSED = {"e6": {"WF": 2048}, "e16": {"WF": 2048}}


@triton.jit
def e1(a, b, n, BS: tl.constexpr):
    o = tl.program_id(0) * BS + tl.arange(0, BS)
    m = o < n
    tl.store(b + o, tl.load(a + o, mask=m), mask=m)


@triton.jit
def e2(a, b, n, BS: tl.constexpr, SUB: tl.constexpr):
    base = tl.program_id(0) * BS
    for s in range(0, BS, SUB):
        o = base + s + tl.arange(0, SUB)
        m = o < n
        tl.store(b + o, tl.load(a + o, mask=m), mask=m)


@triton.jit
def e3(src, dst, rows, width, RBLK: tl.constexpr, RT: tl.constexpr, CT: tl.constexpr):
    first = tl.program_id(0) * RBLK
    for step in range(0, RBLK, RT):
        ri = first + step + tl.arange(0, RT)[:, None]
        rok = ri < rows
        tot = tl.zeros([RT, CT], dtype=tl.float32)
        for c0 in range(0, width, CT):
            ci = c0 + tl.arange(0, CT)[None, :]
            cok = ci < width
            v = tl.load(src + ri * width + ci, rok & cok)
            tot += v * v
        ss = tl.sum(tot, axis=1)[:, None]
        tl.store(dst + ri, ss, rok)


@triton.jit
def e4(a, b, n, T: tl.constexpr):
    p = tl.program_id(0)
    np_ = tl.num_programs(0)
    for s in range(p * T, n, np_ * T):
        o = s + tl.arange(0, T)
        m = o < n
        tl.store(b + o, tl.load(a + o, mask=m), mask=m)


@triton.jit
def e5(a, b, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    m = pm * BM + tl.arange(0, BM)[:, None]
    n_ = pn * BN + tl.arange(0, BN)[None, :]
    msk = (m < M) & (n_ < N)
    tl.store(b + n_ * M + m, tl.load(a + m * N + n_, mask=msk), mask=msk)


@triton.jit
def e6(src, dst, rows, width, RBLK: tl.constexpr, RT: tl.constexpr, WF: tl.constexpr):
    first = tl.program_id(0) * RBLK
    ci = tl.arange(0, WF)[None, :]
    cok = ci < width
    for step in range(0, RBLK, RT):
        ri = first + step + tl.arange(0, RT)[:, None]
        rok = ri < rows
        v = tl.load(src + ri * width + ci, rok & cok)
        tl.store(dst + ri * width + ci, v - tl.sum(v, axis=1)[:, None] / width, rok & cok)


@triton.jit
def e7(a, b, n, SUB: tl.constexpr):
    p = tl.program_id(0)
    np_ = tl.num_programs(0)
    chunk = (n + np_ - 1) // np_
    for s in range(0, chunk, SUB):
        o = p * chunk + s + tl.arange(0, SUB)
        m = o < n
        tl.store(b + o, tl.load(a + o, mask=m), mask=m)


@triton.jit
def e8(src, vec, dst, rows, width, CT: tl.constexpr):
    p = tl.program_id(0)
    np_ = tl.num_programs(0)
    for r in range(p, rows, np_):
        part = tl.zeros([CT], dtype=tl.float32)
        for c0 in range(0, width, CT):
            ci = c0 + tl.arange(0, CT)
            ok = ci < width
            part += tl.load(src + r * width + ci, ok) * tl.load(vec + ci, ok)
        d = tl.sum(part, axis=0)
        tl.store(dst + r, d)


@triton.jit
def e9(a, b, n, BS: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BS)
    tl.store(b + p * BS + i, tl.load(a + p * BS + i, mask=p * BS + i < n), mask=p * BS + i < n)


@triton.jit
def e10(a, b, n, BS: tl.constexpr):
    o = tl.program_id(0) * BS + tl.arange(0, BS)
    tl.store(b + o, tl.load(a + o))


@triton.jit
def e11(src, dst, M, N, BM: tl.constexpr, BN: tl.constexpr):
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for m0 in range(0, M, BM):
        mi = m0 + tl.arange(0, BM)
        for n0 in range(0, N, BN):
            ni = n0 + tl.arange(0, BN)
            ok = (mi[:, None] < M) & (ni[None, :] < N)
            acc += tl.load(src + mi[:, None] * N + ni[None, :], mask=ok, other=0.0)
    s = tl.sum(acc, axis=1)
    t = tl.sum(s, axis=0)
    tl.store(dst, t)


@triton.jit
def e12(a, b, n, BS: tl.constexpr):
    o = tl.program_id(0) * BS + tl.arange(0, BS)
    m = o <= n - 1
    tl.store(b + o, tl.load(a + o, mask=m), mask=m)


@triton.jit
def e13(src, dst, rows, width, pitch, RT: tl.constexpr, CT: tl.constexpr):
    ri = tl.program_id(0) * RT + tl.arange(0, RT)
    rok = ri < rows
    base = ri[:, None] * pitch
    for c0 in range(0, width, CT):
        ci = c0 + tl.arange(0, CT)
        cok = ci < width
        ok = rok[:, None] & cok[None, :]
        v = tl.load(src + base + ci[None, :], ok)
        tl.store(dst + base + ci[None, :], v * 2.0, ok)


@triton.jit
def e14(src, dst, A, B, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    ia = (tl.program_id(0) * BA + tl.arange(0, BA))[:, None, None]
    ib = (tl.program_id(1) * BB + tl.arange(0, BB))[None, :, None]
    ic = tl.arange(0, BC)[None, None, :]
    ok = (ia < A) & (ib < B) & (ic < C)
    q = ia * B * C + ib * C + ic
    tl.store(dst + q, tl.load(src + q, mask=ok), mask=ok)


@triton.jit
def e15(a, b, n, BS: language.constexpr):
    o = language.program_id(0) * BS + language.arange(0, BS)
    m = o < n
    language.store(b + o, language.load(a + o, mask=m), mask=m)


@triton.jit
def e16(a, g, o, rows, width, RT: tl.constexpr, WF: tl.constexpr):
    p = tl.program_id(0)
    np_ = tl.num_programs(0)
    ci = tl.arange(0, WF)
    nblk = tl.cdiv(rows, RT)
    for blk in range(p, nblk, np_):
        ri = blk * RT + tl.arange(0, RT)
        ok = (ri < rows)[:, None] & (ci < width)[None, :]
        q = ri[:, None] * width + ci[None, :]
        tl.store(o + q, tl.load(a + q, ok) * tl.load(g + q, ok), ok)
