"""Takes the ordering out of modules of ``tests/fixtures/hivm``, one line at a time, and asks the race check.

    python hivm_mutants.py --out FILE NAME ...

FILE gets a JSON list of ``{"name", "line", "removed", "error"}``, one row for each ``wait_flag`` and each
``pipe_barrier`` of each module. Expects the environment of the simulator with ``CANN_SIM_CHECK_RACES=1``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from ctypes import c_void_p
from pathlib import Path

from acl_calls import Acl, AclError
from hivm_fixtures import Buffers, Fixture, execute, fixtures, modules

ORDERING = re.compile(r"^\s*hivm\.hir\.(wait_flag|pipe_barrier)\[.*\]\n", re.MULTILINE)


def error_of(acl: Acl, fixture: Fixture, text: str, folder: Path) -> str:
    """What the launch of this text fails with; empty if it does not fail."""
    (folder / "m.mlir").write_text(text)
    subprocess.run(["hivmc", str(folder / "m.mlir"), "-o", str(folder / "m")], check=True, capture_output=True)
    stub = acl.register((folder / "m.o").read_bytes(), fixture.entry.encode())
    stream, made = acl.stream(), []

    def allocate(contents: bytes) -> int:
        made.append(acl.malloc(len(contents)))
        acl.upload(made[-1], contents)
        return made[-1]

    def launch(arguments: bytes) -> None:
        acl.launch(stub, fixture.blocks, arguments, stream)
        acl.sync(stream)

    try:
        execute(fixture, Buffers(allocate, launch, acl.download))
    except AclError as error:
        return error.text
    finally:
        for address in made:
            acl("aclrtFree", c_void_p(address))
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    by_name = {fixture.name: fixture for fixture in fixtures()}
    acl, rows = Acl(), []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            text = modules()[name].decode()
            for match in ORDERING.finditer(text):
                changed = text[: match.start()] + "\n" + text[match.end() :]  # lines keep their numbers
                error = error_of(acl, by_name[name], changed, Path(folder))
                line = text.count("\n", 0, match.start()) + 1
                rows.append({"name": name, "line": line, "removed": match.group().strip(), "error": error})
    options.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
