"""The table of micro-kernels in ``third_party/cann_sim/README.md``, made from what ``hivmc --micro-kernels`` prints.

python micro_table.py          rewrites the table; expects hivmc on PATH
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from itertools import product

from readme_section import Section

SECTION = Section("<!-- micro-kernels: made by tests/simulator/micro_table.py -->", "<!-- end of micro-kernels -->")

_SHORT = {"float": "f32", "half": "f16", "bfloat16_t": "bf16", "bool": "i1"} | {
    f"{sign}int{bits}_t": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_NUMBERS = [name for name in _SHORT if name != "bool"]


def _types(text: str) -> str:
    """Types of a family: short names; a family of two types by what each source is converted to."""
    words = text.split()
    if set(words) == set(_SHORT):
        return "all"
    if set(words) == set(_NUMBERS):
        return "all but i1"
    pairs: dict[str, list[str]] = {}
    for word in words:
        source, _, target = word.partition(":")
        pairs.setdefault(_SHORT[source], []).append(_SHORT[target] if target else "")
    return "; ".join(f"{source} to {', '.join(to)}" if to != [""] else source for source, to in pairs.items()).replace(
        "; ", ", " if ":" not in text else "; "
    )


def expand(pattern: str, types: str, ranks: str) -> list[str]:
    """All names of a family; types are a word or, for two, "from:to"."""
    operations = re.search(r"\(([^)]*)\)", pattern)
    names = []
    for op, rank, kind in product(
        operations.group(1).split("|") if operations else [""], ranks.split() or [""], types.split() or [""]
    ):
        name = re.sub(r"\([^)]*\)", op, pattern).replace("{rank}", rank)
        first, _, second = kind.partition(":")
        names.append(name.replace("{type}", kind).replace("{from}", first).replace("{to}", second))
    return names


def table(printed: str) -> str:
    """Markdown of the lines that hivmc printed."""
    lines = ["| micro-kernel | pipe | types | ranks or axes |", "|---|---|---|---|"]
    for line in printed.splitlines():
        pattern, pipe, types, ranks = line.split("\t")
        name = re.sub(r"\(([^|()]*)\)", r"\1", pattern).replace("|", " \\| ")
        lines.append(f"| `{name}` | {pipe} | {_types(types)} | {', '.join(ranks.split())} |")
    return "\n".join(lines)


def printed_by_hivmc(env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(["hivmc", "--micro-kernels"], env=env, capture_output=True, text=True, check=True)
    return done.stdout


def in_readme() -> str:
    """The table as it stands in the README."""
    return SECTION.read()


if __name__ == "__main__":
    SECTION.write(table(printed_by_hivmc()))
