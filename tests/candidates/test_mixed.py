"""Kernels with products and other work: two vector cores share what is not a product, and tiles share axes evenly."""

from __future__ import annotations

from typing import Any

import product_idioms
import worked_examples
from kernel_calls import arguments

from triton_ascend_tune.candidates import hardware, hints, options
from triton_ascend_tune.candidates.axes import analyse
from triton_ascend_tune.candidates.footprint import Footprint
from triton_ascend_tune.candidates.proposal import SHARING, Proposal
from triton_ascend_tune.values import Candidate, Outcome, Stage, Status

A2 = hardware.known("Ascend910B3")


def model(kernel: Any, module: Any) -> Footprint:
    return Footprint(analyse(kernel, arguments(kernel, module)).trace, A2)


def attention(monkeypatch: Any, context: int = 200) -> Proposal:
    monkeypatch.setattr(options, "supported", lambda: frozenset({"multibuffer", SHARING}))
    kernel = product_idioms.attention
    given = {**arguments(kernel, product_idioms), "n_ctx": context}
    return Proposal(
        kernel, given, lambda values: (-(-context // values["BLOCK_M"]), 8), hints.checked({}, kernel), lambda: A2
    )


def outcome(config: Any, time: float) -> Outcome:
    return Outcome(Candidate(0, config, config.all_kwargs()), Status.TIMED, timings=[time] * 3)


def overflow(config: Any) -> Outcome:
    said = "unified buffer overflow: needs 19200 KiB, has 192 KiB"
    return Outcome(Candidate(0, config, config.all_kwargs()), Status.FAILED, Stage.COMPILE, said)


def test_two_vector_cores_share_the_rows_of_a_mixed_kernel() -> None:
    values = {"BLOCK_M": 128, "BLOCK_N": 128}
    footprint = model(product_idioms.attention, product_idioms)
    assert footprint.unshared(values).ub == 2 * footprint.estimate(values).ub
    alone = model(worked_examples.e1, worked_examples)
    assert alone.unshared({"BS": 4096}) == alone.estimate({"BS": 4096})


def test_tiles_of_products_share_the_axis_evenly(monkeypatch: Any) -> None:
    """Of 200 rows a tile of 256 leaves a fifth idle."""
    proposed = attention(monkeypatch)
    assert {config.kwargs["BLOCK_M"] for config in proposed.configs} & {104, 200}
    assert {config.kwargs["BLOCK_N"] for config in proposed.configs} & {200, 208}
    longer = attention(monkeypatch, 4096)
    assert all(size & (size - 1) == 0 or size % 8 == 0 for c in longer.configs for size in c.kwargs.values())


def test_sharing_is_switched_off_only_where_one_core_can_do_without(monkeypatch: Any) -> None:
    for best, switched in ((max, False), (min, True)):
        proposed = attention(monkeypatch)
        area = {id(c): c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] for c in proposed.configs}
        chosen = best(area.values())
        timed = [outcome(c, 1.0 if area[id(c)] == chosen else 2.0) for c in proposed.configs]
        found = []
        while fresh := proposed.more(timed):
            found += fresh
            timed += [outcome(config, 3.0) for config in fresh]
        assert any(config.kwargs.get(SHARING) is False for config in found) is switched


def test_a_failure_without_sharing_says_nothing_of_the_others(monkeypatch: Any) -> None:
    for option, hopeless in ((SHARING, False), ("multibuffer", True)):
        proposed = attention(monkeypatch)
        seen = [outcome(config, 1.0 + place) for place, config in enumerate(reversed(proposed.configs))]
        while fresh := proposed.more(seen):
            seen += [overflow(config) if option in config.kwargs else outcome(config, 1000.0) for config in fresh]
        assert any(each.status is Status.FAILED for each in seen)
        assert any(map(proposed.hopeless, proposed.configs)) is hopeless
