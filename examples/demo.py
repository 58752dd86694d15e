"""Tunes the first three examples on the simulated CANN, each in its own process, and shows what the tuner saw.

The examples are stock Triton programs; what is printed about candidates comes from the tuner's own report. Each is
tuned twice: by device events, which is the default, and by the profiler. ``TRITON_BENCH_METHOD`` picks one of them.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
METHOD = "TRITON_BENCH_METHOD"
TUNED = ("01_vector_add.py", "02_softmax.py", "03_layer_norm.py")
#: Compares the two methods itself.
COMPARED = "08_one_kernel_of_several.py"
#: The wheel says this for each config of each program, whatever the tuner: it would bury the rest.
NOISE = "[WARNING] Please DO NOT tune args"


class Run(NamedTuple):
    """One example with one method."""

    example: str
    method: str

    def show(self) -> int:
        """Runs it on the simulated CANN and prints what it printed; its exit code."""
        start = time.perf_counter()
        simulate = [sys.executable, "-m", "triton_ascend_tune.cli", "sim", "run", "--", sys.executable]
        environment = {**os.environ, "TRITON_ASCEND_TUNE_REPORT": "1", METHOD: self.method}
        done = subprocess.run(
            [*simulate, str(HERE / self.example)],
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        title = f"== examples/{self.example}" + (f", {METHOD}={self.method}" if self.example in TUNED else "")
        lines = [line for line in done.stdout.splitlines() if not line.startswith(NOISE)]
        took = f"   {time.perf_counter() - start:.1f} s of real time"
        print("\n".join(["", title, *lines, took]), flush=True)
        return done.returncode


def main() -> int:
    methods = [os.environ[METHOD]] if os.environ.get(METHOD) else ["event", "npu"]
    runs = [Run(example, method) for example in TUNED for method in methods] + [Run(COMPARED, methods[0])]
    print("On a fresh machine the first program builds the simulator, which takes about a minute.", flush=True)
    codes = [runs[0].show()]  # alone: it builds the simulator and what all launchers share
    with ThreadPoolExecutor(2) as pool:
        codes += pool.map(Run.show, runs[1:])
    failed = [f"{run.example} with {run.method} (exit code {code})" for run, code in zip(runs, codes) if code]
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
