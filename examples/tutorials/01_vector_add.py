"""Vector addition: the smallest Triton program, with the check and the benchmark that every tutorial has."""

import table
import torch
import triton
import triton.language as tl

DEVICE = "npu"


@triton.jit
def add_kernel(x_ptr, y_ptr, sum_ptr, length, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(axis=0)
    at = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = at < length
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(sum_ptr + at, x + y, mask=inside)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(x)
    assert x.device == y.device == result.device
    length = result.numel()
    add_kernel[lambda meta: (triton.cdiv(length, meta["BLOCK_SIZE"]),)](x, y, result, length, BLOCK_SIZE=4096)
    return result


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**power for power in (14, 16, 18, 20)],
        x_log=True,
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="vector-add",
        args={},
    )
)
def benchmark(size, provider):
    x = torch.rand(size, device=DEVICE, dtype=torch.float32)
    y = torch.rand(size, device=DEVICE, dtype=torch.float32)
    run = {"triton": lambda: add(x, y), "torch": lambda: x + y}[provider]
    median, low, high = triton.testing.do_bench(run, warmup=2, rep=10, quantiles=[0.5, 0.2, 0.8])

    def bandwidth(milliseconds):
        return 3 * x.numel() * x.element_size() * 1e-9 / (milliseconds * 1e-3)

    return bandwidth(median), bandwidth(high), bandwidth(low)


def main() -> None:
    torch.manual_seed(0)
    size = 98432
    x = torch.rand(size, device=DEVICE)
    y = torch.rand(size, device=DEVICE)
    expected, result = x + y, add(x, y)
    print(result)
    print(f"largest difference between torch and triton: {torch.max(torch.abs(expected - result))}")
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
    table.show(benchmark)


if __name__ == "__main__":
    main()
