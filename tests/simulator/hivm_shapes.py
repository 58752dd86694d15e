"""Runs the modules of ``tests/fixtures/hivm`` at other shapes than those kept there, and judges the results twice.

    python hivm_shapes.py --out FILE [NAME ...]

By the reference interpreter's results for the same launch (``hivm_reference.py``) and by NumPy in float64. FILE gets a
JSON list of ``{"name", "round", "reference", "numpy"}``: the messages, empty where the results agree. Expects the
environment of the simulator.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from ctypes import c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from acl_calls import Acl, AclError
from hivm_fixtures import Fixture, deviation, fixtures, pack_arguments, to_float
from hivm_launch import Launch
from hivm_reference import CASES, ROUNDS, disagreement, launch_of, passed
from hivm_worker import compile_module


def arguments_of(fixture: Fixture, values: list[Any]) -> tuple[dict[str, Any], ...]:
    """The fixture's arguments with other values in the places of those that are passed."""
    left, arguments = list(values), []
    for argument in fixture.arguments:
        if "absent" in argument:
            arguments.append(argument)
        elif "input" in argument:
            arguments.append({**argument, "array": left.pop(0)})
        else:
            arguments.append({**argument, "scalar": left.pop(0)})
    if left:
        raise ValueError(f"{fixture.name}: {len(left)} values too many")
    return tuple(arguments)


def results_of(acl: Acl, base: Fixture, stub: c_void_p, launch: Launch) -> dict[int, np.ndarray]:
    """Executes a launch; the arrays afterwards, by their position in its values."""
    fixture = dataclasses.replace(
        base,
        grid=launch.programs,
        blocks=launch.block_count,
        workspace_bytes=base.workspace_bytes // base.blocks * launch.block_count,
        arguments=arguments_of(base, launch.values),
    )
    made: list[int] = []

    def allocate(contents: bytes) -> int:
        made.append(acl.malloc(len(contents)))
        acl.upload(made[-1], contents)
        return made[-1]

    addresses = {i: allocate(a["array"].tobytes()) for i, a in enumerate(fixture.arguments) if "array" in a}
    lock, workspace = allocate(bytes(8 * (base.locks + 1))), allocate(b"\xff" * (fixture.workspace_bytes + 8))
    try:
        acl.launch(stub, fixture.blocks, pack_arguments(fixture, lock, workspace, addresses))
        acl.sync()
        left, results = list(addresses.values()), {}
        for position, given in enumerate(launch.values):
            if isinstance(given, np.ndarray):
                contents = acl.download(left.pop(0), given.nbytes)
                results[position] = np.frombuffer(contents, given.dtype).reshape(given.shape)
        return results
    finally:
        for address in made:
            acl("aclrtFree", c_void_p(address))


def numpy_message(fixture: Fixture, launch: Launch, results: dict[int, np.ndarray]) -> str:
    """How the results are other than what the kernel is meant to write; an input must not have changed."""
    for position, result in results.items():
        expected = launch.expected.get(position)
        if expected is None:
            if result.tobytes() != launch.values[position].tobytes():
                return f"input {position} has changed"
            continue
        _, message = deviation(to_float(result, passed(fixture)[position]["dtype"]), expected, launch.tolerance)
        if message:
            return f"argument {position}: {message}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    by_name = {fixture.name: fixture for fixture in fixtures()}
    acl, rows = Acl(), []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or CASES:
            fixture = by_name[name]
            stub = acl.register(compile_module(name, Path(folder)), fixture.entry.encode())
            for number in range(ROUNDS):
                launch, row = launch_of(name, number), {"name": name, "round": number}
                try:
                    results = results_of(acl, fixture, stub, launch)
                    written = {position: results[position] for position in launch.expected}
                    row["reference"] = disagreement(fixture, number, launch, written)
                    row["numpy"] = numpy_message(fixture, launch, results)
                except AclError as error:
                    row["reference"] = row["numpy"] = str(error)
                rows.append(row)
    options.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
