"""An executor whose jobs may not take for ever: it kills the programs that a job waits for.

Compilers are programs of their own, started by the thread that compiles: bishengir-compile, triton-adapter-opt, ptxas.
If one of them hangs, its thread hangs with it, and no thread can be stopped from outside. But its child processes can,
and then what waits for them goes on with an error. Linux says which processes a thread has started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


class CompileTimeoutError(Exception):
    """A compilation took longer than the user allows."""


class WatchedExecutor(ThreadPoolExecutor):
    """Threads whose jobs end with CompileTimeoutError after ``limit_s`` seconds, if they wait for programs then.

    A job that computes by itself is not stopped. ``limit_s`` None: no limit. ``begin``: what each thread does first.
    """

    def __init__(self, workers: int, limit_s: float | None = None, begin: Callable[[], None] | None = None) -> None:
        super().__init__(workers, thread_name_prefix="triton-ascend-tune-compile", initializer=begin)
        self._limit_s = limit_s

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._limit_s is None:
            return super().submit(function, *args, **kwargs)
        return super().submit(self._watched, self._limit_s, function, args, kwargs)

    @staticmethod
    def _watched(limit_s: float, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        thread = threading.get_native_id()
        ended, late = threading.Event(), threading.Event()

        def watch() -> None:
            if ended.wait(limit_s):
                return
            late.set()
            # Again and again: a compiler driver may start the next program when one has been killed.
            while not ended.is_set():
                for process in descendants(thread):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(process, signal.SIGKILL)
                ended.wait(0.05)

        watcher = threading.Thread(target=watch, name="triton-ascend-tune-compile-watch", daemon=True)
        watcher.start()
        try:
            return function(*args, **kwargs)
        except Exception:
            if not late.is_set():
                raise
        finally:
            ended.set()
            watcher.join()
        raise CompileTimeoutError(f"took longer than {limit_s:g} s")


def descendants(thread: int) -> list[int]:
    """The processes that a thread of this process has started, and theirs, in no order; empty where nobody says."""
    found: list[int] = []
    pending = _children(_PROC / "self" / "task" / str(thread))
    while pending:
        process = pending.pop()
        found.append(process)
        with contextlib.suppress(OSError):
            for task in (_PROC / str(process) / "task").iterdir():
                pending += _children(task)
    return found


def _children(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []
