"""The active device, as far as measuring needs it: a timer on the caller's current stream, and a wait.

torch and Triton are imported when a device is asked for, never before.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from triton_ascend_tune.measure.timer import Timer

_FLUSH_ITEM_BYTES = 4  # the buffer is int32, as that of Triton's drivers


class Device(ABC):
    """One device that can be measured on."""

    #: True where the runtime library says that it is the simulated CANN. Reports of times must say so.
    simulated: bool = False

    @abstractmethod
    def timer(self, flush_bytes: int) -> AbstractContextManager[Timer]:
        """A timer whose flush writes ``flush_bytes`` (0: none). The buffer exists once, until the context ends."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits until the device has nothing left to do. RuntimeError if work that was queued has failed."""


class NpuDevice(Device):
    """The current Ascend NPU, through torch_npu and the ACL library that it has loaded.

    Raises ``_native.LibraryError`` where that library is missing.
    """

    def __init__(self, driver: Any) -> None:
        """``driver``: Triton's active driver."""
        import torch
        import torch_npu

        from triton_ascend_tune import _native

        self._torch = torch
        self._driver = driver
        # Fetching the stream this way first waits until torch_npu's task queue has handed everything to the device.
        # Its NoWait sibling does not, and a handle that was fetched earlier cannot: with either, events that are
        # recorded directly overtake launches that are still in that queue.
        self._stream = functools.partial(torch_npu._C._npu_getCurrentRawStream, torch.npu.current_device())
        self._runtime = _native.AclRuntime()
        self.simulated = self._runtime.simulator_version is not None

    @contextmanager
    def timer(self, flush_bytes: int) -> Iterator[Timer]:
        from triton_ascend_tune import _native

        yield _native.EventTimer(self._runtime, make_flush(self._driver, flush_bytes, self._allocate), self._stream)

    def synchronize(self) -> None:
        self._torch.npu.synchronize()

    def _allocate(self, items: int) -> Any:
        return self._torch.empty(items, dtype=self._torch.int32, device="npu")


def make_flush(driver: Any, flush_bytes: int, allocate: Callable[[int], Any]) -> Callable[[], object] | None:
    """The call that writes ``flush_bytes`` of device memory, or None for 0.

    Buffer and clearing are the driver's own where it has them and the size fits, so that our times and those of
    ``triton.testing`` are taken with the same cache state. ``allocate(items)`` makes an int32 tensor otherwise.
    """
    if flush_bytes < 0:
        raise ValueError(f"flush_bytes is {flush_bytes}; allowed are 0 (no flush) and positive sizes")
    if flush_bytes == 0:
        return None
    buffer = driver.get_empty_cache_for_benchmark() if hasattr(driver, "get_empty_cache_for_benchmark") else None
    if buffer is None or buffer.numel() * buffer.element_size() != flush_bytes:
        buffer = allocate(-(-flush_bytes // _FLUSH_ITEM_BYTES))
    if hasattr(driver, "clear_cache"):  # Triton 3.3 and newer
        return functools.partial(driver.clear_cache, buffer)
    zero: Callable[[], object] = buffer.zero_
    return zero


def active_device() -> Device:
    """The device of Triton's active driver. ValueError names a target on which nothing can be measured."""
    from triton.runtime.driver import driver

    target = driver.active.get_current_target().backend
    if target != "npu":
        raise ValueError(f"no event timing on target {target!r}; allowed: 'npu'")
    return NpuDevice(driver.active)
