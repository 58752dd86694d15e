"""The tutorials run on the simulated CANN and print that they are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).resolve().parents[2] / "examples" / "tutorials"
#: Lines that a tutorial prints only after its check against torch on the device, and its benchmark's table: title,
#: columns, rows.
PRINTED = {
    "01_vector_add": ([r"largest difference between torch and triton: 0\.0"], ("vector-add (GB/s)", 3, 4)),
    "02_fused_softmax": (
        [rf"softmax of \(1823, 781\) equals {name}" for name in ("torch", "torch.nn.functional", "naive")],
        ("softmax (GB/s)", 4, 3),
    ),
    "03_layer_norm": (
        [
            r"layer norm of 1151 x 2000, torch.float16: y, dx, dw and db equal torch",
            r"layer norm of 128 x 3000, torch.float32: y, dx, dw and db equal torch",
        ],
        ("layer-norm-backward (GB/s)", 3, 2),
    ),
    "04_fused_attention": (
        [
            rf"{kind} attention of .*: equals matmul and softmax, scaled_dot_product_attention, npu_fusion_attention"
            for kind in ("full", "full", "causal")
        ],
        ("fused-attention-forward (TFLOPS)", 3, 2),
    ),
    "05_matmul": (
        [
            r"matmul: equals torch, plain, transposed and with leaky ReLU; best \{'BLOCK_SIZE_M': \d+, .*\}",
            r"dot with bias: equals torch",
        ],
        ("matmul (TFLOPS)", 3, 3),
    ),
    "06_autotune": (
        [
            r"given configs: 4 timed, best \{'XS': \d+, 'multibuffer': (True|False)\}, equals torch",
            r"proposed configs: \d+ timed, best \{'BLOCK_SIZE': \d+\}, equals torch",
        ],
        None,
    ),
}


@pytest.mark.parametrize("tutorial", PRINTED)
def test_tutorial_is_right(tutorial: str, sim_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(TUTORIALS / f"{tutorial}.py")], env=sim_env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    lines, benchmark = PRINTED[tutorial]
    left = done.stdout
    for line in lines:  # in this order
        found = re.search(rf"^{line}$", left, re.MULTILINE)
        assert found, f"{line}\n{done.stdout}"
        left = left[found.end() :]
    if benchmark is None:
        return
    title, columns, rows = benchmark
    table = left[left.index(f"{title}:") :].splitlines()[2 : 2 + rows]
    assert len(table) == rows
    for row in table:
        numbers = [float(word) for word in row.split()]
        assert len(numbers) == columns and min(numbers) > 0


def test_every_tutorial_is_tested() -> None:
    assert sorted(PRINTED) == sorted(path.stem for path in TUTORIALS.glob("0*.py"))
