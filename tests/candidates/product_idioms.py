"""Kernels with products of tiles in the idioms of public libraries, written anew; axes as in ``public_idioms``."""

import triton
import triton.language as tl

#: Kernel name -> its axes.
AXES = {
    "matmul_grouped": [
        "x: length M, split BM, grid dimension 0",
        "y: length N, split BN, contiguous, grid dimension 0",
        "z: length K, tiling BK, contiguous, reduced",
    ],
    "matmul_block_ptr": [
        "x: length M, split BM, grid dimension 0",
        "y: length N, split BN, contiguous, grid dimension 1",
        "z: length K, tiling BK, contiguous, reduced",
    ],
    "matmul_advancing": [
        "x: length M, split BM, grid dimension 0",
        "y: length N, split BN, contiguous, grid dimension 1",
        "z: length K, tiling BK, contiguous, reduced",
    ],
    "matmul_persistent": [
        "x: length M, tiling BM, dealt, grid dimension 0",
        "y: length N, tiling BN, contiguous, dealt, grid dimension 0",
        "z: length K, tiling BK, contiguous, reduced",
    ],
    "matmul_split_k": [
        "x: length M, split BM, grid dimension 0",
        "y: length N, split BN, contiguous, grid dimension 0",
        "z: length K, tiling BK, contiguous, reduced, dealt, grid dimension 1",
    ],
    "attention": [
        "x: length unknown, grid dimension 1",
        "y: length n_ctx, split BLOCK_M, grid dimension 0",
        "z: length HEAD, contiguous, reduced",
        "w: length n_ctx, tiling BLOCK_N, reduced",
    ],
}
#: Kernel name -> a function of ``tl`` without which there is no such kernel.
NEEDS = {"matmul_advancing": "advance"}
#: Kernel name -> what it must say that it cannot tell.
NOTES = {"matmul_grouped": ["constexpr GROUP belongs to no axis"]}
#: What the calls pass besides tensors and lengths.
PASSED = {"matmul_persistent": {"PROGRAMS": 20}, "attention": {"HEAD": 64}, "matmul_split_k": {"SPLIT_K": 4}}


@triton.jit
def matmul_grouped(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    across = tl.cdiv(N, BN)
    in_group = GROUP * across
    first = pid // in_group * GROUP
    size = min(tl.cdiv(M, BM) - first, GROUP)
    pm = first + (pid % in_group) % size
    pn = (pid % in_group) // size
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    ap = a + (om[:, None] * sam + ok[None, :] * sak)
    bp = b + (ok[:, None] * sbk + on[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        ap += BK * sak
        bp += BK * sbk
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(c + scm * cm[:, None] + scn * cn[None, :], acc.to(tl.float16), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def matmul_block_ptr(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ap = tl.make_block_ptr(
            a, shape=(M, K), strides=(K, 1), offsets=(pm * BM, k), block_shape=(BM, BK), order=(1, 0)
        )
        bp = tl.make_block_ptr(b, (K, N), (N, 1), (k, pn * BN), (BK, BN), (1, 0))
        acc += tl.dot(tl.load(ap, boundary_check=(0, 1)), tl.load(bp, boundary_check=(0, 1)))
    cp = tl.make_block_ptr(c, (M, N), (N, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(cp, acc, boundary_check=(0, 1))


@triton.jit
def matmul_advancing(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    ap = tl.make_block_ptr(a, shape=(M, K), strides=(K, 1), offsets=(pm * BM, 0), block_shape=(BM, BK), order=(1, 0))
    bp = tl.make_block_ptr(b, (K, N), (N, 1), (0, pn * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(ap, boundary_check=(0, 1)), tl.load(bp, boundary_check=(0, 1)))
        ap = tl.advance(ap, (0, BK))
        bp = tl.advance(bp, (BK, 0))
    cp = tl.make_block_ptr(c, (M, N), (N, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(cp, acc, boundary_check=(0, 1))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        om = tile // across * BM + tl.arange(0, BM)
        on = tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            ok = k + tl.arange(0, BK)
            x = tl.load(a + om[:, None] * K + ok[None, :], mask=(om[:, None] < M) & (ok[None, :] < K), other=0.0)
            y = tl.load(b + ok[:, None] * N + on[None, :], mask=(ok[:, None] < K) & (on[None, :] < N), other=0.0)
            acc += tl.dot(x, y)
        tl.store(c + om[:, None] * N + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def matmul_split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr):
    pid = tl.program_id(0)
    pk = tl.program_id(1)
    across = tl.cdiv(N, BN)
    om = pid // across * BM + tl.arange(0, BM)
    on = pid % across * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(pk * BK, K, BK * SPLIT_K):
        ok = k + tl.arange(0, BK)
        x = tl.load(a + om[:, None] * K + ok[None, :], mask=(om[:, None] < M) & (ok[None, :] < K), other=0.0)
        y = tl.load(b + ok[:, None] * N + on[None, :], mask=(ok[:, None] < K) & (on[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    tl.atomic_add(c + om[:, None] * N + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def attention(q, k, v, out, n_ctx, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    start = tl.program_id(0)
    head = tl.program_id(1)
    base = head * n_ctx * HEAD
    om = start * BLOCK_M + tl.arange(0, BLOCK_M)
    od = tl.arange(0, HEAD)
    qt = tl.load(q + base + om[:, None] * HEAD + od[None, :], mask=om[:, None] < n_ctx, other=0.0)
    high = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    for n0 in range(0, n_ctx, BLOCK_N):
        on = n0 + tl.arange(0, BLOCK_N)
        kt = tl.load(k + base + on[:, None] * HEAD + od[None, :], mask=on[:, None] < n_ctx, other=0.0)
        s = tl.dot(qt, tl.trans(kt)) * scale
        s = tl.where((on[None, :] < n_ctx) & (om[:, None] >= on[None, :]), s, float("-inf"))
        new = tl.maximum(high, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(high - new)
        total = total * shrink + tl.sum(p, 1)
        vt = tl.load(v + base + on[:, None] * HEAD + od[None, :], mask=on[:, None] < n_ctx, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(tl.float16), vt)
        high = new
    tl.store(out + base + om[:, None] * HEAD + od[None, :], acc / total[:, None], mask=om[:, None] < n_ctx)
