"""One tuning at a time for each tuner and key: the others wait for it, or are told that somebody is at it.

Nothing of this is on the path of a hit. The flights are kept here and not on the tuner, which programs copy and pickle.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune import turns


@dataclass
class _Flight:
    owner: int
    landed: threading.Event = field(default_factory=threading.Event)


_lock = threading.Lock()
_flights: dict[tuple[int, Hashable], _Flight] = {}

#: Times of two tunings on one device that overlap are worth nothing. After so many seconds of waiting the device counts
#: as stuck behind something that has no end (a hook that waits for this thread), and is used all the same.
DEVICE_PATIENCE_S = 120.0
_devices: dict[str, Any] = {}


def _forget_in_child() -> None:
    """A forked process has none of the threads that were at it."""
    global _lock
    _lock = threading.Lock()
    _flights.clear()
    _devices.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def once(tuner: Any, key: Hashable, tune: Callable[[], Any], found: Callable[[], Any], meanwhile: Any = None) -> Any:
    """What ``tune()`` returns, or what ``found()`` does if another thread has just tuned ``key``.

    ``found`` returns None if there is nothing. ``meanwhile``: called instead of waiting, if given. If the other thread
    fails, this one tries; a tuning within its own thread's tuning of the same key (from a hook) does not wait.
    """
    name = (id(tuner), key)
    while True:
        with _lock:
            known = found()
            if known is not None:
                return known
            flight = _flights.get(name)
            if flight is None:
                mine = _flights[name] = _Flight(threading.get_ident())
                break
        if flight.owner == threading.get_ident():
            return tune()
        if meanwhile is not None:
            return meanwhile()
        flight.landed.wait()
    try:
        return tune()
    finally:
        with _lock:
            del _flights[name]
        mine.landed.set()


@contextmanager
def device(label: str, physical: str | None = None) -> Iterator[None]:
    """Keeps other threads from measuring on the same device meanwhile; waits for them first.

    ``physical``: the device's name on this machine, to keep other processes away as well.
    """
    with _lock:
        lock = _devices.setdefault(label, threading.RLock())
    held = lock.acquire(timeout=DEVICE_PATIENCE_S)
    path = turns.shared_path(physical) if physical is not None else None
    try:
        with turns.if_possible(path, DEVICE_PATIENCE_S, f"measuring on {physical}"):
            yield
    finally:
        if held:
            lock.release()
