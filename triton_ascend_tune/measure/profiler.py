"""One profiler session over a batch of callables, and what a device's profiler must offer for it.

A session is opened once for all callables of a tuning: opening, closing and parsing cost about a second, whatever is
inside. For each callable in turn it runs, ``warmup + active`` times: flush, wait, call, wait.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_ascend_tune.measure import profiler_lock
from triton_ascend_tune.measure.attribution import Layout, attribute
from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.profile_error import Problem, ProfileError
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import FLUSH_BYTES, Samples

#: Flushes before the first run. They show what rows a flush makes, and they are spare: the first rows of a profile are
#: the ones that get lost.
LEAD_FLUSHES = 3

_log = logging.getLogger("triton_ascend_tune")


class Profiler(ABC):
    """The profiler of one kind of device."""

    @property
    @abstractmethod
    def device(self) -> str:
        """The physical device, e.g. "npu0": at most one session at a time on each."""

    @abstractmethod
    def refusal(self) -> str | None:
        """Why a session cannot be opened now; None if it can. Opens nothing and never raises."""

    @abstractmethod
    def make_flush(self, nbytes: int) -> Callable[[], object]:
        """The operation that displaces the caches by reading ``nbytes``. RuntimeError without the memory for it."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for the device. RuntimeError if work has failed."""

    @abstractmethod
    def record(self, folder: Path, body: Callable[[], None]) -> list[KernelRow]:
        """The kernels that the device ran during ``body``, in order. Files go into ``folder`` and stay there.

        ProfileError if there is no such list; what ``body`` raises comes out unchanged, with the session closed.
        """


@dataclass(frozen=True)
class Session:
    """How a session measures and where its files go.

    ``warmup`` and ``active`` runs of each callable, of which the last ``active`` count. ``flush_bytes``: 0 for none.
    ``folder``: where the session's own folder is made, by default the system's for temporary files; ``keep`` leaves it
    there.
    """

    warmup: int = 5
    active: int = 30
    flush_bytes: int = FLUSH_BYTES
    folder: str | os.PathLike[str] | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        if self.warmup < 0:
            raise ValueError(f"warmup is {self.warmup}; allowed are 0 and more runs")
        if self.active < 1:
            raise ValueError(f"active is {self.active}; allowed are 1 and more runs")


def profile(
    profiler: Profiler,
    trials: Sequence[Trial],
    names: Callable[[], Sequence[str | None]],
    session: Session,
    tolerated: tuple[type[BaseException], ...] = (),
) -> list[Samples]:
    """The kernel times of ``trials`` from one session. ``names``: of their kernels, asked for when all have run.

    ProfileError if there are none; an exception of ``tolerated`` by a launch is one reason for that. Other exceptions,
    and all of ``before`` and ``after``, come out unchanged. Nothing is left behind, the folder aside if it is kept.
    """
    lead = LEAD_FLUSHES if session.flush_bytes else 0
    layout = Layout(len(trials), session.warmup, session.active, lead)
    with profiler_lock.alone_in_process():
        # Before anything is opened, even a lock: a session of the user's must not notice this one.
        if (reason := profiler.refusal()) is not None:
            raise ProfileError(Problem.REFUSED, reason)
        with profiler_lock.alone_on_device(profiler.device), _folder(session) as folder:
            flush = _flush_of(profiler, session.flush_bytes)
            try:
                rows = profiler.record(folder, lambda: _run_all(profiler, trials, layout, flush, tolerated))
            except ProfileError as error:
                if error.problem not in (Problem.NO_FILE, Problem.EMPTY):
                    raise
                raise ProfileError(error.problem, f"{layout.expected}, found none: {error.detail}") from None
            if not rows:
                raise ProfileError(Problem.EMPTY, f"{layout.expected}, found none")
            return attribute(rows, layout, names())


def _run_all(
    profiler: Profiler,
    trials: Sequence[Trial],
    layout: Layout,
    flush: Callable[[], object] | None,
    tolerated: tuple[type[BaseException], ...],
) -> None:
    profiler.synchronize()
    for _ in range(layout.lead):
        assert flush is not None
        flush()
        profiler.synchronize()
    for trial in trials:
        for _ in range(layout.runs_each):
            if trial.before is not None:
                trial.before()
            if flush is not None:
                flush()
            profiler.synchronize()
            try:
                trial.launch()
                profiler.synchronize()
            except tolerated as error:
                detail = f"{trial.name or 'a callable'} failed while it was profiled: {error.__cause__ or error}"
                raise ProfileError(Problem.FAILED, " ".join(detail.split())) from None
            if trial.after is not None:
                trial.after()


def _flush_of(profiler: Profiler, nbytes: int) -> Callable[[], object] | None:
    if not nbytes:
        return None
    try:
        flush = profiler.make_flush(nbytes)
        flush()  # what its first call alone pays stays out of the session
        profiler.synchronize()
    except RuntimeError as error:
        raise ProfileError(Problem.FAILED, f"no flush of {nbytes} bytes: {error}") from None
    return flush


@contextmanager
def _folder(session: Session) -> Iterator[Path]:
    """A folder of the session's own: never in the working directory unless the user says so, and removed at the end."""
    try:
        if session.folder is not None:
            Path(session.folder).mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(prefix="triton-ascend-tune-profile-", dir=session.folder)
    except OSError as error:
        raise ProfileError(Problem.REFUSED, f"no folder for its files can be made: {error}") from None
    # The profiler refuses symbolic links.
    folder = Path(made).resolve()
    try:
        yield folder
    finally:
        if session.keep:
            _log.info("the profile is kept in %s", folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
