"""Fixtures of every test that runs on the simulated CANN.

``CANN_SIM_SDK`` names an SDK to use instead of building one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triton_ascend_tune import simulator

RunOnSim = Callable[..., Any]

#: Put in front of every snippet: what it passes to ``report`` comes back as the value of ``run_on_sim``.
_PREAMBLE = """\
import json as _json, os as _os
def report(value):
    with open(_os.environ["CANN_SIM_TEST_REPORT"], "w") as _file:
        _json.dump(value, _file)
"""


@pytest.fixture(scope="session")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDK under test. Skips where the packages it runs (torch_npu, triton-ascend, ascendnpu-ir) are not
    installed."""
    for package in ("torch_npu", "ascendnpuir"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    given = os.environ.get("CANN_SIM_SDK")
    return Path(given) if given else simulator.build()


@pytest.fixture(scope="session")
def sim_env(sdk: Path) -> dict[str, str]:
    """The whole environment of a process on the simulator, without variables that would change what it does."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("TASK_QUEUE_", "CANN_SIM_", "TRITON_"))}
    if "TRITON_CACHE_DIR" in os.environ:
        base["TRITON_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"]
    return {**base, **simulator.environment(sdk, base)}


@pytest.fixture(scope="session")
def run_on_sim(sim_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> RunOnSim:
    """``run_on_sim(code, env={}, timeout=120, check=True)`` runs a Python snippet in a process of its own on the
    simulator.

    Returns what the snippet passed to ``report(value)`` (any JSON value; None without a call). With ``check=False``
    it returns the ``CompletedProcess`` instead. The snippet is kept in a file, so that ``@triton.jit`` finds its
    source.
    """
    folder = tmp_path_factory.mktemp("run_on_sim")
    count = 0

    def run(code: str, env: dict[str, str] | None = None, timeout: float = 120, check: bool = True) -> Any:
        nonlocal count
        count += 1
        script = folder / f"snippet_{count}.py"
        script.write_text(_PREAMBLE + textwrap.dedent(code))
        answer = folder / f"report_{count}.json"
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**sim_env, "CANN_SIM_TEST_REPORT": str(answer), **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if not check:
            return done
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
        return json.loads(answer.read_text()) if answer.exists() else None

    return run
