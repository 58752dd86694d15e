"""What Triton's own functions, attributes and tensor methods do to the values of a reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triton_ascend_tune.candidates import accesses, shapes, symbol
from triton_ascend_tune.candidates.dtypes import Type, dtype_of, is_float, width
from triton_ascend_tune.candidates.reading import Handler, Reading, argument
from triton_ascend_tune.candidates.symbol import PID, PROGRAMS, Atom
from triton_ascend_tune.candidates.trace import BlockPointer, Dot, Items, Known, Step, Thing, Value

#: Functions and methods that reduce one dimension, or all.
REDUCTIONS = {"sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce", "reduce_or"}
#: Those that keep the shape but need every element of the dimension at once.
SCANS = {"cumsum", "cumprod", "associative_scan", "sort", "flip"}
#: Functions that give their first argument back as far as shape, index and tile are concerned.
TRANSPARENT = {
    "multiple_of",
    "max_contiguous",
    "max_constancy",
    "assume",
    "compile_hint",
    "multibuffer",
    "debug_barrier",
}
#: Computed in float32, into which narrower operands are converted first.
FUNCTIONS = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "tanh", "sigmoid", "softmax", "fdiv"}
#: What the compiler needs besides operand and result, in sizes of the operand: of 32 bits and more, and of 16. Read off
#: its overflow messages for one such function between a load and a store (ascendnpu-ir 1.2.0).
SCRATCH = {
    "sin": (5.0, 10.0),
    "cos": (4.0, 9.0),
    "erf": (2.0, 5.0),
    "rsqrt": (1.0, 3.0),
    "cumsum": (1.0, 3.0),
    "cumprod": (1.0, 3.0),
    "sort": (7.0, 12.0),
    "flip": (1.0, 1.0),
}
ATOMICS = {
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_xchg",
    "atomic_cas",
}

#: Where ``tl`` lives; triton-ascend replaces some of its functions by its own.
_LANGUAGE = ("triton.language", "triton.triton_patch.language")


def is_language(thing: Any) -> bool:
    """Whether ``thing`` is a function or type of ``triton.language``, whatever name it was imported under."""
    module = getattr(thing, "__module__", None)
    return isinstance(module, str) and (module == "triton" or module.startswith(_LANGUAGE))


def attribute(reading: Reading, owner: Thing, name: str) -> Thing:
    """``owner.name``."""
    if isinstance(owner, Known):
        return reading.known(getattr(owner.value, name, None))
    if isinstance(owner, Value):
        if name == "T":
            return method(reading, owner, "trans", [], {}, 0)
        if name == "dtype":
            return Known(Type(owner.dtype))
        if name == "shape":
            return Items(tuple(Value(extent) for extent in owner.extents))
        if name == "value":
            return owner
    if isinstance(owner, BlockPointer) and name in ("dtype", "type"):
        return Known(Type(owner.base.dtype))
    return reading.unknown(())


def method(
    reading: Reading,
    owner: Value | BlockPointer,
    name: str,
    arguments: list[Thing],
    keywords: dict[str, Thing],
    line: int,
) -> Thing:
    """``owner.name(...)``: what ``tl.name(owner, ...)`` is."""
    if name == "to":
        name = "cast"
    if isinstance(owner, BlockPointer) and name in ("load", "store", "gather", "scatter"):
        return language(reading, name, accesses.moved_to(reading, owner, arguments), keywords, line)
    return language(reading, name, [owner, *arguments], keywords, line)


def language(reading: Reading, name: str, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    """``tl.name(...)``, or a built-in function of Python."""
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(reading, arguments, keywords, line)
    first = arguments[0] if arguments else None
    if name in TRANSPARENT:
        return first if first is not None else Known(None)
    if name in REDUCTIONS and isinstance(first, Value) and not _two_tensors(name, arguments):
        return _reduce(reading, name, first, argument(arguments, keywords, 1, "axis"), keywords, line)
    if name in ATOMICS and isinstance(first, Value):
        accesses.access(reading, "atomic", first, line)
        values = [thing for thing in arguments[1:] if isinstance(thing, Value)]
        return reading.mapped([first, *values], None)
    if name in ("program_id", "num_programs"):
        axis = reading.value(argument(arguments, keywords, 0, "axis") or reading.known(0)).poly.constant
        return Value(symbol.of(Atom(PID if name == "program_id" else PROGRAMS, str(axis or 0))))
    if name in ("min", "minimum", "max", "maximum"):
        return _extreme(reading, name[:3], arguments)
    tensors = [thing for thing in (*arguments, *keywords.values()) if isinstance(thing, Value)]
    dtype = tensors[0].dtype if tensors and is_float(tensors[0].dtype) else None
    narrow = dtype is not None and width(dtype) == 2
    usual = 2.0 if narrow and name in FUNCTIONS else 0.0
    scratch = SCRATCH[name][narrow] if name in SCRATCH else usual
    return reading.mapped(tensors, None, dtype, scratch=scratch)


def _extreme(reading: Reading, name: str, arguments: list[Thing]) -> Thing:
    values = [reading.value(each) for each in arguments]
    if any(is_float(value.dtype) for value in values):
        return reading.mapped(values, None)
    if any(value.dims for value in values):
        return reading.mapped(values, None)
    return reading.mapped(values, symbol.operation(name, *(value.poly for value in values)))


def _arange(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    start = reading.value(argument(arguments, keywords, 0, "start") or reading.known(0)).poly
    end = reading.value(argument(arguments, keywords, 1, "end") or reading.known(0)).poly
    extent = end - start
    lane = reading.lane(extent, line)
    return Value(start + symbol.of(lane), (frozenset({lane}),), (extent,))


def _cdiv(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return Value(symbol.ceil_div(reading.value(arguments[0]).poly, reading.value(arguments[1]).poly))


def _next_power_of_2(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return Value(symbol.operation("next_power_of_2", reading.value(arguments[0]).poly))


def _int(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return arguments[0] if arguments else reading.known(0)


def _len(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return (
        reading.known(len(arguments[0].values))
        if arguments and isinstance(arguments[0], Items)
        else reading.unknown(())
    )


def _static_assert(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return Known(None)


def _constexpr(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    return arguments[0] if arguments else Known(None)


def _zeros(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    dtype = dtype_of(argument(arguments, keywords, 1, "dtype")) or "float32"
    return _filled(reading, argument(arguments, keywords, 0, "shape"), dtype, line)


def _full(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    dtype = dtype_of(argument(arguments, keywords, 2, "dtype")) or "float32"
    return _filled(reading, argument(arguments, keywords, 0, "shape"), dtype, line)


def _zeros_like(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    like = reading.value(arguments[0])
    tile = reading.new_tile()
    reading.record(Step("fill", tile, (), like.extents, like.dtype, line))
    return Value(reading.fresh("fill").poly, like.dims, like.extents, like.dtype, False, tile)


def _filled(reading: Reading, shape: Thing | None, dtype: str, line: int) -> Value:
    items = shape.values if isinstance(shape, Items) else (shape,) if shape is not None else ()
    extents = tuple(reading.value(item).poly for item in items)
    tile = reading.new_tile() if extents else None
    if tile is not None:
        reading.record(Step("fill", tile, (), extents, dtype, line))
    return Value(reading.fresh("fill").poly, (frozenset(),) * len(extents), extents, dtype, False, tile)


def _where(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    values = [reading.value(each) for each in arguments]
    chosen = [value for value in values[1:] if value.dims] or values[1:]
    dtype = max((value.dtype for value in chosen), key=lambda kind: (is_float(kind), width(kind)))
    condition = values[0]
    if condition.dims and any(value.dims for value in values[1:]):
        dims, extents = reading.broadcast(values)
        spread = condition.extents != extents
        if condition.tile is None or spread:
            # A comparison of an index is made of the index itself, and one of a row is spread over all rows as halves.
            values[0] = Value(condition.poly, dims, extents, "int1", False, reading.new_tile())
            kind = "float16" if spread else "int32"
            read = () if condition.tile is None else (condition.tile,)
            reading.record(Step("map", values[0].tile, read, extents, kind, line))
    return reading.mapped(values, None, dtype, kind="select")


def _cast(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    value = reading.value(arguments[0])
    dtype = dtype_of(argument(arguments, keywords, 1, "dtype"))
    if value.pointer or dtype is None or dtype == value.dtype:
        return value
    if value.tile is None and not is_float(dtype):
        return replace(value, dtype=dtype)  # an index in another width is the same index
    return reading.mapped([value], None if is_float(dtype) else value.poly, dtype)


def _dot(reading: Reading, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
    left, right = reading.value(arguments[0]), reading.value(arguments[1])
    added = argument(arguments, keywords, 2, "acc")
    if len(left.dims) < 2 or len(right.dims) < 2:
        return reading.unknown([left, right])
    inner = left.dims[-1] | right.dims[-2]
    dims = (*left.dims[:-1], right.dims[-1])
    extents = (*left.extents[:-1], right.extents[-1])
    lanes = (left.dims[-2], right.dims[-1], inner)
    dot = Dot(left.extents[-2], right.extents[-1], left.extents[-1], lanes, left.dtype, line)
    tile = reading.new_tile()
    if reading.recording:
        reading.trace.dots.append(dot)
        reading.trace.reduced.append((inner, line))
        if len(inner) > 1:
            reading.trace.joined.append(inner)
    read = tuple(value.tile for value in (left, right) if value.tile is not None)
    if isinstance(added, Value) and added.tile is not None:
        read = (added.tile, *read)
    reading.record(Step("dot", tile, read, extents, "float32", line))
    result = Value(reading.fresh("product").poly, dims, extents, "float32", False, tile)
    if isinstance(added, Value):
        reading.broadcast([result, added])
    return result


def _reduce(
    reading: Reading, name: str, value: Value, axis: Thing | None, keywords: dict[str, Thing], line: int
) -> Thing:
    rank = len(value.dims)
    place = None if axis is None or (isinstance(axis, Known) and axis.value is None) else reading.value(axis).poly
    number = None
    if place is not None:
        number = symbol.evaluate(place, reading.trace.values)
        if number is None:
            reading.trace.note(f"the axis of tl.{name} is not known before the launch", line)
            return reading.unknown([value])
        number %= max(rank, 1)
    gone = range(rank) if number is None else [number]
    if reading.recording:
        reading.trace.reduced += [(value.dims[each], line) for each in gone if each < rank]
    keeps = reading.truth(keywords["keep_dims"]) if "keep_dims" in keywords else False
    dims = [
        frozenset() if each in gone else lanes for each, lanes in enumerate(value.dims) if keeps or each not in gone
    ]
    extents = [
        symbol.number(1) if each in gone else extent
        for each, extent in enumerate(value.extents)
        if keeps or each not in gone
    ]
    tile = None
    if value.tile is not None:
        tile = reading.new_tile()
        last = rank - 1 in gone
        # Rows are halved in a buffer of their own; columns are added up in one of full size. Sums of narrow
        # floats are taken in float32.
        scratch = 0.5 if last else 1.0
        if name == "sum" and is_float(value.dtype) and width(value.dtype) == 2:
            scratch = 2.0 * (1.0 + scratch)
        reading.record(Step("reduce", tile, (value.tile,), tuple(extents), value.dtype, line, scratch=scratch))
    result = Value(
        reading.fresh("reduced").poly, tuple(dims), tuple(extents), value.dtype, False, tile if dims else None
    )
    paired = "return_indices" in keywords and reading.truth(keywords["return_indices"])
    return Items((result, result)) if paired else result


def _two_tensors(name: str, arguments: Sequence[Thing]) -> bool:
    """``max(a, b)`` of Python is a maximum, ``tl.max(a, axis)`` a reduction."""
    if name not in ("min", "max") or len(arguments) < 2:
        return False
    first, second = arguments[:2]
    return not (isinstance(first, Value) and first.dims) or (isinstance(second, Value) and bool(second.dims))


_HANDLERS: dict[str, Handler] = {
    **shapes.HANDLERS,
    **accesses.HANDLERS,
    "arange": _arange,
    "cdiv": _cdiv,
    "next_power_of_2": _next_power_of_2,
    "int": _int,
    "len": _len,
    "static_assert": _static_assert,
    "constexpr": _constexpr,
    "zeros": _zeros,
    "full": _full,
    "zeros_like": _zeros_like,
    "where": _where,
    "cast": _cast,
    "dot": _dot,
    "device_assert": _static_assert,
    "static_print": _static_assert,
    "device_print": _static_assert,
}
