"""Calls of the kernels in ``worked_examples``, ``public_idioms`` and ``product_idioms``."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

#: No two numbers are equal; the first parameter would get this one.
_LENGTH = 1000
_UNIT_STRIDES = {"sak", "sbn", "scn"}
_TENSORS = {"a", "b", "c", "g", "o", "q", "k", "v", "x", "w", "src", "dst", "vec", "out", "gate", "up", "logits"}
_TENSORS |= {"labels", "loss", "packed", "cache", "table", "cos", "sin", "starts"}


def arguments(kernel: Any, module: ModuleType, dtype: str = "torch.float32") -> dict[str, Any]:
    """A call: what these kernels use as pointers gets a tensor, the rest numbers; constexprs are left out."""
    given: dict[str, Any] = {}
    for place, parameter in enumerate(kernel.params):
        if parameter.is_constexpr:
            continue
        if parameter.name in _TENSORS:
            given[parameter.name] = SimpleNamespace(dtype=dtype)
        else:
            given[parameter.name] = 1 if parameter.name in _UNIT_STRIDES else _LENGTH + place
    return {**given, **module.PASSED.get(kernel.__name__, {})}
