"""Fewer tunings for lengths that keep changing: a mapping of key values, chosen by the user, per kernel.

    @triton_ascend_tune.key_map(seq_len="power_of_two", batch=8)
    @triton.autotune(configs=..., key=["seq_len", "batch", "head_dim"])
    @triton.jit
    def kernel(...): ...

All values that map to the same share one choice, which is made for the first of them that comes. The kernel itself gets
the values as they are.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

Kernel = TypeVar("Kernel")
Mapped = Callable[[Any], Any]

#: Where a tuner keeps the mappings that decorate it: argument -> function.
ATTRIBUTE = "tune_key_map"
POWER_OF_TWO = "power_of_two"

_ALLOWED = (
    f"{POWER_OF_TWO!r} (rounds up), a positive int (rounds up to a multiple of it), a rising list of ints (the first "
    "that is not less; what is above them all is one more), a function"
)


class key_map:  # noqa: N801 - used like a function
    """Decorates what ``triton.autotune`` made: how values in ``key`` are mapped before they are compared.

    For each argument one of: ``"power_of_two"``, rounds up; a positive int, rounds up to a multiple of it; a rising
    list of ints, the first that is not less, and all that is above counts as one more; a function of the value. The
    first three leave what is no int as it is.

    ValueError names an argument that is not in the kernel's ``key``, or a mapping that is none; TypeError what is no
    tuner.
    """

    def __init__(self, **maps: Any) -> None:
        self._maps: dict[str, Mapped] = {name: _function(rule, name) for name, rule in maps.items()}

    def __call__(self, kernel: Kernel) -> Kernel:
        tuner: Any = kernel
        while not hasattr(tuner, "configs") and hasattr(tuner, "fn"):  # heuristics around a tuner
            tuner = tuner.fn
        if not hasattr(tuner, "configs"):
            raise TypeError(f"key_map decorates what triton.autotune made, above it; not {type(kernel).__name__}")
        names = tuple(tuner.keys.values() if isinstance(tuner.keys, Mapping) else tuner.keys or ())
        if unknown := [name for name in self._maps if name not in names]:
            raise ValueError(f"key_map: {', '.join(unknown)} not in the key of the kernel, which is {list(names)}")
        setattr(tuner, ATTRIBUTE, {**getattr(tuner, ATTRIBUTE, {}), **self._maps})
        if hasattr(tuner, "_plan"):
            tuner._plan = None  # it has built its keys without the mapping
        return kernel


def power_of_two(value: Any) -> Any:
    """The next power of two that is not less than an int; 1 and less as they are."""
    return 1 << (value - 1).bit_length() if isinstance(value, int) and value > 1 else value


class _Multiple:
    """Rounds an int up to a multiple of ``of``."""

    def __init__(self, of: int) -> None:
        self._of = of

    def __call__(self, value: Any) -> Any:
        return -(-value // self._of) * self._of if isinstance(value, int) else value


class _Buckets:
    """The first of the rising ``edges`` that is not less than an int; what is above them all is one more."""

    def __init__(self, edges: Sequence[int]) -> None:
        self._edges = tuple(edges)

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, int):
            return value
        place = bisect.bisect_left(self._edges, value)
        return self._edges[place] if place < len(self._edges) else f"above {self._edges[-1]}"


def is_pure(mapped: Mapped) -> bool:
    """Whether ``mapped`` always gives the same for the same value; not known of a user's function."""
    return mapped is power_of_two or isinstance(mapped, (_Multiple, _Buckets))


def _function(rule: Any, name: str) -> Mapped:
    if rule == POWER_OF_TWO:
        return power_of_two
    if isinstance(rule, int) and not isinstance(rule, bool) and rule > 0:
        return _Multiple(rule)
    if isinstance(rule, Sequence) and not isinstance(rule, str) and _rises(rule):
        return _Buckets(rule)
    if callable(rule):
        return rule  # type: ignore[no-any-return]
    raise ValueError(f"key_map: {name} is {rule!r}; allowed: {_ALLOWED}")


def _rises(edges: Sequence[Any]) -> bool:
    ints = bool(edges) and all(isinstance(edge, int) and not isinstance(edge, bool) for edge in edges)
    return ints and all(low < high for low, high in zip(edges, edges[1:]))
