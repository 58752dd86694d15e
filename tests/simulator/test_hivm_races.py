"""The race check: quiet on what the compiler wrote, loud when a wait or a barrier is taken out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hivm_fixtures import fixtures

HERE = Path(__file__).parent
#: Of each module: how many removals must be found as a race; and how many may go unnoticed: of what guards nothing in
#: that launch (barriers before the end, branches not taken, ordering that is given twice). The others leave a flag set.
MUTANTS = {
    "vadd_fp32_B1024": (4, 1),
    "transpose_fp32": (3, 1),
    "softmax_loop_multibuffer": (10, 2),
    "matmul_fp16_64x64x64_odd": (3, 1),
    "matmul_relu_64x64x64_odd": (9, 2),
    "attention_fp16": (31, 4),
}


def run(env: dict[str, str], script: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**env, "CANN_SIM_CHECK_RACES": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def mutants(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("races") / "mutants.json"
    run(sim_env, "hivm_mutants.py", "--out", str(out), *MUTANTS)
    return json.loads(out.read_text())


def test_what_the_compiler_wrote_has_no_race(sim_env: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run(sim_env, "hivm_worker.py", "--out", str(out), *(fixture.name for fixture in fixtures()))
    results = [line for line in map(json.loads, out.read_text().splitlines()) if "begin" not in line]
    assert len(results) == len(fixtures())
    assert {result["name"]: result["error"] for result in results if result["error"]} == {}


@pytest.mark.parametrize("name", MUTANTS)
def test_removed_ordering_is_found(name: str, mutants: list[dict[str, Any]]) -> None:
    errors = [row["error"] for row in mutants if row["name"] == name]
    races, silent = MUTANTS[name]
    assert sum(": race in " in error for error in errors) >= races
    assert sum(not error for error in errors) <= silent


def test_a_race_names_both_accesses(mutants: list[dict[str, Any]]) -> None:
    """The wait between the load of the second operand and the addition."""
    rows = [row for row in mutants if row["name"] == "vadd_fp32_B1024" and "[<PIPE_MTE2>" in row["removed"]]
    later, earlier = "vadd_1d_float on pipe V at line 70", "load_gm_to_ubuf_1d_float on pipe MTE2 at line 48"
    assert f"{later} touches what {earlier} has touched" in rows[0]["error"]
