"""The examples run on the simulated CANN, are tuned by this package and agree with torch on the CPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Configs and how many of them cannot be used, by tuner; from the examples' own lists and the buffers of the device.
TUNED = {
    "01_vector_add": {"add_kernel": (6, 1)},
    "02_softmax": {"softmax_kernel": (6, 1)},
    "03_layer_norm": {"layer_norm_kernel": (6, 1)},
    "04_matmul": {"matmul_kernel": (16, 1)},
    "05_attention": {"attention_kernel": (9, 1)},
    "06_layer_norm_backward": {"dx_kernel": (6, 0), "sum_kernel": (5, 0)},
    "07_grouped_matmul": {"grouped_matmul_kernel": (8, 0)},
}


@pytest.mark.parametrize("example", TUNED)
def test_example_is_tuned_and_right(example: str, sim_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{example}.py")],
        env={**sim_env, "TRITON_ASCEND_TUNE_REPORT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert "equal to torch on the CPU" in done.stdout
    report = done.stdout + done.stderr
    for kernel, (configs, failed) in TUNED[example].items():
        line = re.search(
            rf"{kernel} on npu:Ascend910B3, simulated: (\d+) configs, (\d+) timed .*?, (\d+) failed", report
        )
        assert line, report[-6000:]
        assert (int(line[1]), int(line[3])) == (configs, failed)
        assert int(line[2]) == configs - failed
