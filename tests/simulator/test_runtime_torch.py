"""The simulated runtime under the real torch_npu and triton-ascend: streams, events, memory and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VADD = """
import torch, torch_npu, triton, triton.language as tl
@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
n = 5000
x, y = torch.arange(n, dtype=torch.float32).npu(), torch.ones(n).npu()
out = torch.zeros_like(x)
def launch():
    vadd[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
"""


def test_a_kernel_computes_and_its_time_repeats(run_on_sim: Any, tmp_path: Path) -> None:
    """Every task of two processes, with torch_npu's queue thread at work, has the same times to the nanosecond."""
    logs = []
    for k in range(2):
        log = tmp_path / f"tasks{k}"
        right = run_on_sim(
            VADD
            + """
flush = torch.empty(48 << 20, dtype=torch.int32, device="npu")
for _ in range(200):
    flush.zero_(); launch(); launch()
torch.npu.synchronize()
report(torch.equal(out.cpu(), x.cpu() + 1))
""",
            env={"CANN_SIM_TASK_LOG": str(log)},
        )
        assert right
        logs.append(log.read_text())
    assert logs[0] == logs[1]
    kernels = [json.loads(line) for line in logs[0].splitlines() if '"kernel"' in line]
    assert len(kernels) == 400
    cold, warm = ({t["end"] - t["start"] for t in kernels[i::2]} for i in (0, 1))
    assert max(warm) < min(cold)
    assert {t["thread"] for t in kernels} == {"acl_thread"}


def test_streams_and_events_of_torch(run_on_sim: Any) -> None:
    result = run_on_sim(
        """
import torch, torch_npu
big = torch.empty(64 << 20, device="npu")
side = torch.npu.Stream()
start, end, joined = (torch.npu.Event(enable_timing=True) for _ in range(3))
start.record()
big.fill_(1.0)
end.record()
side.wait_event(end)
with torch.npu.stream(side):
    joined.record()
torch.npu.synchronize()
done = [start.query(), joined.query(), side.query()]
report({"fill_ms": start.elapsed_time(end), "after_ms": end.elapsed_time(joined), "done": done})
"""
    )
    assert 0.1 < result["fill_ms"] < 1.0
    assert result["after_ms"] >= 0
    assert result["done"] == [True, True, True]


def test_out_of_memory_is_torchs_own_error(run_on_sim: Any) -> None:
    result = run_on_sim(
        """
import torch, torch_npu
try:
    torch.empty(2 << 30, device="npu")
    report(["no error", ""])
except torch.OutOfMemoryError as error:
    report([type(error).__name__, str(error)])
torch.ones(10, device="npu").sum().item()   # the process goes on
""",
        env={"CANN_SIM_MEMORY_GIB": "1"},
    )
    assert result[0] == "OutOfMemoryError"
    assert "1024.00 MiB total capacity" in result[1] or "1.00 GiB total capacity" in result[1]


def test_a_kernel_fault_is_an_exception_and_the_process_goes_on(run_on_sim: Any) -> None:
    result = run_on_sim(
        VADD
        + """
launch()
try:
    torch.npu.synchronize()
    text = "no error"
except RuntimeError as error:
    text = str(error)
report([text, (x + y)[10].item()])
""",
        env={"CANN_SIM_FAULTS": "kernel:vadd"},
    )
    assert "507035" in result[0]
    assert "kernel vadd" in result[0]
    assert result[1] == 11
