"""What one reading of a kernel found: its memory accesses, bounds, reductions, loops and tiles, in source order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune.candidates.symbol import Atom, Poly

Lanes = frozenset[Atom]


@dataclass(frozen=True)
class Value:
    """A number, pointer or tensor of the kernel.

    ``poly``: what it is made of; for data an opaque atom. ``dims``: per tensor dimension the lanes (``arange`` calls)
    that walk it. ``extents``: per dimension the number of elements. ``dtype``: of the elements, or of what a pointer
    points to (``pointer``). ``tile``: number of the tile that holds it on the chip; None for what is only an index.
    """

    poly: Poly
    dims: tuple[Lanes, ...] = ()
    extents: tuple[Poly, ...] = ()
    dtype: str = "int32"
    pointer: bool = False
    tile: int | None = None


@dataclass(frozen=True)
class Known:
    """A Python value: a function, a type, a string, None, or a number that is no index."""

    value: Any


@dataclass(frozen=True)
class Items:
    """A tuple or list."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class BlockPointer:
    """A block pointer or tensor descriptor: per dimension of the tensor its shape, stride, the block's place and size.

    ``lanes``: one for each dimension of the block, as an ``arange`` over it would have.
    """

    base: Value
    shape: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    offsets: tuple[Poly, ...]
    extents: tuple[Poly, ...]
    lanes: tuple[Atom, ...]


Thing = Value | Known | Items | BlockPointer


@dataclass(frozen=True)
class Access:
    """A load, store or atomic. ``pointer``: the address in elements, its base argument included."""

    kind: str
    pointer: Poly
    dims: tuple[Lanes, ...]
    extents: tuple[Poly, ...]
    line: int


@dataclass(frozen=True)
class Bound:
    """``index < length``, where ``index`` walks ``lane``. ``source``: "mask", "modulo" or "block"."""

    lane: Atom
    index: Poly
    length: Poly
    source: str
    line: int


@dataclass(frozen=True)
class Loop:
    """``for i in range(start, stop, step)``; ``counter`` counts its iterations from 0. None: not known (``while``)."""

    counter: Atom
    start: Poly | None
    stop: Poly | None
    step: Poly | None
    line: int


@dataclass(frozen=True)
class Step:
    """One thing that happens to tiles.

    ``kind``: load, store, fill, map, select, reduce, dot, move, begin, end or carry. A select does not overwrite what
    it reads.

    ``result``: the tile written (None for a store and for the marks of a loop); ``operands``: the tiles read.
    ``extents``: of the tile; of a loop's begin its trip count, if that is known. ``scratch``: memory that the step
    needs besides, in sizes of its first operand. ``scattered``: neighbours of a row of the tile are no neighbours in
    memory. ``unrolled``: the loop that begins here is written out.
    """

    kind: str
    result: int | None
    operands: tuple[int, ...]
    extents: tuple[Poly, ...] = ()
    dtype: str = "float32"
    line: int = 0
    scratch: float = 0.0
    scattered: bool = False
    unrolled: bool = False


@dataclass(frozen=True)
class Dot:
    """A matrix product: the extents of rows, columns and the summed dimension, and the lanes that walk them."""

    m: Poly
    n: Poly
    k: Poly
    lanes: tuple[Lanes, Lanes, Lanes]
    dtype: str
    line: int


@dataclass(frozen=True)
class Note:
    """What the reading could not tell, and where."""

    text: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass
class Trace:
    """Everything found, in the order of the source. ``lanes``: extent of each; ``joined``: lanes of one dimension.

    ``scalars``: ``index < length`` of indices that programs and iterations move, but no lanes walk.
    """

    accesses: list[Access] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    scalars: list[tuple[Poly, Poly]] = field(default_factory=list)
    reduced: list[tuple[Lanes, int]] = field(default_factory=list)
    joined: list[Lanes] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    loops: dict[Atom, Loop] = field(default_factory=dict)
    lanes: dict[Atom, tuple[Poly, int]] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)

    def note(self, text: str, line: int) -> None:
        note = Note(text, line)
        if note not in self.notes:
            self.notes.append(note)
