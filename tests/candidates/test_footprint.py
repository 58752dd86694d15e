"""The footprint model by itself: what it learns, and what is tried instead of what overflowed."""

from __future__ import annotations

from typing import Any

import product_idioms
import worked_examples
from kernel_calls import arguments

from triton_ascend_tune.candidates import hardware, rescue
from triton_ascend_tune.candidates.axes import Analysis, analyse
from triton_ascend_tune.candidates.footprint import Footprint
from triton_ascend_tune.candidates.search import Point, Seen

A2 = hardware.known("Ascend910B3")
KIB = 1024


def model(kernel: Any, module: Any) -> tuple[Analysis, Footprint]:
    analysis = analyse(kernel, arguments(kernel, module))
    return analysis, Footprint(analysis.trace, A2)


def test_an_overflow_message_corrects_the_other_candidates() -> None:
    _, footprint = model(worked_examples.e2, worked_examples)
    small, large = {"BS": 65536, "SUB": 16384}, {"BS": 65536, "SUB": 65536}
    before = footprint.estimate(small)
    assert before.ub == 16384 * 4 and before.overflow(A2) == ""
    footprint.learn(large, "MLIRCompilationError: something else")
    assert footprint.estimate(small) == before
    footprint.learn(large, "unified buffer overflow: needs 1024 KiB, has 192 KiB")
    assert footprint.estimate(small).ub == 4 * before.ub
    assert "unified buffer: needs about 256 KiB, has 192 KiB" in footprint.estimate(small).overflow(A2)


def test_what_moves_in_loops_is_doubled_apart() -> None:
    _, looped = model(worked_examples.e2, worked_examples)
    need = looped.estimate({"BS": 8192, "SUB": 4096})
    assert looped.moves_in_loops and need.doubled == 2 * need.ub == 32 * KIB
    _, straight = model(worked_examples.e1, worked_examples)
    assert not straight.moves_in_loops
    assert straight.estimate({"BS": 4096}).doubled == straight.estimate({"BS": 4096}).ub


def test_products_are_in_the_cubes_memories() -> None:
    _, footprint = model(product_idioms.matmul_persistent, product_idioms)
    need = footprint.estimate({"BM": 256, "BN": 256, "BK": 64})
    assert (need.ub, need.l0c) == (0, 256 * KIB)
    assert need.overflow(A2).startswith("L0C: needs about 256 KiB")


def test_an_overflow_is_tried_again_with_a_smaller_inner_tile() -> None:
    analysis, footprint = model(worked_examples.e2, worked_examples)
    values = {"BS": 32768, "SUB": 32768}
    said = "unified buffer overflow: needs 512 KiB, has 192 KiB"
    footprint.learn(values, said)
    (point,) = rescue.rescues(
        Seen(Point(values), None, said), analysis, footprint, A2, lambda each: True, frozenset({"multibuffer"})
    )
    assert point.values == {"BS": 32768, "SUB": 8192}
    assert point.origin == "rescue of {'BS': 32768, 'SUB': 32768}"


def test_a_wrong_program_is_not_rescued() -> None:
    analysis, footprint = model(worked_examples.e2, worked_examples)
    seen = Seen(Point({"BS": 8, "SUB": 8}), None, "CompilationError: no")
    assert rescue.rescues(seen, analysis, footprint, A2, lambda each: True, frozenset()) == []
