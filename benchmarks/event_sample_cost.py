"""What one sample costs the host: flush, record, launch, record, and reading the time.

Three ways of running the same flushes and launches take turns in one process, and their medians are compared: our C++
loop over the runtime's own calls; torch.npu.Event from Python, as triton.testing.do_bench does it; and the callables
alone, without any event, which is what both have in common. Wall time of the host, the wait for the device included.

Needs a device, or the simulated CANN: triton-ascend-tune sim run -- python benchmarks/event_sample_cost.py
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import time
from collections.abc import Callable

import torch
import torch_npu  # noqa: F401  (registers the device)
import triton
import triton.language as tl
from triton.runtime.driver import driver

from triton_ascend_tune.measure.device import NpuDevice
from triton_ascend_tune.measure.timer import Timer
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import Protocol

ITEMS = 4096
SIDES = ("native", "python", "callables")


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def native(timer: Timer, launch: Callable[[], object], samples: int) -> None:
    run = timer.run([Trial(launch)], [0] * samples)
    assert len(run.kernel_ms) + len(run.rejected) == samples


def python(flush: Callable[[], object], launch: Callable[[], object], samples: int) -> None:
    starts = [torch.npu.Event(enable_timing=True) for _ in range(samples)]
    ends = [torch.npu.Event(enable_timing=True) for _ in range(samples)]
    for start, end in zip(starts, ends):
        flush()
        start.record()
        launch()
        end.record()
    torch.npu.synchronize()
    times = [start.elapsed_time(end) for start, end in zip(starts, ends)]
    assert len(times) == samples


def callables(flush: Callable[[], object], launch: Callable[[], object], samples: int) -> None:
    for _ in range(samples):
        flush()
        launch()
    torch.npu.synchronize()


def compare(device: NpuDevice, launch: Callable[[], object], samples: int, repeats: int) -> dict[str, float]:
    """Median microseconds of the host for one sample, by side."""
    # A buffer of its own for the Python side, of the same size: where it lies makes no difference to the host.
    flush = driver.active.get_empty_cache_for_benchmark().zero_
    with device.timer(Protocol(gate=False)) as timer:
        run = {
            "native": lambda: native(timer, launch, samples),
            "python": lambda: python(flush, launch, samples),
            "callables": lambda: callables(flush, launch, samples),
        }
        times_us: dict[str, list[float]] = {side: [] for side in SIDES}
        for repeat in range(1 + repeats):
            # The order turns, so that no side always follows the same other one. The first round is warm-up.
            for place in range(len(SIDES)):
                side = SIDES[(repeat + place) % len(SIDES)]
                begin = time.perf_counter()
                run[side]()
                if repeat > 0:
                    times_us[side].append((time.perf_counter() - begin) / samples * 1e6)
    return {side: statistics.median(times) for side, times in times_us.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="also write the figures to FILE")
    parser.add_argument("--samples", metavar="N", type=int, default=200, help="samples in one repeat (default 200)")
    parser.add_argument("--repeats", metavar="N", type=int, default=9, help="repeats of each side (default 9)")
    options = parser.parse_args()
    if options.samples < 1 or options.repeats < 1:
        parser.error("--samples and --repeats must be at least 1")

    device = NpuDevice(driver.active)
    x = torch.zeros(ITEMS, device="npu")
    out = torch.zeros_like(x)
    launches: dict[str, Callable[[], object]] = {
        "Triton kernel": lambda: double[(ITEMS // 1024,)](x, out, ITEMS, BLOCK=1024),
        "nothing": lambda: None,
    }
    print("simulated CANN: the host's time is real, that of the device is not" if device.simulated else "on a device")
    print("host time per sample, us (median of interleaved repeats); events: what is spent beyond the callables")
    columns = ("callables", "native", "python", "native/python", "events: native", "python")
    print(f"{'launched':14}" + "".join(f"{column:>16}" for column in columns))
    results = {}
    for name, launch in launches.items():
        us = compare(device, launch, options.samples, options.repeats)
        ratio = us["native"] / us["python"]
        events = {side: us[side] - us["callables"] for side in ("native", "python")}
        row = (us["callables"], us["native"], us["python"], ratio, events["native"], events["python"])
        print(f"{name:14}" + "".join(f"{value:16.2f}" for value in row))
        results[name] = {"us": us, "ratio": ratio, "events_us": events}
    if options.json:
        figures = {"simulated": device.simulated, "samples": options.samples, "repeats": options.repeats}
        options.json.write_text(json.dumps({**figures, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
