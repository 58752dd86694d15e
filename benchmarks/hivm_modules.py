"""How much real time the simulated CANN takes to execute each module of tests/fixtures/hivm, at the shapes kept there.

Every module is compiled by hivmc and launched on fresh memory, so no launch is answered from the cache of launches. The
time is that of the launch and the synchronisation after it; the first includes the first touch of its memory. Also says
whether the results agree with the reference, bit for bit or within the fixture's tolerance.

Builds the simulated CANN if there is none that is up to date.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from triton_ascend_tune import simulator

SIMULATOR_TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests" / "simulator"
LIMIT_MS = 50.0
LAUNCHES = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"of each module (default {LAUNCHES})")
    parser.add_argument("names", nargs="*", help="modules; all by default")
    options = parser.parse_args()
    sys.path.insert(0, str(SIMULATOR_TESTS))
    from hivm_fixtures import fixtures

    known = [fixture.name for fixture in fixtures()]
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no such module: {', '.join(unknown)}")
    if options.launches < 1:
        parser.error(f"--launches must be at least 1, not {options.launches}")
    environment = {**os.environ, **simulator.environment(simulator.build())}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "results.jsonl")
        worker = [sys.executable, str(SIMULATOR_TESTS / "hivm_worker.py"), "--out", str(out)]
        subprocess.run(
            [*worker, "--launches", str(options.launches), *(options.names or known)], env=environment, check=True
        )
        lines = [json.loads(line) for line in out.read_text().splitlines()]
    modules = []
    for line in lines:
        if "begin" in line:
            continue
        agrees = not line["error"] and not any(row["message"] for row in line["rows"])
        modules.append(
            {
                "name": line["name"],
                "first_ms": line["ms"][0] if line["ms"] else None,
                "median_ms": statistics.median(line["ms"]) if line["ms"] else None,
                "agrees": agrees,
                "bit_for_bit": agrees and all(row["equal"] for row in line["rows"]),
            }
        )
    modules.sort(key=lambda m: -(m["median_ms"] or 0.0))
    print(f"{'module':34s} {'first ms':>9s} {'median ms':>9s}  result")
    for m in modules:
        verdict = "bit for bit" if m["bit_for_bit"] else "within tolerance" if m["agrees"] else "DIFFERS"
        times = f"{m['first_ms']:9.2f} {m['median_ms']:9.2f}" if m["first_ms"] is not None else f"{'-':>9s} {'-':>9s}"
        print(f"{m['name']:34s} {times}  {verdict}")
    slowest = max((m["median_ms"] or 0.0 for m in modules), default=0.0)
    agree, exact = sum(m["agrees"] for m in modules), sum(m["bit_for_bit"] for m in modules)
    print(f"{agree} of {len(modules)} agree, {exact} bit for bit; slowest {slowest:.2f} ms (limit {LIMIT_MS:.0f} ms)")
    if options.json:
        summary = {
            "modules": modules,
            "agree": agree,
            "bit_for_bit": exact,
            "slowest_ms": slowest,
            "limit_ms": LIMIT_MS,
        }
        options.json.write_text(json.dumps(summary, indent=1) + "\n")
    return 0 if agree == len(modules) and slowest <= LIMIT_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
