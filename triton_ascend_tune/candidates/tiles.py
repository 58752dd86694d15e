"""From axes to tiles: a bounded set of candidates, the most promising first.

Each parameter gets a ladder of useful sizes: powers of two; the whole axis and even parts of it; and, for what programs
share, the sizes that give every core the same number of programs. Of their combinations those remain that fit on the
chip and whose grid reaches every element. A simple model of time orders them; near-duplicates go, and so does what is
over the limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from triton_ascend_tune.candidates.axes import Analysis, Axis
from triton_ascend_tune.candidates.dtypes import width
from triton_ascend_tune.candidates.footprint import Footprint, Need
from triton_ascend_tune.candidates.hardware import Hardware
from triton_ascend_tune.candidates.symbol import evaluate, next_power_of_2

#: Effort -> how many candidates are proposed at most.
LIMITS = {"low": 16, "normal": 64, "high": 256}
#: Combinations that are looked at, whatever the kernel: ladders are thinned until there are no more.
MAX_COMBINATIONS = 800
#: Candidates that the model expects to take this many times as long as the best are not tried.
HOPELESS = 10.0
#: Sizes that differ by less than this factor, in all parameters, are as good as equal.
NEAR = 1.15
#: Sizes for the dimensions of matrix products: whole fractals of 16, as many as the cube's memories hold.
PRODUCTS = (16, 32, 64, 128, 256, 512)
#: Rungs of a ladder: useful sizes are among this many below the largest that fits.
RUNGS = 20

#: How many programs each core gets in turn, of those sizes that share an axis evenly; the large ones are for axes of
#: which the chip holds only a small part.
ROUNDS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
ROUNDS_OF_TILED = (1, 2, 4)

Grid = Callable[[Mapping[str, int]], "tuple[int, ...] | None"]


@dataclass(frozen=True)
class Tile:
    """Values of the kernel's tunable parameters, and what is expected of them. ``cost``: nanoseconds, to order by."""

    values: Mapping[str, int]
    need: Need
    cost: float


@dataclass(frozen=True)
class Tiles:
    """``chosen``: in the order in which they are worth trying. ``dropped``: values and why they cannot work.

    ``ladders``: the sizes of each parameter that were combined. ``left_out``: how many that could work were not chosen.
    """

    chosen: list[Tile]
    dropped: list[tuple[Mapping[str, int], str]]
    ladders: Mapping[str, Sequence[int]]
    left_out: int


def propose(
    analysis: Analysis,
    footprint: Footprint,
    hardware: Hardware,
    grid: Grid,
    limit: int = LIMITS["normal"],
    fixed: Mapping[str, int] | None = None,
) -> Tiles:
    """Tiles for the call that ``analysis`` is of.

    ``grid``: the grid of a candidate, None where it cannot be told. ``fixed``: parameters that something else gives
    values to. ValueError if an axis with a parameter has no known length.
    """
    ladders = {name: sizes for name, sizes in _ladders(analysis, hardware).items() if name not in (fixed or {})}
    dropped: list[tuple[Mapping[str, int], str]] = []
    least = {name: sizes[0] for name, sizes in ladders.items()}
    for name, sizes in ladders.items():
        # What does not fit with the smallest of everything else fits with nothing.
        for size in list(sizes[1:]):
            values = {**least, name: size, **(fixed or {})}
            if reason := footprint.estimate(values).overflow(hardware):
                dropped.append((values, reason))
                sizes.remove(size)
        del sizes[:-RUNGS]
    combinations = _combinations(analysis, ladders, fixed or {})
    while len(combinations) > MAX_COMBINATIONS:
        longest = max(ladders, key=lambda name: len(ladders[name]))
        ladders[longest] = _thinned(ladders[longest], len(ladders[longest]) - 1)
        combinations = _combinations(analysis, ladders, fixed or {})
    found: list[Tile] = []
    for values in combinations:
        need, launched = footprint.estimate(values), grid(values)
        if reason := _unusable(analysis, hardware, values, need, launched):
            dropped.append((values, reason))
        else:
            found.append(Tile(values, need, _cost(analysis, hardware, values, launched, need)))
    found.sort(key=lambda tile: tile.cost)
    found = [tile for tile in found if tile.cost <= HOPELESS * found[0].cost]
    chosen = _distinct(found, limit)
    return Tiles(chosen, dropped, ladders, len(found) - len(chosen))


def unusable(
    analysis: Analysis, footprint: Footprint, hardware: Hardware, grid: Grid, values: Mapping[str, int]
) -> str:
    """Why a candidate cannot work: it does not fit, or its grid is wrong; "" if it can."""
    return _unusable(analysis, hardware, values, footprint.estimate(values), grid(values))


def _unusable(
    analysis: Analysis, hardware: Hardware, values: Mapping[str, int], need: Need, launched: tuple[int, ...] | None
) -> str:
    if not _sensible(analysis, values):
        return "a tile is larger than what its program owns, or does not divide it"
    return need.overflow(hardware) or uncovered(analysis, values, launched) or _too_many(launched, hardware)


# Ladders.


def _combinations(
    analysis: Analysis, ladders: Mapping[str, Sequence[int]], fixed: Mapping[str, int]
) -> list[dict[str, int]]:
    """The combinations that make sense. The product itself is bounded: a ladder has some 16 rungs, and few are long."""
    for_all = ({**dict(zip(ladders, sizes)), **fixed} for sizes in itertools.product(*ladders.values()))
    looked_at = itertools.islice((values for values in for_all if _sensible(analysis, values)), MAX_COMBINATIONS + 1)
    return list(looked_at)


def _ladders(analysis: Analysis, hardware: Hardware) -> dict[str, list[int]]:
    ladders: dict[str, set[int]] = {}
    for axis in analysis.axes:
        for name in axis.parameters:
            length = analysis.size(axis)
            if length is None:
                raise ValueError(
                    f"the length of axis {axis.name}, which {name} cuts, is not known: "
                    f'pass it, or say it by hints={{"axes": {{"{axis.name}": ...}}}}'
                )
            sizes = set(_sizes(axis, name, max(length, 1), analysis, hardware))
            # One parameter on two axes must suit both.
            ladders[name] = ladders[name] | sizes if name in ladders and name != axis.whole else sizes
    return {name: sorted(sizes) for name, sizes in ladders.items()}


def _sizes(axis: Axis, name: str, length: int, analysis: Analysis, hardware: Hardware) -> Iterable[int]:
    unit = _unit(axis, analysis, hardware)
    whole = _aligned(length, unit)
    if name == axis.whole:
        yield next_power_of_2(length)
        if hardware.any_tile:
            yield whole
        return
    if analysis.is_cube and _in_dot(axis, analysis):
        top = next_power_of_2(length)
        yield from (size for size in PRODUCTS if size <= max(top, PRODUCTS[0]))
        if hardware.any_tile:
            shares = {_aligned(math.ceil(length / parts), by) for parts in (1, 2, 3) for by in (8, 16)}
            yield from (size for size in shares if PRODUCTS[0] < size < PRODUCTS[-1])
        return
    top = next_power_of_2(length)
    bottom = min(_smallest(axis, unit), top)
    size = top
    while size >= bottom:
        yield size
        size //= 2
    if not hardware.any_tile:
        return
    yield whole
    if name == axis.split:
        # The smallest that one launch has enough programs for.
        if (least := _aligned(math.ceil(length / hardware.max_programs), unit)) >= bottom:
            yield least
        cores = hardware.cores(analysis.is_cube)
        for rounds in ROUNDS if axis.tiling is None else ROUNDS_OF_TILED:
            even = math.ceil(length / (cores * rounds))
            # What is cut again must be a multiple of useful tiles.
            coarse = unit if axis.tiling is None else max(unit, next_power_of_2(even) // 8)
            yield _aligned(even, coarse)
    else:
        for parts in (2, 3):
            if (even := _aligned(math.ceil(length / parts), unit)) >= bottom:
                yield even


def _unit(axis: Axis, analysis: Analysis, hardware: Hardware) -> int:
    """Elements on which the axis should begin anew: a block of memory on the contiguous axis, else one."""
    if not axis.contiguous or _others_contiguous(axis, analysis):
        return 1
    widths = [width(step.dtype) for step in analysis.trace.steps if step.kind in ("load", "store")]
    return max(1, int(hardware.align // min(widths, default=4)))


def _others_contiguous(axis: Axis, analysis: Analysis) -> bool:
    """Whether the rows of the tiles run along another axis, so that this one needs no alignment."""
    after = analysis.axes[analysis.axes.index(axis) + 1 :]
    return any(other.contiguous and other.grid_dim != axis.grid_dim for other in after)


def _smallest(axis: Axis, unit: int) -> int:
    return 8 * unit if unit > 1 else 1


def _aligned(size: int, unit: int) -> int:
    return max(unit, math.ceil(size / unit) * unit)


def _thinned(sizes: Sequence[int], count: int) -> list[int]:
    """``count`` of ``sizes``, evenly over them, the ends included."""
    if len(sizes) <= count:
        return list(sizes)
    if count <= 1:
        return [sizes[len(sizes) // 2]]
    places = {round(place * (len(sizes) - 1) / (count - 1)) for place in range(count)}
    return [sizes[place] for place in sorted(places)]


def _in_dot(axis: Axis, analysis: Analysis) -> bool:
    names = set(axis.parameters)
    return any(names & extent.parameters for dot in analysis.trace.dots for extent in (dot.m, dot.n, dot.k))


# What can work.


def _sensible(analysis: Analysis, values: Mapping[str, int]) -> bool:
    """A tile is no larger than what its program owns, and divides it, so that no program reads its neighbour's."""
    for axis in analysis.axes:
        if axis.split and axis.tiling and axis.split != axis.tiling:
            own, tile = values[axis.split], values[axis.tiling]
            if tile > own or own % tile:
                return False
    return True


def uncovered(analysis: Analysis, values: Mapping[str, int], grid: tuple[int, ...] | None) -> str:
    """Why a candidate would leave a part of the data out, and so compute something wrong; "" if it does not."""
    programs: dict[int, int] = {}
    for axis in analysis.axes:
        length = analysis.size(axis)
        if length is None:
            continue
        if axis.whole and axis.tile is not None:
            extent = evaluate(axis.tile, {**analysis.values, **values})
            if extent is not None and extent < length:
                return f"{axis.whole}={values.get(axis.whole)} covers {extent} of {length} elements of axis {axis.name}"
        if axis.split and axis.grid_dim is not None and values.get(axis.split):
            needed = math.ceil(length / values[axis.split])
            programs[axis.grid_dim] = programs.get(axis.grid_dim, 1) * needed
    for dim, needed in programs.items():
        if grid is not None and (grid[dim] if dim < len(grid) else 1) < needed:
            return f"grid {grid} has too few programs in dimension {dim}: {needed} are needed to reach all elements"
    return ""


def _too_many(grid: tuple[int, ...] | None, hardware: Hardware) -> str:
    if grid is None or math.prod(grid) <= hardware.max_programs:
        return ""
    return f"grid {grid} has more than the {hardware.max_programs} programs of one launch"


# Order.


def _cost(
    analysis: Analysis, hardware: Hardware, values: Mapping[str, int], grid: tuple[int, ...] | None, need: Need
) -> float:
    cores = hardware.cores(analysis.is_cube)
    programs = math.prod(grid) if grid is not None else _programs(analysis, values)
    iterations = 1.0
    for axis in analysis.axes:
        length = analysis.size(axis)
        if length is not None and axis.split and axis.tile is not None and axis.tile.constant == 1:
            iterations *= min(values.get(axis.split, length), length)  # one element after the other
        if not axis.tiling or length is None:
            continue
        tile = values.get(axis.tiling, 1)
        if axis.split:
            iterations *= math.ceil(min(values.get(axis.split, length), length) / tile)
        elif axis.grid_dim is not None:
            iterations *= math.ceil(math.ceil(length / tile) / max(1, _in_dim(grid, axis.grid_dim)))
        else:
            iterations *= math.ceil(length / tile)
    work = max(need.moved / hardware.bytes_per_ns, need.products / hardware.products_per_ns)
    # Moving and computing go on at the same time where there is memory to double what moves.
    overlaps = iterations > 1 and (analysis.is_cube or need.doubled <= hardware.ub)
    overlapped = 0.7 if overlaps else 1.0
    waves = math.ceil(programs / cores)
    return waves * (hardware.program_ns + iterations * (hardware.iteration_ns + work * overlapped))


def _programs(analysis: Analysis, values: Mapping[str, int]) -> int:
    """Programs as the splits need them, where the grid is not known."""
    lengths = [(analysis.size(axis), values.get(axis.split or "")) for axis in analysis.axes]
    return math.prod(math.ceil(length / split) for length, split in lengths if length and split)


def _in_dim(grid: tuple[int, ...] | None, dim: int) -> int:
    return grid[dim] if grid is not None and dim < len(grid) else 1


def _distinct(tiles: Sequence[Tile], limit: int) -> list[Tile]:
    """The best ``limit`` of ``tiles``, which are in order, without those that are near a better one.

    A quarter of the places goes to the best tile with each size of each parameter, whatever the model thinks of it.
    """
    kept: list[Tile] = []
    for tile in tiles:
        if len(kept) < limit and not any(_near(tile.values, other.values) for other in kept):
            kept.append(tile)
    seen: set[tuple[str, int]] = set()
    spread: list[Tile] = []
    for tile in tiles:
        rungs = set(tile.values.items()) - seen
        if rungs and not any(_near(tile.values, other.values) for other in spread):
            seen |= rungs
            spread.append(tile)
    head = kept[: max(1, limit - limit // 4)]
    tail = [tile for tile in spread if not any(_near(tile.values, other.values) for other in head)]
    chosen = head + tail[: limit - len(head)]
    chosen += [tile for tile in kept[len(head) :] if tile not in chosen][: limit - len(chosen)]
    return sorted(chosen, key=lambda tile: tile.cost)


def _near(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    return all(max(one[name], other[name]) < NEAR * min(one[name], other[name]) for name in one)
