"""Modules are right at random shapes: tails, masks, pitches, and loops of any number of iterations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hivm_shapes import CASES

ROUNDS = 3


@pytest.fixture(scope="module")
def results(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("shapes") / "results.json"
    worker = [sys.executable, str(Path(__file__).with_name("hivm_shapes.py"))]
    done = subprocess.run(
        [*worker, "--out", str(out), "--rounds", str(ROUNDS)], env=sim_env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", CASES)
def test_module_is_right_at_other_shapes(name: str, results: list[dict[str, Any]]) -> None:
    rows = [row for row in results if row["name"] == name]
    assert len(rows) == ROUNDS
    assert len({row["shape"] for row in rows}) > 1
    assert not [row for row in rows if row["message"]]
