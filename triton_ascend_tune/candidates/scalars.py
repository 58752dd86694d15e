"""Axes of which a program takes one element at a time: ``row = pid``, or a loop over the rows that it owns.

No ``arange`` walks them, so they show only in the terms of addresses that belong to no lane. Where programs move by a
parameter, and a loop takes that many elements from there, the parameter is the split: the elements one program owns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.lengths import is_length
from triton_ascend_tune.candidates.symbol import PARAM, PID, Atom, Poly
from triton_ascend_tune.candidates.trace import Loop, Trace


@dataclass(frozen=True)
class Scalar:
    """One such axis. ``length``: None if it could not be told. ``dealt``: programs take turns on it."""

    grid_dim: int
    length: Poly | None
    split: str | None = None
    dealt: bool = False
    line: int = 0


def scalars_of(
    unclaimed: Sequence[symbol.Monomial], trace: Trace, tunables: Collection[str], walked: Collection[int | None]
) -> list[Scalar]:
    """One axis for each grid dimension in ``unclaimed``, terms of addresses, that is not ``walked`` by another."""
    dims = {
        int(atom.name) for monomial in unclaimed for each in monomial for atom in each.deep if atom.kind == PID
    } - set(walked)
    return [_scalar(dim, unclaimed, trace, tunables) for dim in sorted(dims)]


def _scalar(dim: int, unclaimed: Sequence[symbol.Monomial], trace: Trace, tunables: Collection[str]) -> Scalar:
    program = Atom(PID, str(dim))
    for loop in trace.loops.values():
        for name in _moved_by(program, unclaimed, tunables):
            first = Poly(((tuple(sorted((program, Atom(PARAM, name)), key=lambda atom: atom.order)), 1),))
            if _goes_through(loop, first, symbol.param(name)) and _reaches(loop, first, unclaimed):
                return Scalar(dim, _length(loop, first, trace, tunables), split=name, line=loop.line)
    loops = [loop for loop in trace.loops.values() if loop.start is not None and program in loop.start.deep]
    stops = {loop.stop for loop in loops if loop.stop is not None and is_length(loop.stop, trace, tunables)}
    return Scalar(dim, stops.pop() if len(stops) == 1 else None, dealt=bool(loops))


def _moved_by(program: Atom, unclaimed: Sequence[symbol.Monomial], tunables: Collection[str]) -> Iterator[str]:
    """The parameters by which ``program`` moves an address."""
    names = [atom.name for monomial in unclaimed if program in monomial for atom in symbol.factors(monomial, PARAM)]
    yield from (name for name in dict.fromkeys(names) if name in tunables)


def _goes_through(loop: Loop, first: Poly, count: Poly) -> bool:
    """Whether ``loop`` takes ``count`` elements one by one, counted from ``first`` on or from 0."""
    if loop.start is None or loop.stop is None or loop.step is None or loop.step.constant != 1:
        return False
    return loop.start in (first, Poly()) and loop.start + count in symbol.conjuncts(loop.stop)


def _reaches(loop: Loop, first: Poly, unclaimed: Sequence[symbol.Monomial]) -> bool:
    """Whether an iteration moves an address by as much as one of the elements from ``first`` on."""
    (term,) = first.terms
    quotients = [symbol.divided((monomial, 1), term) for monomial in unclaimed]
    strides = {quotient[0] for quotient in quotients if quotient is not None}
    mine = [symbol.divided((monomial, 1), ((loop.counter,), 1)) for monomial in unclaimed]
    return any(quotient is not None and quotient[0] in strides for quotient in mine)


def _length(loop: Loop, first: Poly, trace: Trace, tunables: Collection[str]) -> Poly | None:
    """What the loop's end, or else a comparison of the index, is bounded by."""
    assert loop.stop is not None
    (term,) = first.terms
    compared = [length for index, length in trace.scalars if term in index.terms]
    found = [each for each in (*symbol.conjuncts(loop.stop), *compared) if is_length(each, trace, tunables)]
    return found[0] if found else None
