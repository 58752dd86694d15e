"""The tests that need no device, under the oldest, the newest and two Tritons between.

    nox                      all of them; environments are kept in .nox
    nox -s "tests-3.4.0"     one
    nox -- -k store          with arguments for pytest

triton-ascend 3.2.0 on the simulated CANN has an environment of its own (``make test-ascend``): it replaces the package
``triton``.
"""

from __future__ import annotations

import nox

#: 3.2 has neither knobs nor entry points for backends; 3.4 has both; 3.6 compiles in the background; 3.9 is the newest.
TRITONS = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
#: Alone and first: anything looser may resolve to a build for an accelerator, of several gigabytes.
TORCH = "torch==2.13.0"
#: Tests of a Triton backend's own environment, and of the simulator that only triton-ascend runs on.
ELSEWHERE = ("tests/ascend", "tests/simulator")

nox.options.reuse_existing_virtualenvs = True


@nox.session
@nox.parametrize("triton", TRITONS, ids=TRITONS)
def tests(session: nox.Session, triton: str) -> None:
    """The tests on one version of stock Triton."""
    session.install(TORCH)
    # Without what it asks for: torch pins a Triton of its own where it needs one.
    session.install("--no-deps", f"triton=={triton}")
    session.install("setuptools", "-r", "requirements/test.txt")  # Triton 3.2 imports setuptools
    session.install("--editable", ".")
    session.run("pytest", "tests", *(f"--ignore={folder}" for folder in ELSEWHERE), *session.posargs)
