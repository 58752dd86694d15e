"""The flush: which buffer, which call; which targets. The NPU itself is tested on the simulator (test_event_order)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest

from triton_ascend_tune.measure.device import active_device, make_flush
from triton_ascend_tune.values import FLUSH_BYTES


@dataclass
class Buffer:
    items: int
    zeroed: int = 0

    def numel(self) -> int:
        return self.items

    def element_size(self) -> int:
        return 4

    def zero_(self) -> None:
        self.zeroed += 1


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
    flush = make_flush(driver, FLUSH_BYTES, no_allocation)
    assert flush is not None
    for _ in range(3):
        flush()
    assert [buffer.zeroed for buffer in driver.buffers] == [3]


def test_the_drivers_own_clearing_is_preferred() -> None:
    driver = NewDriver()
    flush = make_flush(driver, FLUSH_BYTES, no_allocation)
    assert flush is not None
    flush()
    flush()
    assert driver.cleared == [driver.buffers[0]] * 2
    assert driver.buffers[0].zeroed == 0


@pytest.mark.parametrize("driver", [OldDriver(), object()])
def test_another_size_is_allocated(driver: object) -> None:
    made: list[Buffer] = []

    def allocate(items: int) -> Buffer:
        made.append(Buffer(items))
        return made[-1]

    flush = make_flush(driver, 1025, allocate)
    assert flush is not None
    flush()
    assert [(buffer.items, buffer.zeroed) for buffer in made] == [(257, 1)]  # at least the bytes asked for


def test_no_flush_allocates_nothing() -> None:
    driver = OldDriver()
    assert make_flush(driver, 0, no_allocation) is None
    assert driver.buffers == []


def test_negative_size() -> None:
    with pytest.raises(ValueError, match=r"flush_bytes is -1; allowed are 0"):
        make_flush(OldDriver(), -1, no_allocation)


def test_a_target_that_cannot_be_measured_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("triton.runtime.driver")
    target = SimpleNamespace(backend="cpu")
    module.driver = SimpleNamespace(active=SimpleNamespace(get_current_target=lambda: target))  # type: ignore[attr-defined]
    for name in ("triton", "triton.runtime"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(ValueError, match="no event timing on target 'cpu'; allowed: 'npu'"):
        active_device()
