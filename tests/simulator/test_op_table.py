"""The README's table of operators is what the simulator has."""

from __future__ import annotations

from pathlib import Path

import op_table


def test_the_readme_shows_every_operator(sdk: Path) -> None:
    operators = op_table.operators(sdk / "lib64" / "libascendcl.so")
    assert op_table.SECTION.read() == op_table.table(operators)
    assert {"products", "attention", "activations"} < set(operators)
    assert "MatMulV2" in operators["products"]
