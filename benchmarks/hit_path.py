"""What a tuned kernel costs per launch once its config is chosen: the installed Triton's tuner and ours, in one run.

The kernel below the tuner does nothing and the driver only names a device, so what is left is the tuner's own work on
the host: binding, key, lookup, merging of options. Needs no device. The sides are timed in turns; the median of the
rounds counts.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch_npu needs a CANN, this benchmark does not

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver

from triton_ascend_tune.autotuner import make_tuner_class

CALLS = 20_000
ROUNDS = 9


class StockTuner(Autotuner):
    """The class that ``TRITON_ASCEND_TUNE=0`` gives; a subclass, because those are never replaced."""


class NoDevice:
    """A driver that knows the name of its device."""

    def get_current_device(self) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("npu", "Ascend910B3", 0)

    def get_benchmarker(self) -> Callable[..., Any]:
        return bench


class NoKernel:
    """A kernel that is launched in no time."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.arg_names = list(inspect.signature(fn).parameters)

    def run(self, *args: Any, **kwargs: Any) -> None:
        return None


def matmul(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip # noqa: E501, F821
    """Only its signature counts: a usual number of arguments."""


def bench(call: Callable[[], Any], quantiles: Any = None) -> list[float]:
    call()
    return [1.0, 1.0, 1.0]


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    driver.set_active(NoDevice())
    kernel = NoKernel(matmul)
    configs = [triton.Config({"BM": bm, "BN": bn}) for bm in (32, 64) for bn in (32, 64)]
    tensors = [torch.ones(4, 4, dtype=torch.float16) for _ in range(3)]
    arguments = (*tensors, 4096, 4096, 4096, 4096, 1, 4096, 1, 4096, 1)
    sides: dict[str, Callable[[], Any]] = {"kernel alone": lambda: kernel.run(*arguments, grid=(1,), warmup=False)}
    for name, cls in (("stock", StockTuner), ("ours", make_tuner_class(Autotuner))):
        tuner: Any = cls(kernel, kernel.arg_names, configs, ["M", "N", "K"], None, None, do_bench=bench)
        sides[name] = lambda tuner=tuner: tuner.run(*arguments, grid=(1,), warmup=False)
        sides[name]()
    rounds = [{name: seconds(call) / CALLS * 1e6 for name, call in sides.items()} for _ in range(ROUNDS)]
    alone = statistics.median(each["kernel alone"] for each in rounds)
    figures = {name: statistics.median(each[name] for each in rounds) - alone for name in ("stock", "ours")}
    print(f"triton {triton.__version__}, tuner's own host time per launch on a hit, {len(arguments)} arguments:")
    for name, figure in figures.items():
        print(f"  {name:6} {figure:6.2f} us")
    print(f"  ours/stock {figures['ours'] / figures['stock']:.2f}")
    if options.json:
        text = json.dumps(
            {"triton": triton.__version__, "us_per_call": figures, "calls": CALLS, "rounds": ROUNDS}, indent=1
        )
        pathlib.Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
