"""One value of several: what a name stands for behind a branch or a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.reading import Reading
from triton_ascend_tune.candidates.symbol import DATA, LANE, Atom, Poly
from triton_ascend_tune.candidates.trace import BlockPointer, Items, Known, Thing, Value


def moved(reading: Reading, before: Thing, after: Thing, counter: Atom) -> Thing:
    """What a name is at the beginning of any iteration, from what it is before the loop and after one."""
    if before == after:
        return before
    if isinstance(before, Known) and isinstance(before.value, (int, float)):
        before = reading.value(before)
    if isinstance(before, BlockPointer) and isinstance(after, BlockPointer):
        offsets = tuple(_drift(reading, one, other, counter) for one, other in zip(before.offsets, after.offsets))
        return replace(before, offsets=offsets)
    if not isinstance(before, Value) or not isinstance(after, Value):
        return after if isinstance(before, Known) and before.value is None else merged(reading, [before, after])
    dims = tuple(one | other for one, other in _aligned(before.dims, after.dims))
    if not before.pointer and (before.tile is not None or after.tile is not None):
        tile = before.tile if before.tile is not None else after.tile
        extents = before.extents or after.extents
        dtype = before.dtype if before.tile is not None else after.dtype
        return Value(reading.fresh("carried").poly, dims, extents, dtype, before.pointer, tile)
    return replace(before, poly=_drift(reading, before.poly, after.poly, counter), dims=dims)


def _drift(reading: Reading, before: Poly, after: Poly, counter: Atom) -> Poly:
    if before == after:
        return before
    step = after - before
    if step.has(LANE, DATA) or counter in step.deep:
        return reading.fresh("changed").poly
    return before + step * symbol.of(counter)


def merged(reading: Reading, things: list[Thing]) -> Thing:
    """One of several; what differs between them is not known."""
    first = things[0]
    if all(thing == first for thing in things):
        return first
    if all(isinstance(thing, Items) for thing in things):
        sizes = {len(thing.values) for thing in things if isinstance(thing, Items)}
        if len(sizes) == 1:
            columns = zip(*(thing.values for thing in things if isinstance(thing, Items)))
            return Items(tuple(merged(reading, list(column)) for column in columns))
    blocks = [thing for thing in things if isinstance(thing, BlockPointer)]
    if blocks:
        return blocks[0]
    values = [reading.value(thing) for thing in things if not (isinstance(thing, Known) and thing.value is None)]
    if not values:
        return first
    ranked = sorted(values, key=lambda value: -len(value.dims))
    best = ranked[0]
    if len(values) == 2 and values[0].poly != values[1].poly and not best.pointer and best.tile is None:
        # Either of two indices: what both have in common is kept, the rest depends on what both depend on.
        return replace(best, poly=symbol.operation("either", *sorted({v.poly for v in values}, key=str)))
    return best


def _aligned(one: tuple[Any, ...], other: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    size = max(len(one), len(other))
    one = (*([frozenset()] * (size - len(one))), *one)
    other = (*([frozenset()] * (size - len(other))), *other)
    return list(zip(one, other))
