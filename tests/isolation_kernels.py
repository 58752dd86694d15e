"""The kernels whose isolated compilations are compared with ordinary ones, on either stack: text of a program."""

KERNELS = """
@triton.jit
def scaled(x, K: tl.constexpr):
    return tl.exp(x) * K

@triton.jit
def elementwise(x, bias, out, n, K: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = scaled(tl.load(x + i, mask=i < n), K)
    if bias is not None:
        value += tl.load(bias + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    r, acc = tl.arange(0, BK), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(a + i[:, None] * K + (k + r)[None, :]), tl.load(b + (k + r)[:, None] * N + j[None, :]))
    tl.store(c + i[:, None] * N + j[None, :], acc.to(tl.float16))
"""
