"""What went wrong with a candidate: whose fault it is, in which stage, and in one line why.

Imports Triton, so it is itself imported only where a tuning is under way.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from triton.compiler.errors import CompilationError
from triton.errors import TritonError
from triton.runtime.errors import OutOfResources

from triton_ascend_tune.compiler_process import CompilerEndedError
from triton_ascend_tune.values import Outcome, Stage
from triton_ascend_tune.watchdog import CompileTimeoutError

try:  # Triton 3.6 and newer
    from triton.runtime.errors import AutotunerError as _AutotunerError
except ImportError:
    _AutotunerError = TritonError

#: A reason fits on one line of a report, whatever a compiler printed.
MAX_REASON = 512

#: Errors of the caller or of the kernel's call itself: no candidate would do better, so they are raised as they are.
#: (A TypeError or NameError inside the kernel's source arrives wrapped in a CompilationError and is the candidate's.)
_NOT_ABOUT_A_CANDIDATE = (TypeError, KeyError, AttributeError, NameError, ImportError)

#: Class names, because not every Triton has every class: PTXASError (3.5 and newer), MLIRCompilationError
#: (triton-ascend).
_COMPILE_ERRORS = ("PTXASError", "MLIRCompilationError")

#: What bishengir-compile says when a tile does not fit, e.g. "ub overflow, requires 4194304 bits while 1572864 bits
#: available!"
_OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available")
_MEMORIES = {"ub": "unified buffer", "cbuf": "L1 buffer", "ca": "L0A buffer", "cb": "L0B buffer", "cc": "L0C buffer"}
_BITS_PER_KIB = 8 * 1024

#: In a compiler's message: what the machine lacked at that moment, so that the same compilation may succeed later.
_PASSING = re.compile(
    r"No space left|Cannot allocate memory|No such file|Permission denied|timed out|died with|ended by SIG|Killed|"
    r"Too many open files|Resource temporarily unavailable",
    re.IGNORECASE,
)

#: What bishengir-compile says of its last stage if that says nothing itself: it crashed, or was killed.
_CRASHED = "External hivmc run fails"

#: What LLVM's tools print when they crash: an assertion, if it was one, and then the program with its stack.
_ASSERTION = re.compile(r"(Assertion `.*' failed)")
_CRASHED_PROGRAM = re.compile(r"Program arguments: (\S+)")

#: Frames that the wheel's compiler driver draws around a message, and where it then says the kernel cache is.
_DECORATION = re.compile(r"^(/{3}-+.*|\[.*\] encounters error:|\[INFO\]:.*|[-=*\s]*)$")


class NoCandidateError(_AutotunerError, RuntimeError):  # type: ignore[misc]
    """No candidate can be launched. ``outcomes``: what became of each."""

    def __init__(self, message: str, outcomes: Sequence[Outcome] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.outcomes = tuple(outcomes)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self.message,)


class NothingLeftError(NoCandidateError, ValueError):
    """Pruning left no candidate. A ValueError too, because that is what Triton before 3.6 raises."""


def is_about_candidate(error: BaseException) -> bool:
    """Whether the tuning goes on without the candidate; if not, the error is the caller's and must reach him."""
    return isinstance(error, Exception) and not isinstance(error, _NOT_ABOUT_A_CANDIDATE)


def stage_of(error: BaseException, otherwise: Stage) -> Stage:
    """``Stage.COMPILE`` for an error of a compiler, wherever it came up; else ``otherwise``."""
    compiler = (CompilationError, CompilerEndedError, CompileTimeoutError, subprocess.CalledProcessError)
    return Stage.COMPILE if isinstance(error, compiler) or type(error).__name__ in _COMPILE_ERRORS else otherwise


def passes(error: BaseException) -> bool:
    """Whether it may be the machine's fault: a full disk or memory, a missing or killed compiler, a timeout."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (OSError, MemoryError, subprocess.TimeoutExpired)) or _PASSING.search(str(cause)):
            return True
        cause = cause.__cause__
    return False


def lasts(error: BaseException) -> bool:
    """Whether compiling the same thing again is sure to fail in the same way: refused by a compiler, or too big.

    Not what ``passes``, and not what nobody knows.
    """
    if passes(error):
        return False
    if type(error).__name__ == "MLIRCompilationError":
        return "error:" in str(error) and not _first_telling(str(error).splitlines()).startswith(_CRASHED)
    return isinstance(error, (CompilationError, OutOfResources)) or type(error).__name__ in _COMPILE_ERRORS


def reason(error: BaseException) -> str:
    """The first line that says why, at most ``MAX_REASON`` characters."""
    text = _text(error)
    if overflow := _OVERFLOW.search(text):
        memory, needed, available = overflow.group(1), int(overflow.group(2)), int(overflow.group(3))
        name = _MEMORIES.get(memory.lower(), memory)
        return f"{name} overflow: needs {_kib(needed)}, has {_kib(available)}"
    line = _first_telling(text.splitlines())
    name = type(error).__name__
    if isinstance(error, OutOfResources) or not line:
        return (line or name)[:MAX_REASON]
    return f"{name}: {line}"[:MAX_REASON]


def _text(error: BaseException) -> str:
    if isinstance(error, CompilationError):
        # The message proper stands below an excerpt of the source; of nested calls the innermost one knows.
        cause: BaseException = error
        while isinstance(cause.__cause__, CompilationError):
            cause = cause.__cause__
        message: str | None = getattr(cause, "error_message", None)
        return message or (str(cause.__cause__) if cause.__cause__ else _last_line(str(cause)))
    if isinstance(error, subprocess.CalledProcessError):
        output = error.stderr or error.output or b""
        text = output.decode(errors="replace") if isinstance(output, bytes) else str(output)
        return text if text.strip() else str(error)
    return str(error)


def _first_telling(lines: Iterable[str]) -> str:
    """The first line with "error:" in it, without the place before it; failing that, what of a program crashed, or the
    first line of substance."""
    kept = [line.strip() for line in lines if not _DECORATION.match(line.strip())]
    for line in kept:
        _, found, message = line.partition("error:")
        if found and message.strip():
            return message.strip()
    text = "\n".join(kept)
    if program := _CRASHED_PROGRAM.search(text):
        assertion = _ASSERTION.search(text)
        return f"{PurePath(program.group(1)).name} crashed" + (f": {assertion.group(1)}" if assertion else "")
    return kept[0] if kept else ""


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _kib(bits: int) -> str:
    return f"{bits / _BITS_PER_KIB:g} KiB"
