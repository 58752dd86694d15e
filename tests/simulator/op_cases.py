"""Runs torch expressions on the CPU and on the simulated NPU and compares them: one process for a whole table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int64", "int8")
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, "bool")

#: expression -> dtypes it is checked for. Names: ``a`` (6, 130), ``b`` like it, ``row`` (130,), ``column`` (6, 1),
#: ``p`` like ``a`` but at least 0.5 (1 for integers), ``m`` a (6, 130) mask, ``i`` int64 indices of rows, ``labels``
#: int64 columns for the rows, ``image`` (2, 4, 9, 11), ``filters`` (3, 4, 3, 3), ``heads`` (2, 4, 32, 16), ``scalar``
#: (), ``empty`` (0, 4), ``d`` the device, ``t`` the dtype, ``F`` torch.nn.functional.
Cases = Mapping[str, tuple[str, ...]]

#: Relative error of one operation on top of the rounding of the result; functions such as exp differ in the last bits
#: between libraries.
RELATIVE = {"float32": 2e-6, "float16": 1.1e-3, "bfloat16": 8e-3}
#: Sums of products are rounded in another order.
LONG_SUMS = ("@", "mm(", "mv", "linear", "cum", "norm", "softmax", "sum", "mean", "std", "var", "prod", "dot", "einsum")
LONG_SUMS += ("loss", "entropy", "kl_div", "conv", "attention", "matmul", "grad(", "glu")

RUNNER = """
import warnings
import torch, torch_npu
import torch.nn.functional as F

warnings.simplefilter("ignore")

def inputs(dtype, device):
    g = torch.Generator().manual_seed(7)
    if dtype == torch.bool:
        make = lambda *s: torch.randint(0, 2, s, generator=g).bool()
        p = make(6, 130)
    elif dtype.is_floating_point:
        make = lambda *s: (torch.randn(s, generator=g) * 2).to(dtype)
        p = (torch.rand(6, 130, generator=g) * 3 + 0.5).to(dtype)
    else:
        make = lambda *s: torch.randint(-100, 100, s, generator=g).to(dtype)
        p = torch.randint(1, 9, (6, 130), generator=g).to(dtype)
    names = dict(a=make(6, 130), b=make(6, 130), row=make(130), column=make(6, 1), p=p)
    names["m"] = torch.rand(6, 130, generator=g) < 0.3
    names["i"] = torch.tensor([3, 0, 5, 1])
    names["labels"] = torch.tensor([3, 0, 5, 1, 129, 64])
    names.update(image=make(2, 4, 9, 11), filters=make(3, 4, 3, 3), heads=make(2, 4, 32, 16), scalar=make())
    names["empty"] = make(0, 4)
    return {k: v.to(device) for k, v in names.items()}

def change(x, how):
    x = x.clone()
    how(x)
    return x

def grad(function, *tensors):
    # The gradients of a weighted sum of the result, one after the other.
    tensors = [x.detach().clone().requires_grad_() for x in tensors]
    result = function(*tensors)
    weights = torch.linspace(-1, 1, result.numel()).to(result.dtype).to(result.device).view_as(result)
    result.backward(weights)
    return torch.cat([x.grad.flatten() for x in tensors])

def evaluate(expression, dtype, device, computed_in):
    names = inputs(dtype, device)
    if computed_in != dtype:
        names = {k: v.to(computed_in) if v.dtype == dtype else v for k, v in names.items()}
    result = eval(expression, dict(names, torch=torch, F=F, change=change, grad=grad, d=device, t=computed_in))
    if computed_in != dtype:
        result = result.to(dtype)
    return result.cpu()

def difference(expected, got, relative):
    if expected.dtype != got.dtype or expected.shape != got.shape:
        return f"{got.dtype} {tuple(got.shape)} instead of {expected.dtype} {tuple(expected.shape)}"
    if not expected.dtype.is_floating_point:
        wrong = (expected != got).sum().item()
        return f"{wrong} of {got.numel()} elements differ" if wrong else ""
    try:
        torch.testing.assert_close(got, expected, rtol=relative, atol=relative, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""

def one(expression, dtype, relative):
    got = evaluate(expression, dtype, "npu", dtype)
    expected = evaluate(expression, dtype, "cpu", dtype)
    wrong = difference(expected, got, relative)
    if wrong and dtype in (torch.float16, torch.bfloat16) and expected.dtype == dtype:
        # torch rounds what lies between the steps of an expression: the exact result, rounded once, is right too.
        wrong = difference(evaluate(expression, dtype, "cpu", torch.float32), got, relative) and wrong
    return wrong

answers = {}
for expression, dtype, relative in CASES:
    try:
        answers[f"{expression} | {dtype}"] = one(expression, getattr(torch, dtype), relative)
    except Exception as error:
        answers[f"{expression} | {dtype}"] = f"{type(error).__name__}: {error}"
report(answers)
"""


def _relative(expression: str, dtype: str) -> float:
    base = RELATIVE.get(dtype, 2e-6)
    return 10 * base if dtype == "float32" and any(word in expression for word in LONG_SUMS) else base


def differences(cases: Cases, run_on_sim: Callable[..., Any]) -> dict[str, dict[str, str]]:
    """expression -> dtype -> how the NPU's result differs from torch's on the CPU; only what differs."""
    table = [(e, t, _relative(e, t)) for e, types in cases.items() for t in types]
    # Blocking: an operator that is refused raises in its own expression, not in the next one that waits.
    blocking = {"ASCEND_LAUNCH_BLOCKING": "1"}
    found = run_on_sim(f"CASES = {json.dumps(table)}\n{RUNNER}", env=blocking, timeout=300)
    wrong: dict[str, dict[str, str]] = {expression: {} for expression in cases}
    for expression, dtype, _ in table:
        if found[f"{expression} | {dtype}"]:
            wrong[expression][dtype] = found[f"{expression} | {dtype}"]
    return wrong
