"""How much real time the simulated CANN takes to execute a large launch, beside the most it may take.

To be run on the simulated CANN (``triton-ascend-tune sim run -- python benchmarks/launch_speed.py``). Each launch has
fresh memory, so none is answered from the cache of launches; the best of a few counts.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "simulator"))

#: Name -> module of tests/fixtures/hivm, shapes and dtype of its arrays, its other arguments, blocks, seconds allowed.
LAUNCHES = {
    "matmul 1024 x 1024 x 1024, fp16": (
        "matmul_fp16_128x128x64",
        [(1024, 1024)] * 3,
        np.float16,
        [1024] * 6,
        64,
        2.0,
    ),
    "softmax 4096 x 1024, fp32": (
        "softmax_fp32_B1024",
        [(4096, 1024)] * 2,
        np.float32,
        [1024, 1024, 4096, 1024],
        40,
        0.2,
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    parser.add_argument("--launches", type=int, default=3, help="of each kernel (default 3)")
    options = parser.parse_args()
    if options.launches < 1:
        parser.error(f"--launches must be at least 1, not {options.launches}")
    from hivm_programs import acl, load, prepare

    rows = []
    print(f"{'launch':34} {'seconds':>8} {'allowed':>8} {'ratio':>6}")
    for name, (module, shapes, dtype, scalars, blocks, allowed) in LAUNCHES.items():
        seconds = []
        for _ in range(options.launches):
            arrays = [np.full(shape, 0.5, dtype) for shape in shapes]
            go, _, _ = prepare(module, [*arrays, *scalars], (blocks,), load(module))
            begin = time.perf_counter()
            go()
            acl.sync()
            seconds.append(time.perf_counter() - begin)
        best = min(seconds)
        rows.append({"launch": name, "seconds": best, "allowed": allowed, "ratio": best / allowed})
        print(f"{name:34} {best:8.3f} {allowed:8.3f} {best / allowed:6.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
