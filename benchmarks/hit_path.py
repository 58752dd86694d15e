"""What a launch costs the host once its config is chosen: directly, through the installed Triton's tuner, through ours.

    python benchmarks/hit_path.py                                             # no device: a launch does nothing
    triton-ascend-tune sim run -- python benchmarks/hit_path.py --device npu  # the simulated NPU
    python benchmarks/hit_path.py --device cuda

Kernels with 4, 8 and 16 arguments, passed by position and by keyword, tuned over 1 and 16 configs; and one with the
twelve arguments and four constexprs that a matmul usually has. The three sides are
called in turns, in one process, on the same kernel with the same tensors: ``kernel[grid](...)`` with the settings of
the winner spelled out (``BLOCK=..., num_warps=...``), and ``tuner[grid](...)``. An overhead is the median, over the
rounds, of the difference to the direct launches of the same round. Nothing waits for the device within a round. Where
other programs share the processors, ``--clock cpu`` counts the processor time of the calling thread alone.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TRITON_ASCEND_TUNE_TARGETS", "cuda")

import torch
import triton
import triton.language as tl
from stock_tuner import StockTuner
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from triton_ascend_tune.classes import make_tuner_class

#: The goals: microseconds of ours over a direct launch, and times that stock's overhead is larger.
GOAL_US = 2.0
GOAL_RATIO = 10.0
CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}
GRID = (1,)


@triton.jit
def four(x, y, M, N, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def eight(x, y, M, N, K, stride_x, stride_y, z, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def sixteen(x, y, M, N, K, xm, xk, ym, yn, zm, zn, z, bias, scale, rows, columns, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def matmul(
    x, y, z, M, N, K, xm, xk, ym, yn, zm, zn, BLOCK: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr
):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


#: Kernel -> the names in its ``key``.
KERNELS = {four: ["M", "N"], eight: ["M", "N"], matmul: ["M", "N", "K"], sixteen: ["M", "N"]}
SETTINGS = {"BLOCK": 1024, "BN": 64, "BK": 32, "G": 8}


class NoDevice:
    """A driver that only names its device."""

    def get_current_device(self) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("npu", "Ascend910B3", 0)

    def get_benchmarker(self) -> Callable[..., Any]:
        return bench


def bench(call: Callable[[], Any], quantiles: Any = None) -> list[float]:
    """All configs are equal here, so nothing has to be measured."""
    call()
    return [1.0, 1.0, 1.0]


def argument(name: str, device: str) -> Any:
    if name in ("x", "y", "z", "bias"):
        return torch.ones(4096, device=device, dtype=torch.float16)
    return 0.5 if name == "scale" else 1024


def calls(kernel: Any, count: int, by_keyword: bool, device: str) -> dict[str, Callable[[], Any]]:
    """The three ways to launch ``kernel``, each as a function without arguments, called once."""
    names = [name for name in kernel.arg_names if name not in SETTINGS]
    set_here = {name: value for name, value in SETTINGS.items() if name in kernel.arg_names}
    configs = [triton.Config(dict(set_here), num_warps=4) for _ in range(count)]
    scope: dict[str, Any] = {name: argument(name, device) for name in names}
    scope.update(grid=GRID, direct=kernel)
    for side, cls in (("stock", StockTuner), ("ours", make_tuner_class(Autotuner))):
        scope[side] = cls(kernel, kernel.arg_names, configs, KERNELS[kernel], None, None, do_bench=bench)
    passed = ", ".join(f"{name}={name}" if by_keyword else name for name in names)
    settings = ", ".join(f"{name}={value!r}" for name, value in configs[0].all_kwargs().items())
    made = {}
    for side, given in (("direct", f"{passed}, {settings}"), ("stock", passed), ("ours", passed)):
        exec(f"def call_{side}(): {side}[grid]({given})", scope)  # what a program has in its source
        made[side] = scope[f"call_{side}"]
        made[side]()
    return made


def microseconds(call: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats * 1e6


def measure(
    sides: dict[str, Callable[[], Any]], options: argparse.Namespace, wait: Callable[[], Any]
) -> dict[str, float]:
    """Medians in microseconds: of a direct launch, and of what the two tuners add to one."""
    rounds = []
    for number in range(options.rounds + 1):
        took = {}
        for side in list(sides)[number % 3 :] + list(sides)[: number % 3]:
            took[side] = microseconds(sides[side], options.calls, CLOCKS[options.clock])
            wait()
        rounds.append(took)
    rounds = rounds[1:]  # the first one warms up
    return {
        "direct": statistics.median(each["direct"] for each in rounds),
        **{side: statistics.median(each[side] - each["direct"] for each in rounds) for side in ("stock", "ours")},
    }


def set_up(device: str) -> tuple[str, Callable[[], Any]]:
    """The name of the device of tensors, and what waits for it."""
    if device == "none":
        driver.set_active(NoDevice())
        JITFunction.run = lambda self, *args, grid, warmup, **keywords: None
        return "cpu", lambda: None
    if device == "npu":
        import torch_npu  # noqa: F401
    return device, getattr(torch, device).synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("none", "npu", "cuda"), default="none")
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall")
    parser.add_argument("--calls", type=int, default=1000, help="launches of one side in a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    if options.calls < 1 or options.rounds < 1:
        parser.error(f"--calls is {options.calls}, --rounds {options.rounds}; at least 1 each")
    name, wait = set_up(options.device)
    content: dict[str, Any] = {"triton": triton.__version__, "torch": torch.__version__, "device": options.device}
    content["clock"] = options.clock
    if options.device == "cuda":
        content["device"] = torch.cuda.get_device_name(0)
    print(", ".join(f"{what} {value}" for what, value in content.items()))
    print(f"{'arguments':>9} {'passed by':9} {'configs':>7} {'direct us':>9} {'stock +us':>9} {'ours +us':>9}")
    content["rows"] = []
    for kernel in KERNELS:
        count = sum(name not in SETTINGS for name in kernel.arg_names)
        for by_keyword in (False, True):
            for configs in (1, 16):
                figures = measure(calls(kernel, configs, by_keyword, name), options, wait)
                passed = "keyword" if by_keyword else "position"
                content["rows"].append({"arguments": count, "passed": passed, "configs": configs, **figures})
                print(
                    f"{count:9} {passed:9} {configs:7} {figures['direct']:9.2f} {figures['stock']:9.2f} "
                    f"{figures['ours']:9.2f}",
                    flush=True,
                )
    worst = max(content["rows"], key=lambda row: row["ours"])
    ratios = [row["stock"] / row["ours"] for row in content["rows"] if row["ours"] > 0]  # else there is none to give
    content["least_ratio"] = min(ratios, default=None)
    print(f"ours over direct: at most {worst['ours']:.2f} us (goal {GOAL_US})")
    below = f"ours took less than direct in {len(content['rows']) - len(ratios)} of {len(content['rows'])} rows"
    least = f"at least {min(ratios):.1f} times ours (goal {GOAL_RATIO}); " if ratios else ""
    print(f"stock's overhead: {least}{below}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
