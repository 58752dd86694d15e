"""Axes in the making: which ``arange`` calls walk the same dimension of the same tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.symbol import Atom, Poly
from triton_ascend_tune.candidates.trace import Trace


@dataclass
class Draft:
    """One axis: its lanes, and what was found of each.

    ``lengths``: what its index is compared with, and where. ``terms``: of its index, what moves it. ``distance``: of
    its dimension from the last one of a tensor. ``axis``: what was concluded, once it was.
    """

    lanes: set[Atom]
    extent: Poly
    line: int
    lengths: list[tuple[Poly, int]] = field(default_factory=list)
    terms: list[tuple[symbol.Monomial, int]] = field(default_factory=list)
    bounded: bool = False
    contiguous: bool = False
    reduced: bool = False
    accessed: bool = False
    stored: bool = False
    distance: int = -1
    axis: Any = None


def drafts_of(trace: Trace) -> list[Draft]:
    """Lanes that meet in one dimension of a tensor walk the same axis, unless programs walk them differently."""
    drafts = {lane: Draft({lane}, extent, line) for lane, (extent, line) in trace.lanes.items()}
    apart = {frozenset((a, b)) for access in trace.accesses for a, b in different_dims(access.dims)}
    for lanes in trace.joined:
        first, *others = sorted(lanes, key=str)
        for other in others:
            one, two = drafts[first], drafts[other]
            clash = any(frozenset((a, b)) in apart for a in one.lanes for b in two.lanes)
            if one is two or clash:
                continue
            one.lanes |= two.lanes
            one.line = min(one.line, two.line)
            for lane in two.lanes:
                drafts[lane] = one
    return list({id(draft): draft for draft in drafts.values()}.values())


def different_dims(dims: Sequence[frozenset[Atom]]) -> Iterable[tuple[Atom, Atom]]:
    """Pairs of lanes that walk different dimensions of one access."""
    for place, lanes in enumerate(dims):
        for other in dims[place + 1 :]:
            yield from ((a, b) for a in lanes for b in other if a != b)
