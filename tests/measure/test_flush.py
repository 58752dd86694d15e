"""The flush: which buffer, which call, and what happens where memory is short."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest

from triton_ascend_tune.measure.flush import Flush, make_flush
from triton_ascend_tune.values import FLUSH_BYTES


@dataclass
class Buffer:
    items: int
    zeroed: int = 0
    read: int = 0

    def numel(self) -> int:
        return self.items

    def element_size(self) -> int:
        return 4

    def zero_(self) -> Buffer:
        self.zeroed += 1
        return self

    def sum(self) -> None:
        self.read += 1


@dataclass
class OldDriver:
    """As in Triton 3.2: a buffer, but no way to clear it."""

    buffers: list[Buffer] = field(default_factory=list)

    def get_empty_cache_for_benchmark(self) -> Buffer:
        self.buffers.append(Buffer(FLUSH_BYTES // 4))
        return self.buffers[-1]


@dataclass
class NewDriver(OldDriver):
    cleared: list[Buffer] = field(default_factory=list)

    def clear_cache(self, buffer: Buffer) -> None:
        self.cleared.append(buffer)


def no_allocation(items: int) -> Buffer:
    raise AssertionError(f"allocated {items}")


def test_the_drivers_buffer_is_used_once_and_zeroed() -> None:
    driver = OldDriver()
    flush = make_flush(driver, "write", FLUSH_BYTES, no_allocation)
    assert flush.call is not None
    for _ in range(3):
        flush.call()
    assert [buffer.zeroed for buffer in driver.buffers] == [3]
    assert flush.nbytes == FLUSH_BYTES


def test_the_drivers_own_clearing_is_preferred() -> None:
    driver = NewDriver()
    flush = make_flush(driver, "write", FLUSH_BYTES, no_allocation)
    assert flush.call is not None
    flush.call()
    flush.call()
    assert driver.cleared == [driver.buffers[0]] * 2
    assert driver.buffers[0].zeroed == 0


@pytest.mark.parametrize("driver", [OldDriver(), object(), None])
def test_another_size_is_allocated(driver: object) -> None:
    """FR-33."""
    made: list[Buffer] = []

    def allocate(items: int) -> Buffer:
        made.append(Buffer(items))
        return made[-1]

    flush = make_flush(driver, "write", 1025, allocate)
    assert flush.call is not None
    flush.call()
    assert [(buffer.items, buffer.zeroed) for buffer in made] == [(257, 1)]  # at least the bytes asked for


def test_reading_reads_a_buffer_that_was_written_once() -> None:
    made: list[Buffer] = []

    def allocate(items: int) -> Buffer:
        made.append(Buffer(items))
        return made[-1]

    flush = make_flush(OldDriver(), "read", FLUSH_BYTES, allocate)
    assert flush.call is not None
    flush.call()
    flush.call()
    assert [(buffer.items * 4, buffer.zeroed, buffer.read) for buffer in made] == [(FLUSH_BYTES, 1, 2)]


def test_no_flush_allocates_nothing() -> None:
    driver = OldDriver()
    assert make_flush(driver, "none", FLUSH_BYTES, no_allocation) == Flush(None, 0)
    assert driver.buffers == []


@pytest.mark.parametrize("size", [-1, 0])
def test_a_size_that_is_none(size: int) -> None:
    with pytest.raises(ValueError, match=f"flush_bytes is {size}; allowed are positive sizes"):
        make_flush(OldDriver(), "write", size, no_allocation)


@dataclass
class Memory:
    """Device memory with room for ``items``."""

    items: int
    asked: list[int] = field(default_factory=list)

    def allocate(self, items: int) -> Buffer:
        self.asked.append(items)
        if items > self.items:
            raise RuntimeError("out of memory\nmore")
        return Buffer(items)


def test_where_memory_is_short_the_buffer_is_smaller_and_one_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """FR-39."""
    memory = Memory(300)
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        flush = make_flush(None, "write", 4096, memory.allocate)
    assert flush.call is not None
    assert flush.nbytes == 1024
    assert memory.asked == [1024, 512, 256]
    assert caplog.messages == ["no memory for a flush buffer of 4096 bytes, 1024 instead: out of memory"]


def test_without_any_memory_there_is_no_flush_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    memory = Memory(0)
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        assert make_flush(None, "read", 4096, memory.allocate) == Flush(None, 0)
    assert memory.asked == [1024, 512, 256, 128]
    assert len(caplog.messages) == 1
    assert "kernels may find data in L2: out of memory" in caplog.text


class FullDriver:
    """Whose buffer has no room."""

    def get_empty_cache_for_benchmark(self) -> Buffer:
        raise RuntimeError("out of memory")


def test_a_driver_without_room_for_its_own_buffer_is_asked_once() -> None:
    flush = make_flush(FullDriver(), "write", FLUSH_BYTES, Memory(FLUSH_BYTES // 8).allocate)
    assert flush.nbytes == FLUSH_BYTES // 2
