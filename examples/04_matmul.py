"""Matrix product in half precision: tuned over the tile and the order in which the programs take the tiles."""

import torch
import triton
import triton.language as tl

TILES = [
    (16, 16, 16),
    (32, 32, 32),
    (64, 64, 64),
    (64, 128, 64),
    (128, 64, 64),
    (128, 128, 32),
    (128, 128, 64),
    (128, 128, 128),
    (128, 256, 32),
    (128, 256, 64),
    (256, 128, 32),
    (256, 128, 64),
    (256, 256, 64),
]


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 4}) for m, n, k in TILES]
    + [triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": group}) for group in (1, 2, 8)],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Programs that run at the same time share rows of A and columns of B: GROUP_M rows of tiles go together.
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = program // (GROUP_M * tiles_n)
    first_m = group * GROUP_M
    rows_in_group = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + (program % (GROUP_M * tiles_n)) % rows_in_group
    tile_n = (program % (GROUP_M * tiles_n)) // rows_in_group

    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + m[:, None] * stride_cm + n[None, :] * stride_cn
    tl.store(c_ptrs, total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)  # noqa: E731
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c


def main() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(512, 768).half(), torch.randn(768, 640).half()
    c = matmul(a.to("npu"), b.to("npu")).cpu()
    expected = (a.float() @ b.float()).half()
    torch.testing.assert_close(c, expected, rtol=2e-3, atol=2e-2)
    print(f"matmul: best {matmul_kernel.best_config.kwargs}, equal to torch on the CPU within 2e-3")


if __name__ == "__main__":
    main()
