"""Compiles the configs of a matmul in this process's threads and in processes of their own, in one run.

Both sides use as many workers and start with an empty compile cache; the isolated side is timed twice: with its
processes still to be started, and with those of the first time. On stock Triton it compiles for a CUDA device that need
not be there; on triton-ascend for the simulated NPU (``triton-ascend-tune sim run -- python ...``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import tempfile
import time

import torch
import triton
import triton.language as tl

from triton_ascend_tune import isolation, pool
from triton_ascend_tune.compile import compile_candidates
from triton_ascend_tune.values import Candidate
from triton_ascend_tune.workers import worker_count


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    r, acc = tl.arange(0, BK), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(a + i[:, None] * K + (k + r)[None, :]), tl.load(b + (k + r)[:, None] * N + j[None, :]))
    tl.store(c + i[:, None] * N + j[None, :], acc.to(tl.float16))


CONFIGS = [{"BM": m, "BN": n, "BK": k} for m in (32, 64) for n in (32, 64) for k in (16, 32)]


class NamedDevice:
    """A driver for a device that is only compiled for."""

    def get_current_device(self) -> int:
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_stream(self, device: int) -> int:
        return 0


def compile_all(tensor: torch.Tensor, isolate: bool) -> float:
    """Seconds for all configs, with an empty cache."""
    jit = triton.jit(matmul.fn)
    candidates = [Candidate(place, triton.Config(config), config) for place, config in enumerate(CONFIGS)]

    def compile_one(candidate: Candidate):
        return jit.run(tensor, tensor, tensor, 128, 128, 128, grid=(1,), warmup=True, **candidate.kwargs)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        start = time.perf_counter()
        with isolation.compilers() if isolate else contextlib.nullcontext():
            compiled = compile_candidates(candidates, compile_one, pool.promised(jit, worker_count(len(CONFIGS))))
        seconds = time.perf_counter() - start
    errors = [each.error for each in compiled if each.error is not None]
    if errors:
        raise errors[0]
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    simulated = "ascend" in triton.backends.backends
    if not simulated:
        triton.runtime.driver.set_active(NamedDevice())
    tensor = torch.zeros(128, 128, dtype=torch.float16, device="npu" if simulated else "cpu")
    os.environ["TRITON_ASCEND_TUNE_ISOLATE"] = "1"
    compile_all(tensor, isolate=False)  # what is loaded and built once for a machine or a process
    figures = {
        "threads_s": compile_all(tensor, isolate=False),
        "isolated_first_s": compile_all(tensor, isolate=True),
        "isolated_again_s": compile_all(tensor, isolate=True),
        "threads_again_s": compile_all(tensor, isolate=False),
    }
    threads = (figures["threads_s"] + figures["threads_again_s"]) / 2
    print(f"{len(CONFIGS)} configs, {worker_count(len(CONFIGS))} workers, Triton {triton.__version__}")
    for name in figures:
        print(f"{name:18} {figures[name]:7.2f} s   / threads {figures[name] / threads:.2f}")
    isolation.end_idle()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"simulated": simulated, **figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
