"""Operators over random shapes, dtypes, broadcasting, views and empty tensors, against torch on the CPU.

hypothesis runs inside one process on the simulator: 150 examples of each property of ``op_shape_checks.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: The functions of ``op_shape_checks.py``, which cannot be imported here: it needs torch_npu, that is, an NPU.
CHECKS = (
    "arithmetic",
    "division",
    "choice",
    "mixed_dtypes",
    "one_operand",
    "reductions",
    "along_a_dimension",
    "moves_between_views",
    "joining_and_splitting",
    "indexing",
    "products",
)


@pytest.fixture(scope="module")
def failures(run_on_sim: Callable[..., Any]) -> dict[str, str]:
    found: dict[str, str] = run_on_sim(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import op_shape_checks
        report({{name: op_shape_checks.run(name) for name in op_shape_checks.CHECKS}})
        """,
        env={"ASCEND_LAUNCH_BLOCKING": "1"},
        timeout=600,
    )
    assert tuple(found) == CHECKS
    return found


@pytest.mark.parametrize("name", CHECKS)
def test_agrees_with_torch_on_the_cpu(name: str, failures: dict[str, str]) -> None:
    assert not failures[name], failures[name]
