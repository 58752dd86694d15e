"""Whose fault an error is, and what one line says about it."""

from __future__ import annotations

import pickle
import subprocess

import pytest
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources
from tuning_fakes import triton  # noqa: F401 - brings torch and Triton in without a device

from triton_ascend_tune import failures
from triton_ascend_tune.values import Stage

#: As triton-ascend 3.2.0 hands on what bishengir-compile printed.
UB_OVERFLOW = """
///------------------[ERROR][Triton][BEG]------------------
[ConvertLinalgRToBinary] encounters error:
loc("kernel.ttadapter.mlir":2:1): note: UB overflow detected, enable-code-motion is turned off for a retry
loc("kernel.ttadapter.mlir":2:1): error: ub overflow, requires 4194304 bits while 1572864 bits available!

[INFO]: The compiled kernel cache is in /home/user/.triton/cache/xyz

///------------------[ERROR][Triton][END]------------------
"""


class MLIRCompilationError(Exception):
    """Of the same name as the one that only triton-ascend has."""


def test_the_sizes_of_an_overflow_are_read_out_of_the_compilers_text() -> None:
    """FR-31."""
    assert failures.reason(MLIRCompilationError(UB_OVERFLOW)) == "unified buffer overflow: needs 512 KiB, has 192 KiB"
    text = "error: cc overflow, requires 2097152 bits while 1048576 bits available!"
    assert failures.reason(RuntimeError(text)) == "L0C buffer overflow: needs 256 KiB, has 128 KiB"


def test_the_first_error_line_counts_without_place_and_decoration() -> None:
    overflow = "ub overflow, requires 4194304 bits while 1572864 bits available!"
    text = UB_OVERFLOW.replace(overflow, "cannot lower hivm.foo")
    assert failures.reason(MLIRCompilationError(text)) == "MLIRCompilationError: cannot lower hivm.foo"


def test_of_a_compilation_error_the_message_counts_and_not_the_source_above_it() -> None:
    error = CompileTimeAssertionFailure("def f():\n  tl.static_assert(False)", None, "BLOCK must be even")
    assert failures.reason(error) == "CompileTimeAssertionFailure: BLOCK must be even"
    outer = CompilationError("def g():\n  f()", None, None)
    outer.__cause__ = error
    assert failures.reason(outer) == "CompilationError: BLOCK must be even"


def test_what_a_compiler_process_printed() -> None:
    printed = b"warning: old\nk.mlir:3: error: no such op\n"
    error = subprocess.CalledProcessError(1, ["bishengir-compile"], stderr=printed)
    assert failures.reason(error) == "CalledProcessError: no such op"
    assert "returned non-zero exit status 1" in failures.reason(subprocess.CalledProcessError(1, ["x"]))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("", "opt-tool crashed"),
        (
            "opt-tool: /src/ADT/Range.h:12: T f(): Assertion `!empty()' failed.\n",
            "opt-tool crashed: Assertion `!empty()' failed",
        ),
        ("<unknown>:0: error: no such stride\nopt-tool: /src/x.h:1: T f(): Assertion `y' failed.\n", "no such stride"),
    ],
    ids=["signal", "assertion", "error first"],
)
def test_a_crashed_compiler_is_named(printed: str, expected: str) -> None:
    dump = "PLEASE submit a bug report.\nStack dump:\n0.\tProgram arguments: /x/bin/opt-tool a.mlir\n #0 0x1"
    error = MLIRCompilationError(f"\n///----[ERROR][Triton][BEG]----\n[Stage] encounters error:\n{printed}{dump}")
    assert failures.reason(error) == f"MLIRCompilationError: {expected}"


def test_a_reason_is_one_bounded_line_and_never_empty() -> None:
    assert len(failures.reason(RuntimeError("a" * 2000))) == failures.MAX_REASON
    assert failures.reason(RuntimeError("\n\none\ntwo")) == "RuntimeError: one"
    assert failures.reason(AssertionError()) == "AssertionError"
    assert failures.reason(OutOfResources(2, 1, "shared memory")).startswith("out of resource: shared memory")


@pytest.mark.parametrize("error", [TypeError(), KeyError("x"), AttributeError(), NameError(), KeyboardInterrupt()])
def test_errors_of_the_caller(error: BaseException) -> None:
    """FR-32."""
    assert not failures.is_about_candidate(error)


@pytest.mark.parametrize(
    "error",
    [RuntimeError(), OutOfResources(2, 1, "x"), AssertionError(), ValueError(), CompilationError(None, None, "x")],
)
def test_errors_of_a_candidate(error: BaseException) -> None:
    assert failures.is_about_candidate(error)


def test_a_compilers_error_belongs_to_compiling_wherever_it_comes_up() -> None:
    for error in (CompilationError(None, None, "x"), MLIRCompilationError(), subprocess.CalledProcessError(1, [])):
        assert failures.stage_of(error, Stage.LAUNCH) is Stage.COMPILE
    assert failures.stage_of(RuntimeError("grid"), Stage.LAUNCH) is Stage.LAUNCH


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(failures.NoCandidateError("none of 3", ())))
    assert str(error) == "none of 3"


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        (UB_OVERFLOW, True),
        ("kernel.mlir:3:5: error: cannot lower hivm.foo\nerror: External hivmc run fails", True),
        ("///----\n[ERROR][Triton] encounters error:\nloc(unknown): error: External hivmc run fails", False),
        ("error: External hivmc run fails, died with signal 9", False),
        ("stack dump", False),
    ],
)
def test_only_what_a_compiler_refused_is_remembered(text: str, lasting: bool) -> None:
    """A last stage that crashed says nothing itself; it may have been short of memory."""
    assert failures.lasts(MLIRCompilationError(text)) is lasting
