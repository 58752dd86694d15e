"""The measuring engine against stock Triton's on a CUDA device: what a tuning costs, and what it picks.

    TRITON_ASCEND_TUNE_TARGETS=cuda python benchmarks/engine_h200.py [--json FILE] [--tunings N] [CASE ...]

Both sides tune the same kernels over the same lists in one process, with everything compiled beforehand, so that what
is compared is the benchmark phase. Every tuning but the first gets the list in another order, the same for both sides.
The reference is a third party: 200 interleaved samples of each config behind the gate of ``record_samples``, with
torch's events, using nothing of this package; 16 small launches follow each round, because the last launches before a
stream runs dry read shorter. A pick is right if the reference has it within 2 % of the best.

Afterwards some properties of the engine are shown that only a device has (``--no-checks`` leaves them out).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("TRITON_ASCEND_TUNE_TARGETS", "cuda")

import record_samples as recorder
import torch
import triton
import triton.testing
from stock_tuner import StockTuner

import triton_ascend_tune

RIGHT_PERCENT = 2.0
TRAILING_LAUNCHES = 16
MATMUL_OPTIONS = ("BM", "BN", "BK")


@dataclass(frozen=True)
class Tunable:
    """A case as a tuner sees it. ``names`` are those of ``record_samples``, in the order of ``configs``."""

    kernel: Any
    grid: Callable[[dict[str, Any]], tuple[int, ...]]
    arguments: tuple[Any, ...]
    configs: list[triton.Config]
    names: list[str]


def matmul(size: int) -> Tunable:
    a = torch.randn(size, size, device="cuda", dtype=torch.float16)
    b, c = torch.randn_like(a), torch.empty_like(a)
    configs = [
        triton.Config({**dict(zip(MATMUL_OPTIONS, tile)), "GROUP": 8}, num_warps=warps, num_stages=stages)
        for *tile, warps, stages in recorder.MATMUL_CONFIGS
    ]
    names = ["BM{} BN{} BK{} warps{} stages{}".format(*config) for config in recorder.MATMUL_CONFIGS]

    def grid(meta: dict[str, Any]) -> tuple[int, ...]:
        return (triton.cdiv(size, meta["BM"]) * triton.cdiv(size, meta["BN"]),)

    return Tunable(recorder.matmul_kernel, grid, (a, b, c, size, size, size), configs, names)


def rows(kernel: str, count: int, columns: int) -> Tunable:
    x = torch.randn(count, columns, device="cuda", dtype=torch.float16)
    arguments: tuple[Any, ...] = (x, torch.empty_like(x), columns)
    if kernel == "layer_norm":
        weight = torch.randn(columns, device="cuda", dtype=torch.float16)
        arguments = (x, torch.empty_like(x), weight, torch.randn_like(weight), columns, 1e-5)
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in recorder.ROW_CONFIGS]
    names = [f"BLOCK{block} warps{warps}" for block, warps in recorder.ROW_CONFIGS]
    return Tunable(getattr(recorder, f"{kernel}_kernel"), lambda meta: (count,), arguments, configs, names)


TUNABLES: dict[str, Callable[[], Tunable]] = {
    "matmul_512": lambda: matmul(512),
    "matmul_2048": lambda: matmul(2048),
    "matmul_4096": lambda: matmul(4096),
    "softmax_short": lambda: rows("softmax", 4096, 1024),
    "softmax_long": lambda: rows("softmax", 1024, 16384),
    "layer_norm_short": lambda: rows("layer_norm", 4096, 1024),
    "layer_norm_long": lambda: rows("layer_norm", 1024, 16384),
}


def tune(side: str, case: Tunable, order: list[int], **options: Any) -> tuple[int, float, Any]:
    """One tuning: the place of the pick in the case's list, milliseconds of the benchmark phase, and the tuner."""
    configs = [case.configs[i] for i in order]
    names = case.kernel.arg_names
    restored = options.pop("restore_value", None)
    if side == "stock":
        tuner: Any = StockTuner(case.kernel, names, configs, [], None, restored, **options)
    else:
        tuner = triton.autotune(configs=configs, key=[], restore_value=restored, **options)(case.kernel)
    torch.cuda.synchronize()
    tuner[case.grid](*case.arguments)
    torch.cuda.synchronize()
    pick = next(i for i in range(len(case.configs)) if case.configs[i] is tuner.best_config)
    return pick, tuner.bench_time * 1e3, tuner


def orders(count: int, tunings: int) -> list[list[int]]:
    made = []
    for number in range(tunings):
        order = list(range(count))
        if number:
            random.Random(number).shuffle(order)
        made.append(order)
    return made


def reference_us(good: list[Any], gate: Any, flush: torch.Tensor | None) -> dict[str, float]:
    """The medians of ``recorder.ROUNDS`` interleaved samples of each config; without a flush where that is None."""
    count = len(good)
    starts, ends = ([torch.cuda.Event(enable_timing=True) for _ in range(count)] for _ in range(2))
    small = torch.zeros(1, device="cuda")
    for event in (*starts, *ends):  # torch creates an event when it is first recorded: not behind the gate
        event.record()
    times: list[list[float]] = [[] for _ in good]
    for number in range(recorder.ROUNDS):
        order = random.Random(number).sample(range(count), count)
        with gate.closed():
            for index in order:
                if flush is not None:
                    flush.zero_()
                starts[index].record()
                good[index][1]()
                ends[index].record()
            for _ in range(TRAILING_LAUNCHES):
                small.zero_()
        torch.cuda.synchronize()
        for index in order:
            times[index].append(starts[index].elapsed_time(ends[index]) * 1e3)
    return {name: round(statistics.median(us), 3) for (name, _), us in zip(good, times)}


def regrets_percent(reference: dict[str, float], picks: list[str]) -> list[float]:
    best = min(reference.values())
    return [round(100 * (reference[pick] / best - 1.0), 2) for pick in picks]


def compare(name: str, tunings: int, flush: torch.Tensor, gate: Any) -> dict[str, Any]:
    """Both sides on one case, and the reference."""
    case = TUNABLES[name]()
    good, _ = recorder.runnable(recorder.CASES[name]())
    for side in ("ours", "stock"):
        tune(side, case, list(range(len(case.configs))))  # compiles what runnable() did not, and calibrates
    result: dict[str, Any] = {"configs": len(case.configs), "runnable": len(good)}
    picked: dict[str, list[int]] = {}
    for side in ("ours", "stock"):
        found = [tune(side, case, order) for order in orders(len(case.configs), tunings)]
        picked[side] = [pick for pick, _, _ in found]
        result[side] = {"ms": [round(ms, 3) for _, ms, _ in found]}
        if side == "ours":
            choices = [tuner.verdict.choice for _, _, tuner in found]
            result[side]["gates"] = sorted({choice.conditions.gate or "ungated" for choice in choices})
            result[side]["device_ms"] = [round(choice.whole_ms, 3) for choice in choices]
            result[side]["rounds"] = [choice.rounds for choice in choices]
            result[side]["stops"] = [choice.stop for choice in choices]
            result["event_overhead_us"] = round(choices[0].conditions.event_overhead_ms * 1e3, 3)
    reference = result["reference_us"] = reference_us(good, gate, flush)
    for side, picks in picked.items():
        names = [case.names[pick] for pick in picks]
        regrets = regrets_percent(reference, names)
        result[side]["picks"] = names
        result[side]["regret_percent"] = regrets
        result[side]["right"] = sum(regret <= RIGHT_PERCENT for regret in regrets)
    ratio = statistics.median(result["stock"]["ms"]) / statistics.median(result["ours"]["ms"])
    result["times_faster"] = round(ratio, 1)
    return result


def print_case(name: str, result: dict[str, Any]) -> None:
    reference = sorted(result["reference_us"].items(), key=lambda item: item[1])
    print(f"\n{name}: {result['runnable']} of {result['configs']} configs fit; best by reference {reference[0]}")
    for side in ("ours", "stock"):
        row = result[side]
        ms = row["ms"]
        print(
            f"  {side:5} benchmark phase ms: median {statistics.median(ms):8.1f}, {min(ms):.1f} to {max(ms):.1f};"
            f" within 2 %: {row['right']}/{len(ms)}, worst {max(row['regret_percent']):.1f} %,"
            f" different picks {len(set(row['picks']))}"
        )
        print(f"        regrets %: {row['regret_percent']}")
    ours = result["ours"]
    print(f"        gates {ours['gates']}, device ms {ours['device_ms']}")
    print(f"        rounds {ours['rounds']}, stops {sorted(set(ours['stops']))}")
    print(
        f"  ours is {result['times_faster']} times faster; event overhead {result['event_overhead_us']} us", flush=True
    )


def p50_us(tuner: Any, config: triton.Config) -> float:
    """What a tuning read for ``config``."""
    return next(round(o.samples.p50 * 1e3, 3) for o in tuner.verdict.outcomes if o.candidate.config is config)


def levels(case: Tunable, good: list[Any], reference: dict[str, float]) -> dict[str, Any]:
    """The best config by every way of measuring, and with what must not matter."""
    first = list(range(len(case.configs)))
    best = min(reference, key=lambda name: reference[name])
    config = case.configs[case.names.index(best)]
    launch = dict(good)[best]
    found: dict[str, Any] = {"reference": reference[best]}
    for plan in ("race", "fixed", "classic"):
        with triton_ascend_tune.options(plan=plan):
            found[plan] = p50_us(tune("ours", case, first)[2], config)
    found["do_bench"] = [round(triton_ascend_tune.do_bench(launch, return_mode="median") * 1e3, 2) for _ in range(3)]
    stock = [triton.testing.do_bench(launch, return_mode="median") * 1e3 for _ in range(3)]
    found["triton.testing.do_bench"] = [round(us, 2) for us in stock]
    with triton_ascend_tune.options(gate=False):
        found["race, no gate"] = p50_us(tune("ours", case, first)[2], config)
    with triton_ascend_tune.options(flush="read"):
        found["race, reading flush"] = p50_us(tune("ours", case, first)[2], config)
    # The output lies at the head of a tensor of 64 MiB, all of which is restored after every launch.
    a, b, c, *sizes = case.arguments
    roomy = replace(case, arguments=(a, b, torch.zeros(32 << 20, device="cuda", dtype=c.dtype), *sizes))
    restored = tune("ours", roomy, first, restore_value=["c"])[2]
    found["race, 64 MiB to restore"] = p50_us(restored, config)
    found["gate then"] = restored.verdict.choice.conditions.gate
    return {"best config, us: " + best: found}


def places(launch: Callable[[], object]) -> dict[str, Any]:
    """What the native timer reads at each place of a round, for rounds of some lengths."""
    from triton_ascend_tune.measure.device import active_device
    from triton_ascend_tune.measure.trial import Trial
    from triton_ascend_tune.values import Protocol

    found = {}
    for gated in (True, False):
        with active_device().timer(Protocol()) as timer:
            for length in (1, 3, 11, 24):
                runs = [timer.run([Trial(launch)], [0] * length, gated).kernel_ms for _ in range(41)]
                medians = [round(statistics.median(times) * 1e3, 2) for times in zip(*runs)]
                found[f"{'gated' if gated else 'ungated'} us by place, {length}"] = medians
    return found


def warm_picks(case: Tunable, good: list[Any], gate: Any) -> dict[str, Any]:
    """Tunings without a flush against a reference without one."""
    with triton_ascend_tune.options(flush="none"):
        picks = [case.names[tune("ours", case, order)[0]] for order in orders(len(case.configs), 10)]
    return {"warm: regrets %": regrets_percent(reference_us(good, gate, None), picks)}


def waits(case: Tunable) -> dict[str, Any]:
    """Launches and hooks that wait for the device."""
    first = list(range(len(case.configs)))
    tuner = triton.autotune(configs=case.configs, key=[])(case.kernel)
    launch = tuner._launch
    tuner._launch = lambda *args: (launch(*args), torch.cuda.synchronize())[0]
    began = time.perf_counter()
    tuner[case.grid](*case.arguments)
    seconds = time.perf_counter() - began
    hooked = tune("ours", case, first, pre_hook=lambda *_, **__: torch.cuda.synchronize())[2]
    return {
        "a launch that synchronises": [tuner.verdict.choice.conditions.ungated_because, f"{seconds:.2f} s"],
        "a pre_hook that synchronises: gate": hooked.verdict.choice.conditions.gate,
    }


def interruptions(case: Tunable) -> dict[str, Any]:
    """Exceptions in the middle of a tuning: the gate must be open afterwards."""

    def broken_by(error: str, where: str) -> str:
        calls = 0

        def count(*_: Any, **__: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == 40:
                if error == "Ctrl-C":
                    signal.raise_signal(signal.SIGINT)
                raise RuntimeError("bug")

        options = {where: count} if where != "launch" else {}
        tuner = triton.autotune(configs=case.configs, key=[], **options)(case.kernel)
        if where == "launch":
            original = tuner._launch
            tuner._launch = lambda *args: (count(), original(*args))[1]
        try:
            tuner[case.grid](*case.arguments)
        except (RuntimeError, KeyboardInterrupt) as caught:
            name = type(caught).__name__
        began = time.perf_counter()
        case.kernel[case.grid(case.configs[7].kwargs)](*case.arguments, **case.configs[7].all_kwargs())
        torch.cuda.synchronize()
        return f"{name}, next launch done after {(time.perf_counter() - began) * 1e3:.1f} ms"

    return {
        f"{error} in {where}": broken_by(error, where)
        for error, where in (("bug", "pre_hook"), ("bug", "post_hook"), ("Ctrl-C", "pre_hook"), ("Ctrl-C", "launch"))
    }


def captures(case: Tunable) -> dict[str, Any]:
    """Stream capture: an error or the fallback, and the graph that is recorded works."""
    fallback = tune("ours", case, list(range(len(case.configs))))[2].best_config
    fresh = triton.autotune(configs=case.configs, key=[])(case.kernel)
    named = triton_ascend_tune.options(fallback=fallback)(triton.autotune(configs=case.configs, key=[])(case.kernel))
    a, b, c = case.arguments[:3]
    c.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        try:
            fresh[case.grid](*case.arguments)
            outcome = "no error"
        except RuntimeError as error:
            outcome = type(error).__name__
        named[case.grid](*case.arguments)
    graph.replay()
    torch.cuda.synchronize()
    correct = bool(torch.allclose(c.float(), a.float() @ b.float(), atol=0.5, rtol=0.02))
    return {
        "during capture": f"{outcome}, remembered {len(fresh.cache)}",
        "a fallback during capture": f"correct {correct}, remembered {len(named.cache)}",
    }


def checks(flush: torch.Tensor, gate: Any) -> dict[str, Any]:
    """Properties that only a device can show, on the shortest kernel."""
    case = matmul(512)
    good, _ = recorder.runnable(recorder.CASES["matmul_512"]())
    reference = reference_us(good, gate, flush)
    return {
        **levels(case, good, reference),
        **places(dict(good)[min(reference, key=lambda name: reference[name])]),
        **warm_picks(case, good, gate),
        **waits(case),
        **interruptions(case),
        **captures(case),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(TUNABLES)}; all where none is given")
    parser.add_argument("--tunings", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--no-checks", action="store_true")
    parser.add_argument("--only-checks", action="store_true")
    arguments = parser.parse_args()
    triton_ascend_tune.install()
    torch.manual_seed(0)
    device = torch.cuda.get_device_name(0)
    print(f"{device}, torch {torch.__version__}, triton {triton.__version__}, CUDA {torch.version.cuda}")
    flush = torch.empty(recorder.FLUSH_BYTES, dtype=torch.int8, device="cuda")
    gate = recorder.Gate()
    content: dict[str, Any] = {"device": device, "triton": triton.__version__, "torch": torch.__version__, "cases": {}}
    for name in arguments.cases or ([] if arguments.only_checks else TUNABLES):
        content["cases"][name] = compare(name, arguments.tunings, flush, gate)
        print_case(name, content["cases"][name])
        if arguments.json:
            arguments.json.write_text(json.dumps(content, indent=1) + "\n")
    if not arguments.no_checks:
        content["checks"] = checks(flush, gate)
        print("\nchecks")
        for what, result in content["checks"].items():
            print(f"  {what}: {result}")
    if arguments.json:
        arguments.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
