"""What can hold a stream of the simulated runtime: notifies and values, released or not."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

#: Real time that a synchronise leaves other threads; short, because most of these tests have none.
IMPATIENT = {"CANN_SIM_BLOCKED_WAIT_MS": "20"}


@pytest.fixture
def call_acl(call_acl: Any) -> Any:
    return partial(call_acl, **IMPATIENT)


def test_a_notify_holds_the_stream_until_it_is_recorded(call_acl: Any) -> None:
    """Behind a closed gate nothing runs; once it opens the tasks follow without the host's pace."""
    result = call_acl(
        """
memory = acl.malloc(4096)
work, other = acl.stream(), acl.stream()
notify = acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
a = acl.recorded(work)
acl.fill(memory, 7, 4096, work)
b = acl.recorded(work)
held = acl.download(memory, 1)[0]
closed = acl.event_complete(b)
release = acl.recorded(other)
acl("aclrtRecordNotify", notify, other)
acl.sync(work)
acl.sync(other)
report({"held": held, "closed": closed, "after": acl.download(memory, 1)[0], "gap": acl.elapsed_ns(a, b),
        "later": acl.elapsed_ns(release, a)})
""",
        CANN_SIM_HOST_SUBMIT_US="50",
    )
    assert result["held"] == 0
    assert not result["closed"]
    assert result["after"] == 7
    assert 0 < result["gap"] < 5_000  # not the 100 us that the host took
    assert result["later"] >= 50_000


def test_a_record_before_the_wait_is_not_lost_and_is_consumed_once(call_acl: Any) -> None:
    result = call_acl(
        """
one, two = acl.stream(), acl.stream()
notify = acl.notify()
acl("aclrtRecordNotify", notify, one)
acl("aclrtWaitAndResetNotify", notify, two, 0)
first = acl.code("aclrtSynchronizeStream", two)
acl("aclrtWaitAndResetNotify", notify, two, 0)
second = acl.code("aclrtSynchronizeStreamWithTimeout", two, 5)
text = acl.message()
acl("aclrtRecordNotify", notify, one)
report([first, second, text, acl.code("aclrtSynchronizeStream", two)])
"""
    )
    assert result[0] == 0
    assert result[1] == 507046
    assert "a wait for notify 1" in result[2]
    assert result[3] == 0


def test_many_tasks_behind_the_gate_run_in_order(call_acl: Any) -> None:
    result = call_acl(
        """
memory = acl.malloc(256)
work = acl.stream()
notify = acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
for i in range(256):
    acl.fill(memory + i, i, 256 - i, work)
events = [acl.recorded(work) for _ in range(3)]
acl("aclrtRecordNotify", notify, None)
acl.sync(work)
report([list(acl.download(memory, 256)), acl.elapsed_ns(events[0], events[2])])
"""
    )
    assert result[0] == list(range(256))
    assert result[1] > 0


def test_what_a_call_lends_may_change_while_the_gate_is_closed(call_acl: Any) -> None:
    text = call_acl(
        """
import ctypes
memory = acl.malloc(16)
work, notify = acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
source = ctypes.create_string_buffer(b"before", 16)
acl.copy(memory, ctypes.addressof(source), 16, H2D, work)
source.value = b"after"
acl("aclrtRecordNotify", notify, None)
acl.sync(work)
report(acl.download(memory, 6).decode())
"""
    )
    assert text == "before"


def test_the_timeout_of_a_wait_opens_the_gate_and_is_reported_once(call_acl: Any) -> None:
    """By the device's clock: fifty minutes of it are over at once."""
    result = call_acl(
        """
memory = acl.malloc(16)
work, notify = acl.stream(), acl.notify()
before = acl.recorded(work)
acl("aclrtWaitAndResetNotify", notify, work, 3_000_000)
after = acl.recorded(work)
acl.fill(memory, 9, 16, work)
code = acl.code("aclrtSynchronizeStream", work)
text = acl.message()
report({"code": code, "text": text, "again": acl.code("aclrtSynchronizeStream", work),
        "ran": acl.download(memory, 1)[0], "took": acl.time_ns(after) - acl.time_ns(before)})
"""
    )
    assert result["code"] == 107019
    assert "notify 1 was not recorded within 3000000 ms" in result["text"]
    assert result["again"] == 0
    assert result["ran"] == 9
    assert result["took"] == pytest.approx(3000e9, rel=1e-3)


def test_a_record_after_the_timeout_comes_too_late(call_acl: Any) -> None:
    result = call_acl(
        """
memory = acl.malloc(64 * MIB)
work, other, notify = acl.stream(), acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 1)
for _ in range(100):
    acl.fill(memory, 1, 64 * MIB, other)   # about 4 ms
acl("aclrtRecordNotify", notify, other)
code = acl.code("aclrtSynchronizeStream", work)
acl("aclrtWaitAndResetNotify", notify, work, 0)   # the late record is still there
report([code, acl.code("aclrtSynchronizeStream", work)])
"""
    )
    assert result == [107019, 0]


def test_nothing_that_could_open_the_gate_is_an_error_not_a_hang(call_acl: Any) -> None:
    result = call_acl(
        """
work, other, notify = acl.stream(), acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
event = acl.recorded(work)
acl("aclrtStreamWaitEvent", other, event)
codes = [acl.code("aclrtSynchronizeStream", work), acl.code("aclrtSynchronizeEvent", event),
         acl.code("aclrtSynchronizeStreamWithTimeout", other, 10), acl.code("aclrtDestroyStream", work)]
text = acl.message()
acl("aclrtRecordNotify", notify, None)     # and the streams still work
acl.sync(work); acl.sync(other)
report([codes, text])
"""
    )
    assert result[0] == [507046, 507047, 507046, 507004]
    assert "a wait for notify 1" in result[1]


def test_another_thread_opens_the_gate(call_acl: Any) -> None:
    result = call_acl(
        """
import threading, time
memory = acl.malloc(16)
work, notify = acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
acl.fill(memory, 5, 16, work)
def open_gate():
    time.sleep(0.2)
    acl("aclrtSetDevice", 0)
    acl("aclrtRecordNotify", notify, None)
thread = threading.Thread(target=open_gate)
thread.start()
code = acl.code("aclrtSynchronizeStream", work)
thread.join()
report([code, acl.download(memory, 1)[0]])
""",
        CANN_SIM_BLOCKED_WAIT_MS="20000",
    )
    assert result == [0, 5]


def test_a_stream_takes_a_bounded_number_of_tasks_behind_the_gate(call_acl: Any) -> None:
    taken, code, text = call_acl(
        """
memory = acl.malloc(16)
work, notify = acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 0)
taken = 0
while True:
    code = acl.code("aclrtMemsetAsync", c_void_p(memory), c_size_t(16), 1, c_size_t(16), work)
    if code:
        break
    taken += 1
report([taken, code, acl.message()])
""",
        CANN_SIM_BLOCKED_WAIT_MS="1",
    )
    assert taken == 2047
    assert code == 507002
    assert "2048 tasks behind a wait for notify 1" in text


@pytest.mark.parametrize(
    ("flag", "start", "expected", "written"), [(0, 1, 5, 6), (1, 1, 5, 5), (2, 1, 6, 4), (3, 2**64 - 1, 0, 0)]
)
def test_a_value_holds_the_stream(call_acl: Any, flag: int, start: int, expected: int, written: int) -> None:
    result = call_acl(
        f"""
memory = acl.malloc(64)
value = c_void_p(acl.malloc(8))
work, other = acl.stream(), acl.stream()
acl("aclrtValueWrite", value, c_uint64({start}), 0, other)
acl("aclrtValueWait", value, c_uint64({expected}), {flag}, work)
acl.fill(memory, 3, 64, work)
after = acl.recorded(work)
held = acl.download(memory, 1)[0]
acl.fill(acl.malloc(64 * MIB), 1, 64 * MIB, other)
acl("aclrtValueWrite", value, c_uint64({written}), 0, other)
release = acl.recorded(other)
acl("aclrtSynchronizeDevice")
report([held, acl.download(memory, 1)[0], acl.time_ns(after) - acl.time_ns(release)])
"""
    )
    assert result[:2] == [0, 3]
    assert result[2] > 0


def test_a_copy_into_the_value_releases_the_stream(call_acl: Any) -> None:
    assert call_acl(
        """
memory = acl.malloc(64)
value = acl.malloc(8)
work = acl.stream()
acl("aclrtValueWait", c_void_p(value), c_uint64(1), 0, work)
acl.fill(memory, 3, 64, work)
acl.upload(value, (1).to_bytes(8, "little"))
acl.sync(work)
report(acl.download(memory, 1)[0] == 3)
"""
    )


def test_faults_of_the_gate(call_acl: Any) -> None:
    create = 'report(acl.code("aclrtCreateNotify", byref(c_void_p()), c_uint64(0)))'
    assert call_acl(create, CANN_SIM_FAULTS="notify") == 207000
    lost = """
work, notify = acl.stream(), acl.notify()
acl("aclrtWaitAndResetNotify", notify, work, 100)
acl("aclrtRecordNotify", notify, None)
report(acl.code("aclrtSynchronizeStream", work))
"""
    assert call_acl(lost) == 0
    assert call_acl(lost, CANN_SIM_FAULTS="notify_lost") == 107019
    value = 'report(acl.code("aclrtValueWrite", c_void_p(acl.malloc(8)), c_uint64(1), 0, None))'
    assert call_acl(value, CANN_SIM_FAULTS="value") == 207000
    assert call_acl(value) == 0
