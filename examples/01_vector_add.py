"""Vector add: stock Triton code, tuned over its block size. Nothing here knows which tuner is installed."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}) for block in (256, 1024, 4096, 8192, 16384, 65536)],
    key=["n"],
)
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    return out


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.rand(1_000_003), torch.rand(1_000_003)
    out = add(x.to("npu"), y.to("npu")).cpu()
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    print(f"vector add: best {add_kernel.best_config.kwargs}, equal to torch on the CPU")


if __name__ == "__main__":
    main()
