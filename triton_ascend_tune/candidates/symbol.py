"""Integer expressions of a kernel as polynomials over what is not known before it runs.

A polynomial maps monomials (sorted tuples of atoms) to integer coefficients. What is no polynomial (a quotient, a
minimum, something loaded) becomes an atom of its own that keeps its operands, so that it can still be evaluated and
asked what it depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

#: Kinds of atoms: an argument; a program's place in a grid dimension and the size of that dimension; the lanes of one
#: ``arange``; the count of a loop's iterations; an operation on polynomials; something loaded or otherwise unknown.
PARAM, PID, PROGRAMS, LANE, ITERATION, OPERATION, DATA = "param", "pid", "programs", "lane", "iteration", "op", "data"

Monomial = tuple["Atom", ...]

#: Above this size an expression is no index any more but arithmetic on data; it is kept as one opaque atom.
MAX_TERMS, MAX_DEGREE = 32, 8


@dataclass(frozen=True)
class Atom:
    """``name``: of the argument, operation or place; the grid dimension of a program id."""

    kind: str
    name: str
    operands: tuple[Poly, ...] = ()

    @cached_property
    def order(self) -> tuple[str, str, str]:
        """Where it stands in a monomial; the same in every process."""
        return self.kind, self.name, str(self) if self.operands else ""

    @cached_property
    def deep(self) -> frozenset[Atom]:
        """This atom and all atoms that its operands are made of."""
        found = {self}
        for operand in self.operands:
            found |= operand.deep
        return frozenset(found)

    def __str__(self) -> str:
        if self.kind != OPERATION:
            return f"{self.kind}{self.name}" if self.kind in (PID, PROGRAMS) else self.name
        sign = {"floordiv": "//", "mod": "%"}.get(self.name)
        if sign:
            return f"({self.operands[0]}) {sign} ({self.operands[1]})"
        return f"{self.name}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class Poly:
    """``terms``: sorted pairs of monomial and coefficient, none of them zero."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @cached_property
    def deep(self) -> frozenset[Atom]:
        """All atoms, those inside operations included."""
        found: set[Atom] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                found |= atom.deep
        return frozenset(found)

    @property
    def constant(self) -> int | None:
        """The value, if this is a number."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def single(self) -> Atom | None:
        """The atom, if this is nothing but one."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    @property
    def parameters(self) -> frozenset[str]:
        """The names of all arguments in it."""
        return frozenset(atom.name for atom in self.deep if atom.kind == PARAM)

    def has(self, *kinds: str) -> bool:
        """Whether an atom of one of ``kinds`` is in it, at any depth."""
        return any(atom.kind in kinds for atom in self.deep)

    def __add__(self, other: Poly) -> Poly:
        sums = dict(self.terms)
        for monomial, coefficient in other.terms:
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return _poly(sums)

    def __neg__(self) -> Poly:
        return Poly(tuple((monomial, -coefficient) for monomial, coefficient in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        products: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = tuple(sorted((*left, *right), key=_order))
                products[monomial] = products.get(monomial, 0) + a * b
        return _poly(products)

    @property
    def too_big(self) -> bool:
        return len(self.terms) > MAX_TERMS or any(len(monomial) > MAX_DEGREE for monomial, _ in self.terms)

    def only(self, keep: Callable[[Monomial], bool]) -> Poly:
        """The terms whose monomial ``keep`` accepts."""
        return Poly(tuple(term for term in self.terms if keep(term[0])))

    def replaced(self, values: Mapping[Atom, Poly]) -> Poly:
        """With atoms replaced, outside operations."""
        total = Poly()
        for monomial, coefficient in self.terms:
            product = number(coefficient)
            for atom in monomial:
                product = product * values.get(atom, Poly((((atom,), 1),)))
            total = total + product
        return total

    def __str__(self) -> str:
        return " + ".join(_term(monomial, coefficient) for monomial, coefficient in reversed(self.terms)) or "0"


def _term(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    factors = "*".join(map(str, monomial))
    return factors if coefficient == 1 else f"{coefficient}*{factors}"


def _order(atom: Atom) -> tuple[str, str, str]:
    return atom.order


def _poly(terms: Mapping[Monomial, int]) -> Poly:
    kept = [term for term in terms.items() if term[1]]
    return Poly(tuple(sorted(kept, key=lambda term: (len(term[0]), [_order(atom) for atom in term[0]]))))


def number(value: int) -> Poly:
    return Poly((((), value),)) if value else Poly()


def of(atom: Atom) -> Poly:
    return Poly((((atom,), 1),))


def param(name: str) -> Poly:
    return of(Atom(PARAM, name))


def operation(name: str, *operands: Poly) -> Poly:
    """``floordiv``, ``mod``, ``min``, ``max`` or ``next_power_of_2``, folded where the operands are numbers."""
    values = [operand.constant for operand in operands]
    if all(value is not None for value in values):
        folded = _fold(name, [value for value in values if value is not None])
        if folded is not None:
            return number(folded)
    if name == "floordiv" and values[1] == 1:
        return operands[0]
    if name in ("min", "max") and len(set(operands)) == 1:
        return operands[0]
    if name == "floordiv" and (exact := _exact(operands[0], operands[1])) is not None:
        return exact
    return of(Atom(OPERATION, name, operands))


def _exact(top: Poly, bottom: Poly) -> Poly | None:
    """``top // bottom`` where every term of ``top`` contains ``bottom``."""
    if len(bottom.terms) != 1 or not top.terms:
        return None
    terms = {}
    for monomial, coefficient in top.terms:
        quotient = divided((monomial, coefficient), bottom.terms[0])
        if quotient is None:
            return None
        terms[quotient[0]] = quotient[1]
    return _poly(terms)


def divided(term: tuple[Monomial, int], by: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """``term / by`` if it leaves no remainder."""
    if by[1] == 0 or term[1] % by[1]:
        return None
    left = list(term[0])
    for atom in by[0]:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left), term[1] // by[1]


def _fold(name: str, values: list[int]) -> int | None:
    if name in ("floordiv", "mod"):
        if values[1] == 0:
            return None
        return values[0] // values[1] if name == "floordiv" else values[0] % values[1]
    if name == "min":
        return min(values)
    if name == "max":
        return max(values)
    if name == "next_power_of_2":
        return next_power_of_2(values[0])
    return None


def ceil_div(top: Poly, bottom: Poly) -> Poly:
    return operation("floordiv", top + bottom - number(1), bottom)


def ceil_div_of(atom: Atom) -> tuple[Poly, Poly] | None:
    """``(a, b)`` if ``atom`` is ``ceil(a / b)``, written as ``cdiv`` or as ``(a + b - 1) // b``."""
    if atom.kind != OPERATION or atom.name != "floordiv":
        return None
    top, bottom = atom.operands
    return top - bottom + number(1), bottom


def conjuncts(poly: Poly) -> list[Poly]:
    """``x < min(a, b)`` says ``x < a`` and ``x < b``."""
    single = poly.single
    if single is not None and single.kind == OPERATION and single.name == "min":
        return [each for operand in single.operands for each in conjuncts(operand)]
    return [poly]


def evaluate(poly: Poly, values: Mapping[str, int]) -> int | None:
    """The value where ``values`` gives all arguments in it; None otherwise, and for what depends on the launch."""
    total = 0
    for monomial, coefficient in poly.terms:
        product = coefficient
        for atom in monomial:
            value = _value_of(atom, values)
            if value is None:
                return None
            product *= value
        total += product
    return total


def _value_of(atom: Atom, values: Mapping[str, int]) -> int | None:
    if atom.kind == PARAM:
        value = values.get(atom.name)
        return int(value) if isinstance(value, int) else None
    if atom.kind != OPERATION:
        return None
    operands = [evaluate(operand, values) for operand in atom.operands]
    return None if None in operands else _fold(atom.name, [value for value in operands if value is not None])


def factors(monomial: Monomial, kind: str) -> Iterator[Atom]:
    """The atoms of ``kind`` that ``monomial`` is a product of (not those inside operations)."""
    return (atom for atom in monomial if atom.kind == kind)


def next_power_of_2(value: int) -> int:
    return 1 if value <= 1 else 1 << math.ceil(math.log2(value))
