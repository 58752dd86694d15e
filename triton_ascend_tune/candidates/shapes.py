"""What functions that change only the shape of a tensor do to the values of a reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.reading import Handler, Reading, argument
from triton_ascend_tune.candidates.symbol import Poly
from triton_ascend_tune.candidates.trace import Items, Lanes, Step, Thing, Value


def _permuted(reading: Reading, value: Value, order: Sequence[int]) -> Value:
    dims = tuple(value.dims[place] for place in order)
    extents = tuple(value.extents[place] for place in order)
    tile = value.tile
    if tile is not None:
        tile = reading.new_tile()
        reading.record(Step("move", tile, (value.tile,) if value.tile else (), extents, value.dtype))
    return replace(value, dims=dims, extents=extents, tile=tile)


def _trans(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    value, order = reading.value(arguments[0]), arguments[1:]
    if order and isinstance(order[0], Items):
        order = list(order[0].values)
    places = [reading.value(each).poly.constant for each in order]
    rank = len(value.dims)
    if not places:
        places = [*range(rank - 2), rank - 1, rank - 2] if rank >= 2 else list(range(rank))
    if None in places or sorted(place for place in places if place is not None) != list(range(rank)):
        return reading.unknown([value])
    return _permuted(reading, value, [place for place in places if place is not None])


def _expand_dims(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    value = reading.value(arguments[0])
    place = reading.value(argument(arguments, keywords, 1, "axis") or reading.known(0)).poly.constant or 0
    place %= len(value.dims) + 1
    dims, extents = list(value.dims), list(value.extents)
    dims.insert(place, frozenset())
    extents.insert(place, symbol.number(1))
    return replace(value, dims=tuple(dims), extents=tuple(extents))


def _broadcast_to(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    value = reading.value(arguments[0])
    shape = arguments[1:]
    if shape and isinstance(shape[0], Items):
        shape = list(shape[0].values)
    extents = tuple(reading.value(each).poly for each in shape)
    if len(extents) < len(value.dims):
        return value
    missing: tuple[Lanes, ...] = (frozenset(),) * (len(extents) - len(value.dims))
    dims = (*missing, *value.dims)
    return reading.mapped([value, Value(Poly(), dims, extents, value.dtype)], value.poly)


def _reshape(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    value = reading.value(arguments[0])
    shape = arguments[1:]
    if shape and isinstance(shape[0], Items):
        shape = list(shape[0].values)
    extents = tuple(reading.value(each).poly for each in shape)
    # Dimensions of one element come and go; the others keep their order where their extents are the same.
    old = [(lanes, extent) for lanes, extent in zip(value.dims, value.extents) if extent.constant != 1]
    dims: list[Lanes] = []
    for extent in extents:
        matches = bool(old) and old[0][1] == extent
        dims.append(old.pop(0)[0] if matches else frozenset())
    if old:
        lanes = [str(lane) for dim in value.dims for lane in dim]
        if lanes and reading.recording:
            reading.trace.note("a reshape mixes dimensions, whose axes are lost behind it", line)
    return replace(value, dims=tuple(dims), extents=extents)


def _broadcast(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    values = [reading.value(each) for each in arguments]
    return Items(tuple(reading.mapped([value, *values], value.poly, value.dtype) for value in values))


HANDLERS: dict[str, Handler] = {
    "trans": _trans,
    "expand_dims": _expand_dims,
    "broadcast_to": _broadcast_to,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "permute": _trans,
    "view": _reshape,
    "ravel": _reshape,
}
