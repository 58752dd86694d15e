"""Tensors of the unsigned types that torch has besides uint8: made, cast, filled and compared."""

from __future__ import annotations

from typing import Any

CODE = """
import torch

numbers = [0, 1, 40000, 65535, 70000, 2**31 + 5, 2**32 - 1]
results = {}
for name, count in (("uint16", 4), ("uint32", 7)):
    kind = getattr(torch, name)
    host = torch.tensor(numbers[:count], dtype=torch.int64)
    npu = host.npu().to(kind)
    results[name] = [npu.cpu().tolist(), npu.to(torch.int64).cpu().tolist(), npu.to(torch.float32).cpu().tolist()]
    results[name].append(torch.zeros(3, dtype=kind, device="npu").cpu().tolist())
report(results)
"""


def test_unsigned_values_stay_what_they_are(run_on_sim: Any) -> None:
    low, high = [0, 1, 40000, 65535], [0, 1, 40000, 65535, 70000, 2**31 + 5, 2**32 - 1]
    rounded = [0, 1, 40000, 65535, 70000, 2**31, 2**32]
    assert run_on_sim(CODE) == {"uint16": [low, low, low, [0] * 3], "uint32": [high, high, rounded, [0] * 3]}
