"""How times are taken, said by a program: for a part of it, or for one kernel.

    with triton_ascend_tune.options(plan="classic"):
        kernel[grid](...)                      # a tuning in here uses the classic plan

    @triton_ascend_tune.options(flush="none")  # above or below @triton.autotune
    @triton.autotune(configs=..., key=...)
    @triton.jit
    def kernel(...): ...

What is nearer to the kernel wins: its own options, then those of the innermost ``with``, then the ``warmup`` and
``rep`` of its ``triton.autotune``, then the environment. A choice that was made stays made: options count when a tuning
begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

from triton_ascend_tune import settings
from triton_ascend_tune.measure.capture import CaptureError
from triton_ascend_tune.measure.protocol import OPTIONS

Kernel = TypeVar("Kernel")

#: Where a kernel keeps the options that decorate it.
ATTRIBUTE = "tune_options"
#: The options that belong to no protocol; see ``options``.
FALLBACK = "fallback"
MEASURE = "measure"
WINNERS = "winners"

_stack: ContextVar[tuple[Mapping[str, Any], ...]] = ContextVar("triton_ascend_tune_options", default=())


class options:  # noqa: N801 - used like a function
    """Options of the tunings in a ``with`` block (of this thread or task), or of the kernel that it decorates.

    ======================  ============================================================================================
    ``plan``                "race" (default): interleaved rounds, candidates that are behind drop out; "classic": one
                            after the other, as stock Triton; "fixed": counts, so that every rank launches the same
    ``flush``               before each sample "write" (default) or "read" memory, so that nothing is found in L2;
                            "none" for kernels that find their data there
    ``flush_mib``           how much; default 192
    ``gate``                False measures while the host launches, as stock Triton does; default True
    ``tolerance``           candidates that differ by less tie, and the first one wins; default 0.01
    ``warmup_ms``           bounds of the time for one candidate, flush and host work included; race and classic;
    ``budget_ms``           defaults 25 and 100
    ``min_samples``         bounds of the number of samples of one candidate; defaults 10 (classic) and 10000 (race
    ``max_samples``         and classic)
    ``rounds``              counts of the fixed plan; defaults 30 and 5
    ``warmup_rounds``
    ``seed``                of the order within rounds; default 0
    ``statistic``           "p50"
    ``measure``             False lets no tuning run: launches take what is stored on disk for them, else ``fallback``,
                            else the first config that compiles, and keep to it; default True
    ``fallback``            the ``triton.Config`` to launch with where nothing is measured: without ``measure``, and
                            while the stream is being captured into a graph, where it is an error to have none
    ``winners``             the most choices that a kernel keeps, the least recently used dropped first; default: all
    ======================  ============================================================================================

    TypeError: an unknown option. ValueError names the option, its value and what is allowed.
    """

    def __init__(self, **given: Any) -> None:
        others = (FALLBACK, MEASURE, WINNERS)
        unknown = [name for name in given if name not in OPTIONS and name not in others]
        if unknown:
            allowed = ", ".join([*OPTIONS, *others])
            raise TypeError(f"options: unknown option {', '.join(unknown)}; allowed: {allowed}")
        if FALLBACK in given and not hasattr(given[FALLBACK], "all_kwargs"):
            raise ValueError(f"options: fallback is {given[FALLBACK]!r}; allowed: a triton.Config")
        if not isinstance(given.get(MEASURE, True), bool):
            raise ValueError(f"options: measure is {given[MEASURE]!r}; allowed: True, False")
        winners = given.get(WINNERS, 1)
        if not isinstance(winners, int) or isinstance(winners, bool) or winners < 1:
            raise ValueError(f"options: winners is {winners!r}; allowed: a whole number, 1 and more")
        self._given = {
            name: OPTIONS[name].checked(value, f"options: {name}") if name in OPTIONS else value
            for name, value in given.items()
        }

    def __enter__(self) -> options:
        _stack.set((*_stack.get(), self._given))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _stack.set(_stack.get()[:-1])

    def __call__(self, kernel: Kernel) -> Kernel:
        """Attaches the options to ``kernel``, what ``triton.jit`` or ``triton.autotune`` made, and returns it."""
        holder: Any = kernel
        while not hasattr(holder, "configs") and hasattr(holder, "fn"):  # what is wrapped around a tuner
            holder = holder.fn
        if not hasattr(holder, "configs"):
            holder = kernel  # below the tuner: it will find them
        if not hasattr(holder, "fn"):
            raise TypeError(
                f"options decorates kernels, what triton.jit or triton.autotune made, not {type(kernel).__name__}; "
                "for a part of a program use `with options(...):`"
            )
        setattr(holder, ATTRIBUTE, {**getattr(holder, ATTRIBUTE, {}), **self._given})
        return kernel


def current() -> dict[str, Any]:
    """The options of the ``with`` blocks around the caller; the innermost wins."""
    merged: dict[str, Any] = {}
    for given in _stack.get():
        merged.update(given)
    return merged


def of(tuner: Any) -> dict[str, Any]:
    """The options for a tuning of ``tuner`` that begins now."""
    return {**current(), **attached(tuner)}


def measures(tuner: Any) -> bool:
    """Whether a tuning of ``tuner`` that begins now may measure."""
    allowed: bool = of(tuner).get(MEASURE, settings.measure())
    return allowed


def fallback(tuner: Any) -> Any:
    """The config to launch with where nothing can be measured; CaptureError if the program names none."""
    named = of(tuner).get(FALLBACK)
    if named is None:
        raise CaptureError(
            f"kernel {tuner.base_fn.__name__} has no config for these arguments yet, and none can be chosen while "
            "the current stream is being captured. Launch it once with such arguments before the capture, or name "
            "a config: triton_ascend_tune.options(fallback=triton.Config(...))"
        )
    return named


def attached(kernel: Any, attribute: str = ATTRIBUTE) -> dict[str, Any]:
    """The options that decorate ``kernel`` and what it wraps; the outermost wins. ``attribute``: their place."""
    layers = []
    while kernel is not None:
        layers.append(getattr(kernel, "__dict__", {}).get(attribute, {}))
        kernel = getattr(kernel, "fn", None)
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        merged.update(layer)
    return merged
