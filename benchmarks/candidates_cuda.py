"""The three examples with ``configs=[]`` on a CUDA device, beside a grid of powers of two.

The grid is tiles times 1 to 16 warps; what is proposed sets both. Each example is tuned ``RUNS`` times over, and each
winner is timed again beside the grid, by ``triton.testing.do_bench``, so that the ratio is of times of one tuning.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
from typing import Any

os.environ["TRITON_ASCEND_TUNE_TARGETS"] = "cuda"

import torch
import triton
import triton.testing

import triton_ascend_tune

RUNS = 3
WARPS = (1, 2, 4, 8, 16)
HERE = pathlib.Path(__file__).resolve().parent
#: Example -> kernel, function, parameter, and the sizes of the grid; larger ones take the compiler minutes each.
EXAMPLES = {
    "01_vector_add": ("add_kernel", "add", "BLOCK", [2**power for power in range(6, 15)]),
    "02_softmax": ("softmax_kernel", "softmax", "ROWS", [1, 2, 4, 8]),
    "03_layer_norm": ("layer_norm_kernel", "layer_norm", "BLOCK", [2**power for power in range(6, 13)]),
}


def bench(call: Any, quantiles: Any = None) -> Any:
    return triton.testing.do_bench(call, warmup=10, rep=40, quantiles=quantiles)


def inputs(example: str) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    if example == "01_vector_add":
        return torch.rand(100_000_003, device="cuda"), torch.rand(100_000_003, device="cuda")
    if example == "02_softmax":
        return (torch.randn(65_536, 781, device="cuda"),)
    return torch.randn(16_384, 3000, device="cuda"), torch.rand(3000, device="cuda"), torch.rand(3000, device="cuda")


def one(example: str) -> dict[str, Any]:
    kernel_name, function, parameter, sizes = EXAMPLES[example]
    spec = importlib.util.spec_from_file_location(example, HERE.parent / "examples" / f"{example}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = getattr(module, kernel_name)
    data = inputs(example)

    def tuned(configs: list[Any]) -> Any:
        kernel = triton.autotune(configs=configs, key=list(given.keys), do_bench=bench)(given.fn)
        setattr(module, kernel_name, kernel)
        getattr(module, function)(*data)
        return kernel

    mine = tuned([])
    tried = [each for each in mine.verdict.outcomes if each.status.value != "pruned"]
    ours = mine.best_config
    configs = [triton.Config({parameter: size}, num_warps=count) for size in sizes for count in WARPS]
    grid = tuned([ours, *configs])
    times = {str(config): found[0] for config, found in grid.configs_timings.items()}
    best = grid.best_config
    four = min(times[str(config)] for config in configs if config.num_warps == 4)
    return {
        "candidates": len(tried),
        "failed": sum(each.status.value == "failed" for each in tried),
        "ours": {**ours.kwargs, "num_warps": ours.num_warps},
        "grid": len(configs),
        "best": {**best.kwargs, "num_warps": best.num_warps},
        "ours us": times[str(ours)] * 1e3,
        "ours / best": times[str(ours)] / times[str(best)],
        "best of four warps / best": four / times[str(best)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    triton_ascend_tune.install()
    results = {}
    print(torch.cuda.get_device_name(), "triton", triton.__version__)
    for example in EXAMPLES:
        results[example] = [one(example) for _ in range(RUNS)]
        for found in results[example]:
            print(example, json.dumps(found), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
