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
from op_cases import differences

from triton_ascend_tune import simulator

RunOnSim = Callable[..., Any]

HERE = str(Path(__file__).parent)

#: Put in front of every snippet: what it passes to ``report`` comes back as the value of ``run_on_sim``.
_PREAMBLE = """\
import json as _json, os as _os
def report(value):
    with open(_os.environ["CANN_SIM_TEST_REPORT"], "w") as _file:
        _json.dump(value, _file)
"""

#: Put in front of every program of ``call_acl``.
_CALLING = """
from acl_calls import *
acl = Acl()
"""

#: Put in front of every program of ``profile``: a profiler and a kernel to launch.
_PROFILING = """
import os, struct, threading
from prof_calls import *
prof = Profiler(os.environ["PROF_FOLDER"])
with open(os.environ["KERNEL"], "rb") as file:
    vadd = prof.register(file.read(), b"vadd")
N, BLOCKS = 16384, 16
x, y, out = (prof.malloc(4 * N) for _ in range(3))
arguments = struct.pack("<6Q4i", 0, 0, 0, x, y, out, N, BLOCKS, 1, 1)
def launch(name=None, stream=None, node=True):
    begin = prof.host_ns()
    prof.launch(vadd, BLOCKS, arguments, stream)
    if name:
        prof.report_launch(name, begin, prof.host_ns(), threading.get_native_id(), node)
def kernels(lines):
    return [[t["name"], t["type"], t["core"], t["blocks"]] for t in lines[1:] if t["kind"] == "kernel"]
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
    # One thread for torch's own computing, with which tests compare: a first call of exp, sqrt, ... by several at once
    # may be imprecise (a race in the MKL of its wheels, pytorch issue 188792).
    return {**base, "OMP_NUM_THREADS": "1", **simulator.environment(sdk, base)}


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


@pytest.fixture(scope="session")
def call_acl(run_on_sim: RunOnSim) -> RunOnSim:
    """``call_acl(code, VARIABLE="value")`` is ``run_on_sim`` with ``acl``, an ``Acl`` of ``acl_calls.py``."""
    return lambda code, check=True, **env: run_on_sim(_CALLING + code, env={"PYTHONPATH": HERE, **env}, check=check)


@pytest.fixture(scope="module")
def wrong(request: pytest.FixtureRequest, run_on_sim: RunOnSim) -> dict[str, dict[str, str]]:
    """The differences from torch on the CPU among the test module's ``CASES``; see ``op_cases.differences``."""
    return differences(request.module.CASES, run_on_sim)


@pytest.fixture(scope="session")
def vadd(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The object file of a vector add."""
    from hivm_fixtures import modules

    folder = tmp_path_factory.mktemp("kernel")
    (folder / "vadd.mlir").write_bytes(modules()["vadd_fp32_B1024"])
    subprocess.run([sdk / "bin" / "hivmc", folder / "vadd.mlir", "-o", folder / "vadd"], check=True, timeout=60)
    return folder / "vadd.o"


@pytest.fixture
def profile(run_on_sim: RunOnSim, vadd: Path, tmp_path: Path) -> RunOnSim:
    """``profile(code, VARIABLE="value")`` is ``run_on_sim`` behind ``_PROFILING``; profiles are written to
    ``tmp_path``."""
    variables = {"PYTHONPATH": HERE, "KERNEL": str(vadd), "PROF_FOLDER": str(tmp_path)}
    return lambda code, **env: run_on_sim(_PROFILING + code, env={**variables, **env})
