"""Loads, stores, block pointers and tensor descriptors: which elements of memory a kernel touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.reading import Handler, Reading, argument
from triton_ascend_tune.candidates.symbol import Atom, Poly
from triton_ascend_tune.candidates.trace import Access, BlockPointer, Bound, Items, Known, Step, Thing, Value


def _load(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    pointer = arguments[0]
    if isinstance(pointer, BlockPointer):
        value = _block_value(reading, pointer, "load", line)
    else:
        value = reading.value(pointer)
        access(reading, "load", value, line)
        # The mask has the shape of the pointer: what walks one of its dimensions walks the pointer's, too.
        others = [reading.value(each) for each in (*arguments[1:], *keywords.values()) if isinstance(each, Value)]
        reading.broadcast([value, *others])
    tile = None
    if value.dims:
        tile = reading.new_tile()
        scattered = _is_scattered(reading, value)
        places = () if value.tile is None else (value.tile,)
        reading.record(Step("load", tile, places, value.extents, value.dtype, line, scattered=scattered))
    loaded = symbol.of(Atom(symbol.DATA, f"loaded in line {line}"))
    return Value(loaded, value.dims, value.extents, value.dtype, False, tile)


def _store(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    pointer = arguments[0]
    stored = reading.value(arguments[1]) if len(arguments) > 1 else reading.value(keywords.get("value", Known(None)))
    target = (
        _block_value(reading, pointer, "store", line) if isinstance(pointer, BlockPointer) else reading.value(pointer)
    )
    if not isinstance(pointer, BlockPointer):
        access(reading, "store", target, line)
    others = [reading.value(each) for each in (*arguments[2:], *keywords.values()) if isinstance(each, Value)]
    reading.broadcast([target, stored, *others])
    if stored.tile is not None:
        tile = stored.tile
        if stored.dtype != target.dtype and target.dims:
            tile = reading.new_tile()
            reading.record(Step("map", tile, (stored.tile,), stored.extents, target.dtype, line))
        scattered = _is_scattered(reading, target)
        read = (tile,) if target.tile is None else (tile, target.tile)
        reading.record(Step("store", None, read, target.extents, target.dtype, line, scattered=scattered))
    return Known(None)


def _is_scattered(reading: Reading, pointer: Value) -> bool:
    """Whether the last dimension of a tile is known not to be contiguous in memory."""
    last = next((place for place in reversed(range(len(pointer.dims))) if pointer.extents[place].constant != 1), None)
    if last is None or not pointer.dims[last]:
        return False
    for monomial, coefficient in pointer.poly.terms:
        if any(atom in pointer.dims[last] for atom in monomial):
            rest = tuple(atom for atom in monomial if atom not in pointer.dims[last])
            return symbol.evaluate(Poly(((rest, coefficient),)), reading.trace.values) not in (1, None)
    return False


def access(reading: Reading, kind: str, pointer: Value, line: int) -> None:
    if reading.recording:
        reading.trace.accesses.append(Access(kind, pointer.poly, pointer.dims, pointer.extents, line))


def _block_value(reading: Reading, block: BlockPointer, kind: str, line: int) -> Value:
    """The pointer of every element of a block, and the bounds that its shape sets."""
    poly = block.base.poly
    for lane, offset, stride, shape in zip(block.lanes, block.offsets, block.strides, block.shape):
        index = offset + symbol.of(lane)
        poly = poly + index * stride
        if reading.recording:
            reading.trace.bounds.append(Bound(lane, index, shape, "block", line))
    dims = tuple(frozenset({lane}) for lane in block.lanes)
    value = Value(poly, dims, block.extents, block.base.dtype, True)
    access(reading, kind, value, line)
    return value


def _make_block_ptr(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    names = ("base", "shape", "strides", "offsets", "block_shape", "order")
    given = {**dict(zip(names, arguments)), **keywords}
    return _block_pointer(reading, given, line)


def _make_tensor_descriptor(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    given = {**dict(zip(("base", "shape", "strides", "block_shape"), arguments)), **keywords}
    return _block_pointer(reading, given, line)


def _block_pointer(reading: Reading, given: Mapping[str, Thing], line: int) -> Thing:
    def polys(name: str) -> tuple[Poly, ...]:
        items = given.get(name)
        return tuple(reading.value(item).poly for item in items.values) if isinstance(items, Items) else ()

    extents = polys("block_shape")
    if not extents or "base" not in given:
        return reading.unknown(())
    lanes = tuple(reading.lane(extent, line, place) for place, extent in enumerate(extents))
    offsets = polys("offsets") or (Poly(),) * len(extents)
    return BlockPointer(reading.value(given["base"]), polys("shape"), polys("strides"), offsets, extents, lanes)


def _advance(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    block = arguments[0]
    steps = argument(arguments, keywords, 1, "offsets")
    if not isinstance(block, BlockPointer) or not isinstance(steps, Items):
        return reading.unknown(())
    return replace(
        block, offsets=tuple(old + reading.value(step).poly for old, step in zip(block.offsets, steps.values))
    )


def _load_tensor_descriptor(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    if not isinstance(arguments[0], BlockPointer):
        return reading.unknown(())
    return _load(reading, moved_to(reading, arguments[0], arguments[1:]), keywords, line)


def _store_tensor_descriptor(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    if not isinstance(arguments[0], BlockPointer):
        return reading.unknown(())
    return _store(reading, moved_to(reading, arguments[0], arguments[1:]), keywords, line)


def moved_to(reading: Reading, block: BlockPointer, arguments: list[Thing]) -> list[Thing]:
    """``arguments`` of a descriptor's method, offsets first, as those of a function: the block there, then the rest."""
    offsets = arguments[0].values if arguments and isinstance(arguments[0], Items) else ()
    moved = replace(block, offsets=tuple(reading.value(each).poly for each in offsets) or block.offsets)
    return [moved, *arguments[1:]]


HANDLERS: dict[str, Handler] = {
    "load": _load,
    "store": _store,
    "make_block_ptr": _make_block_ptr,
    "make_tensor_descriptor": _make_tensor_descriptor,
    "advance": _advance,
    "load_tensor_descriptor": _load_tensor_descriptor,
    "store_tensor_descriptor": _store_tensor_descriptor,
    "_experimental_make_tensor_descriptor": _make_tensor_descriptor,
}
