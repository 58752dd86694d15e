"""What ``configs=[]`` finds for the examples, beside a dense grid search and the wheel's own AutoTilingTuner.

To be run on the simulated CANN (``triton-ascend-tune sim run -- python benchmarks/candidates.py``). Each side tunes in
a fresh process, with a compile cache of its own that is empty before. The dense grid (``dense_grids.py``) then measures
its own candidates and both winners in one race, so that all times in a row were taken under the same conditions. What
our side was told besides the call is printed with it. Of an example's other tuned kernels the first config is used.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from types import ModuleType
from typing import Any

from dense_grids import CASES, Case

HERE = pathlib.Path(__file__).resolve().parent
#: What is asked of our side: its time, in those of the dense grid's best; candidates compiled; failures among them.
NEAR, COMPILED, FAILED = 1.05, 64, 0.1


def loaded(example: str) -> ModuleType:
    """The example's program. ``example``: its file's name, and behind a slash which of its kernels is meant."""
    name = example.partition("/")[0]
    spec = importlib.util.spec_from_file_location("example", HERE.parent / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepared(example: str, side: str, extra: list[dict[str, Any]]) -> tuple[ModuleType, Any]:
    """The example's program with one side's tuner in the place of its own, and that tuner."""
    import triton

    case: Case = CASES[example]
    module = loaded(example)

    def with_configs(given: Any, configs: list[Any], keys: Any = None, **more: Any) -> Any:
        keys = keys or list(given.keys.values() if isinstance(given.keys, dict) else given.keys)
        cleared = list(given.reset_to_zero or []) or None
        return triton.autotune(configs=configs, key=keys, reset_to_zero=cleared, **more)(given.fn)

    for name, other in list(vars(module).items()):
        if isinstance(other, triton.runtime.Autotuner) and name != case.kernel:
            setattr(module, name, with_configs(other, other.configs[:1]))
    given = getattr(module, case.kernel)
    if not isinstance(given, triton.runtime.Autotuner):
        given = triton.autotune(configs=[triton.Config({})], key=list(case.keys))(given)
    if side == "dense":
        tuned = with_configs(given, [triton.Config(settings) for settings in [*extra, *case.settings]])
    elif side == "wheel":
        tuned = with_configs(given, [], case.axes, hints={"enable_ascend_autotune": True})
    else:
        tuned = with_configs(given, [], **({"hints": dict(case.told)} if case.told else {}))
    setattr(module, case.kernel, tuned)
    return module, tuned


def tune(example: str, side: str, extra: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs one example with one side's candidates and tells what its tuner found."""
    module, tuned = prepared(example, side, extra)
    start = time.perf_counter()
    try:
        CASES[example].call(module)
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

    kernel = loaded("04_matmul").matmul_kernel.fn
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

    grid = CASES[example].settings
    best = min((us, json.dumps(each)) for each, us in dense["times"] if each in grid)
    dense["us"], dense["winner"] = best[0], json.loads(best[1])
    for side, settings in winners.items():
        sides[side]["us"] = time_of(settings)
    dense.pop("times")
    for found in sides.values():
        found.pop("times", None)
    return {**sides, "dense": dense}


def missed(found: dict[str, Any]) -> list[str]:
    """Which of the bounds our side does not keep."""
    ours = found["ours"]
    if "error" in ours:
        return ["nothing was proposed"]
    misses = []
    if ours["us"] is None or ours["us"] > NEAR * found["dense"]["us"]:
        misses.append(f"slower than {NEAR} times the dense grid's best")
    if ours["compiled"] > COMPILED:
        misses.append(f"more than {COMPILED} candidates were compiled")
    if ours["failed"] > FAILED * ours["compiled"]:
        misses.append(f"more than {FAILED:.0%} of the candidates failed")
    return misses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", help=f"of {', '.join(CASES)}; all where none is given")
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
    print(f"{'example':26} {'side':6} {head[0]:>8} {head[1]:>7} {head[2]:>9} {head[3]:>10} {head[4]:>8}  winner")
    for example in options.examples or CASES:
        results[example] = found = compare(example)
        for side in ("ours", "wheel", "dense"):
            row = found[side]
            if "error" in row:
                print(f"{example:26} {side:6} {row['error']}", flush=True)
                continue
            us = row.get("us")
            ratio = f"{us / found['dense']['us']:.3f}" if us else "-"
            print(
                f"{example:26} {side:6} {row['compiled']:8} {row['failed']:7} {row['seconds']:9.2f} "
                f"{us if us is None else format(us, '10.2f')} {ratio:>8}  {row['winner']}",
                flush=True,
            )
        if told := CASES[example].told:
            print(f"{'':26} ours was told {dict(told)}", flush=True)
        if misses := missed(found):
            print(f"{'':26} ours misses: {'; '.join(misses)}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
