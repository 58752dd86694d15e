"""Taking turns at a device's profiler: two processes that profile one NPU at once lose each other's data."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from triton_ascend_tune import turns
from triton_ascend_tune.measure.profile_error import Problem, ProfileError

#: A session lasts seconds. A process that holds the lock for so long is stuck, and must not hold up a tuning with it.
TIMEOUT_S = 60.0

#: A process has one profiler, whichever device its threads are on.
_in_this_process = threading.Lock()


def lock_path(device: str) -> Path:
    """The lock of one physical device, e.g. "npu0"."""
    return turns.shared_path(f"profiler.{device}")


@contextmanager
def alone_in_process(timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Keeps other threads from profiling. ProfileError after ``timeout_s`` seconds in vain."""
    if not _in_this_process.acquire(timeout=timeout_s):
        raise ProfileError(Problem.REFUSED, f"another thread has been profiling for more than {timeout_s:g} s")
    try:
        yield
    finally:
        _in_this_process.release()


@contextmanager
def alone_on_device(device: str, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Keeps other processes from profiling ``device``. ProfileError after ``timeout_s`` seconds in vain, or if the
    file cannot be locked.
    """
    with ExitStack() as held:
        try:
            held.enter_context(turns.turn(lock_path(device), timeout_s))
        except turns.NoTurnError as problem:
            raise ProfileError(Problem.REFUSED, f"no turn at profiling {device}: {problem}") from None
        yield
