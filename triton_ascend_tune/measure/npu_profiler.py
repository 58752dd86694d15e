"""``torch_npu.profiler`` as a ``Profiler``.

Its functions never raise: what goes wrong is printed. So what it prints is read, by a stream that listens to this
thread alone while the session is opened and closed. Parsing happens in a process of its own, which captures the rest,
can be stopped if it hangs, and keeps to itself that the parser changes the start method of ``multiprocessing``.
"""

from __future__ import annotations

import functools
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from triton_ascend_tune import settings
from triton_ascend_tune.measure import kernel_details
from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.profile_error import Problem, ProfileError
from triton_ascend_tune.measure.profiler import Profiler

#: Parsing takes one or two seconds; twenty thousand rows take four.
PARSING_TIMEOUT_S = 120.0
_FLOAT_BYTES = 4
_ERROR = "[ERROR]"

_log = logging.getLogger("triton_ascend_tune")


class NpuProfiler(Profiler):
    """The profiler of the current NPU."""

    def __init__(self) -> None:
        import torch
        import torch_npu  # noqa: F401 - makes torch.npu

        self._torch = torch

    @property
    def device(self) -> str:
        return settings.physical_npu(self._torch.npu.current_device())

    def refusal(self) -> str | None:
        try:
            return self._refusal()
        except Exception as error:
            return f"torch_npu's profiler cannot be asked: {type(error).__name__}: {error}"

    def make_flush(self, nbytes: int) -> Callable[[], object]:
        buffer = self._torch.empty(nbytes // _FLOAT_BYTES, dtype=self._torch.float32, device="npu")
        # A place for the result: an allocation in each run would be one more thing that can happen in it.
        result = self._torch.empty((), dtype=self._torch.float32, device="npu")
        return functools.partial(self._torch.sum, buffer, dim=0, out=result)

    def synchronize(self) -> None:
        self._torch.npu.synchronize()

    def record(self, folder: Path, body: Callable[[], None]) -> list[KernelRow]:
        with _paths_of_others():
            self._collect(folder, body)
        [profile, *_] = [*sorted(folder.glob("*_ascend_pt")), None]
        if profile is None:
            raise ProfileError(Problem.FAILED, "it made no folder of its own")
        said = _parse(profile, folder / "parsing.log")
        try:
            return kernel_details.read(kernel_details.find(profile))
        except ProfileError as error:
            # Without a folder of raw data nothing was collected, and the parser has nothing to say.
            if error.problem is Problem.NO_FILE and (complaint := _complaint(said)):
                raise ProfileError(Problem.FAILED, complaint) from None
            raise

    def _collect(self, folder: Path, body: Callable[[], None]) -> None:
        """Fills ``folder`` with raw data."""
        session = None
        try:
            with _listening() as heard:
                session = _new_session(folder)
                session.start()
            _raise_complaint(heard)
            body()
        except ProfileError:
            raise
        except Exception as error:
            if session is None:
                raise ProfileError(Problem.FAILED, f"{type(error).__name__}: {error}") from None
            raise
        finally:
            if session is not None:
                with _listening() as heard:
                    session.step()
                    session.stop()
        _raise_complaint(heard)

    def _refusal(self) -> str | None:
        if settings.profiled_from_outside():
            return "the process runs under msprof, where torch_npu's profiler has no effect"
        if multiprocessing.current_process().daemon:
            return "the process is a daemon, in which torch_npu's profiler parses nothing"
        if (os.cpu_count() or 1) < 2:
            return "the machine has a single core, on which torch_npu's profiler parses nothing"
        if shutil.which("msprof") is None:
            return "there is no program msprof on PATH (CANN's set_env.sh puts it there)"
        if _path_creator().is_prof_inited:
            return "a profiler session of the program is running, which another one would end"
        return None


def _new_session(folder: Path) -> Any:
    """A profiler that collects into ``folder`` and parses nothing."""
    from torch_npu import profiler

    def schedule(step: int) -> Any:
        # One step that is recorded and saved, closed by ``step()``: the one way to close without a warning.
        return profiler.ProfilerAction.NONE if step else profiler.ProfilerAction.RECORD_AND_SAVE

    return profiler.profile(
        activities=[profiler.ProfilerActivity.NPU],
        schedule=schedule,
        on_trace_ready=profiler.tensorboard_trace_handler(str(folder), analyse_flag=False),
        experimental_config=profiler._ExperimentalConfig(
            profiler_level=profiler.ProfilerLevel.Level1,
            aic_metrics=profiler.AiCMetrics.PipeUtilization,
            l2_cache=False,
            data_simplification=False,
        ),
    )


def _path_creator() -> Any:
    """torch_npu's one record of where profiles go, and of whether one is being made."""
    from torch_npu.profiler._profiler_path_creator import ProfPathCreator

    return ProfPathCreator()


@contextmanager
def _paths_of_others() -> Iterator[None]:
    """Gives back the paths that a profiler object of the program has set, which it may start only later."""
    state = vars(_path_creator())
    before = dict(state)
    try:
        yield
    finally:
        state.update(before)


class _Listener:
    """Stands in for ``sys.stdout``: what one thread writes is kept, what all others write goes where it went."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()
        self._kept: list[str] = []

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return int(self._stream.write(text))
        self._kept.append(text)
        return len(text)

    @property
    def text(self) -> str:
        return "".join(self._kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _listening() -> Iterator[_Listener]:
    stream = sys.stdout
    listener = _Listener(stream)
    sys.stdout = listener
    try:
        yield listener
    finally:
        if sys.stdout is listener:
            sys.stdout = stream
        if listener.text:
            _log.debug("torch_npu's profiler printed:\n%s", listener.text.rstrip())


def _raise_complaint(heard: _Listener) -> None:
    if complaint := _complaint(heard.text):
        raise ProfileError(Problem.FAILED, complaint)


def _complaint(text: str) -> str:
    """The first error in what torch_npu's profiler prints, without time and place of printing."""
    for line in text.splitlines():
        _, found, rest = line.partition(_ERROR)
        if found:
            return rest.partition("profiler.py:")[2].strip() or rest.strip()
    return ""


def _parse(profile: Path, log: Path) -> str:
    """Parses the raw data in ``profile``; returns what was printed. ProfileError if that does not come to an end."""
    process = multiprocessing.get_context("fork").Process(target=_parse_here, args=(str(profile), str(log)))
    process.start()
    try:
        process.join(PARSING_TIMEOUT_S)
        hangs = process.is_alive()
    finally:
        if process.is_alive() and process.pid is not None:
            with suppress(ProcessLookupError):  # it has no group of its own yet
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.join()
    said = log.read_text(errors="replace") if log.exists() else ""
    _log.debug("parsing the profile printed:\n%s", said.rstrip())
    if hangs:
        raise ProfileError(Problem.FAILED, f"parsing did not end within {PARSING_TIMEOUT_S:g} s")
    if process.exitcode:
        detail = _complaint(said) or (said.strip().splitlines() or [f"exit code {process.exitcode}"])[-1]
        raise ProfileError(Problem.FAILED, f"parsing failed: {detail}")
    return said


def _parse_here(profile: str, log: str) -> None:
    """What the parsing process does."""
    os.setsid()  # so that its own children can be stopped with it
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = sys.stderr = os.fdopen(descriptor, "w", buffering=1)
    try:
        from torch_npu.profiler.analysis.prof_common_func._multi_process_pool import MultiProcessPool
        from torch_npu.profiler.profiler import analyse

        # A pool that the parent has, e.g. for a profile of the user's, has no workers in this process.
        MultiProcessPool()._pool = None
        analyse(profile)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
