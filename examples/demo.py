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

HERE = pathlib.Path(__file__).resolve().parent
METHOD = "TRITON_BENCH_METHOD"
TUNED = ("01_vector_add.py", "02_softmax.py", "03_layer_norm.py")
#: Compares the two methods itself.
COMPARED = "08_one_kernel_of_several.py"


def main() -> int:
    command = [sys.executable, "-m", "triton_ascend_tune.cli", "sim", "run", "--", sys.executable]
    methods = [os.environ[METHOD]] if os.environ.get(METHOD) else ["event", "npu"]
    runs = [(example, method) for example in TUNED for method in methods] + [(COMPARED, methods[0])]
    failed = []
    for example, method in runs:
        start = time.perf_counter()
        print(f"\n== examples/{example}" + (f", {METHOD}={method}" if example in TUNED else ""), flush=True)
        environment = {**os.environ, "TRITON_ASCEND_TUNE_REPORT": "1", METHOD: method}
        code = subprocess.run([*command, str(HERE / example)], env=environment, check=False).returncode
        print(f"   {time.perf_counter() - start:.1f} s of real time", flush=True)
        if code:
            failed.append(f"{example} (exit code {code})")
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
