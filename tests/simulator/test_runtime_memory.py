"""Memory of the simulated runtime: capacity, zero without real memory, L2, and the errors of wrong calls."""

from __future__ import annotations

from typing import Any

import pytest


def test_copies_move_the_bytes(call_acl: Any) -> None:
    assert call_acl(
        """
import os
data = os.urandom(100_000)
a, b = acl.malloc(100_000), acl.malloc(100_000)
acl.upload(a, data)
acl.copy(b + 1, a + 3, 99_000, D2D)
acl.sync()
report(acl.download(b, 100_000) == bytes(1) + data[3:99_003] + bytes(999))
"""
    )


def test_clearing_touches_no_real_memory(call_acl: Any) -> None:
    result = call_acl(
        """
size = 192 * MIB
memory, copy = acl.malloc(size), acl.malloc(size)
before = rss_mib()
for _ in range(100):
    acl.fill(memory, 0, size)
    acl.copy(copy, memory, size, D2D)
acl.sync()
report([rss_mib() - before, acl.host_ns(), acl.download(copy + size - 8, 8).hex()])
"""
    )
    assert result[0] < 8
    assert result[1] > 100 * 192 * 2**20 / 1600 * 2 / 2  # it cost virtual time all the same
    assert result[2] == "00" * 8


def test_clearing_gives_real_memory_back(call_acl: Any) -> None:
    result = call_acl(
        """
size = 64 * MIB
memory = acl.malloc(size)
acl.fill(memory, 1, size); acl.sync()
full = rss_mib()
acl.fill(memory + 100, 0, size - 200); acl.sync()
edges = [acl.download(memory + at, 1)[0] for at in (0, 99, 100, size // 2, size - 101, size - 100, size - 1)]
report([full - rss_mib(), edges])
"""
    )
    assert result[0] > 60
    assert result[1] == [1, 1, 0, 0, 0, 1, 1]


def test_freed_memory_comes_back_clean_and_is_counted(call_acl: Any) -> None:
    result = call_acl(
        """
def free():
    free, total = c_size_t(), c_size_t()
    acl("aclrtGetMemInfo", 1, byref(free), byref(total))
    return free.value, total.value
start = free()
a, b, c = (acl.malloc(MIB) for _ in range(3))
used = free()
acl.fill(b, 7, MIB); acl.sync()
acl("aclrtFree", c_void_p(b))
again = acl.malloc(MIB)
report({"used": start[0] - used[0], "total": start[1], "same": again == b,
        "clean": acl.download(again, MIB) == bytes(MIB)})
""",
        CANN_SIM_MEMORY_GIB="2",
    )
    assert result == {"used": 3 << 20, "total": 2 << 30, "same": True, "clean": True}


def test_out_of_memory(call_acl: Any) -> None:
    result = call_acl(
        """
memory = acl.malloc(900 * MIB)
code = acl.code("aclrtMalloc", byref(c_void_p()), c_size_t(200 * MIB), 0)
text = acl.message()
acl("aclrtFree", c_void_p(memory))
report([code, text, acl.malloc(1024 * MIB) > 0, acl.code("aclrtMalloc", byref(c_void_p()), c_size_t(2**64 - 1), 0)])
""",
        CANN_SIM_MEMORY_GIB="1",
    )
    assert result[0] == 207001
    assert f"{200 << 20} bytes asked" in result[1]
    assert result[2:] == [True, 207001]


def test_allocation_fault(call_acl: Any) -> None:
    code = 'report([acl.code("aclrtMalloc", byref(c_void_p()), c_size_t(n * MIB), 0) for n in (100, 101)])'
    assert call_acl(code, CANN_SIM_FAULTS="malloc:100") == [0, 207001]


def test_l2_makes_the_second_read_faster_until_a_flush(call_acl: Any) -> None:
    cold, warm, flushed, half = call_acl(
        """
size = 16 * MIB
a, b, flush = acl.malloc(size), acl.malloc(size), acl.malloc(192 * MIB)
acl.fill(a, 1, size)
def read():
    start = acl.recorded(); acl.copy(b, a, size, D2D); end = acl.recorded()
    acl.sync()
    return acl.elapsed_ns(start, end)
def clear(n):
    acl.fill(flush, 0, n)
clear(192 * MIB)
times = [read(), read()]
clear(192 * MIB); times.append(read())
clear(192 * MIB - size // 2 - size); times.append(read())  # half of what was read stays
report(times)
"""
    )
    assert cold == pytest.approx(flushed, abs=1_000)  # the first one was submitted to an idle stream
    assert warm < cold - 5_000
    assert warm < half < flushed


def test_the_first_device_does_not_see_the_second(call_acl: Any) -> None:
    result = call_acl(
        """
count = c_uint32()
acl("aclrtGetDeviceCount", byref(count))
acl("aclrtSetDevice", 1)
memory = acl.malloc(512 * MIB)
free, total = c_size_t(), c_size_t()
acl("aclrtGetMemInfo", 1, byref(free), byref(total)); second = free.value
acl("aclrtSetDevice", 0)
acl("aclrtGetMemInfo", 1, byref(free), byref(total)); first = free.value
context = c_void_p()
acl("aclrtGetCurrentContext", byref(context)); zero = context.value
acl("aclrtSetDevice", 1)
acl("aclrtSetCurrentContext", c_void_p(zero))
device = c_int32()
acl("aclrtGetDevice", byref(device))
report([count.value, first - second, device.value,
        acl.code("aclrtSetDevice", 2), acl.code("aclrtSetDevice", -1), acl.message()])
""",
        CANN_SIM_DEVICES="2",
    )
    assert result[:5] == [2, 512 << 20, 0, 107001, 107001]
    assert "device -1 does not exist; there are 2" in result[5]


def test_a_thread_without_a_device_has_no_context(call_acl: Any) -> None:
    assert (
        call_acl(
            """
import threading
codes = []
thread = threading.Thread(target=lambda: codes.append(acl.code("aclrtGetDevice", byref(c_int32()))))
thread.start(); thread.join()
report(codes[0])
"""
        )
        == 107002
    )


#: (call, its arguments as source, code, a part of the message)
WRONG_CALLS = [
    ("aclrtDestroyEvent", "gone", 107017, "no live event"),  # first, before another event takes its place
    ("aclrtRecordEvent", "None, None", 100000, "event is null"),
    ("aclrtRecordEvent", "c_void_p(4096), None", 107017, "0x1000 is no live event"),
    ("aclrtSynchronizeStream", "c_void_p(4096)", 107017, "0x1000 is no live stream"),
    ("aclrtRecordNotify", "c_void_p(8), None", 107017, "no live notify"),
    ("aclrtEventElapsedTime", "byref(c_float()), acl.event(), acl.event()", 107006, "was never recorded"),
    ("aclrtEventElapsedTime", "byref(c_float()), plain, plain", 107006, "without ACL_EVENT_TIME_LINE"),
    ("aclrtEventElapsedTime", "byref(c_float()), second, first", 107007, "before the start event"),
    ("aclrtEventElapsedTime", "None, first, second", 100000, "ms is null"),
    ("aclrtMalloc", "byref(c_void_p()), c_size_t(0), 0", 100000, "a size above 0"),
    ("aclrtFree", "c_void_p(memory + 8)", 107000, "not the start of device memory"),
    ("aclrtFreeHost", "c_void_p(memory)", 107000, "not the start of pinned host memory"),
    ("aclrtMemcpy", "c_void_p(memory), c_size_t(4), b'12345', c_size_t(5), H2D", 107000, "5 bytes do not fit into 4"),
    ("aclrtMemcpy", "c_void_p(memory), c_size_t(99), b'12345', c_size_t(99), 77", 107000, "unknown kind of copy 77"),
    ("aclrtMemcpy", "c_void_p(memory + 60), c_size_t(8), b'12345678', c_size_t(8), H2D", 107000, "not 8 bytes of"),
    ("aclrtMemcpy", "None, c_size_t(8), b'12345678', c_size_t(8), H2D", 100000, "target is null"),
    ("aclrtMemset", "c_void_p(16), c_size_t(8), 0, c_size_t(8)", 107000, "not 8 bytes of device memory"),
    ("aclrtValueWait", "c_void_p(memory + 4), c_uint64(1), 0, None", 107008, "not aligned"),
    ("aclrtValueWait", "c_void_p(memory), c_uint64(1), 9, None", 107000, "unknown flag 9"),
    ("aclrtValueWrite", "c_void_p(4096), c_uint64(1), 0, None", 107000, "not device memory"),
    ("aclrtSetCurrentContext", "c_void_p(4096)", 107017, "no context"),
    ("aclrtReserveMemAddress", "None, c_size_t(1), c_size_t(1), None, c_uint64(0)", 207000, "not simulated"),
    ("rtKernelLaunch", "c_void_p(4096), 1, None, 0, None, None", 507027, "no function is registered"),
    ("rtFunctionRegister", "c_void_p(8), c_void_p(1), b'k_0', b'k', 0", 107017, "no registered binary"),
]


def test_wrong_calls_have_a_code_and_a_message(call_acl: Any) -> None:
    calls = ",\n".join(f"lambda: ({name!r}, {args})" for name, args, _, _ in WRONG_CALLS)
    results = call_acl(
        f"""
memory = acl.malloc(64)
plain = acl.event(1)
acl("aclrtRecordEvent", plain, None)
first, second = acl.recorded(), acl.recorded()
acl.sync()
gone = acl.event()
acl("aclrtDestroyEvent", gone)
report([[acl.code(*call()), acl.message()] for call in [{calls}]])
"""
    )
    for (name, _, code, text), (got_code, got_text) in zip(WRONG_CALLS, results):
        assert got_code == code, (name, got_text)
        assert text in got_text, name
        assert got_text.endswith(f"[{code}]"), name


def test_a_message_is_read_once(call_acl: Any) -> None:
    first, second = call_acl(
        """
acl.code("aclrtFree", None)
report([acl.message(), acl.message()])
"""
    )
    assert "not the start of device memory" in first
    assert second == ""


def test_a_fork_does_not_hang(call_acl: Any) -> None:
    """A child forked while another thread is inside the library can still call it and exit."""
    assert (
        call_acl(
            """
import os, threading
memory = acl.malloc(MIB)
stop = False
def work():
    acl("aclrtSetDevice", 0)
    while not stop:
        acl.fill(memory, 1, MIB); acl.recorded(); acl.malloc(4096)
thread = threading.Thread(target=work)
thread.start()
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        acl.code("aclrtSynchronizeDevice")
        acl.code("aclrtFree", c_void_p(memory))
        os._exit(0)
    codes.append(os.waitpid(child, 0)[1])
stop = True
thread.join()
report(codes)
"""
        )
        == [0] * 20
    )
