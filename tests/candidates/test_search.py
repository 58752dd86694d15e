"""Proposers: order, room, rescue, neighbours, options, and the end of time."""

from __future__ import annotations

from typing import Any

from triton_ascend_tune.candidates import options, variants
from triton_ascend_tune.candidates.search import Exhaustive, LocalSearch, Point, Seen, Staged


def points(*sizes: int) -> list[Point]:
    return [Point({"B": size}) for size in sizes]


def staged(tiles: list[Point], limit: int, **given: Any) -> Staged:
    return Staged(tiles, limit, given.pop("rescue", lambda seen: []), given.pop("variants", lambda point: []), **given)


def test_exhaustive_gives_all_in_order() -> None:
    proposer = Exhaustive(points(1, 2, 3))
    assert [proposer.propose(2), proposer.propose(2), proposer.propose(2)] == [points(1, 2), points(3), []]


def test_local_search_descends_to_the_best() -> None:
    ladder = [2**power for power in range(12)]
    search = LocalSearch(
        {"B": ladder, "C": ladder}, allowed=lambda values: values["B"] * values["C"] <= 1 << 16, seed=3
    )

    def time(values: Any) -> float:
        return abs(values["B"] - 256) + abs(values["C"] - 32) + 1.0

    start = Point({"B": 4, "C": 1024})
    search.observe([Seen(start, time(start.values))])
    tried = [start]
    while found := search.propose(4):
        tried += found
        search.observe([Seen(point, time(point.values)) for point in found])
    best = min(tried, key=lambda point: time(point.values))
    assert best.values == {"B": 256, "C": 32}
    assert len(tried) < len(ladder) ** 2 / 2
    assert all(point.values["B"] * point.values["C"] <= 1 << 16 for point in tried)


def test_local_search_is_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[Point]:
        search = LocalSearch({"B": [1, 2, 4], "C": [1, 2, 4]}, lambda values: True, seed)
        search.observe([Seen(Point({"B": 2, "C": 2}), 1.0)])
        return search.propose(4)

    assert order(1) == order(1)
    assert any(order(1) != order(seed) for seed in range(2, 9))


def test_stages_follow_each_other_within_the_limit() -> None:
    proposer = staged(
        points(1, 2, 3),
        limit=6,
        rescue=lambda seen: [Point({"B": 30}, origin="rescue of {'B': 3}")],
        variants=lambda point: [Point(point.values, {"multibuffer": False}, "option")],
    )
    first = proposer.propose(99)
    assert first == points(1, 2, 3)
    proposer.observe([Seen(first[0], 2.0), Seen(first[1], 1.0), Seen(first[2], None, "overflow: needs")])
    second = proposer.propose(99)
    assert [point.origin for point in second] == ["rescue of {'B': 3}"]
    proposer.observe([Seen(second[0], 0.5)])
    third = proposer.propose(99)
    assert [(dict(point.values), point.origin) for point in third] == [({"B": 30}, "option"), ({"B": 2}, "option")]
    proposer.observe([Seen(point, 3.0) for point in third])
    assert proposer.propose(99) == []


def test_nothing_is_proposed_twice_or_over_the_limit() -> None:
    proposer = staged(points(1, 2, 2, 3), limit=2)
    assert proposer.propose(99) == points(1, 2)
    assert proposer.propose(99) == []


def test_a_tuning_that_is_out_of_time_still_had_a_first_batch() -> None:
    proposer = staged(points(*range(20)), limit=20, batch=8, over=lambda: True)
    assert len(proposer.propose(99)) == 8
    assert proposer.propose(99) == []


def test_options_are_changed_one_at_a_time() -> None:
    known = frozenset(options.ALLOWED)
    changes = list(variants.of_npu("vector", {}, doubles=True, known=known))
    assert {"multibuffer": False} in changes
    assert all(len(change) == 1 for change in changes)
    assert not any("tile_mix_cube_loop" in change for change in changes)
    assert not any("multibuffer" in each for each in variants.of_npu("vector", {}, doubles=False, known=known))
    assert not any("multibuffer" in each for each in variants.of_npu("vector", {"num_stages": 1}, True, known))


def test_equal_binaries_are_recognised() -> None:
    on, off = {"multibuffer": True, "num_stages": 2}, {"multibuffer": False, "num_stages": 2}
    assert options.effective({"multibuffer": True, "num_stages": 1}, True) == options.effective(off, True)
    assert options.effective({"multibuffer": False, "num_stages": 1}, True) == options.effective(off, True)
    assert options.effective(on, True) != options.effective(off, True)
    assert options.effective({"num_stages": 1}, False) == options.effective({"num_stages": 2}, False)
    assert options.effective({}, False) == options.effective({"multibuffer": True, "unit_flag": False}, False)
