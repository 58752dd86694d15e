"""Reads a kernel's definition into a ``Trace``, by running it on symbols.

One pass over the statements, in the order of the source, on the AST of Triton's own JIT function. Names are resolved
as Triton resolves them, to the objects they stand for, so that it does not matter under which name ``tl`` was imported.
Helper JIT functions are read where they are called. A loop is read twice: once to see what it changes, and once with
what moves by the same amount each time (offsets, pointers) written as a multiple of its iterations.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.calls import attribute, is_language, language, method
from triton_ascend_tune.candidates.dtypes import is_float
from triton_ascend_tune.candidates.merging import merged, moved
from triton_ascend_tune.candidates.reading import Reading
from triton_ascend_tune.candidates.symbol import ITERATION, Atom, Poly
from triton_ascend_tune.candidates.trace import BlockPointer, Items, Known, Loop, Step, Thing, Value

#: Helper functions deeper than this are not read.
MAX_CALL_DEPTH = 8


@dataclass
class _Frame:
    """One function being read: its names, its globals, and where its lines begin in the file."""

    names: dict[str, Thing]
    globals: Mapping[str, Any]
    first_line: int
    returned: list[Thing]


class Reader(Reading):
    """Reads one JIT function for known argument values."""

    def __init__(self, values: Mapping[str, int]) -> None:
        super().__init__(values)
        self._frames: list[_Frame] = []

    def read(self, function: Any, arguments: Mapping[str, Thing]) -> Thing:
        """Reads ``function`` called with ``arguments``; returns what it returns."""
        tree = function.parse()
        definition = tree.body[0]
        raw = getattr(function, "fn", function)
        names = dict(arguments)
        signature = inspect.signature(raw)
        for name, parameter in signature.parameters.items():
            if name not in names and parameter.default is not inspect.Parameter.empty:
                names[name] = self.known(parameter.default)
        nonlocals = inspect.getclosurevars(raw).nonlocals if inspect.isfunction(raw) else {}
        frame = _Frame(names, {**getattr(raw, "__globals__", {}), **nonlocals}, _first_line(function), [])
        self._frames.append(frame)
        try:
            self._block(definition.body)
        finally:
            self._frames.pop()
        return merged(self, frame.returned) if frame.returned else Known(None)

    # Statements.

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        frame = self._frames[-1]
        if isinstance(node, ast.Assign):
            value = self.expression(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.expression(node.value))
        elif isinstance(node, ast.AugAssign):
            load = ast.copy_location(ast.BinOp(_as_load(node.target), node.op, node.value), node)
            self._assign(node.target, self.expression(ast.fix_missing_locations(load)))
        elif isinstance(node, (ast.For, ast.While)):
            self._loop(node)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.Return):
            frame.returned.append(self.expression(node.value) if node.value is not None else Known(None))
        elif isinstance(node, ast.Expr):
            self.expression(node.value)
        elif isinstance(node, ast.With):
            self._block(node.body)

    def _assign(self, target: ast.expr, value: Thing) -> None:
        if isinstance(target, ast.Name):
            self._frames[-1].names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.values if isinstance(value, Items) else ()
            for index, element in enumerate(target.elts):
                self._assign(element, parts[index] if index < len(parts) else self.unknown(()))

    def _if(self, node: ast.If) -> None:
        known = self.truth(self.expression(node.test))
        if known is not None:
            self._block(node.body if known else node.orelse)
            return
        names = self._frames[-1].names
        before = dict(names)
        self._block(node.body)
        after_then, names_now = dict(names), names
        names_now.clear()
        names_now.update(before)
        self._block(node.orelse)
        for name in after_then.keys() | names_now.keys():
            one, other = after_then.get(name), names_now.get(name)
            if one is not other:
                names_now[name] = merged(self, [each for each in (one, other) if each is not None])

    def _loop(self, node: ast.For | ast.While) -> None:
        line = self.line(node)
        counter = Atom(ITERATION, f"iteration of line {line}" + "".join(f"/{place}" for place in self._place))
        names = self._frames[-1].names
        loop = Loop(counter, None, None, None, line)
        index: Value | None = None
        trips: tuple[Poly, ...] = ()
        if isinstance(node, ast.For):
            start, stop, step = self._range(node.iter)
            trips = (symbol.ceil_div(stop - start, step),)
            loop = Loop(counter, start, stop, step, line)
            index = Value(start + symbol.of(counter) * step)
        self.trace.loops[counter] = loop

        def body() -> None:
            if index is not None and isinstance(node, ast.For):
                self._assign(node.target, index)
            if isinstance(node, ast.While):
                self.expression(node.test)
            self._block(node.body)

        before = dict(names)
        self._quiet += 1
        body()
        self._quiet -= 1
        entered = {name: moved(self, before[name], names[name], counter) for name in before if name in names}
        names.clear()
        names.update({**before, **entered})
        unrolled = isinstance(node, ast.For) and _function_name(node.iter) == "static_range"
        self.record(Step("begin", None, (), trips, line=line, unrolled=unrolled))
        body()
        for name, value in entered.items():
            after = names[name]
            tiles = [each.tile for each in (value, after) if isinstance(each, Value) and each.tile is not None]
            if len(set(tiles)) == 2:
                self.record(Step("carry", tiles[1], (tiles[0],), line=line))
        self.record(Step("end", None, (), line=line))
        for statement in node.orelse:
            self._statement(statement)

    def _range(self, node: ast.expr) -> tuple[Poly, Poly, Poly]:
        parts: list[Poly] = []
        if isinstance(node, ast.Call):
            function = self.expression(node.func)
            if isinstance(function, Known) and getattr(function.value, "__name__", "") in (
                "range",
                "static_range",
                "parallel",
            ):
                parts = [self.value(self.expression(argument)).poly for argument in node.args]
        if not parts:
            return Poly(), self.fresh("count").poly, symbol.number(1)
        if len(parts) == 1:
            return Poly(), parts[0], symbol.number(1)
        return parts[0], parts[1], parts[2] if len(parts) > 2 else symbol.number(1)

    # Expressions.

    def expression(self, node: ast.expr) -> Thing:
        """What ``node`` stands for."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            parts = [self.expression(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            return self.unknown([part for part in parts if isinstance(part, Value)])
        return method(node)  # type: ignore[no-any-return]

    def _constant(self, node: ast.Constant) -> Thing:
        return self.known(node.value)

    def _name(self, node: ast.Name) -> Thing:
        frame = self._frames[-1]
        if node.id in frame.names:
            return frame.names[node.id]
        if node.id in frame.globals:
            return self.known(frame.globals[node.id])
        return Known(getattr(builtins, node.id, None))

    def _tuple(self, node: ast.Tuple | ast.List) -> Thing:
        return Items(tuple(self.expression(element) for element in node.elts))

    _list = _tuple

    def _attribute(self, node: ast.Attribute) -> Thing:
        return attribute(self, self.expression(node.value), node.attr)

    def _unaryop(self, node: ast.UnaryOp) -> Thing:
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            known = self.truth(value)
            return Known(not known) if known is not None else self.unknown([self.value(value)])
        if isinstance(node.op, ast.USub):
            if isinstance(value, Known) and isinstance(value.value, float):
                return Known(-value.value)
            number = self.value(value)
            return self.mapped([number], -number.poly)
        return self.mapped([self.value(value)], None) if isinstance(node.op, ast.Invert) else value

    def _binop(self, node: ast.BinOp) -> Thing:
        return self.binary(type(node.op), self.expression(node.left), self.expression(node.right), self.line(node))

    def _boolop(self, node: ast.BoolOp) -> Thing:
        parts = [self.expression(part) for part in node.values]
        truths = [self.truth(part) for part in parts]
        decisive = isinstance(node.op, ast.Or)
        if decisive in truths:
            return Known(decisive)
        if None not in truths:
            return Known(not decisive)
        return self.mapped([self.value(part) for part in parts], None)

    def _ifexp(self, node: ast.IfExp) -> Thing:
        known = self.truth(self.expression(node.test))
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        return merged(self, [self.expression(node.body), self.expression(node.orelse)])

    def _compare(self, node: ast.Compare) -> Thing:
        things = [self.expression(part) for part in (node.left, *node.comparators)]
        if len(things) == 2 and (known := _known_comparison(node.ops[0], *things)) is not None:
            return Known(known)
        values = [self.value(thing) for thing in things]
        truths = []
        for op, left, right in zip(node.ops, values, values[1:]):
            a, b = (symbol.evaluate(value.poly, self.trace.values) for value in (left, right))
            if a is not None and b is not None and not left.dims and not right.dims:
                truths.append(_compared(op, a, b))
            else:
                truths.append(None)
                self._bound(op, left, right, self.line(node))
        if None not in truths:
            return Known(all(truths))
        data = [value for value in values if value.tile is not None]
        filled = len(data) == 1 and is_float(data[0].dtype) and not any(v.dims for v in values if v is not data[0])
        # What data is compared with is a tile, too: one that holds the number everywhere.
        mask = replace(self.mapped(values, None, dtype=data[0].dtype if filled else "int1"), dtype="int1")
        if mask.tile is None and sum(any(value.dims) for value in values) > 1:
            # Two indices are compared element by element: each is spread over the tile, as numbers of 32 bits.
            mask = replace(mask, tile=self.new_tile())
            self.record(Step("map", mask.tile, (), mask.extents, "int64", self.line(node)))
        return mask

    def _bound(self, op: ast.cmpop, left: Value, right: Value, line: int) -> None:
        """Notes ``index < length`` if the comparison says that."""
        if isinstance(op, (ast.Gt, ast.GtE)):
            left, right = right, left
        elif not isinstance(op, (ast.Lt, ast.LtE)):
            return
        slack = symbol.number(1 if isinstance(op, (ast.LtE, ast.GtE)) else 0)
        for bound in symbol.conjuncts(right.poly):
            difference = left.poly - bound - slack
            self.note_bounds(difference, "mask", line)

    def _subscript(self, node: ast.Subscript) -> Thing:
        base = self.expression(node.value)
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Items):
            place = self.value(self.expression(elements[0])).poly.constant
            return base.values[place] if place is not None and place < len(base.values) else self.unknown(())
        if not isinstance(base, Value):
            return self.unknown(())
        dims, extents, used = [], [], 0
        for element in elements:
            if isinstance(element, ast.Slice) and used < len(base.dims):
                dims.append(base.dims[used])
                extents.append(base.extents[used])
                used += 1
            elif isinstance(element, ast.Constant) and element.value is None:
                dims.append(frozenset())
                extents.append(symbol.number(1))
            else:
                return self.unknown([base])
        return replace(base, dims=(*dims, *base.dims[used:]), extents=(*extents, *base.extents[used:]))

    def _call(self, node: ast.Call) -> Thing:
        line = self.line(node)
        arguments: list[Thing] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                items = self.expression(argument.value)
                arguments += items.values if isinstance(items, Items) else ()
            else:
                arguments.append(self.expression(argument))
        keywords = {word.arg: self.expression(word.value) for word in node.keywords if word.arg is not None}
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
            if isinstance(owner, (Value, BlockPointer)):
                return method(self, owner, node.func.attr, arguments, keywords, line)
        function = self.expression(node.func)
        target = function.value if isinstance(function, Known) else None
        if is_language(target) or target in (min, max, int, float, bool, len, abs, range):
            return language(self, getattr(target, "__name__", ""), arguments, keywords, line)
        if hasattr(target, "parse") and hasattr(target, "arg_names"):
            return self._helper(target, arguments, keywords, line)
        tensors = [thing for thing in (*arguments, *keywords.values()) if isinstance(thing, Value)]
        return self.mapped(tensors, None)

    def _helper(self, function: Any, arguments: list[Thing], keywords: dict[str, Thing], line: int) -> Thing:
        if len(self._frames) > MAX_CALL_DEPTH:
            self.trace.note(f"{function.__name__} calls itself, or is called too deeply to be read", line)
            return self.unknown([thing for thing in arguments if isinstance(thing, Value)])
        self._place.append(line)
        try:
            return self.read(function, {**dict(zip(function.arg_names, arguments)), **keywords})
        finally:
            self._place.pop()

    # For the calls.

    def line(self, node: ast.AST) -> int:
        """The line in the file."""
        return self._frames[-1].first_line + getattr(node, "lineno", 1) - 1


def _first_line(function: Any) -> int:
    start = getattr(function, "starting_line_number", None)
    raw = getattr(function, "fn", function)
    if start is None:
        try:
            start = inspect.getsourcelines(raw)[1]
        except OSError:
            return 1
    # The source that Triton parses begins at ``def``, the file's function at its first decorator.
    try:
        lines = inspect.getsourcelines(raw)[0]
    except OSError:
        return int(start)
    return int(start) + next((place for place, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)


def _function_name(node: ast.expr) -> str:
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _as_load(target: ast.expr) -> ast.expr:
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _compared(op: ast.cmpop, a: Any, b: Any) -> bool | None:
    if isinstance(op, (ast.Eq, ast.Is)):
        return bool(a == b)
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return bool(a != b)
    try:
        return {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}.get(type(op))
    except TypeError:
        return None


def _known_comparison(op: ast.cmpop, left: Thing, right: Thing) -> bool | None:
    if isinstance(left, Known) and isinstance(right, Known):
        return _compared(op, left.value, right.value)
    if isinstance(op, (ast.Is, ast.IsNot)) and (isinstance(left, Known) or isinstance(right, Known)):
        return isinstance(op, ast.IsNot)  # a number or pointer is not None
    return None
