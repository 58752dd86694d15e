"""What this package costs the start of a program; the design allows the hook 1 ms, and 20 ms once Triton is loaded.

*The hook*: the line of the ``.pth`` file, in fresh interpreters. Its own time, measured around it inside the
interpreter, and the difference between whole interpreters that run the line and that do not, started in turn. The
package is reached through ``sys.path`` as in a wheel's installation.

*With Triton*: a program that imports Triton and decorates a kernel, under ``-X importtime``. What counts is the time of
this package's modules, and of the others that are loaded only because of it: those that the same program does not load
under ``TRITON_ASCEND_TUNE=0``.

Byte code is cached in a folder of this run. Times are milliseconds; the least of many starts is what is left when other
programs keep out of the way.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOOK = ROOT / "triton_ascend_tune_hook.pth"
HOOK_LIMIT_MS = 1.0
TRITON_LIMIT_MS = 20.0

#: The hook belongs to the end of ``site``; -S leaves ``site`` out, so nothing but the line differs.
PROGRAM = """
import sys, time
sys.path.append({root!r})
start = time.perf_counter()
{line}
print((time.perf_counter() - start) * 1e3)
"""

DECORATES = """
import triton
import triton.language as tl

# With a timer of its own, for which stock Triton 3.2 needs no device.
@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"], do_bench=lambda *_, **__: 1.0)
@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)
"""

IMPORT_TIME = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \| +(\S+)$", re.MULTILINE)


def start_interpreter(line: str, environment: dict[str, str]) -> tuple[float, float]:
    """(milliseconds of the line, milliseconds of the whole process) in one fresh interpreter."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM.format(root=str(ROOT), line=line)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return float(done.stdout), (time.perf_counter() - begin) * 1e3


def hook(starts: int, environment: dict[str, str]) -> dict[str, float]:
    line = HOOK.read_text().strip()
    start_interpreter(line, environment)  # fills the byte code cache
    inside, with_hook, without = [], [], []
    for _ in range(starts):
        line_ms, process_ms = start_interpreter(line, environment)
        inside.append(line_ms)
        with_hook.append(process_ms)
        without.append(start_interpreter("pass", environment)[1])
    return {
        "line_min_ms": min(inside),
        "line_p50_ms": statistics.median(inside),
        "line_p90_ms": statistics.quantiles(inside, n=10)[8],
        "process_with_p50_ms": statistics.median(with_hook),
        "process_without_p50_ms": statistics.median(without),
        "process_difference_p50_ms": statistics.median(a - b for a, b in zip(with_hook, without)),
    }


def import_times(program: pathlib.Path, environment: dict[str, str]) -> dict[str, float]:
    """Module -> milliseconds of its own code, in one fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(program)], check=True, capture_output=True, text=True, env=environment
    )
    return {name: int(microseconds) / 1e3 for microseconds, name in IMPORT_TIME.findall(done.stderr)}


def with_triton(starts: int, environment: dict[str, str]) -> tuple[dict[str, float], dict[str, float]]:
    """The sums, and the least time of each module that counts."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "decorates.py"
        program.write_text(DECORATES)
        off = {**environment, "TRITON_ASCEND_TUNE": "0"}
        import_times(program, environment)
        without = import_times(program, off).keys()
        runs = [import_times(program, environment) for _ in range(starts)]
    ours = [name for name in runs[0] if name not in without or name.split(".")[0] == "triton_ascend_tune"]
    if not any(name == "triton_ascend_tune.autotuner" for name in ours):
        raise SystemExit("the package did not take part: is it installed, with its hook or entry point?")
    least = {name: min(run.get(name, 0.0) for run in runs) for name in ours}
    sums = [sum(run.get(name, 0.0) for name in ours) for run in runs]
    return {
        "with_triton_modules": len(ours),
        "with_triton_least_ms": sum(least.values()),
        "with_triton_min_ms": min(sums),
        "with_triton_p50_ms": statistics.median(sums),
    }, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--starts", type=int, default=50, help="interpreters started for each side")
    options = parser.parse_args()
    if options.starts < 2:
        parser.error(f"--starts is {options.starts}; at least 2 are needed")
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment.update(PYTHONPYCACHEPREFIX=cache, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        sums, modules = with_triton(max(2, options.starts // 5), environment)
        results: dict[str, float] = {"starts": options.starts, **hook(options.starts, environment), **sums}
    for name, value in results.items():
        print(f"{name:26} {value:8.3f}" if isinstance(value, float) else f"{name:26} {value:8}")
    for name, value in sorted(modules.items(), key=lambda item: -item[1]):
        print(f"  {value:6.3f} {name}")
    print(f"the hook: {results['line_min_ms']:.2f} ms of {HOOK_LIMIT_MS}")
    print(f"with Triton: {results['with_triton_least_ms']:.2f} ms of {TRITON_LIMIT_MS}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({**results, "modules": modules}, indent=2) + "\n")


if __name__ == "__main__":
    main()
