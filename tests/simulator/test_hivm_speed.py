"""How long the simulator itself takes: real kernels must execute fast enough for tests and for tuning.

Processor time is measured, of all threads together, so that other processes do not matter much; the limits hold for the
real time of one launch, which is spread over two processors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_hivm_mixed import SETUP

#: Module, its arguments, grid, and the real seconds that a launch may take.
LAUNCHES = {
    "matmul 1024 x 1024 x 1024": (
        "matmul_fp16_128x128x64",
        "[half(1024, 1024), half(1024, 1024), half(1024, 1024), 1024, 1024, 1024, 1024, 1024, 1024]",
        64,
        2.0,
    ),
    "softmax 4096 x 1024": (
        "softmax_fp32_B1024",
        "[single(4096, 1024), single(4096, 1024), 1024, 1024, 4096, 1024]",
        40,
        0.2,
    ),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_executes_in_time(name: str, run_on_sim: Any) -> None:
    module, values, blocks, limit = LAUNCHES[name]
    seconds = run_on_sim(
        SETUP
        + f"""
half = lambda *shape: np.full(shape, 0.5, np.float16)
single = lambda *shape: np.full(shape, 0.5, np.float32)
times = []
for _ in range(2):
    go, addresses, fixture = prepare({module!r}, {values}, ({blocks},), load({module!r}))
    begin = time.process_time()
    go()
    acl.sync()
    times.append(time.process_time() - begin)
report(times)
""",
        env={"PYTHONPATH": str(Path(__file__).parent)},
    )
    assert min(seconds) > 1e-4  # it was executed
    assert min(seconds) < limit
