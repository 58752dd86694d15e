"""What ``configs=[]`` finds for the examples, beside a dense grid search and the wheel's own AutoTilingTuner.

To be run on the simulated CANN (``triton-ascend-tune sim run -- python benchmarks/candidates.py``). Each side tunes in
a fresh process, with a compile cache of its own that is empty before. The dense
grid then measures its own candidates and both winners in one race, so that all times in a row were taken under the same
conditions. The dense grid is tiles times multi-buffering on and off. The matmul is told the values of its one constexpr
that is no tile, as it would be with any tuner; its grid is every tile of powers of two whose sum fits into L0C.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
#: Example -> its kernel, and the tuned parameter with the length that it cuts; None for the matmul.
EXAMPLES: dict[str, tuple[str, tuple[str, int] | None]] = {
    "01_vector_add": ("add_kernel", ("BLOCK", 1_000_003)),
    "02_softmax": ("softmax_kernel", ("ROWS", 1024)),
    "03_layer_norm": ("layer_norm_kernel", ("BLOCK", 3000)),
    "04_matmul": ("matmul_kernel", None),
}
HINTS = {"04_matmul": {"GROUP_M": [1, 4]}}
CORES = 40
L0C_FLOATS = 128 * 1024 // 4


def dense_sizes(length: int) -> list[int]:
    """Every size up to 32, then four per doubling, and the even shares of the cores, in multiples of 8."""
    sizes = set(range(1, 33))
    size = 32.0
    while size < min(length, 65536):
        size *= 2**0.25
        sizes.add(round(size / 8) * 8)
    shares = [*(CORES * rounds for rounds in range(1, 9)), *range(1, 9)]
    sizes |= {math.ceil(length / share / 8) * 8 for share in shares}
    return sorted(each for each in sizes if each * 4 <= 192 * 1024)


def dense_settings(example: str) -> list[dict[str, Any]]:
    """The dense grid of one example: every size with multi-buffering on and off."""
    cut = EXAMPLES[example][1]
    if cut is None:
        powers = [16, 32, 64, 128, 256, 512]
        tiles = [
            {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 1}
            for m, n, k in itertools.product(powers, powers, powers)
            if m * n <= L0C_FLOATS
        ]
    else:
        tiles = [{cut[0]: size} for size in dense_sizes(cut[1])]
    return [{**tile, "multibuffer": double} for tile in tiles for double in (True, False)]


def tune(example: str, side: str, extra: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs one example with one side's candidates and tells what its tuner found."""
    import triton

    kernel_name = EXAMPLES[example][0]
    spec = importlib.util.spec_from_file_location("example", HERE.parent / "examples" / f"{example}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = getattr(module, kernel_name)
    keys = list(given.keys.values() if isinstance(given.keys, dict) else given.keys)
    if side == "dense":
        configs = [triton.Config(settings) for settings in [*extra, *dense_settings(example)]]
        tuned = triton.autotune(configs=configs, key=keys)(given.fn)
    elif side == "wheel":
        # Its axes are its keys, in order.
        keys = ["n_rows", "n_columns"] if example == "02_softmax" else keys
        tuned = triton.autotune(configs=[], key=keys, hints={"enable_ascend_autotune": True})(given.fn)
    else:
        hints = {"hints": HINTS[example]} if example in HINTS else {}
        tuned = triton.autotune(configs=[], key=keys, **hints)(given.fn)
    setattr(module, kernel_name, tuned)
    start = time.perf_counter()
    try:
        module.main()
    except Exception as error:  # the wheel's generator cannot do every kernel; that is a result
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    seconds = time.perf_counter() - start
    timings = {str(config): times for config, times in getattr(tuned, "configs_timings", {}).items()}
    answer: dict[str, Any] = {"seconds": seconds, "winner": dict(tuned.best_config.kwargs)}
    verdict = getattr(tuned, "verdict", None)
    if verdict is None:
        finite = [times for times in timings.values() if (times[0] if isinstance(times, list) else times) < 1e9]
        # A single candidate is launched without being measured.
        answer |= {"compiled": max(len(timings), 1), "failed": len(timings) - len(finite)}
        return answer
    outcomes = [each for each in verdict.outcomes if each.status.value != "pruned"]
    answer |= {
        "compiled": len(outcomes),
        "failed": sum(each.status.value == "failed" for each in outcomes),
        "pruned": len(verdict.outcomes) - len(outcomes),
        "times": [
            [dict(each.candidate.config.kwargs), each.samples.p50 * 1e3]
            for each in outcomes
            if each.samples is not None
        ],
    }
    return answer


def proposing_ms(size: int = 4096, times: int = 9) -> float:
    """What proposing tiles for a matmul of ``size`` cubed takes, reading the kernel included: median processor time."""
    import torch
    import triton

    from triton_ascend_tune.candidates import hardware, hints
    from triton_ascend_tune.candidates.proposal import Proposal

    spec = importlib.util.spec_from_file_location("example", HERE.parent / "examples" / "04_matmul.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module.matmul_kernel.fn
    matrix = torch.empty(1, dtype=torch.float16)
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), matrix)
    strides = {
        f"stride_{name}": 1 if name in ("ak", "bn", "cn") else size for name in ("am", "ak", "bk", "bn", "cm", "cn")
    }
    given = {**pointers, **strides, "M": size, "N": size, "K": size, "GROUP_M": 8}
    seconds = []
    for _ in range(times):
        start = time.process_time()
        Proposal(
            kernel,
            given,
            lambda values: (triton.cdiv(size, values["BLOCK_M"]) * triton.cdiv(size, values["BLOCK_N"]),),
            hints.checked({}, kernel),
            lambda: hardware.known("Ascend910B3"),
        )
        seconds.append(time.process_time() - start)
    return sorted(seconds)[times // 2] * 1e3


def run(example: str, side: str, extra: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        command = [sys.executable, __file__, "--one", example, side, json.dumps(extra or []), str(out)]
        environment = {
            **os.environ,
            "TRITON_ASCEND_TUNE": "0" if side == "wheel" else "1",
            "TRITON_CACHE_DIR": str(pathlib.Path(folder) / "cache"),
        }
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        if not out.exists():
            raise SystemExit(done.stdout[-2000:] + done.stderr[-4000:])
        return json.loads(out.read_text())  # type: ignore[no-any-return]


def compare(example: str) -> dict[str, Any]:
    """All sides of one example; ``us``: each side's winner in the dense side's race."""
    sides = {side: run(example, side) for side in ("ours", "wheel")}
    winners = {side: {**found["winner"]} for side, found in sides.items() if "winner" in found}
    dense = run(example, "dense", list(winners.values()))
    if "error" in dense:
        raise SystemExit(f"{example}: the dense grid: {dense['error']}")

    def time_of(settings: dict[str, Any]) -> float | None:
        return next((us for each, us in dense["times"] if each == settings), None)

    grid = dense_settings(example)
    best = min((us, json.dumps(each)) for each, us in dense["times"] if each in grid)
    dense["us"], dense["winner"] = best[0], json.loads(best[1])
    for side, settings in winners.items():
        sides[side]["us"] = time_of(settings)
    dense.pop("times")
    for found in sides.values():
        found.pop("times", None)
    return {**sides, "dense": dense}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", help=f"of {', '.join(EXAMPLES)}; all where none is given")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        example, side, extra, out = options.one
        pathlib.Path(out).write_text(json.dumps(tune(example, side, json.loads(extra))))
        return
    results = {}
    print(f"proposing tiles for a matmul of 4096 cubed, median of 9: {proposing_ms():.1f} ms of one processor")
    print("simulated CANN: times are not those of any real device")
    head = ("compiled", "failed", "tuning s", "winner us", "/ dense")
    print(f"{'example':14} {'side':6} {head[0]:>8} {head[1]:>7} {head[2]:>9} {head[3]:>10} {head[4]:>8}  winner")
    for example in options.examples or EXAMPLES:
        results[example] = found = compare(example)
        for side in ("ours", "wheel", "dense"):
            row = found[side]
            if "error" in row:
                print(f"{example:14} {side:6} {row['error']}", flush=True)
                continue
            us = row.get("us")
            ratio = f"{us / found['dense']['us']:.3f}" if us else "-"
            print(
                f"{example:14} {side:6} {row['compiled']:8} {row['failed']:7} {row['seconds']:9.2f} "
                f"{us if us is None else format(us, '10.2f')} {ratio:>8}  {row['winner']}",
                flush=True,
            )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
