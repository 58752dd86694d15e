"""Autotuning: with a list of configs, as in every Triton, and with an empty one, where the tuner proposes them."""

import torch
import triton
import triton.language as tl

DEVICE = "npu"
REPEATS = 10


@triton.autotune(
    configs=[
        triton.Config({"XS": 128, "multibuffer": True}),
        triton.Config({"XS": 12 * 1024, "multibuffer": True}),
        triton.Config({"XS": 12 * 1024, "multibuffer": False}),
        triton.Config({"XS": 8 * 1024, "multibuffer": True}),
    ],
    key=["numel"],
)
@triton.jit
def repeated_kernel(out_ptr, x_ptr, y_ptr, numel, REPEATS: tl.constexpr, XS: tl.constexpr):
    at = tl.program_id(0) * XS + tl.arange(0, XS)
    inside = at < numel
    for step in range(REPEATS):
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        y = tl.load(y_ptr + at, mask=inside, other=0.0)
        tl.store(out_ptr + at, tl.math.exp(x) + y + step, mask=inside)


def repeated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    numel = x.numel()
    repeated_kernel[lambda meta: (triton.cdiv(numel, meta["XS"]), 1, 1)](out, x, y, numel, REPEATS)
    return out


@triton.autotune(configs=[], key=["n_elements"])
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = at < n_elements
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n_elements = out.numel()
    add_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](x, y, out, n_elements)
    return out


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn((192 * 1024,), dtype=torch.float32, device=DEVICE)
    y = torch.randn((192 * 1024,), dtype=torch.float32, device=DEVICE)
    torch.testing.assert_close(repeated(x, y), torch.exp(x) + y + REPEATS - 1)
    timed = len(repeated_kernel.configs_timings)
    print(f"given configs: {timed} timed, best {repeated_kernel.best_config.kwargs}, equals torch")
    torch.testing.assert_close(add(x, y), x + y)
    proposed = len(add_kernel.configs_timings)
    print(f"proposed configs: {proposed} timed, best {add_kernel.best_config.kwargs}, equals torch")


if __name__ == "__main__":
    main()
