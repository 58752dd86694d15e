"""Runs every benchmark that needs no device, one after the other; figures also go to build/benchmarks/*.json."""

from __future__ import annotations

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
#: (script, whether it runs on the simulated CANN)
BENCHMARKS = (
    ("startup", False),
    ("isolated_compile", True),
    ("hit_path", False),
    ("hit_memory", False),
    ("hivm_modules", True),
    ("launch_speed", True),
    ("event_sample_cost", True),
    ("race_simulated", True),
    ("checkpoints", True),
    ("tuning_time", False),
    ("candidates", True),
)


def main() -> int:
    out = HERE.parent / "build" / "benchmarks"
    out.mkdir(parents=True, exist_ok=True)
    simulate = [sys.executable, "-m", "triton_ascend_tune.cli", "sim", "run", "--"]
    failed = []
    for name, simulated in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(out / f"{name}.json")]
        if subprocess.run([*(simulate if simulated else []), *command], check=False).returncode:
            failed.append(name)
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
