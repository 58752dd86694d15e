"""Every module of the fixtures does on the simulated CANN what the reference interpreter made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hivm_fixtures import Fixture, array, difference, fixtures, modules

WORKER = Path(__file__).with_name("hivm_worker.py")


def run_worker(names: list[str], env: dict[str, str], out: Path) -> dict[str, dict[str, Any]]:
    """Results by name. A fixture that kills the process is reported as such, and the others still run."""
    results: dict[str, dict[str, Any]] = {}
    while names:
        out.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, str(WORKER), "--out", str(out), *names],
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
        )
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        results |= {line["name"]: line for line in lines if "begin" not in line}
        if done.returncode == 0:
            return results
        culprit = lines[-1]["name"] if lines else names[0]
        results[culprit] = {"rows": [], "error": f"the process ended with {done.returncode}\n{done.stderr[-2000:]}"}
        names = [name for name in names if name not in results]
    return results


@pytest.fixture(scope="module")
def results(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    out = tmp_path_factory.mktemp("hivm") / "results.jsonl"
    return run_worker([fixture.name for fixture in fixtures()], sim_env, out)


@pytest.mark.parametrize("fixture", fixtures(), ids=lambda fixture: fixture.name)
def test_module_agrees_with_the_reference(fixture: Fixture, results: dict[str, dict[str, Any]]) -> None:
    result = results[fixture.name]
    assert not result["error"]
    assert len(result["rows"]) == sum("input" in argument for argument in fixture.arguments)
    wrong = {row["argument"]: row["message"] for row in result["rows"] if row["message"]}
    assert not wrong


def test_fixtures_cover_what_they_claim() -> None:
    """Each module has an entry and writes something, and most results without products are compared bit for bit."""
    written = [a for fixture in fixtures() for a in fixture.arguments if "output" in a]
    assert {fixture.name for fixture in fixtures()} == set(modules())
    assert all(any("output" in a for a in fixture.arguments) for fixture in fixtures() if fixture.name != "print_value")
    assert sum(a["tolerance"] == 0 for a in written) > 2 / 3 * len(written)
    assert sum(b"@mma_tile" in text for text in modules().values()) == 46


def test_a_wrong_element_is_seen() -> None:
    """The comparison notices one wrong element in an exact output, and an error beyond the tolerance in another."""
    outputs = [a for fixture in fixtures() for a in fixture.arguments if "output" in a and a["step"] == 1]
    exact = next(a for a in outputs if a["tolerance"] == 0)
    values = array(exact["output"]).copy()
    assert difference(exact, values) == (0.0, "")
    values[-1] += 1
    assert "1 of" in difference(exact, values)[1]

    close = next(a for a in outputs if a["tolerance"] > 0)
    values = array(close["output"]).copy()
    values[0] += values.dtype.type(0.01 * abs(float(values[0])) + 0.01)
    assert "differ" in difference(close, values)[1]
