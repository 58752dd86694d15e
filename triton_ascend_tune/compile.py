"""Compiles the candidates ahead of any measurement and sets those that fail aside.

A kernel is compiled by its own ``run`` with ``warmup=True``, which in every Triton, triton-ascend 3.2.0 included, does
all but launch: same binder, same specialisation, same caches as the launch that follows. No user hook runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune.failures import is_about_candidate
from triton_ascend_tune.values import Candidate

#: Runs a function over the candidates and yields the results in their order: ``map``, or that of an executor.
Pool = Callable[[Callable[[Candidate], "Compiled"], Sequence[Candidate]], Iterable["Compiled"]]


@dataclass(frozen=True)
class Compiled:
    """A candidate and either its kernel (None if it was not compiled ahead) or why there is none."""

    candidate: Candidate
    kernel: Any = None
    error: BaseException | None = field(default=None, repr=False)


def compile_candidates(
    candidates: Sequence[Candidate], compile_one: Callable[[Candidate], Any], pool: Pool = map
) -> list[Compiled]:
    """Calls ``compile_one`` for each candidate, in the order given.

    A candidate's own failure becomes a ``Compiled`` with an error. Any other exception (a bad argument, an interrupt)
    is raised.
    """

    def attempt(candidate: Candidate) -> Compiled:
        try:
            return Compiled(candidate, compile_one(candidate))
        except Exception as error:
            if not is_about_candidate(error):
                raise
            return Compiled(candidate, error=error)

    return list(pool(attempt, candidates))


def compiles_ahead(fn: Any) -> bool:
    """Whether ``fn.run(warmup=True)`` is known only to compile: a JIT function, or heuristics around one.

    Any other wrapper (such as LibEntry, which launches what it finds in its own cache) compiles at its first launch.
    """
    from triton.runtime.autotuner import Heuristics
    from triton.runtime.jit import JITFunction

    while isinstance(fn, Heuristics):
        fn = fn.fn
    return isinstance(fn, JITFunction)


def warmup(fn: Any, args: Sequence[Any], call: dict[str, Any]) -> Any:
    """``fn.warmup``, also for heuristics of a Triton before 3.6, which have none. ``args`` may be dtypes."""
    from triton.runtime.autotuner import Heuristics

    while isinstance(fn, Heuristics) and not hasattr(fn, "warmup"):
        for name, heuristic in fn.values.items():
            call = {**call, name: heuristic({**dict(zip(fn.arg_names, args)), **call})}
        fn = fn.fn
    return fn.warmup(*args, **call)
