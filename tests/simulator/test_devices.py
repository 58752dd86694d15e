"""Several simulated devices and the parts that can be simulated, under the real torch_npu, triton-ascend and tuner."""

from __future__ import annotations

import json
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

GIB = 1 << 30
TWO = {"CANN_SIM_DEVICES": "2"}

KERNEL = """
import torch, torch_npu, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

n = 50_000
blocks = [triton.Config({"BLOCK": block}) for block in (512, 1024, 2048)]
tuned = triton.autotune(configs=blocks, key=["n"])(double)

def launch(x, out):
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
"""


def test_tensors_move_between_devices_and_each_device_has_a_memory_of_its_own(run_on_sim: Any, tmp_path: Path) -> None:
    code = """
import torch, torch_npu
torch.npu.set_device(1)
x = torch.arange(10, dtype=torch.float32).to("npu")
torch.npu.set_device(0)
there = [str(x.device), torch.npu.current_device()]
y = x.to("npu:0")
z = torch.empty(10, dtype=torch.float16, device="npu:1").copy_(y)             # another dtype
turned = torch.arange(6, device="npu:0").view(2, 3).t().to("npu:1")           # not contiguous
with torch.npu.device(1):
    big = torch.empty(256 << 20, dtype=torch.uint8, device="npu")
    inside = torch.npu.current_device()
free = [torch.npu.mem_get_info(device) for device in (0, 1)]
del big
torch.npu.empty_cache()
report([there, y.tolist(), z.tolist(), turned.tolist(), inside, free, torch.npu.mem_get_info(1),
        torch.npu.device_count(), torch.npu.current_device()])
"""
    log = tmp_path / "tasks"
    found = run_on_sim(code, env={**TWO, "CANN_SIM_TASK_LOG": str(log)})
    there, y, z, turned, inside, free, after, count, current = found
    assert there == ["npu:1", 0]
    assert y == z == [float(i) for i in range(10)]
    assert turned == [[0, 3], [1, 4], [2, 5]]
    assert (inside, count, current) == (1, 2, 0)
    assert [total for _, total in free] == [64 * GIB] * 2
    assert free[0][0] - free[1][0] >= 254 << 20
    assert after[0] - free[1][0] >= 256 << 20
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    assert {task["device"] for task in tasks} == {0, 1}
    assert any(task["name"] == "memcpy_p2p" for task in tasks)


def test_each_device_is_tuned_on_its_own_and_the_current_device_stays(run_on_sim: Any, tmp_path: Path) -> None:
    code = """
right = []
for device in (1, 0):
    with torch.npu.device(device):
        x = torch.rand(n).to("npu")
        out = torch.zeros_like(x)
        launch(x, out)
        right.append([torch.equal(out.cpu(), x.cpu() * 2), torch.npu.current_device(), len(tuned.cache)])
report([right, torch.npu.current_device()])
"""
    log = tmp_path / "tasks"
    right, current = run_on_sim(KERNEL + code, env={**TWO, "CANN_SIM_TASK_LOG": str(log)})
    assert right == [[True, 1, 1], [True, 0, 2]]
    assert current == 0
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    launches = {device: sum(t["kind"] == "kernel" and t["device"] == device for t in tasks) for device in (0, 1)}
    assert min(launches.values()) > 10


def test_a_kernel_cannot_touch_another_devices_memory_unless_it_has_peer_access(run_on_sim: Any) -> None:
    code = """
with torch.npu.device(1):
    foreign = torch.rand(n).to("npu")
    torch.npu.synchronize()
out = torch.zeros(n, device="npu:0")
try:
    launch(foreign, out)
    error = None
except RuntimeError as raised:
    error = str(raised)
copied = foreign.to("npu:0")        # for which torch_npu asks for peer access
launch(foreign, out)
report([error, torch.equal(out.cpu(), copied.cpu() * 2)])
"""
    error, right = run_on_sim(KERNEL + code, env=TWO)
    assert "No config of kernel double can be used: 3 failed" in error
    assert error.count("507035: kernel double") == 3
    assert right


def test_streams_of_two_devices_wait_for_each_other(run_on_sim: Any) -> None:
    code = """
import torch, torch_npu
def timed():
    return torch.npu.Event(enable_timing=True)
start, end, after, side_end = (timed() for _ in range(4))
with torch.npu.device(1):
    big = torch.zeros(64 << 20, device="npu")
    torch.npu.synchronize()
    start.record()
    big.add_(1)
    end.record()
first = torch.npu.current_stream(0)
first.wait_event(end)
after.record(first)
side = torch.npu.Stream(device=0)
with torch.npu.stream(side):
    small = torch.ones(4, device="npu:0") + 1
    side_end.record()
pending = [end.query(), after.query()]
after.synchronize()
torch.npu.synchronize(0)
torch.npu.synchronize(1)
try:
    end.elapsed_time(start)
    backwards = "no error"
except RuntimeError as error:
    backwards = str(error)
report([start.elapsed_time(end), end.elapsed_time(after), pending, end.query(), backwards, small.tolist(),
        big[:2].tolist(), side_end.query()])
"""
    # torch_npu has a task queue per device, each with a thread: behind them the wait for `end` may be submitted before
    # its record, and then waits for nothing. Without the queues the calls come in the order of the program.
    work, waited, pending, done, backwards, small, big, side = run_on_sim(code, env={**TWO, "TASK_QUEUE_ENABLE": "0"})
    assert work > 0.1
    assert 0 <= waited < 0.01
    assert pending == [False, False]
    assert done and side
    assert "107007" in backwards  # ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL
    assert small == [2.0] * 4 and big == [1.0] * 2


def test_a_stream_of_another_device_is_refused(run_on_sim: Any) -> None:
    code = """
import ctypes
acl = ctypes.CDLL("libascendcl.so")
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
acl.aclInit(None)
acl.aclrtSetDevice(1)
stream = ctypes.c_void_p()
acl.aclrtCreateStream(ctypes.byref(stream))
acl.aclrtSetDevice(0)
code = acl.aclrtSynchronizeStream(stream)
text = acl.aclGetRecentErrMsg().decode()
acl.aclrtSetDevice(1)
report([code, text, acl.aclrtSynchronizeStream(stream)])
"""
    code, text, own = run_on_sim(code, env=TWO)
    assert (code, own) == (107003, 0)
    assert "the stream is one of device 1, the current device is 0" in text


def test_memory_that_was_short_is_there_again_once_it_is_free(run_on_sim: Any) -> None:
    """And a tuning with little memory left works, with a smaller flush, and gives back what it took."""
    code = """
half = torch.empty(600 << 20, dtype=torch.uint8, device="npu")
try:
    torch.empty(600 << 20, dtype=torch.uint8, device="npu")
    text = "no error"
except torch.OutOfMemoryError as error:
    text = str(error)
del half
torch.npu.empty_cache()
most = torch.empty(900 << 20, dtype=torch.uint8, device="npu")
x = torch.rand(n).to("npu")
out = torch.zeros_like(x)
before = torch.npu.memory_allocated()
launch(x, out)
report([text, torch.npu.memory_allocated() == before, torch.equal(out.cpu(), x.cpu() * 2),
        tuned.verdict.choice.conditions.flush_bytes, torch.npu.mem_get_info()[1]])
"""
    text, same, right, flush, total = run_on_sim(KERNEL + code, env={"CANN_SIM_MEMORY_GIB": "1"})
    assert text.startswith("NPU out of memory. Tried to allocate 602.00 MiB (NPU 0; 1024.00 MiB total capacity")
    assert same and right
    assert 0 < flush < 192 << 20
    assert total == GIB


#: name, cube cores, memory, L2: as CANN's platform files have them, see soc.cpp
PARTS = [
    ("Ascend910B1", 24, 64 * GIB, 192 << 20),
    ("Ascend910B2", 24, 64 * GIB, 192 << 20),
    ("Ascend910B3", 20, 64 * GIB, 192 << 20),
    ("Ascend910B4", 20, 32 * GIB, 96 << 20),
    ("Ascend910_9362", 20, 32 * GIB, 96 << 20),
    ("Ascend910_9372", 20, 64 * GIB, 192 << 20),
    ("Ascend910_9381", 24, 64 * GIB, 192 << 20),
    ("Ascend910_9382", 24, 64 * GIB, 192 << 20),
    ("Ascend910_9391", 24, 64 * GIB, 192 << 20),
    ("Ascend910_9392", 24, 64 * GIB, 192 << 20),
]

#: What torch, triton-ascend's driver and our tuner see of the part, and a kernel that is compiled for it.
SEEN = """
from triton.runtime.driver import driver
from triton_ascend_tune.candidates import hardware
x = torch.rand(n).to("npu")
out = torch.zeros_like(x)
launch(x, out)
properties, read = torch.npu.get_device_properties(0), hardware.current()
report({"name": torch.npu.get_device_name(0), "torch": [properties.cube_core_num, properties.vector_core_num],
        "memory": torch.npu.mem_get_info()[1], "l2": properties.L2_cache_size,
        "arch": driver.active.get_current_target().arch, "driver": driver.active.utils.get_device_properties(0),
        "ours": [read.arch, read.cube_cores, read.vector_cores, read.ub, read.l1, read.l0c],
        "right": torch.equal(out.cpu(), x.cpu() * 2),
        "ms": {o.candidate.config.kwargs["BLOCK"]: o.samples.p50 for o in tuned.verdict.outcomes}})
"""


@pytest.fixture(scope="module")
def seen(run_on_sim: Any) -> dict[str, Any]:
    return {name: run_on_sim(KERNEL + SEEN, env={"CANN_SIM_SOC": name}) for name, *_ in PARTS}


@pytest.mark.parametrize(("name", "cubes", "memory", "l2"), PARTS)
def test_a_part_is_seen_by_torch_by_the_driver_and_by_the_tuner(
    seen: dict[str, Any], name: str, cubes: int, memory: int, l2: int
) -> None:
    part = seen[name]
    assert part["name"] == part["arch"] == name
    assert part["torch"] == [cubes, 2 * cubes]
    assert (part["driver"]["num_aicore"], part["driver"]["num_vectorcore"]) == (cubes, 2 * cubes)
    assert part["ours"] == [name, cubes, 2 * cubes, 192 << 10, 512 << 10, 128 << 10]
    assert (part["memory"], part["l2"]) == (memory, l2)
    assert part["right"]


def test_more_cores_and_a_faster_clock_show_in_the_simulated_times(seen: dict[str, Any]) -> None:
    small, middle, large = (seen[name]["ms"]["512"] for name in ("Ascend910B4", "Ascend910B3", "Ascend910B1"))
    assert small > middle > large


def test_the_compiler_gives_the_parts_as_many_cores(sim_env: dict[str, str], tmp_path: Path) -> None:
    module = tmp_path / "kernel.mlir"
    module.write_text(
        'module { func.func @k(%a: memref<16xf32>) attributes {global_kernel = "local", mix_mode = "aiv"} { return } }'
    )
    for name, cubes, *_ in PARTS:
        command = ["bishengir-compile", str(module), f"--target={name}", "--enable-hivm-compile=true"]
        options = ["--enable-triton-kernel-compile=true", "--mlir-print-ir-after-all", "-o", str(tmp_path / "out")]
        done = subprocess.run([*command, *options], env=sim_env, capture_output=True, text=True, check=False)
        assert f'"CUBE_CORE_COUNT", {cubes} : i32' in done.stderr, name
        assert f'"VECTOR_CORE_COUNT", {2 * cubes} : i32' in done.stderr, name
        assert f'"UB_SIZE", {(192 << 10) * 8} : i32' in done.stderr, name


def test_a_part_that_is_none_is_an_error_that_names_what_is_allowed(run_on_sim: Any) -> None:
    done = run_on_sim("import torch\ntorch.ones(1, device='npu')", env={"CANN_SIM_SOC": "Ascend910X"}, check=False)
    assert done.returncode != 0
    assert "CANN_SIM_SOC=Ascend910X is no part that is simulated; allowed are Ascend910B1, Ascend910B2" in done.stderr
    assert (
        run_on_sim("import torch\nreport(torch.npu.get_device_name(0))", env={"CANN_SIM_SOC": "910B1"}) == "Ascend910B1"
    )


def test_a_grid_of_more_blocks_than_fit_into_a_launch_is_spread_over_the_cores(run_on_sim: Any, tmp_path: Path) -> None:
    """TRITON_ALL_BLOCKS_PARALLEL: the kernel loops over the program ids, in one dimension and in three; tuned too."""
    flat, solid = (f"{name}_{uuid.uuid4().hex}" for name in ("flat", "solid"))  # the wheel's cache ignores the variable
    code = """
import torch, torch_npu, triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def flat(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

@triton.jit
def solid(out, A, B):
    a, b, c = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out + (c * B + b) * A + a, a + 1000 * b + 1000000 * c)

n = 70_000 * 16
x = torch.rand(n).to("npu")
out = torch.zeros_like(x)
flat[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
tuned = [[o.status.value, o.candidate.config.kwargs["BLOCK"]] for o in flat.verdict.outcomes]
A, B, C = 50, 40, 40
numbers = torch.full((C, B, A), -1, dtype=torch.int32, device="npu")
solid[(A, B, C)](numbers, A, B)
wanted = torch.arange(A) + 1000 * torch.arange(B)[:, None] + 1000000 * torch.arange(C)[:, None, None]
out.zero_()
flat[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
report([tuned, torch.equal(out.cpu(), x.cpu() + 1), torch.equal(numbers.cpu(), wanted.int())])
""".replace("flat", flat).replace("solid", solid)
    log = tmp_path / "tasks"
    env = {"TRITON_ALL_BLOCKS_PARALLEL": "1", "CANN_SIM_TASK_LOG": str(log)}
    tuned, right, solid_right = run_on_sim(code, env=env)
    assert tuned == [["timed", 16], ["timed", 1024]]
    assert right and solid_right
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    assert {task["blocks"] for task in tasks if task["kind"] == "kernel"} == {40}
