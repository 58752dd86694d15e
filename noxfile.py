"""The tests that need no device, under the oldest, the newest and two Tritons between.

    nox                      all of them; environments are kept in .nox
    nox -s "tests(3.4.0)"    one
    nox -- -k store          with arguments for pytest

triton-ascend 3.2.0 on the simulated CANN has an environment of its own (``make test-ascend``): it replaces the package
``triton``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

#: 3.2 has neither knobs nor entry points for backends; 3.4 has both; 3.6 compiles in the background; 3.9 is the newest.
TRITONS = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
#: Alone and first: anything looser may resolve to a build for an accelerator, of several gigabytes.
TORCH = "torch==2.13.0"
#: Tests of a Triton backend's own environment, of the simulator that only triton-ascend runs on, and of a CUDA device.
ELSEWHERE = ("tests/ascend", "tests/simulator", "tests/cuda")
#: Triton 3.2 knows no entry points for backends, and its own tuner, with which these tests compare, needs a device when
#: a kernel is decorated. How this package gets into a 3.2 is tested with triton-ascend's.
NOT_ON_3_2 = ("tests/stock", "tests/test_activation.py")

#: What an installation does not need, or must not take over from another one's build.
LEFT_OUT = (".*", "build", "dist", "out", "*.egg-info", "*.so")

nox.options.reuse_existing_virtualenvs = True


def copied(target: Path) -> Path:
    """A copy of the sources at ``target``: a build in the checkout would meet those of other environments."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(Path(__file__).parent, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return target


@nox.session
@nox.parametrize("triton", TRITONS, ids=TRITONS)
def tests(session: nox.Session, triton: str) -> None:
    """The tests on one version of stock Triton."""
    session.install(TORCH)
    # Without what it asks for: torch pins a Triton of its own where it needs one.
    session.install("--no-deps", f"triton=={triton}")
    session.install("setuptools", "-r", "requirements/test.txt")  # Triton 3.2 imports setuptools
    session.install(str(copied(Path(session.create_tmp()) / "source")))
    ignored = ELSEWHERE + (NOT_ON_3_2 if triton.startswith("3.2.") else ())
    session.run("pytest", "tests", *(f"--ignore={path}" for path in ignored), *session.posargs)
