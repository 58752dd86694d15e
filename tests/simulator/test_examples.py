"""The examples as a user runs them: stock programs that are tuned by us, and choose what the stock tuner chooses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ascend

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = {"01_vector_add": "{'BLOCK': 16384}", "02_softmax": "{'ROWS': 16}", "03_layer_norm": "{'BLOCK': 4096}"}


def run(example: str, sim_env: dict[str, str], **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", example],
        cwd=FOLDER,
        env={**sim_env, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_says_nothing_of_us(example: str) -> None:
    source = (FOLDER / f"{example}.py").read_text()
    assert not re.search(r"ascend_tune|ascend-tune", source, re.IGNORECASE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_run_as_a_module_is_tuned_reported_and_repeatable(example: str, sim_env: dict[str, str]) -> None:
    first = run(example, sim_env, TRITON_ASCEND_TUNE_REPORT="1")
    assert "simulated" in first
    assert first.count(" us  P20") == 5
    assert len(re.findall(r"failed in compile  unified buffer overflow: needs .* KiB, has 192 KiB", first)) == 1
    assert "<- winner" in first
    assert f"best {EXAMPLES[example]}, equal to torch on the CPU" in first
    second = run(example, sim_env, TRITON_ASCEND_TUNE_REPORT="1")
    times = re.compile(r"[\d.]+ us  P20.*")
    assert times.findall(second) == times.findall(first)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_stock_tuner_chooses_the_same(example: str, sim_env: dict[str, str]) -> None:
    stock = run(example, sim_env, TRITON_ASCEND_TUNE="0", TRITON_ASCEND_TUNE_REPORT="1")
    assert f"best {EXAMPLES[example]}, equal to torch on the CPU" in stock
    assert "winner" not in stock  # nothing of ours had a say
