"""How long an axis is: from comparisons and block pointers, else from the loops that walk it from end to end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.drafts import Draft
from triton_ascend_tune.candidates.symbol import DATA, ITERATION, LANE, PID, PROGRAMS, Poly
from triton_ascend_tune.candidates.trace import Trace


def is_length(poly: Poly, trace: Trace, tunables: Collection[str]) -> bool:
    """Whether ``poly`` can be the length of an axis: known before the launch, whatever is chosen."""
    if poly.has(PID, PROGRAMS, ITERATION, LANE, DATA) or poly.parameters & set(tunables):
        return False
    value = symbol.evaluate(poly, trace.values)
    return bool(poly.parameters) if value is None else value > 0


def length_of(
    draft: Draft, walked: bool, trace: Trace, tunables: Collection[str], keys: Collection[str]
) -> Poly | None:
    """The length of an axis; None if it could not be told. ``walked``: whether programs or iterations move along it."""
    found = list(dict.fromkeys(poly for poly, _ in draft.lengths))
    if not found:
        found = list(dict.fromkeys(_loop_lengths(draft, trace, tunables)))
    found = _without_shifts(found)
    preferred = [poly for poly in found if poly.parameters & set(keys)]
    candidates = preferred or found
    chosen = candidates[0] if candidates else None
    different = {symbol.evaluate(poly, trace.values) for poly in found}
    if len(candidates) > 1 and len(different) > 1:
        others = ", ".join(str(poly) for poly in found if poly != chosen)
        trace.note(f"an axis has several lengths: {chosen} is used, not {others}", draft.line)
    if chosen is None and not walked and not draft.extent.parameters & set(tunables):
        return draft.extent  # one tile is all there is of it
    return chosen


def _loop_lengths(draft: Draft, trace: Trace, tunables: Collection[str]) -> Iterable[Poly]:
    """Lengths from the loops that walk the axis from end to end."""
    for monomial, coefficient in draft.terms:
        for counter in symbol.factors(monomial, ITERATION):
            loop = trace.loops[counter]
            if loop.stop is None or loop.step is None or coefficient != 1:
                continue
            moves = Poly(((tuple(atom for atom in monomial if atom != counter), 1),))
            if loop.start is not None and not loop.start.has(PID) and _has_program(draft):
                continue  # it walks the part that one program owns
            unit = symbol.divided(moves.terms[0], loop.step.terms[0]) if len(loop.step.terms) == 1 else None
            if unit is None:
                continue
            yield from _times(loop.stop, Poly((unit,)), trace, tunables)


def _times(stop: Poly, unit: Poly, trace: Trace, tunables: Collection[str]) -> Iterable[Poly]:
    """``stop * unit``, without the rounding up where ``stop`` is a quotient by ``unit``."""
    single = stop.single
    quotient = symbol.ceil_div_of(single) if single is not None else None
    if quotient is not None and quotient[1] == unit:
        top = quotient[0]
        exact = top + unit - symbol.number(1)
        stop, unit = (exact if unit.parameters & top.parameters else top), symbol.number(1)
    product = stop * unit
    if is_length(product, trace, tunables):
        yield product


def _has_program(draft: Draft) -> bool:
    return any(atom.kind == PID for monomial, _ in draft.terms for each in monomial for atom in each.deep)


def _without_shifts(lengths: Sequence[Poly]) -> list[Poly]:
    """Of lengths that differ by a number, the longest: ``i + 1 < n`` is about a neighbour, not another axis."""
    longest: dict[Poly, Poly] = {}
    for poly in lengths:
        shape = poly.only(bool)
        best = longest.get(shape)
        if best is None or ((poly - best).constant or 0) > 0:
            longest[shape] = poly
    return list(longest.values())
