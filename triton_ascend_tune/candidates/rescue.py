"""Second chances: what to try instead of a promising candidate that did not fit on the chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from triton_ascend_tune.candidates.axes import Analysis
from triton_ascend_tune.candidates.footprint import Footprint
from triton_ascend_tune.candidates.hardware import Hardware
from triton_ascend_tune.candidates.search import Point, Seen

#: How often an inner tile is halved before a candidate is given up.
MAX_HALVINGS = 3


def is_overflow(reason: str) -> bool:
    """Whether a candidate failed because a memory of the chip is too small."""
    return "overflow: needs" in reason


def rescues(
    seen: Seen,
    analysis: Analysis,
    footprint: Footprint,
    hardware: Hardware,
    allowed: Callable[[Mapping[str, int]], bool],
    known: frozenset[str],
) -> list[Point]:
    """Points that need less than ``seen``, which overflowed: the first that the footprint lets pass.

    ``footprint`` has learnt from the failure. ``allowed``: whether values can work otherwise. ``known``: compile
    options that the backend has.
    """
    if not is_overflow(seen.reason):
        return []
    origin = f"rescue of {dict(seen.point.values)}"
    found = []
    undoubled = "multibuffer" in known and "multibuffer" not in seen.point.options and footprint.moves_in_loops
    # The compiler says what it needs without doubling, so that this helps only where it was near.
    if undoubled and _fits(footprint, seen.point.values, hardware):
        found.append(Point(seen.point.values, {**seen.point.options, "multibuffer": False}, origin))
    for name in _inner(analysis):
        values = dict(seen.point.values)
        for _ in range(MAX_HALVINGS):
            if values.get(name, 1) <= 1:
                break
            values[name] //= 2
            if allowed(values) and _fits(footprint, values, hardware):
                return [*found, Point(dict(values), seen.point.options, origin)]
    return found


def _fits(footprint: Footprint, values: Mapping[str, int], hardware: Hardware) -> bool:
    return not footprint.estimate(values).overflow(hardware)


def _inner(analysis: Analysis) -> Sequence[str]:
    """Parameters of tiles, those that no program owns first: a smaller one costs iterations, not programs."""
    tilings = [axis.tiling for axis in analysis.axes if axis.tiling]
    splits = [axis.split for axis in analysis.axes if axis.split and not axis.tiling]
    return [name for name in (*tilings, *splits) if name]
