"""Record real sample streams of small candidate lists on a CUDA device, for the replay tests of the measuring plans.

    python benchmarks/record_samples.py OUTPUT_FOLDER [CASE ...]

For every case (a kernel at one size, with its list of configs) and every mode it samples all configs in interleaved
rounds of changing order and writes one JSON file. The modes are

* ``gated``    L2 flush, START, launch, END, with the stream held back until the whole round is queued;
* ``ungated``  the same without the gate, so that the interval also shows the host's launch time;
* ``warm``     gated, without the flush.

Each mode starts on a device that has idled for a while, so that the start-up ramp is in the record. Needs torch and
Triton with a CUDA device; uses nothing of this package, so that the record does not depend on what it later tests.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import datetime
import json
import pathlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

ROUNDS = 200
#: The same number of bytes as the default protocol of this package: what triton-ascend's driver clears.
FLUSH_BYTES = 192 << 20
#: Long enough for an H200 to leave its boost clock, so that the first rounds show the ramp.
IDLE_S = 0.5
#: A closed gate is opened by the watchdog after this time: a blocking call behind a gate would hang for ever.
GATE_TIMEOUT_S = 2.0
ORDER_SEED = 20260

WAIT_VALUE_EQUAL = 1  # CU_STREAM_WAIT_VALUE_EQ


@triton.jit
def matmul_kernel(
    a, b, c, size_m, size_n, size_k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """C = A @ B for row-major fp16; programs walk the output in groups of GROUP tile rows, to reuse L2."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(size_m, BM)
    tiles_n = tl.cdiv(size_n, BN)
    group = pid // (GROUP * tiles_n)
    first_m = group * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (pid % (GROUP * tiles_n)) % rows
    tile_n = (pid % (GROUP * tiles_n)) // rows
    offs_m = (tile_m * BM + tl.arange(0, BM)) % size_m
    offs_n = (tile_n * BN + tl.arange(0, BN)) % size_n
    offs_k = tl.arange(0, BK)
    a_ptrs = a + offs_m[:, None] * size_k + offs_k[None, :]
    b_ptrs = b + offs_k[:, None] * size_n + offs_n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(size_k, BK)):
        left = size_k - k * BK
        x = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)
        y = tl.load(b_ptrs, mask=offs_k[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK
        b_ptrs += BK * size_n
    out_m = tile_m * BM + tl.arange(0, BM)
    out_n = tile_n * BN + tl.arange(0, BN)
    mask = (out_m[:, None] < size_m) & (out_n[None, :] < size_n)
    tl.store(c + out_m[:, None] * size_n + out_n[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    """Row softmax, one program a row: a pass for the maximum, one for the sum, one that writes."""
    row = tl.program_id(0).to(tl.int64) * columns
    offs = tl.arange(0, BLOCK)
    peak = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row + start + offs, mask=start + offs < columns, other=float("-inf")).to(tl.float32)
        peak = tl.maximum(peak, v)
    top = tl.max(peak, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row + start + offs, mask=start + offs < columns, other=float("-inf")).to(tl.float32)
        total += tl.exp(v - top)
    scale = 1.0 / tl.sum(total, 0)
    for start in range(0, columns, BLOCK):
        mask = start + offs < columns
        v = tl.load(x + row + start + offs, mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(y + row + start + offs, (tl.exp(v - top) * scale).to(tl.float16), mask=mask)


@triton.jit
def layer_norm_kernel(x, y, weight, bias, columns, eps, BLOCK: tl.constexpr):
    """Row layer norm, one program a row: mean, variance, then a pass that writes."""
    row = tl.program_id(0).to(tl.int64) * columns
    offs = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + row + start + offs, mask=start + offs < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    spread = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        mask = start + offs < columns
        v = tl.load(x + row + start + offs, mask=mask, other=0.0).to(tl.float32)
        d = tl.where(mask, v - mean, 0.0)
        spread += d * d
    scale = 1.0 / tl.sqrt(tl.sum(spread, 0) / columns + eps)
    for start in range(0, columns, BLOCK):
        mask = start + offs < columns
        v = tl.load(x + row + start + offs, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(weight + start + offs, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(bias + start + offs, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + row + start + offs, ((v - mean) * scale * w + b).to(tl.float16), mask=mask)


#: BM, BN, BK, warps, stages: the usual list for fp16 on a GPU; the five largest do not fit every device.
MATMUL_CONFIGS = [
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 2, 5), (32, 64, 32, 2, 5),
    (128, 256, 128, 8, 3), (256, 128, 128, 8, 3), (256, 64, 128, 4, 4), (64, 256, 128, 4, 4),
    (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 32, 64, 4, 4),
]  # fmt: skip
ROW_CONFIGS = [(block, warps) for block in (512, 1024, 2048, 4096) for warps in (2, 4, 8)]


@dataclass(frozen=True)
class Case:
    """One kernel at one size: ``configs`` are names and launches; each must write ``expected`` to ``output``."""

    configs: list[tuple[str, Callable[[], object]]]
    output: torch.Tensor
    expected: torch.Tensor


def matmul_case(size: int) -> Case:
    a = torch.randn(size, size, device="cuda", dtype=torch.float16)
    b = torch.randn_like(a)
    c = torch.empty_like(a)

    def bind(bm: int, bn: int, bk: int, warps: int, stages: int) -> Callable[[], object]:
        launcher = matmul_kernel[(triton.cdiv(size, bm) * triton.cdiv(size, bn),)]
        meta = {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8, "num_warps": warps, "num_stages": stages}
        return lambda: launcher(a, b, c, size, size, size, **meta)

    names = ["BM{} BN{} BK{} warps{} stages{}".format(*config) for config in MATMUL_CONFIGS]
    return Case(list(zip(names, [bind(*config) for config in MATMUL_CONFIGS])), c, a @ b)


def row_case(kernel_name: str, rows: int, columns: int) -> Case:
    x = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    if kernel_name == "softmax":
        expected = torch.softmax(x.float(), 1).half()
        kernel, arguments = softmax_kernel, (x, y, columns)
    else:
        weight = torch.randn(columns, device="cuda", dtype=torch.float16)
        bias = torch.randn_like(weight)
        expected = torch.nn.functional.layer_norm(x.float(), (columns,), weight.float(), bias.float()).half()
        kernel, arguments = layer_norm_kernel, (x, y, weight, bias, columns, 1e-5)

    def bind(block: int, warps: int) -> Callable[[], object]:
        launcher = kernel[(rows,)]
        return lambda: launcher(*arguments, BLOCK=block, num_warps=warps)

    return Case([(f"BLOCK{block} warps{warps}", bind(block, warps)) for block, warps in ROW_CONFIGS], y, expected)


CASES: dict[str, Callable[[], Case]] = {
    "matmul_512": lambda: matmul_case(512),
    "matmul_2048": lambda: matmul_case(2048),
    "matmul_4096": lambda: matmul_case(4096),
    "softmax_short": lambda: row_case("softmax", 4096, 1024),
    "softmax_long": lambda: row_case("softmax", 1024, 16384),
    "layer_norm_short": lambda: row_case("layer_norm", 4096, 1024),
    "layer_norm_long": lambda: row_case("layer_norm", 1024, 16384),
}


class Gate:
    """Holds the current stream on a value in pinned host memory; a watchdog opens a gate that stays closed too long."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._wait = getattr(self._cuda, "cuStreamWaitValue32_v2", None) or self._cuda.cuStreamWaitValue32
        self._wait.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint]
        self._word = torch.zeros(1, dtype=torch.int32).pin_memory()
        self._value = ctypes.c_uint32.from_address(self._word.data_ptr())
        self.timed_out = False

    def _open_late(self) -> None:
        self.timed_out = True
        self._value.value = 1

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        self._value.value = 0
        stream = torch.cuda.current_stream().cuda_stream
        code = self._wait(stream, self._word.data_ptr(), 1, WAIT_VALUE_EQUAL)
        if code:
            raise RuntimeError(f"cuStreamWaitValue32 failed with code {code}")
        watchdog = threading.Timer(GATE_TIMEOUT_S, self._open_late)
        watchdog.start()
        try:
            yield
        finally:
            self._value.value = 1
            watchdog.cancel()
        if self.timed_out:
            raise RuntimeError(f"something blocked behind the gate for {GATE_TIMEOUT_S} s")


def runnable(case: Case) -> tuple[list[tuple[str, Callable[[], object]]], dict[str, str]]:
    """Compile, launch and check every config; returns those that work and the reasons of the others."""
    good, failed = [], {}
    for name, launch in case.configs:
        case.output.fill_(float("nan"))
        try:
            launch()
        except triton.runtime.errors.OutOfResources as error:
            failed[name] = str(error).splitlines()[0]
            continue
        error = (case.output.float() - case.expected.float()).norm() / case.expected.float().norm()
        if not error < 1e-2:
            raise RuntimeError(f"{name} computes something else: relative error {error}")
        good.append((name, launch))
    return good, failed


def record(configs: list[tuple[str, Callable[[], object]]], mode: str, flush: torch.Tensor, gate: Gate) -> dict:
    """Sample ``ROUNDS`` interleaved rounds. Times come back in nanoseconds, ``kernel_ns[config][round]``."""
    rng = random.Random(ORDER_SEED)
    count = len(configs)
    starts = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    first = torch.cuda.Event(enable_timing=True)
    for event in (first, *starts, *ends):  # torch creates an event when it is first recorded: not behind the gate
        event.record()
    flush.zero_()
    torch.cuda.synchronize()
    time.sleep(IDLE_S)
    kernel_ns: list[list[int]] = [[] for _ in configs]
    orders, wall_us, device_us = [], [], []
    for _ in range(ROUNDS):
        order = list(range(count))
        rng.shuffle(order)
        began = time.perf_counter()
        with contextlib.nullcontext() if mode == "ungated" else gate.closed():
            first.record()
            for index in order:
                if mode != "warm":
                    flush.zero_()
                starts[index].record()
                configs[index][1]()
                ends[index].record()
        torch.cuda.synchronize()
        wall_us.append(round((time.perf_counter() - began) * 1e6))
        device_us.append(round(first.elapsed_time(ends[order[-1]]) * 1e3))
        orders.append(order)
        for index in order:
            kernel_ns[index].append(round(starts[index].elapsed_time(ends[index]) * 1e6))
    return {"order": orders, "round_wall_us": wall_us, "round_device_us": device_us, "kernel_ns": kernel_ns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all where none is given")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    gate = Gate()
    for name in arguments.cases or CASES:
        began = time.perf_counter()
        case = CASES[name]()
        configs, failed = runnable(case)
        compiled = time.perf_counter()
        modes = {mode: record(configs, mode, flush, gate) for mode in ("gated", "ungated", "warm")}
        content = {
            "case": name,
            "device": torch.cuda.get_device_name(0),
            "triton": triton.__version__,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "date": datetime.date.today().isoformat(),
            "flush_bytes": FLUSH_BYTES,
            "idle_before_s": IDLE_S,
            "configs": [config_name for config_name, _ in configs],
            "failed": failed,
            "modes": modes,
        }
        (arguments.folder / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
        for mode, data in modes.items():
            medians = [sorted(times)[ROUNDS // 2] / 1e3 for times in data["kernel_ns"]]
            round_us = sorted(data["round_device_us"])[ROUNDS // 2]
            print(f"{name:17} {mode:8} round device us {round_us} medians us {medians}")
        print(f"{name:17} compile {compiled - began:.1f} s, record {time.perf_counter() - compiled:.1f} s", flush=True)


if __name__ == "__main__":
    main()
