"""What functions that change only the shape of a tensor do to the values of a reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.symbol import Poly
from triton_ascend_tune.candidates.trace import Items, Lanes, Step, Thing, Trace, Value


def argument(arguments: Sequence[Thing], keywords: Mapping[str, Thing], place: int, name: str) -> Thing | None:
    return keywords[name] if name in keywords else arguments[place] if len(arguments) > place else None


class Shapes:
    """The part of a reading that moves dimensions; ``calls.Calls`` knows the rest of ``triton.language``."""

    trace: Trace

    if TYPE_CHECKING:  # the reader's

        @property
        def recording(self) -> bool: ...
        def value(self, thing: Thing) -> Value: ...
        def known(self, value: Any) -> Thing: ...
        def unknown(self, parts: Sequence[Value]) -> Value: ...
        def mapped(
            self, parts: Sequence[Value], poly: Poly | None, dtype: str | None = None, scratch: float = 0.0
        ) -> Value: ...
        def new_tile(self) -> int: ...
        def record(self, step: Step) -> None: ...

    def _permuted(self, value: Value, order: Sequence[int]) -> Value:
        dims = tuple(value.dims[place] for place in order)
        extents = tuple(value.extents[place] for place in order)
        tile = value.tile
        if tile is not None:
            tile = self.new_tile()
            self.record(Step("move", tile, (value.tile,) if value.tile else (), extents, value.dtype))
        return replace(value, dims=dims, extents=extents, tile=tile)

    def _call_trans(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        value, order = self.value(arguments[0]), arguments[1:]
        if order and isinstance(order[0], Items):
            order = list(order[0].values)
        places = [self.value(each).poly.constant for each in order]
        rank = len(value.dims)
        if not places:
            places = [*range(rank - 2), rank - 1, rank - 2] if rank >= 2 else list(range(rank))
        if None in places or sorted(place for place in places if place is not None) != list(range(rank)):
            return self.unknown([value])
        return self._permuted(value, [place for place in places if place is not None])

    _call_permute = _call_trans

    def _call_expand_dims(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        value = self.value(arguments[0])
        place = self.value(argument(arguments, keywords, 1, "axis") or self.known(0)).poly.constant or 0
        place %= len(value.dims) + 1
        dims, extents = list(value.dims), list(value.extents)
        dims.insert(place, frozenset())
        extents.insert(place, symbol.number(1))
        return replace(value, dims=tuple(dims), extents=tuple(extents))

    def _call_broadcast_to(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        value = self.value(arguments[0])
        shape = arguments[1:]
        if shape and isinstance(shape[0], Items):
            shape = list(shape[0].values)
        extents = tuple(self.value(each).poly for each in shape)
        if len(extents) < len(value.dims):
            return value
        missing: tuple[Lanes, ...] = (frozenset(),) * (len(extents) - len(value.dims))
        dims = (*missing, *value.dims)
        return self.mapped([value, Value(Poly(), dims, extents, value.dtype)], value.poly)

    def _call_reshape(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        value = self.value(arguments[0])
        shape = arguments[1:]
        if shape and isinstance(shape[0], Items):
            shape = list(shape[0].values)
        extents = tuple(self.value(each).poly for each in shape)
        # Dimensions of one element come and go; the others keep their order where their extents are the same.
        old = [(lanes, extent) for lanes, extent in zip(value.dims, value.extents) if extent.constant != 1]
        dims: list[Lanes] = []
        for extent in extents:
            matches = bool(old) and old[0][1] == extent
            dims.append(old.pop(0)[0] if matches else frozenset())
        if old:
            lanes = [str(lane) for dim in value.dims for lane in dim]
            if lanes and self.recording:
                self.trace.note("a reshape mixes dimensions, whose axes are lost behind it", line)
        return replace(value, dims=tuple(dims), extents=extents)

    _call_view = _call_ravel = _call_reshape

    def _call_broadcast(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        values = [self.value(each) for each in arguments]
        return Items(tuple(self.mapped([value, *values], value.poly, value.dtype) for value in values))
