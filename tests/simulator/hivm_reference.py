"""What the reference interpreter made of the launches of ``hivm_cases_*.py``: ``tests/fixtures/hivm/shapes.*``.

``shapes.json`` holds one object per launch: ``name`` and ``round``, ``inputs`` (a digest of everything passed) and
``outputs``. One of these has ``argument`` (its position among what is passed), ``tolerance``, ``array`` (the name in
``shapes.npz`` of every ``step``-th element), and ``digest`` of all elements where the tolerance is 0.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
from typing import Any

import numpy as np
from hivm_cases_cube import CASES as CUBE
from hivm_cases_elementwise import CASES as ELEMENTWISE
from hivm_cases_memory import CASES as MEMORY
from hivm_cases_rows import CASES as ROWS
from hivm_fixtures import FOLDER, Fixture, deviation, to_float
from hivm_launch import Case, Launch

CASES: dict[str, Case] = {**ELEMENTWISE, **ROWS, **MEMORY, **CUBE}

#: Launches of each module.
ROUNDS = 3


def launch_of(name: str, number: int) -> Launch:
    """A module's launch of that round; always the same."""
    return CASES[name](random.Random(f"{name} {number}"), np.random.RandomState(number))


def passed(fixture: Fixture) -> list[dict[str, Any]]:
    """The fixture's arguments that were not specialised away, in the order of ``Launch.values``."""
    return [argument for argument in fixture.arguments if "absent" not in argument]


def inputs_digest(launch: Launch) -> str:
    """Of the grid and all arguments: results of other inputs are no reference."""
    digest = hashlib.sha256(repr((launch.programs, launch.block_count)).encode())
    for value in launch.values:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return digest.hexdigest()[:16]


def elements_digest(values: np.ndarray, dtype: str) -> str:
    """Equal for equal numbers, also for zeros of either sign and NaN of other bits."""
    if dtype.startswith(("float", "bfloat")):
        values = to_float(values, dtype) + 0.0
        values = np.where(np.isnan(values), np.nan, values)
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


@functools.cache
def _references() -> dict[tuple[str, int], dict[str, Any]]:
    entries = json.loads((FOLDER / "shapes.json").read_text())
    return {(entry["name"], entry["round"]): entry for entry in entries}


@functools.cache
def _arrays() -> Any:
    return np.load(FOLDER / "shapes.npz")


def disagreement(fixture: Fixture, number: int, launch: Launch, results: dict[int, np.ndarray]) -> str:
    """How the written arrays, by their position, are other than the interpreter's; empty if they agree."""
    entry = _references().get((fixture.name, number))
    if entry is None or entry["inputs"] != inputs_digest(launch):
        return "no reference for these inputs: run tests/fixtures/hivm/make_shape_fixtures.py"
    if {output["argument"] for output in entry["outputs"]} != set(results):
        return f"writes arguments {sorted(results)}, not those that the interpreter writes"
    for output in entry["outputs"]:
        position, step, tolerance = output["argument"], output["step"], output["tolerance"]
        dtype, result = passed(fixture)[position]["dtype"], results[position].reshape(-1)
        sample = _arrays()[output["array"]]
        _, message = deviation(to_float(result[::step], dtype), to_float(sample, dtype), tolerance, step)
        if not message and tolerance == 0 and elements_digest(result, dtype) != output["digest"]:
            message = f"differs, though not in the elements 0, {step}, {2 * step}, ..."
        if message:
            return f"argument {position}: {message}"
    return ""
