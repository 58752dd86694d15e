"""A reading under way: what was found so far, and how values combine."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.dtypes import is_float, width
from triton_ascend_tune.candidates.symbol import DATA, ITERATION, LANE, Atom, Poly
from triton_ascend_tune.candidates.trace import BlockPointer, Bound, Items, Known, Lanes, Step, Thing, Trace, Value

_PYTHON = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

_LOGICAL = (ast.BitAnd, ast.BitOr, ast.BitXor)

#: What one function does: ``handler(reading, arguments, keywords, line)`` gives what the call stands for.
Handler = Callable[["Reading", "list[Thing]", "dict[str, Thing]", int], Thing]


def argument(arguments: Sequence[Thing], keywords: Mapping[str, Thing], place: int, name: str) -> Thing | None:
    return keywords[name] if name in keywords else arguments[place] if len(arguments) > place else None


class Reading:
    """``trace``: what was found. ``read.Reader`` walks the source and is one."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self.trace = Trace(values=values)
        #: Depth of loops that are read for the first time.
        self._quiet = 0
        self._tiles = 0
        self._fresh = 0
        #: Lines of the calls that led to the function being read.
        self._place: list[int] = []

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
        self,
        parts: Sequence[Value],
        poly: Poly | None,
        dtype: str | None = None,
        scratch: float = 0.0,
        kind: str = "map",
    ) -> Value:
        """The elementwise result of ``parts``; ``poly``: its value if it is an index, None if it is data.

        ``scratch``, ``kind``: of the step.
        """
        dims, extents = self.broadcast(parts)
        kinds = [part.dtype for part in parts if not part.pointer] or ["int32"]
        shaped = [kind for kind, part in zip(kinds, parts) if part.dims] or kinds
        result = dtype or max(shaped, key=lambda kind: (is_float(kind), width(kind)))
        tiles = tuple(part.tile for part in parts if part.tile is not None)
        tile = None
        if dims and (tiles or (is_float(result) and poly is None)):
            if dtype is None and is_float(result):
                tiles = tuple(self._widened(part, result) for part in parts if part.tile is not None)
            tile = self.new_tile()
            self.record(Step(kind, tile, tiles, extents, result, scratch=scratch))
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

    def broadcast(self, parts: Sequence[Value]) -> tuple[tuple[Lanes, ...], tuple[Poly, ...]]:
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
            dims, extents = self.broadcast((a, b))
            if poly.too_big:
                poly = self.fresh("address").poly
            # Of what is gathered or scattered, the places are a tile.
            tile = a.tile if a.tile is not None else b.tile
            return Value(poly, dims, extents, pointer.dtype, True, tile)
        if is_float(a.dtype) or is_float(b.dtype) or op is ast.Div:
            floats = None if is_float(a.dtype) or is_float(b.dtype) else "float32"
            return self.mapped((a, b), None, dtype=floats)
        if op in _LOGICAL and (mask := self._combined(a, b)) is not None:
            return mask
        # A remainder takes the quotient and a product besides.
        scratch = 2.0 if op is ast.Mod and a.tile is not None else 0.0
        return self.mapped((a, b), self._integer(op, a, b, line), scratch=scratch)

    def _combined(self, a: Value, b: Value) -> Value | None:
        """Two masks as one, in the tile of the one that has all elements; None if it has none."""
        dims, extents = self.broadcast((a, b))
        full = next((each for each in (a, b) if each.tile is not None and each.extents == extents), None)
        if full is None or (a.dtype, b.dtype) != ("int1", "int1"):
            return None
        return Value(self.fresh("data").poly, dims, extents, "int1", False, full.tile)

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

    def fresh(self, what: str) -> Value:
        """A number that nothing is known of."""
        self._fresh += 1
        return Value(symbol.of(Atom(DATA, f"{what}{self._fresh}")))

    def lane(self, extent: Poly, line: int, part: int = 0) -> Atom:
        """The lanes of one ``arange``; the same each time its line is read in the same call."""
        place = "".join(f"/{line}" for line in self._place)
        lane = Atom(LANE, f"lane {line}.{part}{place}", (extent,))
        self.trace.lanes.setdefault(lane, (extent, line))
        return lane

    def new_tile(self) -> int:
        self._tiles += 1
        return self._tiles

    def record(self, step: Step) -> None:
        if not self._quiet:
            self.trace.steps.append(step)

    @property
    def recording(self) -> bool:
        """False while a loop is read for the first time."""
        return not self._quiet

    def truth(self, thing: Thing) -> bool | None:
        """Whether a condition holds, if that is known before the launch."""
        if isinstance(thing, Known):
            return bool(thing.value) if not callable(thing.value) else None
        if isinstance(thing, Value) and not thing.dims and not thing.pointer:
            value = symbol.evaluate(thing.poly, self.trace.values)
            return None if value is None else bool(value)
        return None

    def note_bounds(self, difference: Poly, source: str, line: int) -> None:
        """``difference < 0``: for each lane in it, what is on the lane's side is the index, the rest the length."""
        if self._quiet:
            return
        if not difference.has(LANE, DATA):
            self._note_scalar(difference)
        for lanes, coefficient in difference.terms:
            lane = next((atom for atom in lanes if atom.kind == LANE), None)
            if lane is None or len(lanes) != 1 or coefficient < 1:
                continue
            index = Poly(tuple(term for term in difference.terms if _walks(*term)))
            if {atom for atom in index.deep if atom.kind == LANE} == {lane}:  # not a comparison of two indices
                self.trace.bounds.append(Bound(lane, index, index - difference, source, line))

    def _note_scalar(self, difference: Poly) -> None:
        """The bound of an index that is one number; whether it is inside or outside that is asked, it says the same."""
        index = Poly(tuple(term for term in difference.terms if _walks(*term)))
        if index.terms and all(coefficient < 0 for _, coefficient in index.terms):
            index, difference = -index, -difference - symbol.number(1)
        if index.has(symbol.PID):
            self.trace.scalars.append((index, index - difference))


def _walks(monomial: tuple[Atom, ...], coefficient: int) -> bool:
    """Whether a term of a comparison belongs to the index: lanes, programs and iterations do, loaded lengths do not."""
    kinds = {inner.kind for atom in monomial for inner in atom.deep}
    if kinds & {LANE, symbol.PID, symbol.PROGRAMS, ITERATION}:
        return True
    return DATA in kinds and coefficient > 0
