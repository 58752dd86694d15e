"""The mathematical library of triton-ascend, compiled by the real compiler and executed by the simulator."""

from __future__ import annotations

from typing import Any

import pytest

#: Function -> what torch calls it, for arguments between 0.1 and 0.9.
FUNCTIONS = {
    "acos": "acos",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "ceil": "ceil",
    "cos": "cos",
    "cosh": "cosh",
    "cyl_bessel_i0": "i0",
    "erf": "erf",
    "erfinv": "erfinv",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "floor": "floor",
    "lgamma": "lgamma",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "nearbyint": "round",
    "reciprocal": "reciprocal",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
#: What the library makes of these are short polynomials.
ROUGH = {"acos": 5e-4, "asin": 5e-4}

CODE = """
import torch, triton, triton.language as tl
from triton.language.extra.ascend import libdevice

@triton.jit
def evaluate(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
{stores}

torch.manual_seed(0)
x = torch.rand(64) * 0.8 + 0.1
out = torch.zeros(64 * {count}).npu()
evaluate[(1,)](x.npu(), out, N=64)
errors = {{}}
for row, (name, reference) in zip(out.cpu().reshape({count}, 64).double(), {functions!r}):
    expected = getattr(torch, reference)(x.double())
    scale = expected.abs() + expected.abs().mean() + 1e-9
    errors[name] = float(((row - expected).abs() / scale).max())
report(errors)
"""


@pytest.mark.parametrize("part", range(3))
def test_functions_agree_with_torch(part: int, run_on_sim: Any) -> None:
    functions = list(FUNCTIONS.items())[part::3]
    stores = "\n".join(
        f"    tl.store(out + {number} * N + i, libdevice.{name}(v))" for number, (name, _) in enumerate(functions)
    )
    errors = run_on_sim(CODE.format(stores=stores, count=len(functions), functions=functions), timeout=300)
    assert set(errors) == {name for name, _ in functions}
    assert {name: error for name, error in errors.items() if not error <= ROUGH.get(name, 1e-5)} == {}
