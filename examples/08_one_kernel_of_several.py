"""One call, three kernels: what device events and what the profiler say about it.

A call often launches more than the kernel that is meant: here a kernel before it prepares its input, and one after it
uses its output. Events around the call time all three; the profiler has a record of each, so that the one of interest
can be asked for by name. The sizes are chosen so that on the simulated NPU the three take about 5, 20 and 3 us.
"""

import torch
import triton
import triton.language as tl

from triton_ascend_tune import do_bench, do_bench_npu


@triton.jit
def prepare(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)


@triton.jit
def target(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def finish(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) * 0.5, mask=offsets < n)


def vector(blocks: int, block: int) -> torch.Tensor:
    return torch.ones(blocks * block).to("npu")


def main() -> None:
    raw, input_ = vector(48, 4096), vector(48, 4096)
    x, y, out = (vector(440, 2048) for _ in range(3))
    part, result = vector(40, 1024), vector(40, 1024)

    def call() -> None:
        prepare[(48,)](raw, input_, raw.numel(), 4096)
        target[(440,)](x, y, out, x.numel(), 2048)
        finish[(40,)](part, result, part.numel(), 1024)

    events = do_bench(call)
    whole = do_bench_npu(call)
    one = do_bench_npu(call, target_kernel_name="target")
    print(f"events around the call:          {events * 1000:6.2f} us")
    print(f"profiler, all kernels of a call: {whole * 1000:6.2f} us")
    print(f"profiler, kernel `target` alone: {one * 1000:6.2f} us")


if __name__ == "__main__":
    main()
