"""Slices that drop a dimension, as torch_npu copies them: one element of it is taken and the dimension goes."""

from __future__ import annotations

from typing import Any

CODE = """
import torch

x = torch.arange(4 * 5 * 6, dtype=torch.int32).reshape(4, 5, 6)
wrong = []
for types in (torch.int32, torch.float16, torch.bool):
    host = (x % 7).to(types)
    npu = host.npu()
    for index in ((slice(None), 0), (slice(None), 4), (2,), (slice(None), slice(None), 5), (1, slice(None), 3),
                  (slice(1, 3), 2), (slice(None), -1), (slice(None, None, 2), 1)):
        copied = npu[index].contiguous()
        if not torch.equal(copied.cpu(), host[index].contiguous()):
            wrong.append(str((types, index)))
total = (x.npu()[:, 1, :] + x.npu()[:, 3, :]).cpu()
report([wrong, total.tolist() == (x[:, 1, :] + x[:, 3, :]).tolist()])
"""


def test_an_index_drops_its_dimension(run_on_sim: Any) -> None:
    assert run_on_sim(CODE) == [[], True]
