"""Axes of kernels, against what their authors state beside them."""

from __future__ import annotations

from types import ModuleType

import product_idioms
import public_idioms
import pytest
import worked_examples
from kernel_calls import arguments

from triton_ascend_tune.candidates.axes import Analysis, analyse

CASES = [(module, name) for module in (worked_examples, public_idioms, product_idioms) for name in module.AXES]


def analysed(module: ModuleType, name: str) -> Analysis:
    kernel = getattr(module, name)
    return analyse(kernel, arguments(kernel, module))


@pytest.mark.parametrize(("module", "name"), CASES, ids=[name for _, name in CASES])
def test_axes_are_those_stated(module: ModuleType, name: str) -> None:
    import triton.language as tl

    needed = getattr(module, "NEEDS", {}).get(name)
    if needed is not None and not hasattr(tl, needed):
        pytest.skip(f"this Triton has no tl.{needed}")
    found = analysed(module, name)
    assert [str(axis) for axis in found.axes] == module.AXES[name]
    said = [str(note) for note in found.notes]
    expected = module.NOTES.get(name, [])
    assert len(said) == len(expected), said
    for fragment in expected:
        assert any(fragment in note for note in said), said
