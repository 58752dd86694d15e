"""The flush: what is queued before each sample so that a kernel finds none of its data in the caches."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune.measure.faults import is_out_of_memory

_ITEM_BYTES = 4  # the buffer is int32, as that of Triton's drivers
#: Where there is no memory for the buffer a half is tried, and so on, down to this share.
_SMALLEST_SHARE = 8

_log = logging.getLogger("triton_ascend_tune")


@dataclass(frozen=True)
class Flush:
    """``call`` queues the work on the current stream, None for no flush; it touches ``nbytes`` of device memory."""

    call: Callable[[], object] | None
    nbytes: int


def make_flush(driver: Any, mode: str, nbytes: int, allocate: Callable[[int], Any]) -> Flush:
    """The flush that writes ("write") or reads ("read") ``nbytes`` before each sample, or does nothing ("none").

    For writing, buffer and clearing are the driver's own where it has them and the size fits, so that our times and
    those of ``triton.testing`` are taken with the same cache state. ``allocate(items)`` makes an int32 tensor
    otherwise. Where there is no memory for it the flush is smaller, or there is none; one warning says so.
    """
    if mode == "none":
        return Flush(None, 0)
    if nbytes <= 0:
        raise ValueError(f"flush_bytes is {nbytes}; allowed are positive sizes; flush='none' asks for no flush")
    share = 1
    while share <= _SMALLEST_SHARE:
        size = nbytes // share
        try:
            flush = _of_size(driver, mode, size, allocate, ask_driver=share == 1)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            share *= 2
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            continue
        if share > 1:
            _log.warning("no memory for a flush buffer of %d bytes, %d instead: %s", nbytes, size, reason)
        return flush
    _log.warning("no memory for a flush buffer of %d bytes, so kernels may find data in L2: %s", nbytes, reason)
    return Flush(None, 0)


def _of_size(driver: Any, mode: str, nbytes: int, allocate: Callable[[int], Any], ask_driver: bool) -> Flush:
    items = -(-nbytes // _ITEM_BYTES)
    if mode == "read":
        # Zeroed once, so that the sum reads memory that exists; the sum of zeros is the same on every device.
        return Flush(allocate(items).zero_().sum, nbytes)
    make = getattr(driver, "get_empty_cache_for_benchmark", None) if ask_driver else None
    buffer = make() if make is not None else None
    if buffer is None or buffer.numel() * buffer.element_size() != nbytes:
        buffer = allocate(items)
    if hasattr(driver, "clear_cache"):  # Triton 3.3 and newer
        return Flush(functools.partial(driver.clear_cache, buffer), nbytes)
    return Flush(buffer.zero_, nbytes)
