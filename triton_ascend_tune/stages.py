"""How long each stage of one tuning takes, and a progress line where somebody is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Stages in the order in which a tuning runs through them.
NAMES = ("key", "propose", "prune", "store", "compile", "measure", "choose")
#: A tuning that is over sooner shows no progress.
SHOW_AFTER_S = 2.0


class Stages:
    """The wall times of one tuning. ``progress`` hears of each step; nothing is shown while something is measured."""

    def __init__(self, kernel: str, progress: Progress | None = None) -> None:
        self.kernel = kernel
        self._seconds = dict.fromkeys(NAMES, 0.0)
        self._progress = progress

    @contextmanager
    def of(self, stage: str, how_far: str = "") -> Iterator[None]:
        """Adds the time within to ``stage``; ``how_far`` is for the progress line alone."""
        if self._progress is not None:
            self._progress.show(self.kernel, f"{stage} {how_far}".rstrip())
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - start

    def add(self, stage: str, seconds: float) -> None:
        self._seconds[stage] += seconds

    @property
    def seconds(self) -> dict[str, float]:
        """Stage -> wall time in seconds, in order."""
        return dict(self._seconds)

    def __str__(self) -> str:
        return self.line()

    def line(self) -> str:
        """All stages in one line."""
        shown = (f"{name} {_readable(seconds)}" for name, seconds in self._seconds.items())
        return f"stages of {self.kernel}: {', '.join(shown)}"


class Progress:
    """One line on the terminal from ``SHOW_AFTER_S`` after the beginning on; gone when it is closed.

    It is redrawn by ``show`` alone, never from a thread of its own, so that the host does nothing else while something
    is measured.
    """

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._status: Any = None

    def show(self, kernel: str, step: str) -> None:
        if time.monotonic() - self._begin < SHOW_AFTER_S:
            return
        try:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text
        except ImportError:  # installed without its dependencies
            return
        if self._status is None:
            self._status = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._status.start()
        elapsed = time.monotonic() - self._begin
        self._status.update(Text(f"tuning {kernel}: {step}, {elapsed:.0f} s"), refresh=True)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextmanager
def stages_of(kernel: str) -> Iterator[Stages]:
    """The stages of one tuning, with a progress line if the error output is a terminal."""
    progress = Progress() if sys.stderr is not None and sys.stderr.isatty() else None
    try:
        yield Stages(kernel, progress)
    finally:
        if progress is not None:
            progress.close()


def _readable(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.2f} ms"
