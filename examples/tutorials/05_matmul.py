"""Matrix multiplication: tiles in an order that shares rows and columns, tuned, with an activation on the way out; and
the small product with bias, whose whole result is one tile."""

import table
import torch
import triton
import triton.language as tl

DEVICE = "npu"


def configs():
    tiles = [(32, 32, 32), (64, 64, 64), (128, 64, 64), (64, 128, 64), (128, 128, 64), (128, 256, 64)]
    return [
        triton.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}) for m, n, k in tiles
    ]


@triton.autotune(configs=configs(), key=["M", "N", "K"])
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
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    program = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    in_group = GROUP_SIZE_M * tiles_n
    first_m = program // in_group * GROUP_SIZE_M
    group_rows = min(tiles_m - first_m, GROUP_SIZE_M)
    tile_m = first_m + program % in_group % group_rows
    tile_n = program % in_group // group_rows

    rows = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    inner = tl.arange(0, BLOCK_SIZE_K)
    a_at = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_at = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        left = K - step * BLOCK_SIZE_K
        a = tl.load(a_at, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
        b = tl.load(b_at, mask=(inner[:, None] < left) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_at += BLOCK_SIZE_K * stride_ak
        b_at += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        total = tl.where(total >= 0, total, 0.01 * total)
    c_at = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_at, total.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a: torch.Tensor, b: torch.Tensor, activation: str = "") -> torch.Tensor:
    assert a.shape[1] == b.shape[0], "incompatible dimensions"
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(M, meta["BLOCK_SIZE_M"]) * triton.cdiv(N, meta["BLOCK_SIZE_N"]),)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation
    )
    return c


@triton.jit
def dot_with_bias_kernel(out_ptr, x_ptr, y_ptr, bias_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(x_ptr + a[:, None] * B + b[None, :])
    y = tl.load(y_ptr + b[:, None] * C + c[None, :])
    at = a[:, None] * C + c[None, :]
    tl.store(out_ptr + at, tl.dot(x, y) + tl.load(bias_ptr + at))


def dot_with_bias(x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = torch.zeros((x.shape[0], y.shape[1]), dtype=x.dtype).npu()
    dot_with_bias_kernel[1, 1, 1](out, x, y, bias, *x.shape, y.shape[1])
    return out


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["M", "N", "K"],
        x_vals=[128, 256, 384],
        line_arg="provider",
        line_vals=["torch", "triton"],
        line_names=["Torch", "Triton"],
        styles=[("green", "-"), ("blue", "-")],
        ylabel="TFLOPS",
        plot_name="matmul",
        args={},
    )
)
def benchmark(M, N, K, provider):
    a = torch.randn((M, K), device=DEVICE, dtype=torch.float16)
    b = torch.randn((K, N), device=DEVICE, dtype=torch.float16)
    run = {"torch": lambda: torch.matmul(a, b), "triton": lambda: matmul(a, b)}[provider]
    median, low, high = triton.testing.do_bench(run, warmup=1, rep=2, quantiles=[0.5, 0.2, 0.8])

    def rate(milliseconds):
        return 2 * M * N * K * 1e-12 / (milliseconds * 1e-3)

    return rate(median), rate(high), rate(low)


def main() -> None:
    torch.manual_seed(0)
    a = torch.randn((512, 384), device=DEVICE, dtype=torch.float16)
    b = torch.randn((384, 448), device=DEVICE, dtype=torch.float16)
    expected = torch.matmul(a, b)
    assert torch.allclose(matmul(a, b), expected, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(matmul(a, b.t().contiguous().t()), expected, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(
        matmul(a, b, "leaky_relu"), torch.nn.functional.leaky_relu(expected), atol=1e-2, rtol=1e-2
    )
    print(f"matmul: equals torch, plain, transposed and with leaky ReLU; best {matmul_kernel.best_config.kwargs}")

    x, y = torch.randn(16, 16).half().npu(), torch.randn(16, 16).half().npu()
    bias = torch.randn(16, 16).npu()
    result = dot_with_bias(x, y, bias)
    torch.testing.assert_close(result, (torch.matmul(x, y) + bias).to(torch.float16), rtol=1e-3, atol=2e-3)
    print("dot with bias: equals torch")
    table.show(benchmark)


if __name__ == "__main__":
    main()
