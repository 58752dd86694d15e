"""The table of operators in ``third_party/cann_sim/README.md``, made from what the simulator's library says.

python op_table.py LIBASCENDCL          rewrites the table
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from readme_section import Section

SECTION = Section("<!-- operators: made by tests/simulator/op_table.py -->", "<!-- end of operators -->")


def operators(library: Path) -> dict[str, list[str]]:
    """family -> its operators, as the library has them."""
    function = ctypes.CDLL(str(library)).cann_sim_operators
    function.restype = ctypes.c_char_p
    lines = [line.split("\t") for line in function().decode().splitlines()]
    return {title: names.split() for title, names in lines}


def table(families: dict[str, list[str]]) -> str:
    """Markdown."""
    rows = [f"| {title} | {', '.join(names)} |" for title, names in families.items()]
    return "\n".join(["| family | operators |", "|---|---|", *rows])


if __name__ == "__main__":
    SECTION.write(table(operators(Path(sys.argv[1]))))
