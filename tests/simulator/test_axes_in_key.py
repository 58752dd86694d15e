"""triton-ascend's later form of hints: ``key`` is a dict that names the axes which the hints speak of.

The kernels load the lengths that they compare with, so that nothing but the hints tells the axes.
"""

from __future__ import annotations

from typing import Any

import pytest

#: Plays the tuner of such a build, which takes ``key`` as it is and keeps the hints to itself.
CODE = """
import pathlib, tempfile
import torch, triton, triton.backends.ascend, triton.language as tl

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "runtime").mkdir()
(folder / "runtime" / "__init__.py").write_text("")
(folder / "runtime" / "autotuner.py").write_text('''
from triton.runtime.autotuner import Autotuner
class AutoTilingTuner(Autotuner):
    def __init__(self, fn, arg_names, configs, key, hints):
        super().__init__(fn, arg_names, configs, key, None, None)
        self.hints = hints
def autotune(configs, key, hints=None):
    def decorator(fn):
        return AutoTilingTuner(fn, fn.arg_names, configs, key, hints)
    return decorator
''')
triton.backends.ascend.__path__.append(str(folder))
from triton.backends.ascend.runtime import autotuner as module

@module.autotune(configs=[], key={"x": "n"},
                 hints={"split_params": {"x": "BLOCK"}, "tiling_params": {"x": "SUB"}, "effort": "low",
                        "low_dim_axes": ["x"], "reduction_axes": []})
@triton.jit
def copy(x, out, lengths, n, BLOCK: tl.constexpr, SUB: tl.constexpr):
    stop = tl.load(lengths)
    for step in range((BLOCK + SUB - 1) // SUB):
        i = tl.program_id(0) * BLOCK + step * SUB + tl.arange(0, SUB)
        tl.store(out + i, tl.load(x + i, mask=i < stop), mask=i < stop)

@module.autotune(configs=[], key={"x": "rows", "ry": "width"},
                 hints={"split_params": {"x": "BLOCK"}, "tiling_params": {"ry": "SUB"}, "effort": "low",
                        "low_dim_axes": ["ry"], "reduction_axes": ["ry"]})
@triton.jit
def total(x, out, lengths, rows, width, BLOCK: tl.constexpr, SUB: tl.constexpr):
    last, end = tl.load(lengths), tl.load(lengths + 1)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, end, SUB):
        column = start + tl.arange(0, SUB)
        mask = (row < last)[:, None] & (column < end)[None, :]
        sums += tl.sum(tl.load(x + row[:, None] * width + column[None, :], mask=mask, other=0), 1)
    tl.store(out + row, sums, mask=row < last)
"""
RUN_COPY = """
x, out = torch.randn(5000).npu(), torch.zeros(5000).npu()
copy[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](x, out, torch.tensor([5000], dtype=torch.int32).npu(), 5000)
report([torch.equal(x.cpu(), out.cpu()), len(copy.configs) > 1, sorted(copy.best_config.kwargs)[:2]])
"""
RUN_TOTAL = """
x, out = torch.ones(300, 200).npu(), torch.zeros(300).npu()
lengths = torch.tensor([300, 200], dtype=torch.int32).npu()
total[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, out, lengths, 300, 200)
report([bool((out.cpu() == 200).all()), len(total.configs) > 1, sorted(total.best_config.kwargs)[:2]])
"""


@pytest.mark.parametrize("run", [RUN_COPY, RUN_TOTAL])
def test_the_axes_of_a_key_are_those_of_the_hints(run: str, run_on_sim: Any) -> None:
    assert run_on_sim(CODE + run) == [True, True, ["BLOCK", "SUB"]]
