"""The three examples tuned by the wheel's stock tuner and by ours, on the simulated CANN, in one run.

Prints for each side the winner, the real time of the whole program, the virtual device time its tasks took and the
launches of the target kernel. Both sides run in fresh processes with a compile cache of their own that a first,
uncounted run has filled.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = {"01_vector_add": "add_kernel", "02_softmax": "softmax_kernel", "03_layer_norm": "layer_norm_kernel"}
SIDES = {"stock": "0", "ours": "1"}


def run(example: str, side: str, folder: pathlib.Path) -> dict:
    log = folder / "tasks.jsonl"
    log.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "TRITON_ASCEND_TUNE": SIDES[side],
        "TRITON_CACHE_DIR": str(folder / f"cache-{side}"),
        "CANN_SIM_TASK_LOG": str(log),
    }
    command = [sys.executable, "-m", "triton_ascend_tune.cli", "sim", "run", "--", sys.executable]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, str(HERE.parent / "examples" / f"{example}.py")],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    winner = re.search(r"best (\{.*?\})", done.stdout)
    return {
        "winner": winner.group(1) if winner else done.stdout.strip(),
        "real_s": round(seconds, 3),
        "virtual_ms": round(sum(t["end"] - t["start"] for t in tasks) / 1e6, 3),
        "launches": sum(t["kind"] == "kernel" and t["name"] == EXAMPLES[example] for t in tasks),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    results: dict = {}
    print("simulated CANN: times are not those of any real device")
    print(f"{'example':16} {'side':6} {'winner':20} {'real s':>8} {'virtual ms':>11} {'launches':>9}")
    for example in EXAMPLES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for side in SIDES:
                run(example, side, folder)  # fills the compile cache
            results[example] = {side: run(example, side, folder) for side in SIDES}
        for side, figures in results[example].items():
            print(
                f"{example:16} {side:6} {figures['winner']:20} {figures['real_s']:8.2f} "
                f"{figures['virtual_ms']:11.1f} {figures['launches']:9d}"
            )
        stock, ours = results[example]["stock"], results[example]["ours"]
        print(
            f"{'':16} ours/stock: real {ours['real_s'] / stock['real_s']:.2f}, "
            f"virtual {ours['virtual_ms'] / stock['virtual_ms']:.2f}, "
            f"launches {ours['launches'] / stock['launches']:.2f}, "
            f"winner {'same' if ours['winner'] == stock['winner'] else 'DIFFERENT'}"
        )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"simulated": True, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
