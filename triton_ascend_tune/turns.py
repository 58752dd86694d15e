"""Turns between processes: what one of them does at a time. A turn is a lock on a file, and ends with its holder.

* Times that two processes take on one device at once are worth nothing, so they measure in turn.
* Of processes that share a folder of results and tune the same thing at once, one tunes and the others read its
  results.

Nothing is refused for want of a turn: who has waited for too long, or cannot lock the file, goes on without, and says
so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from triton_ascend_tune.once import warn_once

#: For everybody: users who share a device must share its lock.
MODE = 0o666
_SHARED = Path("/tmp")
#: A whole tuning, with everything compiled, takes minutes. Who is at it for longer is stuck.
TUNING_PATIENCE_S = 600.0


class NoTurnError(Exception):
    """The message says why: somebody else has it, or the file cannot be locked."""


def shared_path(name: str) -> Path:
    """The lock called ``name``: the same file for every user of the machine."""
    folder = _SHARED if os.access(_SHARED, os.W_OK) else Path(tempfile.gettempdir())
    return folder / f"triton_ascend_tune.{name}.lock"


@contextmanager
def turn(path: Path, patience_s: float) -> Iterator[None]:
    """Holds the lock ``path``. NoTurnError after ``patience_s`` seconds in vain, or if it cannot be locked."""
    import filelock

    # One object for all that this process asks for: a thread that has the turn may ask for it again.
    lock = filelock.FileLock(path, mode=MODE, is_singleton=True)
    try:
        lock.acquire(timeout=patience_s)
    except filelock.Timeout:
        raise NoTurnError(f"another process has had {path} for more than {patience_s:g} s") from None
    except (OSError, NotImplementedError) as error:
        raise NoTurnError(f"{path} cannot be locked: {error}") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def if_possible(path: Path | None, patience_s: float, what: str) -> Iterator[None]:
    """Holds the lock ``path``, or goes on without and logs that ``what`` is not done alone. None: there is no lock."""
    with ExitStack() as held:
        if path is not None:
            try:
                held.enter_context(turn(path, patience_s))
            except NoTurnError as problem:
                warn_once(f"{what} goes on without its turn: {problem}")
        yield
