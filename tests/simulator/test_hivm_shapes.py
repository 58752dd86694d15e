"""Every module agrees with the reference interpreter, and with NumPy, on three other random launches.

Other shapes where the module takes sizes: tails, masks, pitches, loops of any number of iterations. A module whose
sizes are all constants gets other contents; ``hivm_table.py`` lists these.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hivm_fixtures import fixtures
from hivm_reference import ROUNDS, disagreement, launch_of
from hivm_table import END, README, START, reason, table, variation

BY_NAME = {fixture.name: fixture for fixture in fixtures()}


@pytest.fixture(scope="module")
def results(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("shapes") / "results.json"
    worker = [sys.executable, str(Path(__file__).with_name("hivm_shapes.py"))]
    done = subprocess.run([*worker, "--out", str(out)], env=sim_env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_module_agrees_at_other_shapes(name: str, results: list[dict[str, Any]]) -> None:
    rows = [row for row in results if row["name"] == name]
    assert len(rows) == ROUNDS
    assert [row["reference"] for row in rows] == [""] * ROUNDS
    assert [row["numpy"] for row in rows] == [""] * ROUNDS


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_launches_differ(name: str) -> None:
    """In their sizes, unless the module has one shape only; in their contents always."""
    assert variation(name).contents
    assert variation(name).sizes or reason(BY_NAME[name])


def test_the_readme_lists_modules_of_one_shape() -> None:
    assert README.read_text().split(START)[1].split(END)[0] == table()


def test_one_wrong_element_disagrees() -> None:
    """Also one that is not among those kept, and an output that was not written."""
    name = "vadd_i32_B1024_odd"
    launch = launch_of(name, 0)
    right = {2: launch.expected[2].astype(np.int32)}
    assert disagreement(BY_NAME[name], 0, launch, right) == ""
    assert disagreement(BY_NAME[name], 0, launch, {}) != ""
    assert "no reference" in disagreement(BY_NAME[name], 1, launch, right)
    for element in (0, 1):
        wrong = {2: right[2].copy()}
        wrong[2][element] += 1
        assert disagreement(BY_NAME[name], 0, launch, wrong) != ""
