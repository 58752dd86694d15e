"""The micro-kernels of the cube core, one product at a time, against NumPy; and the table of all of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import micro_table
import pytest


@pytest.fixture(scope="module")
def results(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("cube") / "results.json"
    worker = [sys.executable, str(Path(__file__).with_name("cube_calls.py"))]
    env = {**sim_env, "CANN_SIM_CHECK_RACES": "1"}
    done = subprocess.run([*worker, "--out", str(out)], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(out.read_text())


def test_products_are_exact(results: list[dict[str, Any]]) -> None:
    assert len(results) >= 120
    assert [row for row in results if row["error"] or row["wrong"]] == []


def test_every_cube_kernel_was_called(results: list[dict[str, Any]], sim_env: dict[str, str]) -> None:
    rows = [line.split("\t") for line in micro_table.printed_by_hivmc(sim_env).splitlines()]
    names = {name for pattern, _, types, ranks in rows for name in micro_table.expand(pattern, types, ranks)}
    cube = {name for name in names if re.match(r"nd2nz_|set_l1_|load_gm_to_cbuf_|mma_tile_|fixpipe_", name)}
    called = {name for row in results for name in row["called"]}
    assert cube == called


def test_the_readme_shows_the_table(sim_env: dict[str, str]) -> None:
    assert micro_table.in_readme() == micro_table.table(micro_table.printed_by_hivmc(sim_env))
