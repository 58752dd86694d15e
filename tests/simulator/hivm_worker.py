"""Runs fixtures of ``tests/fixtures/hivm`` on the simulated CANN, the way a launcher of triton-ascend does.

    python hivm_worker.py --out FILE [--launches N] NAME ...

Each module is compiled by ``hivmc``, registered, launched on memory of the simulated allocator and read back. FILE
gets one JSON object per line: ``{"name", "begin": true}`` before a fixture, so that a crash can be pinned on it, then
``{"name", "rows", "ms", "error"}``: what ``hivm_fixtures.execute`` returns, the real milliseconds of each launch, and
the message if it failed. Expects the environment of the simulator.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from ctypes import c_void_p
from pathlib import Path
from typing import Any

from acl_calls import Acl, AclError
from hivm_fixtures import Buffers, Fixture, execute, fixtures, modules


def compile_module(name: str, folder: Path) -> bytes:
    """The object that hivmc makes of a fixture's module; ``CalledProcessError`` if it refuses."""
    source, out = folder / f"{name}.mlir", folder / name
    source.write_bytes(modules()[name])
    subprocess.run(["hivmc", str(source), "-o", str(out)], check=True, capture_output=True, text=True)
    return out.with_name(name + ".o").read_bytes()


def run(acl: Acl, fixture: Fixture, binary: bytes, launches: int) -> dict[str, Any]:
    """Launches a compiled fixture ``launches`` times on fresh memory; only the first is compared."""
    stub = acl.register(binary, fixture.entry.encode())
    milliseconds: list[float] = []

    def launch_on(addresses: list[int]) -> Buffers:
        def allocate(contents: bytes) -> int:
            address = acl.malloc(len(contents))
            addresses.append(address)
            acl.upload(address, contents)
            return address

        def launch(arguments: bytes) -> None:
            start = time.perf_counter()
            acl.launch(stub, fixture.blocks, arguments)
            acl.sync()
            milliseconds.append((time.perf_counter() - start) * 1e3)

        return Buffers(allocate, launch, acl.download)

    rows: list[dict[str, Any]] = []
    for number in range(launches):
        addresses: list[int] = []
        result = execute(fixture, launch_on(addresses))
        rows = rows if number else result
        for address in addresses:
            acl("aclrtFree", c_void_p(address))
    return {"rows": rows, "ms": milliseconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--launches", type=int, default=1)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    by_name = {fixture.name: fixture for fixture in fixtures()}
    acl = Acl()
    with options.out.open("a") as out, tempfile.TemporaryDirectory() as folder:

        def write(entry: dict[str, Any]) -> None:
            out.write(json.dumps(entry) + "\n")
            out.flush()

        for name in options.names:
            write({"name": name, "begin": True})
            entry: dict[str, Any] = {"name": name, "rows": [], "ms": [], "error": ""}
            try:
                entry |= run(acl, by_name[name], compile_module(name, Path(folder)), options.launches)
            except subprocess.CalledProcessError as error:
                entry["error"] = f"hivmc: {error.stderr or error.stdout}"
            except AclError as error:
                entry["error"] = str(error)
            write(entry)


if __name__ == "__main__":
    main()
