"""Cube and mixed kernels: flags between cores, hangs, blocks that meet, overlap in time, recognised launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SETUP = "from hivm_programs import *\n"


@pytest.fixture(scope="module")
def call(run_on_sim: Any) -> Any:
    folder = str(Path(__file__).parent)
    return lambda code, **env: run_on_sim(SETUP + code, env={"PYTHONPATH": folder, **env})


def test_a_loop_waits_for_the_same_flag_again_and_again(call: Any) -> None:
    """Many iterations, so that a core stops more than once at one wait; with equal values the result is the value."""
    outputs = call("report([sorted(set(attention(64 * n)[0][3].tolist())) for n in (1, 3, 4, 5, 17)])")
    assert outputs == [[0.5]] * 5


def test_a_flag_that_is_never_set_is_a_hang(call: Any) -> None:
    set_by_vector = "hivm.hir.sync_block_set[<VECTOR>, <PIPE_MTE3>, <PIPE_S>] flag = 13 ffts_base_addr = %arg0"
    error = call(f"report(error_of(attention, 128, ({set_by_vector!r}, 'hivm.hir.set_mask_norm')))")
    assert "block 0 cube core: line" in error
    assert "waits for a flag that no other core sets: the kernel would hang" in error


def test_a_flag_that_nobody_waits_for_is_an_error(call: Any) -> None:
    wait = "hivm.hir.sync_block_wait[<VECTOR>, <PIPE_FIX>, <PIPE_S>] flag = 0"
    error = call(
        f"report(error_of(relu, 'matmul_relu_64x64x64_odd', 64, 64, 64, ({wait!r}, 'hivm.hir.set_mask_norm')))"
    )
    assert "2 flags between its cores are still set at the end" in error


def test_flags_have_numbers_and_limits(call: Any) -> None:
    number = "flag = 0"
    error = call(f"report(error_of(relu, 'matmul_relu_64x64x64_odd', 64, 64, 64, ({number!r}, 'flag = 16')))")
    assert "block flag 16; there are 0 to 15" in error


def test_blocks_that_meet_must_run_at_the_same_time(call: Any) -> None:
    """20 cube cores: 20 blocks can meet, more would hang."""
    few, many = call(
        """
few = relu("matmul_relu_option_block_all", 64 * 20, 64, 64)[0][2]
report([sorted(set(few.tolist())), error_of(relu, "matmul_relu_option_block_all", 64 * 21, 64, 64)])
"""
    )
    assert few == [64.0]
    assert "with 21 blocks: they wait for each other but only 20 run at the same time" in many


def test_the_vector_half_comes_after_the_cube_half(call: Any) -> None:
    """The epilogue waits for the product: the times add up instead of overlapping."""
    short, long, short_alone, long_alone = call(
        """
report([relu("matmul_relu_64x64x64_odd", 64, 64, k)[1][1] for k in (64, 4096)]
       + [product("matmul_fp16_64x64x64_odd", 64, 64, k, 64, 64)[1][1] for k in (64, 4096)])
"""
    )
    assert short > short_alone + 300
    assert long > long_alone + 300
    assert long - short == pytest.approx(long_alone - short_alone, rel=0.05)


def test_double_buffering_hides_the_loads(call: Any) -> None:
    """The same product with and without a second buffer in L1, over 32 steps of the depth.

    Loading is what takes long at this tile size, so only the product itself can be hidden.
    """
    double, single = call(
        """
report([product(name, 512, 512, 2048, 64, 64)[1][1]
        for name in ("matmul_fp16_64x64x64", "matmul_option_no_multibuffer")])
"""
    )
    assert double < 0.92 * single


def test_cube_time_grows_with_the_work(call: Any) -> None:
    """A 16 x 16 x 16 product per cycle and core is the limit: no launch is faster than 20 cores at that rate."""
    times = call("report([product('matmul_fp16_128x128x128', 1280, 1024, k, 128, 128)[1][1] for k in (512, 1024)])")
    for depth, ns in zip((512, 1024), times, strict=True):
        assert ns > 1280 * 1024 * depth / (20 * 4096 * 1.8)
    assert 1.5 < times[1] / times[0] < 2.1


def test_a_mixed_launch_is_recognised(call: Any, tmp_path: Path) -> None:
    """What it reads of its workspace it has written itself, so an unchanged launch is not executed again."""
    log = tmp_path / "tasks"
    values = call(
        """
half = lambda *shape: np.full(shape, 0.5, np.float16)
q, k, v = half(256, 64), half(2048, 64), half(2048, 64)
name = "attention_fp16"
go, addresses, fixture = prepare(name, [q, k, v, np.zeros_like(q), 0.125, 2048], (4,), load(name))
for _ in range(3):
    go()
acl.upload(addresses[2], (v * 2).tobytes())
go()
out = np.frombuffer(acl.download(addresses[3], q.nbytes), np.float16)
acl("aclFinalize")
report(sorted(set(out.tolist())))
""",
        CANN_SIM_TASK_LOG=str(log),
    )
    assert values == [1.0]
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    assert [t["reused"] for t in tasks if t["kind"] == "kernel"] == [False, True, True, False]


def test_durations_and_results_repeat(call: Any) -> None:
    """Cores take turns and blocks are spread over host threads; nothing of it shows."""
    code = """
arrays, times = attention(320, blocks=7)
many = product("matmul_fp16_64x64x64_odd", 333, 222, 111, 64, 64)
report([times, many[1], arrays[3].tobytes().hex(), many[0][2].tobytes().hex()])
"""
    assert call(code) == call(code)
