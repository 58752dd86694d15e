"""Which candidates next: proposers see what became of those before.

A proposer is asked for points (values and options of one candidate) and told their outcomes. ``Staged`` is the one that
tunings use: tiles first; then, with what room is left, second chances for what overflowed, neighbours of the best in a
space that was too large to try, and compile options on the best.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, int]


@dataclass(frozen=True)
class Point:
    """One candidate: ``values`` of constexprs, compile ``options``, and ``origin``: why it is tried."""

    values: Values
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: str = "tile"

    @property
    def identity(self) -> tuple[Any, ...]:
        return tuple(sorted(self.values.items())), tuple(sorted(self.options.items(), key=str))


@dataclass(frozen=True)
class Seen:
    """What became of a point: its time in any unit, None if it has none, and then why."""

    point: Point
    time: float | None
    reason: str = ""


class Proposer(ABC):
    """Gives points to try, and learns from what became of them."""

    @abstractmethod
    def propose(self, room: int) -> list[Point]:
        """At most ``room`` points that were not proposed before; none when it is through."""

    @abstractmethod
    def observe(self, seen: Sequence[Seen]) -> None:
        """What became of the points that were proposed last."""


class Exhaustive(Proposer):
    """All of ``points``, in order."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._left = list(points)

    def propose(self, room: int) -> list[Point]:
        given, self._left = self._left[:room], self._left[room:]
        return given

    def observe(self, seen: Sequence[Seen]) -> None:
        pass


class LocalSearch(Proposer):
    """Neighbours of the best: one parameter one step up or down its ladder. Ends where no neighbour is better.

    A neighbour has the options of its centre.
    ``ladders``: parameter -> sizes in order. ``allowed``: whether values can work. ``seed``: of the neighbours' order.
    """

    def __init__(
        self, ladders: Mapping[str, Sequence[int]], allowed: Callable[[Values], bool], seed: int = 0, centres: int = 2
    ) -> None:
        self._ladders = {name: sorted(sizes) for name, sizes in ladders.items()}
        self._allowed = allowed
        self._random = random.Random(seed)
        self._centres = centres
        self._times: dict[tuple[Any, ...], tuple[float, Point]] = {}
        self._asked: set[tuple[Any, ...]] = set()

    def observe(self, seen: Sequence[Seen]) -> None:
        for each in seen:
            self._asked.add(each.point.identity)
            if each.time is not None:
                self._times[each.point.identity] = (each.time, each.point)

    def propose(self, room: int) -> list[Point]:
        best = sorted(self._times.values(), key=lambda pair: pair[0])[: self._centres]
        around: list[Point] = []
        for _, centre in best:
            neighbours = [point for point in self._neighbours(centre) if point.identity not in self._asked]
            self._random.shuffle(neighbours)
            around += [point for point in neighbours if point not in around]
        chosen = around[:room]
        self._asked.update(point.identity for point in chosen)
        return chosen

    def _neighbours(self, centre: Point) -> Iterator[Point]:
        for name, ladder in self._ladders.items():
            below = [size for size in ladder if size < centre.values[name]][-1:]
            above = [size for size in ladder if size > centre.values[name]][:1]
            for size in (*below, *above):
                values = {**centre.values, name: size}
                if self._allowed(values):
                    yield Point(values, centre.options, f"neighbour in {name}")


class Staged(Proposer):
    """Tiles, then rescues, neighbours and options, all within ``limit`` points.

    ``rescue``: points to try instead of one that overflowed. ``variants``: points with other options around a good one.
    ``batch``: tiles per proposal, for tunings that may have to end early; 0: all at once. ``over``: whether the time
    for the tuning is up.
    """

    #: Good points around which options are tried.
    FINALISTS = 2

    def __init__(
        self,
        tiles: Sequence[Point],
        limit: int,
        rescue: Callable[[Seen], list[Point]],
        variants: Callable[[Point], list[Point]],
        local: LocalSearch | None = None,
        batch: int = 0,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._tiles = Exhaustive(tiles)
        self._room = limit
        self._rescue, self._variants, self._local = rescue, variants, local
        self._batch, self._over = batch, over
        self._seen: list[Seen] = []
        self._asked: set[tuple[Any, ...]] = set()
        self._stages = self._stages_in_order()

    def propose(self, room: int) -> list[Point]:
        for points in self._stages:
            if self._over() and self._asked:
                return []
            if fresh := self._new(points, room):
                return fresh
        return []

    def instead(self, failed: Seen) -> list[Point]:
        """Points to try in the place of one that failed, before anything else is known. It counts as observed."""
        self.observe([failed])
        return [] if self._over() else self._new(self._rescue(failed), self._room)

    def _new(self, points: Sequence[Point], room: int) -> list[Point]:
        """Those of ``points`` that were not asked for before, as far as there is room."""
        fresh: list[Point] = []
        for point in points:
            if point.identity not in self._asked and len(fresh) < min(room, self._room):
                self._asked.add(point.identity)
                fresh.append(point)
        self._room -= len(fresh)
        return fresh

    def observe(self, seen: Sequence[Seen]) -> None:
        self._seen += seen
        if self._local is not None:
            self._local.observe(seen)

    def _stages_in_order(self) -> Iterator[list[Point]]:
        while points := self._tiles.propose(self._batch or self._room or 1):
            yield points
        failed = [each for each in self._seen if each.time is None]
        rescued = [point for each in failed for point in self._rescue(each)]
        near = self._local.propose(self._room // 2) if self._local is not None else []
        yield [*rescued, *near]
        yield [point for each in self._best() for point in self._variants(each)]

    def _best(self) -> list[Point]:
        timed = sorted((each.time, place) for place, each in enumerate(self._seen) if each.time is not None)
        return [self._seen[place].point for _, place in timed[: self.FINALISTS]]
