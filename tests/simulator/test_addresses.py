"""Kernels that treat addresses as values: pointers kept in memory, and pointers compared with null."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

CODE = """
import torch, triton, triton.language as tl

@triton.jit
def add_one(table, n, N: tl.constexpr, kind: tl.constexpr):
    address = tl.load(table + tl.program_id(0)).to(tl.pointer_type(kind))
    i = tl.arange(0, N)
    tl.store(address + i, tl.load(address + i, mask=i < n) + 1, mask=i < n)

@triton.jit
def copy(source, out, value):
    if source:
        value = tl.load(source + tl.program_id(0))
    tl.store(out + tl.program_id(0), value)
"""


def test_a_kernel_writes_where_a_pointer_that_it_loads_points(run_on_sim: Any) -> None:
    program = """
    results = {}
    for name in ("float32", "float16", "int32"):
        rows = [torch.arange(24, dtype=getattr(torch, name)).npu() + 100 * k for k in range(3)]
        table = torch.tensor([row.data_ptr() for row in rows]).npu()
        add_one[(3,)](table, 20, N=32, kind={"float32": tl.float32, "float16": tl.float16, "int32": tl.int32}[name])
        results[name] = torch.stack(rows).cpu().tolist()
    report(results)
    """
    results = run_on_sim(CODE + textwrap.dedent(program))
    expected = [[100 * k + i + (i < 20) for i in range(24)] for k in range(3)]
    assert results == dict.fromkeys(("float32", "float16", "int32"), expected)


def test_a_pointer_outside_all_allocations_is_an_error(run_on_sim: Any) -> None:
    program = """
    table = torch.tensor([64]).npu()
    try:
        add_one[(1,)](table, 20, N=32, kind=tl.float32)
        torch.npu.synchronize()
    except RuntimeError as error:
        report(str(error))
    """
    assert "allocation" in run_on_sim(CODE + textwrap.dedent(program))


@pytest.mark.parametrize("given", [True, False])
def test_a_kernel_asks_whether_a_pointer_is_null(given: bool, run_on_sim: Any) -> None:
    program = f"""
    source, out = torch.arange(5, dtype=torch.float32).npu(), torch.zeros(5).npu()
    copy[(5,)](source if {given} else torch.empty(0, device="npu"), out, -1.0)
    report(out.cpu().tolist())
    """
    assert run_on_sim(CODE + textwrap.dedent(program)) == ([0, 1, 2, 3, 4] if given else [-1] * 5)
