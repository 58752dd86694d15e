"""Compiles the candidates ahead of any measurement and sets those that fail aside.

A kernel is compiled by its own ``run`` with ``warmup=True``, which in every Triton, triton-ascend 3.2.0 included, does
all but launch: same binder, same specialisation, same caches as the launch that follows. No user hook runs.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from triton_ascend_tune import isolation
from triton_ascend_tune.compiler_process import CompilerEndedError
from triton_ascend_tune.failures import is_about_candidate, passes
from triton_ascend_tune.tracebacks import forget_tracebacks
from triton_ascend_tune.values import Candidate
from triton_ascend_tune.watchdog import CompileTimeoutError

_log = logging.getLogger("triton_ascend_tune")


@dataclass(frozen=True)
class Compiled:
    """A candidate and either its kernel (None if it was not compiled ahead) or why there is none."""

    candidate: Candidate
    kernel: Any = None
    error: BaseException | None = field(default=None, repr=False)


#: What is left to begin, now that one is known: ``revise(known, left)``.
Revise = Callable[[Compiled, Sequence[Candidate]], Sequence[Candidate]]


def compile_candidates(
    candidates: Sequence[Candidate],
    compile_one: Callable[[Candidate], Any],
    at_once: AbstractContextManager[Any] | None = None,
    revise: Revise | None = None,
    ahead: int = 1,
) -> list[Compiled]:
    """What ``compile_one`` makes of each candidate, in the order in which they were begun.

    ``at_once``: within it ``compile_one`` may return promises, which are then waited for; what failed for want of
    something that other compilers had taken is compiled again, alone. ``revise``: asked as soon as one is known, while
    ``ahead`` others compile, what is left to begin; without it all begin at once. A candidate's own failure becomes a
    ``Compiled`` with an error. Any other exception (a bad argument, an interrupt) is raised.
    """
    settled: dict[int, Compiled] = {}
    left, begun, compiled = list(candidates), deque[tuple[Candidate, Any]](), list[Compiled]()

    def attempt(candidate: Candidate) -> Any:
        try:
            return compile_one(candidate)
        except Exception as error:
            return _failed(candidate, error)

    def settle(candidate: Candidate, kernel: Any) -> Compiled:
        # Equal compilations share one promise, which may tell its failure only once.
        if isinstance(kernel, Compiled) or not is_promise(kernel):
            return kernel if isinstance(kernel, Compiled) else Compiled(candidate, kernel)
        if id(kernel) not in settled:
            try:
                settled[id(kernel)] = Compiled(candidate, kernel.result())
            except Exception as error:
                settled[id(kernel)] = _failed(candidate, error)
        return replace(settled[id(kernel)], candidate=candidate)

    with at_once or nullcontext():
        while left or begun:
            while left and (revise is None or len(begun) <= ahead):
                candidate = left.pop(0)
                begun.append((candidate, attempt(candidate)))
            compiled.append(settle(*begun.popleft()))
            if revise is not None:
                left = list(revise(compiled[-1], left))
    if at_once is None:
        return compiled
    return [
        settle(each.candidate, attempt(each.candidate)) if each.error is not None and passes(each.error) else each
        for each in compiled
    ]


def is_promise(kernel: Any) -> bool:
    """Whether ``kernel`` is still being compiled, by Triton's ``AsyncCompileMode`` or by ``pool``."""
    return type(kernel).__name__ == "FutureKernel"


def _failed(candidate: Candidate, error: Exception) -> Compiled:
    if not is_about_candidate(error):
        raise error
    _log.debug("%s does not compile", candidate.config, exc_info=error)
    # A traceback holds the frames of compiler and tuner, and so the tensors of the call, while the error is kept.
    forget_tracebacks(error)
    if isinstance(error.__context__, (CompilerEndedError, CompileTimeoutError)):
        error = error.__context__  # triton-ascend words whatever a stage raises anew
    return Compiled(candidate, error=error)


def compiles_ahead(fn: Any) -> bool:
    """Whether ``fn.run(warmup=True)`` is known only to compile: a JIT function, or heuristics around one.

    Any other wrapper (such as LibEntry, which launches what it finds in its own cache) compiles at its first launch.
    """
    from triton.runtime.autotuner import Heuristics
    from triton.runtime.jit import JITFunction

    while isinstance(fn, Heuristics):
        fn = fn.fn
    return isinstance(fn, JITFunction)


@isolation.compilers()
def warmup(fn: Any, args: Sequence[Any], call: dict[str, Any]) -> Any:
    """``fn.warmup``, also for heuristics of a Triton before 3.6, which have none. ``args`` may be dtypes."""
    from triton.runtime.autotuner import Heuristics

    while isinstance(fn, Heuristics) and not hasattr(fn, "warmup"):
        for name, heuristic in fn.values.items():
            call = {**call, name: heuristic({**dict(zip(fn.arg_names, args)), **call})}
        fn = fn.fn
    return fn.warmup(*args, **call)
