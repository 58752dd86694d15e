"""Profiler records beside gated event times of ten kernels on a CUDA device.

    python benchmarks/profiler_h200.py [--json FILE]

Both methods time the same launches with 192 MiB read or written before each. The profiler's time is the mean of 30
records, the events' the median of what fits into 100 ms; what START and END read with nothing between them is contained
in the event times. A tuning by the profiler, with the kernel's name taken from what was compiled, closes the run.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("TRITON_ASCEND_TUNE_TARGETS", "cuda")
os.environ["TRITON_ASCEND_TUNE_REPORT"] = "1"

import engine_h200 as cases
import torch
import triton
import triton.language as tl

import triton_ascend_tune
from triton_ascend_tune import do_bench, do_bench_npu

triton_ascend_tune.install()


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (256, 1024, 4096)], key=["n"])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


KERNELS = {
    **{f"matmul {size}": lambda size=size: cases.matmul(size) for size in (256, 512, 1024, 2048, 4096)},
    "softmax 64x1024": lambda: cases.rows("softmax", 64, 1024),
    "softmax 4096x4096": lambda: cases.rows("softmax", 4096, 4096),
    "softmax 16384x8192": lambda: cases.rows("softmax", 16384, 8192),
    "layer norm 256x1024": lambda: cases.rows("layer_norm", 256, 1024),
    "layer norm 4096x8192": lambda: cases.rows("layer_norm", 4096, 8192),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    target = parser.parse_args().json
    found = {}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    print("| kernel | profiler, us | events, us | events / profiler |\n|---|---:|---:|---:|")
    for name, make in KERNELS.items():
        case = make()
        config = case.configs[0]
        grid = case.grid(config.kwargs)

        def call(case=case, config=config, grid=grid):
            case.kernel[grid](*case.arguments, **config.all_kwargs())

        call()
        torch.cuda.synchronize()
        profiler = do_bench_npu(call, target_kernel_name=case.kernel.fn.__name__) * 1000
        events = do_bench(call, quantiles=[0.5]) * 1000
        found[name] = {"profiler_us": profiler, "events_us": events}
        print(f"| {name} | {profiler:.2f} | {events:.2f} | {events / profiler:.2f} |", flush=True)
    os.environ["TRITON_BENCH_METHOD"] = "profiler"
    n = 1 << 20
    x, y, out = (torch.rand(n, device="cuda") for _ in range(3))
    start = time.perf_counter()
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    print(f"tuned in {time.perf_counter() - start:.2f} s; equal: {torch.equal(out, x + y)}")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as users:
        add[lambda meta: (triton.cdiv(n - 1, meta["BLOCK"]),)](x, y, out, n - 1)
        torch.cuda.synchronize()
    print(f"the user's own profile has {len(users.events())} events; method {add.verdict.protocol.method}")
    if target:
        with open(target, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
