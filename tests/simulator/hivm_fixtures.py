"""The fixtures under ``tests/fixtures/hivm``: modules, their arguments and the results that are expected.

``index.json`` holds one object per module:

``name``, ``kernel``, ``entry``
    of the module, of the Triton kernel that it was compiled from, and of the function that is launched;
``grid``, ``blocks``, ``workspace_bytes``, ``locks``
    the three numbers of programs, the blocks of the launch, and what the launcher allocates besides the arguments;
``arguments``
    in the order of the Triton kernel's parameters that are not constexpr. ``{"absent": value}`` was specialised away;
    ``{"scalar": value, "type": "i32"}``; or an array, ``{"input": id, "dtype": "float32"}``. If the kernel writes it,
    there are also ``output`` (the id of every ``step``-th element), ``tolerance`` (0: equal) and perhaps
    ``order_free`` (elements in any order).

A tolerance t allows differences up to t times (the size of the expected element + their mean size).
"""

from __future__ import annotations

import functools
import json
import struct
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "hivm"

#: How scalars lie in the argument struct; whatever is not 8 bytes wide takes 4.
_FORMATS = {"i64": "q", "index": "q", "f64": "d", "f32": "f", "i32": "i", "i16": "i", "i8": "i", "i1": "i"}


@dataclass(frozen=True)
class Fixture:
    """One entry of the index."""

    name: str
    kernel: str
    entry: str
    grid: tuple[int, int, int]
    blocks: int
    workspace_bytes: int
    locks: int
    arguments: tuple[dict[str, Any], ...]


@functools.cache
def fixtures() -> tuple[Fixture, ...]:
    """All fixtures, sorted by name."""
    entries = json.loads((FOLDER / "index.json").read_text())
    return tuple(
        Fixture(**{**entry, "grid": tuple(entry["grid"]), "arguments": tuple(entry["arguments"])}) for entry in entries
    )


@functools.cache
def modules() -> dict[str, bytes]:
    """Name of the fixture -> text of its module."""
    with tarfile.open(FOLDER / "modules.tar.xz") as archive:
        members = [m for m in archive.getmembers() if m.isfile()]
        return {m.name.removesuffix(".mlir"): archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]


@functools.cache
def _arrays() -> Any:
    return np.load(FOLDER / "arrays.npz")


def array(name: str) -> np.ndarray:
    """A stored array; bf16 as its bits, bool as bytes."""
    return np.asarray(_arrays()[name])


def to_float(values: np.ndarray, dtype: str) -> np.ndarray:
    """Elements as float64, from stored form."""
    if dtype == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def pack_arguments(fixture: Fixture, lock: int, workspace: int, addresses: dict[int, int]) -> bytes:
    """The argument struct of a launch, as triton-ascend's launcher lays it out.

    ``addresses`` gives the device address of each array, by its position in ``fixture.arguments``.
    """
    packed = struct.pack("<QQQ", 0, lock, workspace)

    def append(layout: str, value: Any) -> None:
        nonlocal packed
        width = struct.calcsize(layout)
        packed += bytes(-len(packed) % width) + struct.pack("<" + layout, value)

    for position, argument in enumerate(fixture.arguments):
        if "input" in argument:
            append("Q", addresses[position])
        elif "scalar" in argument:
            layout = _FORMATS[argument["type"]]
            append(layout, float(argument["scalar"]) if layout in "fd" else int(argument["scalar"]))
    for extent in fixture.grid:
        append("i", extent)
    return packed + bytes(-len(packed) % 8)


def deviation(result: np.ndarray, expected: np.ndarray, tolerance: float, step: int = 1) -> tuple[float, str]:
    """How far elements (float64) are from others, as the tolerance measures it, and a message if that is too far.

    ``step``: they are every so manieth element of an array, for the message.
    """
    r, e = result.reshape(-1), expected.reshape(-1)
    nan = np.isnan(e)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(r - e) / (np.abs(e) + np.mean(np.abs(e[~nan]) if not nan.all() else 0.0))
    error = np.where((nan & np.isnan(r)) | (r == e), 0.0, error)
    worst = float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))
    if worst <= tolerance:  # also a zero of the other sign, or a NaN of other bits
        return worst, ""
    wrong = np.flatnonzero(~(error <= tolerance))
    first = int(wrong[0])
    return worst, (
        f"{len(wrong)} of {len(e)} elements differ, worst {worst:.2e} (allowed {tolerance:.0e}); "
        f"element {first * step} is {r[first]!r} instead of {e[first]!r}"
    )


def difference(argument: dict[str, Any], result: np.ndarray) -> tuple[float, str]:
    """The deviation of a written array from what is expected.

    The message is empty when the array is as it should be. An input that the kernel does not write must not change.
    """
    expected = array(argument.get("output", argument["input"]))
    step = argument.get("step", 1)
    result = result[::step]
    if argument.get("order_free"):
        result, expected = np.sort(result), np.sort(expected)
    if result.tobytes() == expected.tobytes():
        return 0.0, ""
    dtype = argument["dtype"]
    return deviation(to_float(result, dtype), to_float(expected, dtype), argument.get("tolerance", 0), step)


@dataclass(frozen=True)
class Buffers:
    """Device memory as a launch needs it: three functions of whoever runs the kernel."""

    allocate: Callable[[bytes], int]  # contents -> address
    launch: Callable[[bytes], None]  # packed arguments; returns when the kernel is done
    read: Callable[[int, int], bytes]  # address, bytes -> contents


def execute(fixture: Fixture, buffers: Buffers) -> list[dict[str, Any]]:
    """Runs the fixture once; one row per array: its position, whether it is equal bit for bit, error and message."""
    inputs = {i: array(a["input"]) for i, a in enumerate(fixture.arguments) if "input" in a}
    addresses = {i: buffers.allocate(values.tobytes()) for i, values in inputs.items()}
    lock = buffers.allocate(bytes(8 * (fixture.locks + 1)))
    workspace = buffers.allocate(b"\xff" * (fixture.workspace_bytes + 8))
    buffers.launch(pack_arguments(fixture, lock, workspace, addresses))
    rows = []
    for position, values in inputs.items():
        result = np.frombuffer(buffers.read(addresses[position], values.nbytes), values.dtype)
        error, message = difference(fixture.arguments[position], result)
        rows.append({"argument": position, "error": error, "equal": error == 0.0, "message": message})
    return rows
