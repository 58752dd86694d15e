"""The axes of a kernel: one per dimension of its data, with what walks it and which parameter cuts it.

Everything is read off one ``Trace``. An axis is a set of ``arange`` calls that walk the same dimension of the same
tensors. Of its index (``pid * BLOCK + start + arange``) each term says something: a program id times a parameter makes
that the *split* parameter, the elements that one program owns; an iteration of a loop times a parameter makes that the
*tiling* parameter, the elements of one iteration. Terms are read where they are certain, in comparisons and block
pointers; in an address they are told apart by the strides. What cannot be told becomes a ``Note``, never a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.drafts import Draft, different_dims, drafts_of
from triton_ascend_tune.candidates.lengths import is_length, length_of
from triton_ascend_tune.candidates.read import Reader
from triton_ascend_tune.candidates.scalars import scalars_of
from triton_ascend_tune.candidates.symbol import DATA, ITERATION, LANE, OPERATION, PARAM, PID, PROGRAMS, Atom, Poly
from triton_ascend_tune.candidates.trace import Bound, Items, Known, Note, Thing, Trace, Value

NAMES = ("x", "y", "z", "w", "v", "t")


@dataclass(frozen=True)
class Axis:
    """One dimension of a kernel's data.

    ``length``: its elements, over the kernel's arguments; None if that could not be told. ``split``, ``tiling``: the
    parameters described above. ``whole``: a parameter that nothing moves along the axis, so that it must cover all of
    it. ``tile``: elements per ``arange``, 1 where one after the other is taken. ``contiguous``: whether neighbours
    on it are so in memory. ``reduced``: whether it is summed (or the like) away. ``grid_dim``: the grid dimension
    whose programs walk it. ``dealt``: programs take turns, so that a tile may have any size whatever the grid.
    """

    name: str
    length: Poly | None = None
    split: str | None = None
    tiling: str | None = None
    whole: str | None = None
    tile: Poly | None = None
    contiguous: bool = False
    reduced: bool = False
    grid_dim: int | None = None
    dealt: bool = False
    line: int = 0

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (self.split, self.tiling, self.whole) if name))

    def __str__(self) -> str:
        parts = [f"{self.name}: length {self.length if self.length is not None else 'unknown'}"]
        parts += [f"{what} {name}" for what in ("split", "tiling", "whole") if (name := getattr(self, what))]
        parts += [what for what in ("contiguous", "reduced", "dealt") if getattr(self, what)]
        if self.grid_dim is not None:
            parts.append(f"grid dimension {self.grid_dim}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Analysis:
    """``tunables``: constexprs without a value. ``unmapped``: those of them that belong to no axis."""

    axes: tuple[Axis, ...]
    tunables: tuple[str, ...]
    unmapped: tuple[str, ...]
    notes: tuple[Note, ...]
    trace: Trace = field(compare=False, repr=False)
    values: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_cube(self) -> bool:
        return bool(self.trace.dots)

    def axis(self, name: str) -> Axis:
        return next(axis for axis in self.axes if axis.name == name)

    def axes_of(self, parameter: str) -> list[Axis]:
        return [axis for axis in self.axes if parameter in axis.parameters]

    def size(self, axis: Axis) -> int | None:
        """The number of elements on ``axis`` in this call; None if it is not known."""
        return None if axis.length is None else symbol.evaluate(axis.length, self.values)


def analyse(
    function: Any, given: Mapping[str, Any], keys: Collection[str] = (), derived: Collection[str] = ()
) -> Analysis:
    """The axes of ``function``, a JIT function, in a call with the arguments ``given`` by name.

    ``keys``: arguments that the tuning key names, preferred as lengths. ``derived``: constexprs that heuristics give
    values to; they are not tunable. SyntaxError and the like of a source that cannot be read are raised.
    """
    arguments, values, tunables = _arguments(function, given, derived)
    reader = Reader(values)
    reader.read(function, arguments)
    return _Axes(reader.trace, tunables, keys).analysis()


def _arguments(
    function: Any, given: Mapping[str, Any], derived: Collection[str]
) -> tuple[dict[str, Thing], dict[str, int], tuple[str, ...]]:
    import inspect

    arguments: dict[str, Thing] = {}
    values: dict[str, int] = {}
    tunables = []
    for parameter in function.params:
        name, default = parameter.name, parameter.default
        value = given.get(name, default)
        missing = name not in given and default is inspect.Parameter.empty
        if type(value).__name__ == "constexpr":
            value = value.value
        if missing:
            arguments[name] = Value(symbol.param(name))
            if parameter.is_constexpr and name not in derived:
                tunables.append(name)
        elif hasattr(value, "dtype") and not isinstance(value, type):
            arguments[name] = Value(symbol.param(name), dtype=_dtype_name(value.dtype), pointer=True)
        elif isinstance(value, bool) or value is None or isinstance(value, str) or callable(value):
            arguments[name] = Known(value)
        elif isinstance(value, int):
            arguments[name] = Value(symbol.param(name))
            values[name] = value
        elif isinstance(value, float):
            arguments[name] = Known(value) if parameter.is_constexpr else Value(symbol.param(name), dtype="float32")
        elif isinstance(value, (tuple, list)):
            arguments[name] = Items(tuple(Value(symbol.number(int(each))) for each in value if isinstance(each, int)))
        else:
            arguments[name] = Known(value)
    return arguments, values, tuple(tunables)


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class _Axes:
    """Makes axes of a trace."""

    def __init__(self, trace: Trace, tunables: Sequence[str], keys: Collection[str]) -> None:
        self.trace, self.tunables, self.keys = trace, tuple(tunables), keys
        self.values = trace.values
        self.drafts = drafts_of(trace)
        self.of_lane = {lane: draft for draft in self.drafts for lane in draft.lanes}
        self.unclaimed: list[symbol.Monomial] = []

    def analysis(self) -> Analysis:
        for bound in self.trace.bounds:
            self._read_bound(bound)
        for access in self.trace.accesses:
            self._read_address(access.pointer)
            rank = len(access.dims)
            for place, lanes in enumerate(access.dims):
                for lane in lanes:
                    draft = self.of_lane[lane]
                    draft.accessed = True
                    draft.stored |= access.kind != "load"
                    draft.distance = max(draft.distance, rank - 1 - place)
        for lanes, _ in self.trace.reduced:
            for lane in lanes:
                self.of_lane[lane].reduced = True
        for draft in self.drafts:
            draft.axis = self._axis_of(draft)
        drafts = self._merged([draft for draft in self.drafts if draft.accessed or draft.axis.parameters])
        drafts.sort(key=lambda draft: (not draft.stored, -draft.distance))
        axes = [draft.axis for draft in drafts if draft.axis is not None]
        axes = self._scalar_axes({axis.grid_dim for axis in axes}) + axes
        named = tuple(replace(axis, name=_name(place)) for place, axis in enumerate(axes))
        mapped = {parameter for axis in named for parameter in axis.parameters}
        unmapped = tuple(name for name in self.tunables if name not in mapped)
        self._note_gaps(named, unmapped)
        return Analysis(named, self.tunables, unmapped, tuple(self.trace.notes), self.trace, self.values)

    # Evidence.

    def _read_bound(self, bound: Bound) -> None:
        draft = self.of_lane[bound.lane]
        draft.bounded = True
        draft.terms += [term for term in bound.index.terms if term[0] and bound.lane not in term[0]]
        if bound.length.has(DATA) and not bound.length.parameters:
            self.trace.note("a length is loaded from memory, so it is not known before the launch", bound.line)
        elif is_length(bound.length, self.trace, self.tunables):
            draft.lengths.append((bound.length, bound.line))

    def _read_address(self, pointer: Poly) -> None:
        strides: dict[Atom, tuple[symbol.Monomial, int]] = {}
        for monomial, coefficient in pointer.terms:
            for lane in symbol.factors(monomial, LANE):
                stride = tuple(atom for atom in monomial if atom != lane)
                strides[lane] = (stride, coefficient)
                scale = symbol.evaluate(Poly(((stride, coefficient),)), self.values)
                self.of_lane[lane].contiguous |= scale == 1
        for term in pointer.terms:
            kinds = {atom.kind for each in term[0] for atom in each.deep}
            if LANE in kinds or not kinds & {PID, ITERATION}:
                continue
            if any(term in self.of_lane[lane].terms for lane in strides):
                continue  # a comparison has said already whose it is
            quotients = {lane: symbol.divided(term, stride) for lane, stride in strides.items()}
            claims = [(len(strides[lane][0]), lane, rest) for lane, rest in quotients.items() if rest is not None]
            claims = [claim for claim in claims if self._claims(claim[1], claim[2])]
            if not claims:
                self.unclaimed.append(term[0])
                continue
            _, lane, rest = max(claims, key=lambda claim: (claim[0], str(claim[1])))
            self.of_lane[lane].terms.append(rest)

    def _claims(self, lane: Atom, term: tuple[symbol.Monomial, int]) -> bool:
        """Whether ``term`` of an address, divided by the lane's stride, moves along the lane's axis."""
        draft = self.of_lane[lane]
        names = {atom.name for atom in term[0] if atom.kind == PARAM}
        extent = draft.extent
        if names and names == extent.parameters:
            return True  # it moves by tiles
        if draft.bounded:
            return False  # what moves it is known from its mask
        if names - set(self.tunables):
            return False  # a stride of another axis
        return bool(names) or any(atom.kind == OPERATION for atom in term[0]) or extent.constant is None

    # Conclusions.

    def _axis_of(self, draft: Draft) -> Axis:
        by_program, by_iteration = set(), set()
        grid_dims: list[int] = []
        for monomial, _ in draft.terms:
            deep = {atom for each in monomial for atom in each.deep}
            names = [atom.name for atom in monomial if atom.kind == PARAM and atom.name in self.tunables]
            if len(names) > 1:  # only one of the factors can be the size of what is moved by
                names = [name for name in names if name in draft.extent.parameters]
            dims = sorted(int(atom.name) for atom in deep if atom.kind == PID)
            grid_dims += dims
            iterates = any(atom.kind == ITERATION for atom in deep)
            if dims:
                by_program.update(names)
            if iterates:
                by_iteration.update(names)
        dealt = bool(by_iteration) and self._is_dealt(draft, by_program & by_iteration)
        split = _choose(by_program - by_iteration, draft.extent)
        tiling = _choose(by_iteration, draft.extent)
        walked = split is not None or tiling is not None
        own = draft.extent.parameters & set(self.tunables)
        whole = None if walked or not own else sorted(own)[0]
        if whole is not None and self._moves_by_extent(draft):
            whole, tiling = None, whole
        if split and tiling is None and len(own) == 1 and split not in own:
            # One program owns ``split`` elements but looks at fewer, and no loop moves over the rest.
            (whole,) = own
        dims = list(dict.fromkeys(grid_dims))
        if len(dims) > 1:
            self.trace.note(f"more than one grid dimension walks the axis: {', '.join(map(str, dims))}", draft.line)
        return Axis(
            name="",
            length=length_of(draft, walked, self.trace, self.tunables, self.keys),
            split=split,
            tiling=tiling,
            whole=whole,
            tile=draft.extent,
            contiguous=draft.contiguous,
            reduced=draft.reduced,
            grid_dim=dims[0] if dims else None,
            dealt=dealt,
            line=draft.line,
        )

    def _is_dealt(self, draft: Draft, both: Collection[str]) -> bool:
        """Whether programs take turns on the axis: a program's next tile is that of others away.

        ``both``: parameters by which programs as well as iterations move.
        """
        for monomial, _ in draft.terms:
            kinds = {atom.kind for each in monomial for atom in each.deep}
            if ITERATION in kinds and kinds & {PID, PROGRAMS}:
                return True
            if ITERATION in kinds and len(monomial) > 2 and both & {atom.name for atom in monomial}:  # type: ignore[operator]
                return True
        return False

    def _moves_by_extent(self, draft: Draft) -> bool:
        """Whether an iteration moves by something that depends on the tile, though not by a plain product."""
        return any(
            any(atom.kind in (ITERATION, PID) for each in monomial for atom in each.deep)
            and bool(
                {atom.name for each in monomial for atom in each.deep if atom.kind == PARAM} & draft.extent.parameters
            )
            for monomial, _ in draft.terms
        )

    def _merged(self, drafts: list[Draft]) -> list[Draft]:
        """One axis for those that several loops walk in the same way with an ``arange`` of their own."""
        apart = {
            frozenset((id(self.of_lane[a]), id(self.of_lane[b])))
            for access in self.trace.accesses
            for a, b in different_dims(access.dims)
        }
        kept: list[Draft] = []
        for draft in drafts:
            same = next(
                (one for one in kept if _alike(one, draft) and frozenset((id(one), id(draft))) not in apart), None
            )
            if same is None:
                kept.append(draft)
                continue
            one, two = same.axis, draft.axis
            assert one is not None and two is not None
            same.distance, same.stored = max(same.distance, draft.distance), same.stored or draft.stored
            same.axis = replace(
                one,
                length=one.length if one.length is not None else two.length,
                contiguous=one.contiguous or two.contiguous,
                reduced=one.reduced or two.reduced,
                grid_dim=one.grid_dim if one.grid_dim is not None else two.grid_dim,
            )
        return kept

    def _scalar_axes(self, walked: set[int | None]) -> list[Axis]:
        """Axes on which a program takes one element at a time."""
        found = scalars_of(self.unclaimed, self.trace, self.tunables, walked)
        return [
            Axis(
                name="",
                length=each.length,
                split=each.split,
                tile=None if each.split is None else symbol.number(1),
                grid_dim=each.grid_dim,
                dealt=each.dealt,
                line=each.line,
            )
            for each in found
        ]

    def _note_gaps(self, axes: Sequence[Axis], unmapped: Sequence[str]) -> None:
        for axis in axes:
            if axis.length is None and axis.parameters:
                self.trace.note(
                    f"the length of the axis that {', '.join(axis.parameters)} cuts could not be told; "
                    f'say it: hints={{"axes": {{"{axis.name}": ...}}}}',
                    axis.line,
                )
        for name in unmapped:
            self.trace.note(
                f"constexpr {name} belongs to no axis; pass it, or list its values: hints={{{name!r}: [...]}}", 0
            )


def _choose(names: Collection[str], extent: Poly) -> str | None:
    """One of several parameters that move an axis: the one that the tile is made of, else the first."""
    own = sorted(names & extent.parameters) if isinstance(names, set) else []
    return own[0] if own else min(names, default=None)


def _alike(one: Draft, other: Draft) -> bool:
    a, b = one.axis, other.axis
    assert a is not None and b is not None
    if one.extent != other.extent or a.parameters != b.parameters:
        return False
    if a.length is not None and b.length is not None and a.length != b.length:
        return False
    return a.grid_dim == b.grid_dim or (None in (a.grid_dim, b.grid_dim) and not (a.split or b.split))


def _name(place: int) -> str:
    return NAMES[place] if place < len(NAMES) else f"a{place}"
