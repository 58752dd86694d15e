"""Kernels whose programs own several rows and take them one after the other, with the axes stated by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import triton
import triton.language as tl

from triton_ascend_tune.candidates import hardware, tiles
from triton_ascend_tune.candidates.axes import Analysis, analyse
from triton_ascend_tune.candidates.footprint import Footprint

#: Kernel name -> its axes. Every line was written from the kernel, not from the analysis.
AXES = {
    "until_the_end": [
        "x: length rows, split OWN, grid dimension 0",
        "y: length width, contiguous",
    ],
    "counted": ["x: length rows, split OWN, grid dimension 0", "y: length width, contiguous"],
    "left_early": ["x: length rows, split OWN, grid dimension 0", "y: length width, contiguous"],
    "in_the_mask": ["x: length rows, split OWN, grid dimension 0", "y: length width, tiling CT, contiguous"],
    "no_end_stated": ["x: length unknown, split OWN, grid dimension 0", "y: length width, contiguous"],
    # OWN moves the output alone: the rows that a program reads are the same for all.
    "taps": ["x: length unknown, grid dimension 0", "y: length width, contiguous"],
}
#: Kernel name -> what it must say that it cannot tell.
NOTES = {
    "no_end_stated": "the length of the axis that OWN cuts could not be told",
    "taps": "constexpr OWN belongs to no axis",
}


@triton.jit
def until_the_end(src, dst, rows, width, OWN: tl.constexpr, WF: tl.constexpr):
    c = tl.arange(0, WF)
    first = tl.program_id(0) * OWN
    for row in range(first, min(first + OWN, rows)):
        at = row * width + c
        tl.store(dst + at, tl.load(src + at, mask=c < width) + 1, mask=c < width)


@triton.jit
def counted(src, dst, rows, width, OWN: tl.constexpr, WF: tl.constexpr):
    c = tl.arange(0, WF)
    for i in range(OWN):
        row = tl.program_id(0) * OWN + i
        if row < rows:
            at = row * width + c
            tl.store(dst + at, tl.load(src + at, mask=c < width) + 1, mask=c < width)


@triton.jit
def left_early(src, dst, rows, width, OWN: tl.constexpr, WF: tl.constexpr):
    c = tl.arange(0, WF)
    for i in tl.static_range(OWN):
        row = i + tl.program_id(0) * OWN
        if not row >= rows:
            at = row * width + c
            tl.store(dst + at, tl.load(src + at, mask=c < width) + 1, mask=c < width)


@triton.jit
def in_the_mask(src, dst, rows, width, OWN: tl.constexpr, CT: tl.constexpr):
    for i in range(OWN):
        row = tl.program_id(0) * OWN + i
        for start in range(0, width, CT):
            c = start + tl.arange(0, CT)
            mask = (c < width) & (row < rows)
            tl.store(dst + row * width + c, tl.load(src + row * width + c, mask=mask) + 1, mask=mask)


@triton.jit
def no_end_stated(src, dst, rows, width, OWN: tl.constexpr, WF: tl.constexpr):
    c = tl.arange(0, WF)
    first = tl.program_id(0) * OWN
    for row in range(first, first + OWN):
        at = row * width + c
        tl.store(dst + at, tl.load(src + at, mask=c < width) + 1, mask=c < width)


@triton.jit
def taps(src, dst, rows, width, OWN: tl.constexpr, WF: tl.constexpr):
    c = tl.arange(0, WF)
    for i in range(OWN):
        total = tl.load(src + i * rows + c, mask=c < width)
        tl.store(dst + tl.program_id(0) * OWN * width + c, total, mask=c < width)


def analysed(name: str, rows: int = 300) -> Analysis:
    tensor = SimpleNamespace(dtype="torch.float32")
    given: dict[str, Any] = {"src": tensor, "dst": tensor, "rows": rows, "width": 1000}
    return analyse(globals()[name], given if name == "in_the_mask" else {**given, "WF": 1024})


@pytest.mark.parametrize("name", AXES)
def test_axes_are_those_stated(name: str) -> None:
    found = analysed(name)
    assert [str(axis) for axis in found.axes] == AXES[name]
    said = [str(note) for note in found.notes]
    assert len(said) == (name in NOTES) and all(NOTES[name] in note for note in said)


@pytest.mark.parametrize("name", ["until_the_end", "counted", "left_early"])
def test_rows_are_shared_evenly_and_none_is_left_out(name: str) -> None:
    """A program's rows take their time one after the other: the even share of 40 cores comes first."""
    chip, found = hardware.known("Ascend910B3"), analysed(name)
    footprint = Footprint(found.trace, chip)
    by_call = tiles.propose(found, footprint, chip, lambda values: (math.ceil(300 / values["OWN"]),))
    assert by_call.chosen[0].values == {"OWN": 8}
    fixed = tiles.propose(found, footprint, chip, lambda values: (10,))
    assert min(tile.values["OWN"] for tile in fixed.chosen) == 32  # a smaller one would leave rows out
    assert any("too few programs" in reason for _, reason in fixed.dropped)
