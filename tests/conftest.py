"""Fixtures for tests that need a process of their own, and the split between the two environments."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

RunProgram = Callable[..., Any]


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_interrupts() -> None:
    """Also where the tests were started in the background, which makes Python leave SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def timed(world: Any) -> Any:
    """The made-up device that the test's module has from ``tuning_fakes``, with times: blocks of 32 are the fastest."""
    from tuning_fakes import TIMES

    world.times = {**TIMES, 128: 4.0}
    return world


#: Put in front of every program. ``report`` hands a JSON value back to the test. ``FakeKernel`` is a kernel as far as
#: tuners can tell, which needs no device and writes down its launches.
_PREAMBLE = """\
import json, os, sys

def report(value):
    with open(os.environ["TEST_REPORT"], "w") as file:
        json.dump(value, file)

class FakeKernel:
    def __init__(self, fn, log=None):
        import inspect
        self.fn, self.arg_names, self.log = fn, list(inspect.signature(fn).parameters), [] if log is None else log
    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)
    def run(self, *args, **kwargs):
        self.log.append(["launch", [str(a) for a in args], {k: str(v) for k, v in kwargs.items()}])
        return "compiled kernel"

def is_ours(tuner):
    from triton_ascend_tune.classes import make_tuner_class
    base = type(tuner).__mro__[1]
    return base.__name__ in ("Autotuner", "AutoTilingTuner") and type(tuner) is make_tuner_class(base)

def bench(call, quantiles=None):
    call()
    return [1.0, 1.0, 1.0]
"""


def _installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what belongs to the other environment: both provide a package named triton, so there are two of them."""
    needed = {"stock": "triton", "ascend": "triton-ascend"}
    for name, distribution in needed.items():
        if item.get_closest_marker(name) and not _installed(distribution):
            pytest.skip(f"needs the environment with {distribution}")


@pytest.fixture
def run_program(tmp_path: Path) -> RunProgram:
    """``run_program(code, env={}, command=None, preamble=True, check=True)`` runs a program in a fresh interpreter.

    Returns what the program passed to ``report(value)``, or the ``CompletedProcess`` with ``check=False``. The program
    lies in ``program.py``, so that ``@triton.jit`` finds its source; ``command`` replaces ``[program.py]`` behind the
    interpreter. Variables of Triton and of this package do not reach it from outside. torch does not load torch_npu:
    there may be no CANN.
    """

    def run(
        code: str,
        env: dict[str, str] | None = None,
        command: Sequence[str] | None = None,
        preamble: bool = True,
        check: bool = True,
    ) -> Any:
        (tmp_path / "program.py").write_text((_PREAMBLE if preamble else "") + textwrap.dedent(code))
        answer = tmp_path / "report.json"
        answer.unlink(missing_ok=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_")}
        done = subprocess.run(
            [sys.executable, *(command or ["program.py"])],
            env={
                **inherited,
                "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
                "TRITON_CACHE_DIR": str(tmp_path / "triton"),
                "TEST_REPORT": str(answer),
                **(env or {}),
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not check:
            return done
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
        return json.loads(answer.read_text()) if answer.exists() else None

    return run
