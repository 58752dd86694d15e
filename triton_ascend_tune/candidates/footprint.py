"""How much on-chip memory a candidate needs, from the tiles that are alive at once.

The tiles of a reading are walked in order. One is alive from the step that writes it to the last that reads it, or to
the end of the loop that reads it again; an elementwise step writes over an operand of the same size that is not read
any more, as the compiler does. The sum at the worst step is what the kernel needs. That the compiler doubles what moves
in a loop is counted apart (``doubled``): where doubling does not fit, it does without.

The rest is learnt: a message "needs N, has M" for one candidate says by how much the model is off for that kernel, and
corrects it for the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triton_ascend_tune.candidates import symbol
from triton_ascend_tune.candidates.dtypes import width
from triton_ascend_tune.candidates.hardware import Hardware
from triton_ascend_tune.candidates.trace import Step, Trace

#: ``failures.reason`` of an overflow, e.g. "unified buffer overflow: needs 256 KiB, has 192 KiB".
_OVERFLOW = re.compile(r"(unified buffer|L1 buffer|L0[ABC] buffer) overflow: needs ([\d.]+) KiB")
_MEMORIES = ("ub", "doubled", "l1", "l0a", "l0b", "l0c")
_MEMORY = {"unified buffer": "ub", "L1 buffer": "l1", "L0A buffer": "l0a", "L0B buffer": "l0b", "L0C buffer": "l0c"}


@dataclass(frozen=True)
class Need:
    """Bytes of each memory.

    ``doubled``: of the unified buffer with multi-buffering of what moves in loops. ``moved``: loaded and stored by one
    iteration of everything. ``products``: multiply-adds of the same.
    """

    ub: int = 0
    doubled: int = 0
    moved: int = 0
    products: int = 0
    l1: int = 0
    l0a: int = 0
    l0b: int = 0
    l0c: int = 0

    def overflow(self, hardware: Hardware) -> str:
        """Which memory is too small, in the words of a reason; "" if the candidate fits."""
        for name, long in (("ub", "unified buffer"), ("l1", "L1"), ("l0a", "L0A"), ("l0b", "L0B"), ("l0c", "L0C")):
            needed, there = getattr(self, name), getattr(hardware, name)
            if there and needed > there:
                return f"{long}: needs about {needed / 1024:g} KiB, has {there / 1024:g} KiB"
        return ""


class Footprint:
    """The model of one kernel. ``estimate`` may be asked for any candidate, ``learn`` told what a compiler said."""

    def __init__(self, trace: Trace, hardware: Hardware) -> None:
        self._trace = trace
        self._hardware = hardware
        self._buffers = _buffers(trace.steps)
        # Extents recur; each is evaluated once for a candidate.
        dots = [each for dot in trace.dots for each in (dot.m, dot.n, dot.k)]
        self._extents = list(dict.fromkeys([*(each for step in trace.steps for each in step.extents), *dots]))
        place_of = {extent: place for place, extent in enumerate(self._extents)}
        self._places = [[place_of[extent] for extent in step.extents] for step in trace.steps]
        self._dots = [([place_of[each] for each in (dot.m, dot.n, dot.k)], width(dot.dtype)) for dot in trace.dots]
        self._widths = [width(step.dtype) for step in trace.steps]
        self._written = {step.result: place for place, step in enumerate(trace.steps) if _writes(step)}
        self._factors: dict[str, float] = {}
        # The vector cores of a cube core share the rows of what a mixed kernel does besides products.
        self._sharers = hardware.vector_cores // hardware.cube_cores if trace.dots and hardware.backend == "npu" else 1

    @property
    def moves_in_loops(self) -> bool:
        """Whether there is anything to double."""
        depth = 0
        for step in self._trace.steps:
            depth += {"begin": 1, "end": -1}.get(step.kind, 0)
            if depth and step.kind in ("load", "store"):
                return True
        return False

    def estimate(self, values: Mapping[str, int]) -> Need:
        """What a candidate with these ``values`` of its constexprs needs; corrected by what was learnt."""
        need = self._model({**self._trace.values, **values})
        if not self._factors:
            return need
        return replace(need, **{name: int(getattr(need, name) * self._factor(name)) for name in _MEMORIES})

    def unshared(self, values: Mapping[str, int]) -> Need:
        """``estimate`` where one vector core of a mixed kernel does it all (``enable_auto_bind_sub_block=False``)."""
        need = self.estimate(values)
        return replace(need, ub=need.ub * self._sharers, doubled=need.doubled * self._sharers)

    def largest(self, values: Mapping[str, int]) -> int:
        """Elements of the largest tile of a candidate; 1 if none is known."""
        known = [symbol.evaluate(extent, {**self._trace.values, **values}) for extent in self._extents]
        counts = [
            math.prod(known[each] or 1 for each in places)
            for places, step in zip(self._places, self._trace.steps)
            if step.kind not in ("begin", "end")
        ]
        return max(counts, default=1)

    def learn(self, values: Mapping[str, int], reason: str) -> None:
        """Takes in why a candidate did not compile; anything but an overflow teaches nothing."""
        said = _OVERFLOW.search(reason)
        if said is None:
            return
        name = _MEMORY[said.group(1)]
        modelled = getattr(self._model({**self._trace.values, **values}), name)
        if modelled:
            factor = float(said.group(2)) * 1024 / modelled
            self._factors[name] = max(factor, self._factors.get(name, 0.0))

    def _factor(self, name: str) -> float:
        return self._factors.get("ub" if name == "doubled" else name, 1.0)

    def _model(self, values: Mapping[str, int]) -> Need:
        steps = self._trace.steps
        known = [symbol.evaluate(extent, values) for extent in self._extents]
        sizes = [self._size(place, step, known) for place, step in enumerate(steps)]
        trips = [known[places[0]] if places else None for places in self._places]
        held = [self._held(buffer, sizes, trips) for buffer in self._buffers]
        peak = 0.0
        for place, step in enumerate(steps):
            if step.kind in ("begin", "end", "carry", "store"):
                continue
            alive = sum(size for buffer, size in zip(self._buffers, held) if buffer.first <= place <= buffer.last)
            peak = max(peak, alive + step.scratch * self._operand(step, sizes))
        doubled = sum(size for buffer, size in zip(self._buffers, held) if buffer.moves)
        l1 = l0c = products = 0
        for places, bytes_each in self._dots:
            # Whole fractals of 16 elements.
            rows, columns, depth = (math.ceil((known[place] or 0) / 16) * 16 for place in places)
            l1 = max(l1, int((rows + columns) * depth * bytes_each))
            l0c = max(l0c, rows * columns * 4)
            products += rows * columns * depth
        moved = sum(size for size, step in zip(sizes, steps) if step.kind in ("load", "store"))
        peak, doubled = peak / self._sharers, doubled / self._sharers
        return Need(int(peak), int(peak + doubled), int(moved), products, l1=l1, l0c=l0c)

    def _held(self, buffer: _Buffer, sizes: Sequence[float], trips: Sequence[int | None]) -> float:
        """Bytes of a buffer, with its copies."""
        size = max(sizes[place] for place in buffer.places)
        copies = 1
        for begin in buffer.unrolled:
            copies *= trips[begin] or 1
        if buffer.filled_in and any(trips[begin] != 1 for begin in buffer.filled_in):
            copies += 1  # the constant is made once, before the loop, and copied in each iteration
        return size * copies

    def _operand(self, step: Step, sizes: Sequence[float]) -> float:
        return sizes[self._written[step.operands[0]]] if step.scratch and step.operands else 0

    def _size(self, place: int, step: Step, known: Sequence[int | None]) -> float:
        places = self._places[place]
        if not places or step.kind == "begin":
            return 0
        counts = []
        for each in places:
            count = known[each]
            if count is None:
                return 0
            counts.append(count)
        align = self._hardware.align
        if step.scattered:
            return math.prod(counts) * align  # every element begins a block of its own
        row = counts[-1] * self._widths[place]
        return math.prod(counts[:-1]) * (-(-row // align) * align)


@dataclass
class _Buffer:
    """One piece of memory, used by one tile after the other from step ``first`` to step ``last``.

    ``places``: steps whose extents it must hold. ``moves``: loaded in a loop. ``unrolled``: begins of written-out loops
    around it, each iteration of which has a copy. ``filled_in``: begins of the loops in which it is set to a constant.
    """

    places: list[int]
    first: int
    last: int
    moves: bool = False
    unrolled: tuple[int, ...] = ()
    filled_in: tuple[int, ...] = ()


def _writes(step: Step) -> bool:
    return step.result is not None and step.kind != "carry"


def _off_ub(steps: Sequence[Step]) -> set[int]:
    """Tiles of matrix products that never are in the unified buffer.

    Operands that are loaded for products alone go to L1; sums of products stay in L0C until they are stored, converted
    on the way, unless something else reads them.
    """
    readers: dict[int, list[Step]] = {}
    for step in steps:
        for tile in step.operands:
            readers.setdefault(tile, []).append(step)
    dtype_of = {step.result: step.dtype for step in steps if _writes(step)}
    sums = {step.result for step in steps if step.kind == "dot" and step.result is not None}
    fills = {step.result for step in steps if step.kind == "fill"}
    summing: set[Step] = set()
    for step in steps:
        converts = len(step.operands) == 1 and step.dtype != dtype_of.get(step.operands[0])
        adds = step.kind == "map" and not step.scratch and (converts or len(step.operands) == 2)
        read = set(step.operands)
        if adds and step.result is not None and read <= sums | fills and read & sums:
            sums.add(step.result)
            summing.add(step)
    sums |= {step.operands[0] for step in steps if step.kind == "carry" and step.result in sums} & fills
    changed = True
    while changed:
        changed = False
        for tile in list(sums):
            for step in readers.get(tile, ()):
                stays = step.kind == "store" or (step.kind in ("dot", "carry", "map") and step.result in sums)
                if not stays or (step.kind == "map" and step not in summing):
                    sums.discard(tile)
                    changed = True
                    break
    loaded: set[int] = set()
    for step in reversed(steps):
        if step.kind in ("load", "move") and step.result is not None:
            uses = readers.get(step.result, [])
            if uses and all(use.kind == "dot" or (use.kind == "move" and use.result in loaded) for use in uses):
                loaded.add(step.result)
    return sums | loaded


def _buffers(steps: Sequence[Step]) -> list[_Buffer]:
    loops = _loops(steps)
    elsewhere = _off_ub(steps)
    written = {step.result: place for place, step in enumerate(steps) if _writes(step)}
    last: dict[int, int] = {}
    for place, step in enumerate(steps):
        for read in step.operands if step.kind != "carry" else ():
            if read in written:
                last[read] = max(last.get(read, 0), _until(written[read], place, loops))
    carried = {step.result: step.operands[0] for step in steps if step.kind == "carry"}
    buffer_of: dict[int, _Buffer] = {}
    buffers: list[_Buffer] = []
    for place, step in enumerate(steps):
        if step.kind == "store" and step.operands[0] in buffer_of:
            buffer_of[step.operands[0]].places.append(place)
        tile = step.result
        if tile is None or step.kind == "carry" or tile in elsewhere:
            continue
        end = max(place, last.get(tile, place))
        before = buffer_of.get(carried[tile]) if tile in carried else None
        if before is None and step.kind in ("map", "dot"):
            before = _free_operand(step, place, steps, buffer_of)
        if before is not None:
            before.places.append(place)
            before.last = max(before.last, end)
            buffer_of[tile] = before
            continue
        around = tuple(begin for begin, loop_end in loops if begin <= place <= loop_end)
        buffer_of[tile] = _Buffer(
            [place],
            place,
            end,
            moves=step.kind == "load" and bool(around),
            unrolled=tuple(begin for begin in around if steps[begin].unrolled) if step.kind == "load" else (),
            filled_in=around if step.kind == "fill" else (),
        )
        buffers.append(buffer_of[tile])
    return buffers


def _free_operand(step: Step, place: int, steps: Sequence[Step], buffer_of: Mapping[int, _Buffer]) -> _Buffer | None:
    """The buffer of an operand that ends here and has the same shape and type."""
    for operand in step.operands:
        buffer = buffer_of.get(operand)
        if buffer is None or buffer.last != place:
            continue
        like = steps[buffer.places[-1]]
        if like.extents == step.extents and width(like.dtype) == width(step.dtype):
            return buffer
    return None


def _loops(steps: Sequence[Step]) -> list[tuple[int, int]]:
    open_at, found = [], []
    for place, step in enumerate(steps):
        if step.kind == "begin":
            open_at.append(place)
        elif step.kind == "end" and open_at:
            found.append((open_at.pop(), place))
    return found


def _until(written: int, read: int, loops: Sequence[tuple[int, int]]) -> int:
    """What is written before a loop and read in it is needed in the next iteration, too."""
    return max([read, *(end for begin, end in loops if written < begin <= read <= end)])
