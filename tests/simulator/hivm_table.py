"""The table of modules whose sizes cannot vary, in the README of ``tests/fixtures/hivm``.

    python hivm_table.py

writes the table anew; a test compares.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from hivm_fixtures import FOLDER, Fixture, fixtures
from hivm_launch import Launch
from hivm_reference import ROUNDS, launch_of, passed

README = FOLDER / "README.md"
START, END = "<!-- modules of fixed size: made by tests/simulator/hivm_table.py -->\n", "<!-- end of the modules -->"


#: Modules that take whole numbers which are no sizes; each has one block, loaded and stored whole.
VALUES = {
    "argk": "its whole numbers are added to every element",
    "left_window": "its whole numbers are the ends of a window in one block",
    "while_loop": "its whole number is that of the loop's trips",
}
CONSTANTS = "it takes no whole numbers: every size is a constant of the module"


@dataclasses.dataclass(frozen=True)
class Variation:
    """What differs between the launches of a module."""

    sizes: bool
    grid: bool
    scalars: bool
    contents: bool

    def __str__(self) -> str:
        names = ((self.grid, "grid"), (self.scalars, "scalar arguments"), (self.contents, "contents"))
        return ", ".join(name for differs, name in names if differs)


def takes_integers(fixture: Fixture) -> bool:
    """Whether whole numbers, which alone could be sizes, are among the module's own arguments."""
    return any(argument.get("type") in ("i32", "i64", "index") for argument in passed(fixture))


@functools.cache
def variation(name: str) -> Variation:
    launches = [launch_of(name, number) for number in range(ROUNDS)]

    def differ(of: Callable[[Launch], object]) -> bool:
        return any(of(launch) != of(launches[0]) for launch in launches)

    return Variation(
        sizes=differ(lambda launch: [v.size for v in launch.values if isinstance(v, np.ndarray)]),
        grid=differ(lambda launch: launch.programs),
        scalars=differ(lambda launch: [v for v in launch.values if not isinstance(v, np.ndarray)]),
        contents=differ(lambda launch: [v.tobytes() for v in launch.values if isinstance(v, np.ndarray)]),
    )


def reason(fixture: Fixture) -> str:
    """Why a module has one shape only; empty if it takes sizes."""
    return VALUES.get(fixture.name, "") if takes_integers(fixture) else CONSTANTS


def table() -> str:
    """The table's text."""
    groups: dict[tuple[str, str], list[str]] = {}
    for fixture in fixtures():
        if not variation(fixture.name).sizes:
            key = (reason(fixture), str(variation(fixture.name)))
            groups.setdefault(key, []).append(f"`{fixture.name}`")
    rows = [f"| {', '.join(names)} | {why} | {what} |" for (why, what), names in groups.items()]
    return "\n".join(["| modules | why one shape | what varies instead |", "|---|---|---|", *rows]) + "\n"


def main() -> None:
    text = README.read_text()
    before, after = text.split(START)[0], text.split(END)[1]
    README.write_text(before + START + table() + END + after)


if __name__ == "__main__":
    main()
