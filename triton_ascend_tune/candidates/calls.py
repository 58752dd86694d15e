"""What Triton's own functions, operators and tensor methods do to the values of a reading."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.dtypes import Type, dtype_of, is_float, width
from triton_ascend_tune.candidates.shapes import Shapes, argument
from triton_ascend_tune.candidates.symbol import LANE, PID, PROGRAMS, Atom, Poly
from triton_ascend_tune.candidates.trace import (
    Access,
    BlockPointer,
    Bound,
    Dot,
    Items,
    Known,
    Lanes,
    Step,
    Thing,
    Value,
)

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

_PYTHON = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

#: Where ``tl`` lives; triton-ascend replaces some of its functions by its own.
_LANGUAGE = ("triton.language", "triton.triton_patch.language")


def is_language(thing: Any) -> bool:
    """Whether ``thing`` is a function or type of ``triton.language``, whatever name it was imported under."""
    module = getattr(thing, "__module__", None)
    return isinstance(module, str) and (module == "triton" or module.startswith(_LANGUAGE))


class Calls(Shapes):
    """The part of a reading that knows ``triton.language``; ``read.Reader`` is the rest."""

    if TYPE_CHECKING:  # the reader's

        def fresh(self, what: str) -> Value: ...
        def lane(self, extent: Poly, line: int, part: int = 0) -> Atom: ...
        def truth(self, thing: Thing) -> bool | None: ...
        def note_bounds(self, difference: Poly, source: str, line: int) -> None: ...

    # Values.

    def known(self, value: Any) -> Thing:
        """A Python object as the kernel sees it."""
        if type(value).__name__ == "constexpr":
            value = value.value
        if isinstance(value, int) and not isinstance(value, bool):
            return Value(symbol.number(value))
        if isinstance(value, (tuple, list)):
            return Items(tuple(self.known(each) for each in value))
        return Known(value)

    def value(self, thing: Thing) -> Value:
        """``thing`` as a number."""
        if isinstance(thing, Value):
            return thing
        if isinstance(thing, Known) and isinstance(thing.value, (bool, int)):
            return Value(symbol.number(int(thing.value)))
        if isinstance(thing, Known) and isinstance(thing.value, float):
            return replace(self.fresh("number"), dtype="float32")
        if isinstance(thing, BlockPointer):
            return thing.base
        return self.fresh("object")

    def unknown(self, parts: Sequence[Value]) -> Value:
        """Something of the shape that ``parts`` have together."""
        return self.mapped(parts, None)

    def mapped(
        self, parts: Sequence[Value], poly: Poly | None, dtype: str | None = None, scratch: float = 0.0
    ) -> Value:
        """The elementwise result of ``parts``; ``poly``: its value if it is an index, None if it is data."""
        dims, extents = self._broadcast(parts)
        kinds = [part.dtype for part in parts if not part.pointer] or ["int32"]
        shaped = [kind for kind, part in zip(kinds, parts) if part.dims] or kinds
        result = dtype or max(shaped, key=lambda kind: (is_float(kind), width(kind)))
        tiles = tuple(part.tile for part in parts if part.tile is not None)
        tile = None
        if dims and (tiles or (is_float(result) and poly is None)):
            if dtype is None and is_float(result):
                tiles = tuple(self._widened(part, result) for part in parts if part.tile is not None)
            tile = self.new_tile()
            self.record(Step("map", tile, tiles, extents, result, scratch=scratch))
        if poly is None or poly.too_big:
            poly = self.fresh("data").poly
        return Value(poly, dims, extents, result, any(part.pointer for part in parts), tile)

    def _widened(self, part: Value, dtype: str) -> int:
        """The tile of ``part`` in ``dtype``, into which a narrower operand is converted first."""
        assert part.tile is not None
        if not part.dims or width(part.dtype) >= width(dtype):
            return part.tile
        tile = self.new_tile()
        self.record(Step("map", tile, (part.tile,), part.extents, dtype))
        return tile

    def _broadcast(self, parts: Sequence[Value]) -> tuple[tuple[Lanes, ...], tuple[Poly, ...]]:
        rank = max((len(part.dims) for part in parts), default=0)
        dims: list[Lanes] = [frozenset()] * rank
        extents: list[Poly] = [symbol.number(1)] * rank
        for part in parts:
            offset = rank - len(part.dims)
            for place, (lanes, extent) in enumerate(zip(part.dims, part.extents), offset):
                if dims[place] and lanes and dims[place] != lanes and self.recording:
                    self.trace.joined.append(dims[place] | lanes)
                dims[place] = dims[place] | lanes
                if extents[place].constant == 1:
                    extents[place] = extent
        return tuple(dims), tuple(extents)

    def binary(self, op: type[ast.operator], left: Thing, right: Thing, line: int) -> Thing:
        """``left op right``."""
        if isinstance(left, Items) and isinstance(right, Items) and op is ast.Add:
            return Items((*left.values, *right.values))
        if isinstance(left, Known) and isinstance(right, Known):
            return self._python(op, left.value, right.value)
        a, b = self.value(left), self.value(right)
        if op in (ast.Add, ast.Sub) and (a.pointer or b.pointer):
            pointer = a if a.pointer else b
            poly = a.poly + b.poly if op is ast.Add else a.poly - b.poly
            dims, extents = self._broadcast((a, b))
            if poly.too_big:
                poly = self.fresh("address").poly
            return Value(poly, dims, extents, pointer.dtype, True, None)
        if is_float(a.dtype) or is_float(b.dtype) or op is ast.Div:
            floats = None if is_float(a.dtype) or is_float(b.dtype) else "float32"
            return self.mapped((a, b), None, dtype=floats)
        return self.mapped((a, b), self._integer(op, a, b, line))

    def _integer(self, op: type[ast.operator], a: Value, b: Value, line: int) -> Poly | None:
        if op is ast.Add:
            return a.poly + b.poly
        if op is ast.Sub:
            return a.poly - b.poly
        if op is ast.Mult:
            return a.poly * b.poly
        if op is ast.FloorDiv:
            return symbol.operation("floordiv", a.poly, b.poly)
        if op is ast.Mod:
            lanes = [atom for (mono, coefficient) in a.poly.terms for atom in mono if atom.kind == LANE]
            if len(lanes) == 1 and a.dims and not b.poly.has(LANE):
                # An index that wraps around at the length of its axis walks the axis like one that is masked.
                self.note_bounds(a.poly - b.poly, "modulo", line)
                return a.poly
            return symbol.operation("mod", a.poly, b.poly)
        if op is ast.LShift and b.poly.constant is not None:
            return a.poly * symbol.number(1 << b.poly.constant)
        if op is ast.RShift and b.poly.constant is not None:
            return symbol.operation("floordiv", a.poly, symbol.number(1 << b.poly.constant))
        if op is ast.Pow and a.poly.constant is not None and b.poly.constant is not None and b.poly.constant >= 0:
            return symbol.number(a.poly.constant**b.poly.constant)
        return None

    def _python(self, op: type[ast.operator], a: Any, b: Any) -> Thing:
        try:
            return self.known(_PYTHON[op](a, b))
        except (KeyError, TypeError, ZeroDivisionError):
            return self.unknown([self.value(self.known(a)), self.value(self.known(b))])

    # Attributes and methods.

    def attribute(self, owner: Thing, name: str) -> Thing:
        if isinstance(owner, Known):
            return self.known(getattr(owner.value, name, None))
        if isinstance(owner, Value):
            if name == "T":
                return self.method(owner, "trans", [], {}, 0)
            if name == "dtype":
                return Known(Type(owner.dtype))
            if name == "shape":
                return Items(tuple(Value(extent) for extent in owner.extents))
            if name == "value":
                return owner
        if isinstance(owner, BlockPointer) and name in ("dtype", "type"):
            return Known(Type(owner.base.dtype))
        return self.unknown(())

    def method(
        self, owner: Value | BlockPointer, name: str, arguments: list[Thing], keywords: dict[str, Thing], line: int
    ) -> Thing:
        """``owner.name(...)``: what ``tl.name(owner, ...)`` is."""
        if name == "to":
            name = "cast"
        if isinstance(owner, BlockPointer):
            if name in ("load", "store", "gather", "scatter"):
                offsets = arguments[0].values if arguments and isinstance(arguments[0], Items) else ()
                moved = replace(owner, offsets=tuple(self.value(each).poly for each in offsets) or owner.offsets)
                return self.language(name, [moved, *arguments[1:]], keywords, line)
            return self.language(name, [owner, *arguments], keywords, line)
        return self.language(name, [owner, *arguments], keywords, line)

    # Functions.

    def language(self, name: str, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        """``tl.name(...)``, or a built-in function of Python."""
        handler = getattr(self, f"_call_{name}", None)
        if handler is not None:
            return handler(arguments, keywords, line)  # type: ignore[no-any-return]
        first = arguments[0] if arguments else None
        if name in TRANSPARENT:
            return first if first is not None else Known(None)
        if name in REDUCTIONS and isinstance(first, Value) and not _two_tensors(name, arguments):
            return self._reduce(name, first, argument(arguments, keywords, 1, "axis"), keywords, line)
        if name in ATOMICS and isinstance(first, Value):
            self._access("atomic", first, line)
            values = [thing for thing in arguments[1:] if isinstance(thing, Value)]
            return self.mapped([first, *values], None)
        if name in ("program_id", "num_programs"):
            axis = self.value(argument(arguments, keywords, 0, "axis") or self.known(0)).poly.constant
            return Value(symbol.of(Atom(PID if name == "program_id" else PROGRAMS, str(axis or 0))))
        if name in ("min", "minimum", "max", "maximum"):
            return self._extreme(name[:3], arguments)
        tensors = [thing for thing in (*arguments, *keywords.values()) if isinstance(thing, Value)]
        dtype = tensors[0].dtype if tensors and is_float(tensors[0].dtype) else None
        narrow = name in FUNCTIONS and dtype is not None and width(dtype) == 2
        return self.mapped(tensors, None, dtype, scratch=2.0 if narrow else 0.0)

    def _extreme(self, name: str, arguments: list[Thing]) -> Thing:
        values = [self.value(each) for each in arguments]
        if any(is_float(value.dtype) for value in values):
            return self.mapped(values, None)
        if any(value.dims for value in values):
            return self.mapped(values, None)
        return self.mapped(values, symbol.operation(name, *(value.poly for value in values)))

    def _call_arange(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        start = self.value(argument(arguments, keywords, 0, "start") or self.known(0)).poly
        end = self.value(argument(arguments, keywords, 1, "end") or self.known(0)).poly
        extent = end - start
        lane = self.lane(extent, line)
        return Value(start + symbol.of(lane), (frozenset({lane}),), (extent,))

    def _call_cdiv(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return Value(symbol.ceil_div(self.value(arguments[0]).poly, self.value(arguments[1]).poly))

    def _call_next_power_of_2(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return Value(symbol.operation("next_power_of_2", self.value(arguments[0]).poly))

    def _call_int(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return arguments[0] if arguments else self.known(0)

    def _call_len(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return (
            self.known(len(arguments[0].values)) if arguments and isinstance(arguments[0], Items) else self.unknown(())
        )

    def _call_static_assert(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return Known(None)

    _call_device_assert = _call_static_print = _call_device_print = _call_static_assert

    def _call_constexpr(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return arguments[0] if arguments else Known(None)

    def _call_zeros(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        dtype = dtype_of(argument(arguments, keywords, 1, "dtype")) or "float32"
        return self._filled(argument(arguments, keywords, 0, "shape"), dtype, line)

    def _call_full(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        dtype = dtype_of(argument(arguments, keywords, 2, "dtype")) or "float32"
        return self._filled(argument(arguments, keywords, 0, "shape"), dtype, line)

    def _call_zeros_like(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        like = self.value(arguments[0])
        tile = self.new_tile()
        self.record(Step("fill", tile, (), like.extents, like.dtype, line))
        return Value(self.fresh("fill").poly, like.dims, like.extents, like.dtype, False, tile)

    def _filled(self, shape: Thing | None, dtype: str, line: int) -> Value:
        items = shape.values if isinstance(shape, Items) else (shape,) if shape is not None else ()
        extents = tuple(self.value(item).poly for item in items)
        tile = self.new_tile() if extents else None
        if tile is not None:
            self.record(Step("fill", tile, (), extents, dtype, line))
        return Value(self.fresh("fill").poly, (frozenset(),) * len(extents), extents, dtype, False, tile)

    def _call_where(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        values = [self.value(each) for each in arguments]
        chosen = [value for value in values[1:] if value.dims] or values[1:]
        dtype = max((value.dtype for value in chosen), key=lambda kind: (is_float(kind), width(kind)))
        return self.mapped(values, None, dtype)

    def _call_cast(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        value = self.value(arguments[0])
        dtype = dtype_of(argument(arguments, keywords, 1, "dtype"))
        if value.pointer or dtype is None or dtype == value.dtype:
            return value
        if value.tile is None and not is_float(dtype):
            return replace(value, dtype=dtype)  # an index in another width is the same index
        return self.mapped([value], None if is_float(dtype) else value.poly, dtype)

    def _call_load(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        pointer = arguments[0]
        if isinstance(pointer, BlockPointer):
            value = self._block_value(pointer, "load", line)
        else:
            value = self.value(pointer)
            self._access("load", value, line)
            # The mask has the shape of the pointer: what walks one of its dimensions walks the pointer's, too.
            others = [self.value(each) for each in (*arguments[1:], *keywords.values()) if isinstance(each, Value)]
            self._broadcast([value, *others])
        tile = None
        if value.dims:
            tile = self.new_tile()
            scattered = self._is_scattered(value)
            self.record(Step("load", tile, (), value.extents, value.dtype, line, scattered=scattered))
        loaded = symbol.of(Atom(symbol.DATA, f"loaded in line {line}"))
        return Value(loaded, value.dims, value.extents, value.dtype, False, tile)

    def _call_store(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        pointer = arguments[0]
        stored = self.value(arguments[1]) if len(arguments) > 1 else self.value(keywords.get("value", Known(None)))
        target = self._block_value(pointer, "store", line) if isinstance(pointer, BlockPointer) else self.value(pointer)
        if not isinstance(pointer, BlockPointer):
            self._access("store", target, line)
        others = [self.value(each) for each in (*arguments[2:], *keywords.values()) if isinstance(each, Value)]
        self._broadcast([target, stored, *others])
        if stored.tile is not None:
            tile = stored.tile
            if stored.dtype != target.dtype and target.dims:
                tile = self.new_tile()
                self.record(Step("map", tile, (stored.tile,), stored.extents, target.dtype, line))
            scattered = self._is_scattered(target)
            self.record(Step("store", None, (tile,), target.extents, target.dtype, line, scattered=scattered))
        return Known(None)

    def _is_scattered(self, pointer: Value) -> bool:
        """Whether the last dimension of a tile is known not to be contiguous in memory."""
        last = next(
            (place for place in reversed(range(len(pointer.dims))) if pointer.extents[place].constant != 1), None
        )
        if last is None or not pointer.dims[last]:
            return False
        for monomial, coefficient in pointer.poly.terms:
            if any(atom in pointer.dims[last] for atom in monomial):
                rest = tuple(atom for atom in monomial if atom not in pointer.dims[last])
                return symbol.evaluate(Poly(((rest, coefficient),)), self.trace.values) not in (1, None)
        return False

    def _access(self, kind: str, pointer: Value, line: int) -> None:
        if self.recording:
            self.trace.accesses.append(Access(kind, pointer.poly, pointer.dims, pointer.extents, line))

    def _block_value(self, block: BlockPointer, kind: str, line: int) -> Value:
        """The pointer of every element of a block, and the bounds that its shape sets."""
        poly = block.base.poly
        for lane, offset, stride, shape in zip(block.lanes, block.offsets, block.strides, block.shape):
            index = offset + symbol.of(lane)
            poly = poly + index * stride
            if self.recording:
                self.trace.bounds.append(Bound(lane, index, shape, "block", line))
        dims = tuple(frozenset({lane}) for lane in block.lanes)
        value = Value(poly, dims, block.extents, block.base.dtype, True)
        self._access(kind, value, line)
        return value

    def _call_make_block_ptr(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        names = ("base", "shape", "strides", "offsets", "block_shape", "order")
        given = {**dict(zip(names, arguments)), **keywords}
        return self._block_pointer(given, line)

    def _call_make_tensor_descriptor(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        given = {**dict(zip(("base", "shape", "strides", "block_shape"), arguments)), **keywords}
        return self._block_pointer(given, line)

    _call__experimental_make_tensor_descriptor = _call_make_tensor_descriptor

    def _block_pointer(self, given: Mapping[str, Thing], line: int) -> Thing:
        def polys(name: str) -> tuple[Poly, ...]:
            items = given.get(name)
            return tuple(self.value(item).poly for item in items.values) if isinstance(items, Items) else ()

        extents = polys("block_shape")
        if not extents or "base" not in given:
            return self.unknown(())
        lanes = tuple(self.lane(extent, line, place) for place, extent in enumerate(extents))
        offsets = polys("offsets") or (Poly(),) * len(extents)
        return BlockPointer(self.value(given["base"]), polys("shape"), polys("strides"), offsets, extents, lanes)

    def _call_load_tensor_descriptor(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return self._at(arguments, "load", line)

    def _call_store_tensor_descriptor(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        return self._at(arguments, "store", line)

    def _at(self, arguments: list[Thing], name: str, line: int) -> Thing:
        if not isinstance(arguments[0], BlockPointer):
            return self.unknown(())
        return self.method(arguments[0], name, arguments[1:], {}, line)

    def _call_advance(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        block = arguments[0]
        steps = argument(arguments, keywords, 1, "offsets")
        if not isinstance(block, BlockPointer) or not isinstance(steps, Items):
            return self.unknown(())
        return replace(
            block, offsets=tuple(old + self.value(step).poly for old, step in zip(block.offsets, steps.values))
        )

    def _call_dot(self, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        left, right = self.value(arguments[0]), self.value(arguments[1])
        added = argument(arguments, keywords, 2, "acc")
        if len(left.dims) < 2 or len(right.dims) < 2:
            return self.unknown([left, right])
        inner = left.dims[-1] | right.dims[-2]
        dims = (*left.dims[:-1], right.dims[-1])
        extents = (*left.extents[:-1], right.extents[-1])
        lanes = (left.dims[-2], right.dims[-1], inner)
        dot = Dot(left.extents[-2], right.extents[-1], left.extents[-1], lanes, left.dtype, line)
        tile = self.new_tile()
        if self.recording:
            self.trace.dots.append(dot)
            self.trace.reduced.append((inner, line))
            if len(inner) > 1:
                self.trace.joined.append(inner)
        read = tuple(value.tile for value in (left, right) if value.tile is not None)
        if isinstance(added, Value) and added.tile is not None:
            read = (added.tile, *read)
        self.record(Step("dot", tile, read, extents, "float32", line))
        result = Value(self.fresh("product").poly, dims, extents, "float32", False, tile)
        if isinstance(added, Value):
            self._broadcast([result, added])
        return result

    def _reduce(self, name: str, value: Value, axis: Thing | None, keywords: dict[str, Thing], line: int) -> Thing:
        rank = len(value.dims)
        place = None if axis is None or (isinstance(axis, Known) and axis.value is None) else self.value(axis).poly
        number = None
        if place is not None:
            number = symbol.evaluate(place, self.trace.values)
            if number is None:
                self.trace.note(f"the axis of tl.{name} is not known before the launch", line)
                return self.unknown([value])
            number %= max(rank, 1)
        gone = range(rank) if number is None else [number]
        if self.recording:
            self.trace.reduced += [(value.dims[each], line) for each in gone if each < rank]
        keeps = self.truth(keywords["keep_dims"]) if "keep_dims" in keywords else False
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
            tile = self.new_tile()
            last = rank - 1 in gone
            # Rows are halved in a buffer of their own; columns are added up in one of full size. Sums of narrow
            # floats are taken in float32.
            scratch = 0.5 if last else 1.0
            if name == "sum" and is_float(value.dtype) and width(value.dtype) == 2:
                scratch = 2.0 * (1.0 + scratch)
            self.record(Step("reduce", tile, (value.tile,), tuple(extents), value.dtype, line, scratch=scratch))
        result = Value(
            self.fresh("reduced").poly, tuple(dims), tuple(extents), value.dtype, False, tile if dims else None
        )
        paired = "return_indices" in keywords and self.truth(keywords["return_indices"])
        return Items((result, result)) if paired else result


def _two_tensors(name: str, arguments: Sequence[Thing]) -> bool:
    """``max(a, b)`` of Python is a maximum, ``tl.max(a, axis)`` a reduction."""
    if name not in ("min", "max") or len(arguments) < 2:
        return False
    first, second = arguments[:2]
    return not (isinstance(first, Value) and first.dims) or (isinstance(second, Value) and bool(second.dims))
