"""What the ``.pth`` file costs each start of the interpreter, in milliseconds; the design allows 1 ms.

Two figures, each over fresh interpreters: the time of the line itself, measured around it inside the interpreter, and
the difference between whole interpreters that run the line and that do not, started in turn. The package is reached
through ``sys.path`` as in a wheel's installation, with its byte code cached.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOOK = ROOT / "triton_ascend_tune_hook.pth"

#: The hook belongs to the end of ``site``; -S leaves ``site`` out, so nothing but the line differs.
PROGRAM = """
import sys, time
sys.path.append({root!r})
start = time.perf_counter()
{line}
print((time.perf_counter() - start) * 1e3)
"""


def start_interpreter(line: str) -> tuple[float, float]:
    """(milliseconds of the line, milliseconds of the whole process) in one fresh interpreter."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM.format(root=str(ROOT), line=line)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout), (time.perf_counter() - begin) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--starts", type=int, default=50, help="interpreters started for each side")
    options = parser.parse_args()
    if options.starts < 2:
        parser.error(f"--starts is {options.starts}; at least 2 are needed")
    hook = HOOK.read_text().strip()
    start_interpreter(hook)  # fills the byte code cache
    inside, with_hook, without = [], [], []
    for _ in range(options.starts):
        line_ms, process_ms = start_interpreter(hook)
        inside.append(line_ms)
        with_hook.append(process_ms)
        without.append(start_interpreter("pass")[1])
    results = {
        "starts": options.starts,
        "line_min_ms": min(inside),
        "line_p50_ms": statistics.median(inside),
        "line_p90_ms": statistics.quantiles(inside, n=10)[8],
        "process_with_p50_ms": statistics.median(with_hook),
        "process_without_p50_ms": statistics.median(without),
        "process_difference_p50_ms": statistics.median(a - b for a, b in zip(with_hook, without)),
    }
    for name, value in results.items():
        print(f"{name:26} {value:8.3f}" if isinstance(value, float) else f"{name:26} {value:8}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
