"""Kernels on the simulated runtime: registration, launch, L2, launches that are not executed again, and failures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hivm_fixtures import modules

#: The kernel vadd(x, y, out, n) with 1024 elements for each block, and atomic_add_block(x, total, n).
SETUP = """
import os, struct
from array import array
from acl_calls import *
acl = Acl()
folder = os.environ["KERNELS"]
def load(name, entry):
    with open(f"{folder}/{name}.o", "rb") as file:
        return acl.register(file.read(), entry)
vadd = load("vadd_fp32_B1024", b"vadd")
N, BLOCKS = 16384, 16
def floats(values):
    return array("f", values).tobytes()
def tensor(values):
    address = acl.malloc(4 * len(values))
    acl.upload(address, floats(values))
    return address
def read(address, n=N):
    return list(array("f", acl.download(address, 4 * n)))
def packed(x, y, out):
    return struct.pack("<6Q4i", 0, 0, 0, x, y, out, N, BLOCKS, 1, 1)
def add(x, y, out, stream=None):
    acl.launch(vadd, BLOCKS, packed(x, y, out), stream)
def timed(*args):
    start = acl.recorded(); add(*args); end = acl.recorded()
    acl.sync()
    return acl.elapsed_ns(start, end)
flush = acl.malloc(192 * MIB)
def clear():
    acl.fill(flush, 0, 192 * MIB)
"""


@pytest.fixture(scope="module")
def kernels(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    for name in ("vadd_fp32_B1024", "atomic_add_block_fp32"):
        (folder / f"{name}.mlir").write_bytes(modules()[name])
        subprocess.run([sdk / "bin" / "hivmc", folder / f"{name}.mlir", "-o", folder / name], check=True, timeout=60)
    return folder


@pytest.fixture
def call_acl(run_on_sim: Any, kernels: Path) -> Any:
    folder = str(Path(__file__).parent)

    def call(code: str, **env: str) -> Any:
        return run_on_sim(SETUP + code, env={"PYTHONPATH": folder, "KERNELS": str(kernels), **env})

    return call


def test_a_launch_computes_and_takes_time(call_acl: Any) -> None:
    right, ns = call_acl(
        """
x, y, out = tensor(range(N)), tensor([0.5] * N), tensor([0] * N)
clear()
ns = timed(x, y, out)
report([read(out) == [i + 0.5 for i in range(N)], ns])
"""
    )
    assert right
    assert 1_000 < ns < 100_000


def test_warm_is_faster_than_cold_and_a_flush_makes_cold(call_acl: Any) -> None:
    cold, warm, again, stale = call_acl(
        """
x, y, out, other = tensor([1] * N), tensor([2] * N), tensor([0] * N), tensor([0] * N)
gate = acl.notify()
def gated(*args):  # the host's pace does not show
    acl("aclrtWaitAndResetNotify", gate, None, 0)
    start = acl.recorded(); add(*args); end = acl.recorded()
    acl("aclrtRecordNotify", gate, acl.stream())
    acl.sync()
    return acl.elapsed_ns(start, end)
clear(); cold = gated(x, y, out)
warm = gated(x, y, out)
clear(); again = gated(x, y, out)
acl.upload(x, floats([1] * N)); stale = gated(x, y, out)  # an upload passes through L2
report([cold, warm, again, stale])
"""
    )
    assert cold == again
    assert warm == stale < cold


def test_an_unchanged_launch_is_not_executed_again(call_acl: Any, tmp_path: Path) -> None:
    """The log tells it; virtual times are those of executed launches."""
    log = tmp_path / "tasks"
    right = call_acl(
        """
big = 64 * N
x, y, out = tensor([1] * big), tensor([2] * big), tensor([0] * big)
for _ in range(101):
    acl.launch(vadd, big // 1024, struct.pack("<6Q4i", 0, 0, 0, x, y, out, big, big // 1024, 1, 1))
acl.sync()
acl("aclFinalize")
report(read(out, big) == [3] * big)
""",
        CANN_SIM_TASK_LOG=str(log),
    )
    assert right
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    kernels = [t for t in tasks if t["kind"] == "kernel"]
    assert [t["reused"] for t in kernels] == [False] + [True] * 100
    assert len({t["end"] - t["start"] for t in kernels[1:]}) == 1
    assert {(t["name"], t["blocks"]) for t in kernels} == {("vadd", 1024)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("acl.upload(x, floats([5] * N))", 7),
        ("acl.upload(x + 4 * (N - 1), floats([5]))", 7),
        ("acl.fill(y, 0, 4 * N)", 1),
        ("acl.copy(y, z, 4 * N, D2D)", 11),
        ("add(z, z, y)", 21),
        ("acl.fill(out, 0, 4 * N)", 3),
        ("acl.upload(out, floats([9]))", 3),
        ("acl('aclrtFree', c_void_p(x)); x = tensor([5] * N)", 7),
    ],
)
def test_a_launch_whose_data_changed_is_executed(call_acl: Any, change: str, expected: float) -> None:
    last = call_acl(
        f"""
x, y, z, out = tensor([1] * N), tensor([2] * N), tensor([10] * N), tensor([0] * N)
add(x, y, out); add(x, y, out)
{change}
add(x, y, out)
acl.sync()
values = read(out)
report(values[-1] if {expected} == 7 else values[0])
"""
    )
    assert last == expected


def test_in_place_and_atomic_launches_always_execute(call_acl: Any) -> None:
    in_place, atomic = call_acl(
        """
x, y = tensor([1] * N), tensor([2] * N)
for _ in range(10):
    add(x, y, x)
atomic = load("atomic_add_block_fp32", b"atomic_add_block")
ones, total = tensor([1] * N), tensor([0] * N)
for _ in range(5):
    acl.launch(atomic, 1, struct.pack("<5Q4i", 0, 0, 0, ones, total, 256, 1, 1, 1))
acl.sync()
report([read(x) == [21] * N, sum(read(total))])
"""
    )
    assert in_place
    assert atomic > 0
    assert atomic % 5 == 0


def test_a_kernel_behind_a_gate_sees_the_data_of_its_turn(call_acl: Any) -> None:
    assert call_acl(
        """
x, y, out = tensor([1] * N), tensor([2] * N), tensor([0] * N)
work, notify = acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
add(x, y, out, work)                 # 3
add(out, y, x, work)                 # 5
add(x, x, out, work)                 # 10
before = read(out)
acl("aclrtRecordNotify", notify, None)
acl.sync(work)
report(before == [0] * N and read(out) == [10] * N)
"""
    )


def test_times_do_not_depend_on_the_process(call_acl: Any) -> None:
    code = """
x, y, out = tensor([1] * N), tensor([2] * N), tensor([0] * N)
times = []
for i in range(60):
    if i % 3 == 0: clear()
    if i % 5 == 0: acl.copy(y, x, 4 * N, D2D)
    times.append(timed(x, y, out))
report(times)
"""
    assert call_acl(code) == call_acl(code)


def test_objects_and_entries_that_do_not_exist(call_acl: Any) -> None:
    load_code, load_text, run_code, run_text, again = call_acl(
        """
junk = DevBinary(0x41415246, 0, b"\\x7fELF and so on", 14)
load_code = acl.code("rtDevBinaryRegister", byref(junk), byref(c_void_p()))
load_text = acl.message()
vadd = load("vadd_fp32_B1024", b"no_such_kernel")
x = tensor([1] * N)
add(x, x, x)
run_code = acl.code("aclrtSynchronizeStream", None)
run_text = acl.message()
report([load_code, load_text, run_code, run_text, acl.code("aclrtSynchronizeStream", None)])
"""
    )
    assert load_code == 107000
    assert "rtDevBinaryRegister" in load_text
    assert run_code == 507035
    assert "no_such_kernel" in run_text
    assert again == 0


def test_a_kernel_that_leaves_its_memory_fails_at_the_next_synchronise(call_acl: Any) -> None:
    codes, text, right = call_acl(
        """
x, y, out = tensor([1] * N), tensor([2] * N), tensor([0] * N)
add(x, y, out)
bad = acl.code("rtKernelLaunch", vadd, BLOCKS, packed(0, y, out), 64, None, None)
event = acl.recorded()
sync = acl.code("aclrtSynchronizeEvent", event)
text = acl.message()
acl.fill(out, 0, 4 * N)
add(x, y, out)
acl.sync()
report([[bad, sync], text, read(out) == [3] * N])
"""
    )
    assert codes == [0, 507035]
    assert "kernel vadd" in text
    assert right


def test_arguments_of_a_wrong_size_are_an_error(call_acl: Any) -> None:
    code, text = call_acl(
        """
x = tensor([1] * N)
acl.launch(vadd, 1, struct.pack("<4Q", 0, 0, 0, x))
report([acl.code("aclrtSynchronizeStream", None), acl.message()])
"""
    )
    assert code == 507035
    assert "kernel vadd" in text


def test_a_grid_beyond_the_limit_is_refused(call_acl: Any) -> None:
    code, text = call_acl('report([acl.code("rtKernelLaunch", vadd, 65536, b"", 0, None, None), acl.message()])')
    assert code == 107000
    assert "65536 blocks; 1 to 65535" in text


def test_kernel_faults(call_acl: Any) -> None:
    code = """
x, out = tensor([1] * N), tensor([0] * N)
launch = acl.code("rtKernelLaunch", vadd, BLOCKS, packed(x, x, out), 64, None, None)
report([launch, acl.code("aclrtSynchronizeStream", None), read(out)[0]])
"""
    assert call_acl(code) == [0, 0, 2]
    assert call_acl(code, CANN_SIM_FAULTS="launch:vadd") == [507000, 0, 0]
    assert call_acl(code, CANN_SIM_FAULTS="kernel:vadd") == [0, 507035, 0]
