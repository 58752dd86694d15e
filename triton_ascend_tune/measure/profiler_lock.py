"""Taking turns at a device's profiler: two processes that profile one NPU at once lose each other's data."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triton_ascend_tune.measure.profile_error import Problem, ProfileError

#: A session lasts seconds. A process that holds the lock for so long is stuck, and must not hold up a tuning with it.
TIMEOUT_S = 60.0
#: For everybody: users who share the device must share its lock.
_MODE = 0o666
_SHARED = Path("/tmp")

#: A process has one profiler, whichever device its threads are on.
_in_this_process = threading.Lock()


def lock_path(device: str) -> Path:
    """The lock of one physical device, e.g. "npu0": the same file for every user of the machine."""
    folder = _SHARED if os.access(_SHARED, os.W_OK) else Path(tempfile.gettempdir())
    return folder / f"triton_ascend_tune.profiler.{device}.lock"


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
    import filelock

    path = lock_path(device)
    lock = filelock.FileLock(path, mode=_MODE)
    try:
        lock.acquire(timeout=timeout_s)
    except filelock.Timeout:
        reason = f"another process has been profiling {device} for more than {timeout_s:g} s (lock {path})"
        raise ProfileError(Problem.REFUSED, reason) from None
    except (OSError, NotImplementedError) as error:
        raise ProfileError(Problem.REFUSED, f"{path} cannot be locked: {error}") from None
    try:
        yield
    finally:
        lock.release()
