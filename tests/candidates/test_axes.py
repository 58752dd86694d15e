"""Axes of kernels, against what their authors state beside them."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import public_idioms
import pytest
import worked_examples

from triton_ascend_tune.candidates.axes import Analysis, analyse

CASES = [(module, name) for module in (worked_examples, public_idioms) for name in module.AXES]
_LENGTH = 1000
_UNIT_STRIDES = {"sak", "sbn", "scn"}


def arguments(kernel: Any, module: ModuleType, dtype: str = "torch.float32") -> dict[str, Any]:
    """A call: lower-case names that are used as pointers get a tensor, the others numbers; constexprs are left out."""
    import ast

    pointers = set()
    for node in ast.walk(kernel.parse()):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _MEMORY and node.args:
            pointers.update(name.id for name in ast.walk(node.args[0]) if isinstance(name, ast.Name))
    given: dict[str, Any] = {}
    for place, parameter in enumerate(kernel.params):
        if parameter.is_constexpr:
            continue
        if parameter.name in _TENSORS:
            given[parameter.name] = SimpleNamespace(dtype=dtype)
        else:
            given[parameter.name] = 1 if parameter.name in _UNIT_STRIDES else _LENGTH + place
    return {**given, **module.PASSED.get(kernel.__name__, {})}


_MEMORY = {"load", "store", "make_block_ptr", "atomic_add", "_masked"}
_TENSORS = {"a", "b", "c", "g", "o", "q", "k", "v", "x", "w", "src", "dst", "vec", "out", "gate", "up", "logits"}
_TENSORS |= {"labels", "loss", "packed", "cache", "table", "cos", "sin", "starts"}


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
