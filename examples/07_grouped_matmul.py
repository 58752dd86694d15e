"""Grouped matrix products: several products of different sizes in one launch; tuned over the tile and the programs.

A fixed number of programs goes through the tiles of all products. The matrices of a group lie one behind the other
in one buffer; a table says where each starts and how large it is.
"""

import torch
import triton
import triton.language as tl

SIZES = [(256, 192, 320), (100, 256, 64), (320, 64, 128), (64, 384, 200)]  # M, N, K of each product


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "PROGRAMS": programs})
        for m, n, k in [(32, 32, 32), (64, 64, 64), (128, 64, 64), (128, 128, 64)]
        for programs in (10, 20)
    ],
    key=["groups"],
)
@triton.jit
def grouped_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    table_ptr,
    groups,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    first_tile = 0  # of this product among the tiles of all
    for group in range(0, groups):
        entry = table_ptr + group * 6
        M, N, K = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
        a_start, b_start, c_start = tl.load(entry + 3), tl.load(entry + 4), tl.load(entry + 5)
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(M, BLOCK_M) * tiles_n
        # The programs go on in turn where the product before has ended.
        skip = (tl.program_id(0) - first_tile % PROGRAMS + PROGRAMS) % PROGRAMS
        for tile in range(skip, tiles, PROGRAMS):
            m = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            n = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, K, BLOCK_K):
                k = start + tl.arange(0, BLOCK_K)
                a_at = a_start + m[:, None] * K + k[None, :]
                b_at = b_start + k[:, None] * N + n[None, :]
                a = tl.load(a_ptr + a_at, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
                b = tl.load(b_ptr + b_at, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
                total = tl.dot(a, b, total)
            c_at = c_start + m[:, None] * N + n[None, :]
            tl.store(c_ptr + c_at, total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
        first_tile += tiles


def grouped_matmul(pairs: list[tuple[torch.Tensor, torch.Tensor]], device: str) -> list[torch.Tensor]:
    """The products of pairs of matrices, computed on `device` in one launch."""
    table, a_start, b_start, c_start = [], 0, 0, 0
    for a, b in pairs:
        (M, K), N = a.shape, b.shape[1]
        table.append([M, N, K, a_start, b_start, c_start])
        a_start, b_start, c_start = a_start + M * K, b_start + K * N, c_start + M * N
    a = torch.cat([a.reshape(-1) for a, _ in pairs]).to(device)
    b = torch.cat([b.reshape(-1) for _, b in pairs]).to(device)
    c = torch.empty(c_start, dtype=torch.float16, device=device)
    rows = torch.tensor(table, dtype=torch.int32).to(device)
    grouped_matmul_kernel[lambda meta: (meta["PROGRAMS"],)](a, b, c, rows, len(pairs))
    return [c[start : start + M * N].reshape(M, N) for M, N, _, _, _, start in table]


def main() -> None:
    torch.manual_seed(0)
    pairs = [(torch.randn(m, k).half(), torch.randn(k, n).half()) for m, n, k in SIZES]
    for (a, b), c in zip(pairs, grouped_matmul(pairs, "npu"), strict=True):
        torch.testing.assert_close(c.cpu(), (a.float() @ b.float()).half(), rtol=2e-3, atol=2e-2)
    best = grouped_matmul_kernel.best_config.kwargs
    print(f"grouped matmul: best {best}, equal to torch on the CPU within 2e-3")


if __name__ == "__main__":
    main()
