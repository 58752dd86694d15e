"""Operators that have only an aclnn function to arrive by, against torch on the CPU."""

from __future__ import annotations

import itertools

import pytest
from op_cases import ALL, FLOATS, NUMBERS, Cases

#: Two types and what torch makes of both.
PAIRS = tuple(itertools.permutations(("bool", "int8", "int32", "int64", "float16", "bfloat16", "float32"), 2))

CASES: Cases = {
    # Few different values: where equal ones end up shows whether the order is stable.
    "(a > 1).to(t).sort(dim=1, stable=True).indices": ALL,
    "(a > 1).to(t).sort(dim=0, stable=True, descending=True).indices": ALL,
    "(a > 1).to(t).argsort(dim=1, stable=True)": NUMBERS,
    "a.sort(dim=1, stable=True).values": ALL,
    "a[:, ::3].t().sort(dim=0, descending=True, stable=True).values": NUMBERS,
    "torch.where(m, a / 0 * 0, a).sort(dim=1, stable=True).indices": FLOATS,
    "empty.sort(dim=1, stable=True).values": FLOATS,
    "scalar.sort(stable=True).values": FLOATS,
    "torch.signbit(a)": NUMBERS,
    "torch.signbit(a[:, ::2].t())": NUMBERS,
    "torch.signbit(a * 0)": FLOATS,
    "torch.signbit(-a / 0)": FLOATS,
    "torch.signbit(empty)": FLOATS,
    "torch.where(m, a[:1], b)": ALL,
    "torch.where(m[:, :6].t(), a[:, 6:12].t(), column)": ALL,
    "torch.where(m, a, b[:, :1].expand(6, 130))": ALL,
    "torch.where(m, scalar, a)": NUMBERS,
    "torch.where(m.to(torch.uint8) * 3, a, b)": NUMBERS,
    "torch.where(m, a, torch.tensor(2.5))": FLOATS,
    "torch.where(m, a, 2.5)": NUMBERS,
    "torch.where(m[:, :0], a[:, :0], 1)": NUMBERS,
    # Not the first operand's type decides.
    **{f"torch.where(m, a.to(torch.{one}), b.to(torch.{other}))": ("float32",) for one, other in PAIRS},
}


@pytest.mark.parametrize("expression", CASES)
def test_agrees_with_torch_on_the_cpu(wrong: dict[str, dict[str, str]], expression: str) -> None:
    assert not wrong[expression]
