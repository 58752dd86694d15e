"""Reading a stock tuner: what in it is the user's, what is Triton's default, what lies between it and the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def is_default(function: Any) -> bool:
    """Whether a hook or timer is one that Triton's constructor made, not one that the user gave."""
    name = getattr(function, "__qualname__", "")
    return name.startswith("Autotuner.__init__.<locals>.") and str(function.__module__).startswith("triton.")


def user_bench(tuner: Any) -> Callable[..., Any] | None:
    """The timer that the user gave, as argument or by assignment; None for every built-in one.

    Built in are also the timers that the deprecated ``warmup``, ``rep`` and ``use_cuda_graph`` make Triton put there.
    """
    import triton.testing
    from triton.runtime.driver import driver

    assigned: Callable[..., Any] | None = vars(tuner).get("do_bench")
    # Merely reading the attribute leaves the driver's own timer there.
    built_in = (None, triton.testing.do_bench, driver.active.get_benchmarker())
    if assigned not in built_in and not is_default(assigned):
        return assigned
    given: Callable[..., Any] | None = vars(tuner).get("_do_bench")
    return None if given is None or is_default(given) else given


def heuristics_below(fn: Any) -> set[str]:
    """The arguments to which heuristics between tuner and kernel give values."""
    names: set[str] = set()
    while hasattr(fn, "fn"):
        names.update(getattr(fn, "values", None) or ())
        fn = fn.fn
    return names


def jit_function(fn: Any) -> Any:
    """The JIT function below all wrappers; without one, the last wrapper."""
    from triton.runtime.jit import JITFunction

    while not isinstance(fn, JITFunction) and hasattr(fn, "fn"):
        fn = fn.fn
    return fn


def resets_a_lone_survivor() -> bool:
    """Whether stock Triton measures a config that pruning left alone, and so resets the arguments after it.

    It does before 3.9. We never measure it, but the tensors must hold what they would hold there.
    """
    import triton

    major, minor = triton.__version__.split(".")[:2]
    return (int(major), int(minor)) < (3, 9)
