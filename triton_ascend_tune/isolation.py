"""Compiles candidates in processes of their own, so that a compiler that crashes or hangs is one failed candidate.

Triton's ``compile`` stays what it is and runs here: cache, keys, Python front end, dumps, overrides, listeners. Only
the stages that a backend adds are replaced, for compilations of a tuning's threads, by ones that ask a process for what
the real ones make (``compiler_process``, ``compiler_main``). So what ends up in the kernel and in Triton's cache is
what would be there without, and caches that are off or elsewhere need no thought.

What stays in this process: Triton's front end, which walks the kernel's source, and whatever ``compile`` is told to do
between stages. Processes are kept for the next compilation, and ended when there has been no tuning for a while.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from triton_ascend_tune import settings
from triton_ascend_tune.compiler_job import Answer, Job, dumps
from triton_ascend_tune.compiler_process import CompilerEndedError, CompilerProcess, NoAnswerInTimeError
from triton_ascend_tune.watchdog import CompileTimeoutError

#: How long a process waits for a further tuning, in seconds.
IDLE_S = 60.0

_log = logging.getLogger("triton_ascend_tune")
_here = threading.local()
_lock = threading.Lock()
_idle: list[CompilerProcess] = []
_all: set[CompilerProcess] = set()
_tunings = 0
_timer: threading.Timer | None = None
_original: Any = None


class Isolation:
    """The processes that one tuning has at work. ``limit_s``: for one compilation; None: none."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._busy: set[CompilerProcess] = set()
        self._given_up = False

    def run(self, job: Job) -> Answer:
        """What a process makes of ``job``.

        CompilerEndedError, CompileTimeoutError; OSError: no process can be started; RuntimeError: the job cannot be
        handed to one.
        """
        try:
            message = dumps(job)
        except Exception as error:
            raise RuntimeError(f"{settings.ISOLATE}: a compilation cannot be handed to a process: {error}") from error
        process = self._take()
        fine = False
        try:
            answer, output = process.ask(message, self._limit_s)
            fine = True
        except NoAnswerInTimeError:
            raise CompileTimeoutError(f"took longer than {self._limit_s:g} s") from None
        except CompilerEndedError as error:
            _log.debug("%s; it had printed:\n%s", error, error.output)
            raise
        finally:
            self._put_back(process, fine)
        if output:
            # As if the compiler had run here.
            print(output, end="", file=sys.stderr, flush=True)
        assert isinstance(answer, Answer)
        return answer

    def give_up(self) -> None:
        """Ends what is at work: nobody waits for it any more."""
        with _lock:
            self._given_up = True
            busy = list(self._busy)
        for process in busy:
            process.kill()

    def forget(self) -> None:
        """In a forked process, to which no process belongs."""
        self._busy.clear()

    def enter(self) -> None:
        """Makes compilations of the calling thread go to processes from now on."""
        _here.isolation = self

    def _take(self) -> CompilerProcess:
        process = None
        while process is None:
            with _lock:
                process = _idle.pop() if _idle else None
            if process is None:
                process = CompilerProcess()
            elif not process.running:  # killed from outside while it waited
                _end(process)
                process = None
        with _lock:
            _all.add(process)
            self._busy.add(process)
            given_up = self._given_up
        if given_up:
            process.kill()
        return process

    def _put_back(self, process: CompilerProcess, fine: bool) -> None:
        with _lock:
            self._busy.discard(process)
            fine = fine and not self._given_up
            if fine:
                _idle.append(process)
        if not fine:
            _end(process)


@contextlib.contextmanager
def compilers() -> Iterator[None]:
    """Within, this thread compiles in processes of their own if the user wants that."""
    global _tunings, _timer
    if not settings.isolate() or current() is not None:
        yield
        return
    if reason := _impossible():
        _log.warning("%s is set, but candidates are compiled in this process: %s", settings.ISOLATE, reason)
        yield
        return
    isolation = Isolation(settings.compile_timeout())
    with _lock:
        _tunings += 1
        if _timer is not None:
            _timer.cancel()
            _timer = None
        if _tunings == 1:
            _replace_make_backend()
    isolation.enter()
    try:
        yield
    finally:
        _here.isolation = None
        with _lock:
            _tunings -= 1
            if not _tunings:
                _restore_make_backend()
                _timer = threading.Timer(IDLE_S, end_idle)
                _timer.daemon = True
                _timer.start()


def current() -> Isolation | None:
    """Where the calling thread's compilations go; None: they stay in this process."""
    return getattr(_here, "isolation", None)


def end_idle() -> None:
    """Ends the processes that wait for a tuning."""
    with _lock:
        ended = list(_idle)
        _idle.clear()
    for process in ended:
        _end(process)


def _end(process: CompilerProcess) -> None:
    with _lock:
        _all.discard(process)
    process.end()


class _Stages:
    """What stands in for all stages of one compilation."""

    def __init__(self, isolation: Isolation, backend: type, target: Any, arguments: tuple[Any, ...]) -> None:
        self._isolation, self._backend, self._target, self._arguments = isolation, backend, target, arguments
        self._answer: Answer | None = None
        self._last: Any = None

    def run(self, stage: str, value: Any, metadata: dict[str, Any]) -> Any:
        """What ``stage`` makes of ``value``; does to ``metadata`` what all stages do to it."""
        # The first stage asks for all. A later one only does if it gets something else than the last one's output: then
        # Triton was told to put an override in its place.
        if self._answer is None or value is not self._last:
            self._answer = self._isolation.run(self._job(stage, value, metadata))
            if self._answer.metadata:
                metadata.clear()
                metadata.update(self._answer.metadata)
        if stage not in self._answer.outputs:
            assert self._answer.error is not None
            raise self._answer.error
        self._last = self._answer.outputs[stage]
        return self._last

    def _job(self, stage: str, value: Any, metadata: dict[str, Any]) -> Job:
        is_module = not isinstance(value, (str, bytes))
        return Job(
            backend=self._backend,
            target=self._target,
            arguments=self._arguments,
            stage=stage,
            content=str(value) if is_module else value,
            is_module=is_module,
            metadata=metadata,
            environment=settings.environment(),
            folder=os.getcwd(),
        )


def _isolated(original: Callable[[Any], Any], target: Any) -> Any:
    """``make_backend`` with stages that run elsewhere, if the calling thread's compilations are to."""
    backend = original(target)
    isolation = current()
    if isolation is None:
        return backend
    real = backend.add_stages

    def add_stages(stages: dict[str, Any], *arguments: Any) -> None:
        real(stages, *arguments)
        instead = _Stages(isolation, type(backend), target, arguments)
        for name in stages:
            stages[name] = functools.partial(instead.run, name)

    backend.add_stages = add_stages
    return backend


def _replace_make_backend() -> None:
    global _original
    from triton.compiler import compiler

    _original = compiler.make_backend
    compiler.make_backend = functools.partial(_isolated, _original)


def _restore_make_backend() -> None:
    from triton.compiler import compiler

    # Where somebody else has wrapped ours since, it stays inside and passes on.
    if getattr(compiler.make_backend, "func", None) is _isolated:
        compiler.make_backend = _original


def _impossible() -> str:
    """Why the stages cannot be run by another process; "" if they can."""
    if settings.uses_ir_locations():
        return "USE_IR_LOC needs the modules themselves"
    if settings.stages_hook() is not None:
        return "knobs.runtime.add_stages_inspection_hook may change the stages"
    return ""


def _forget_in_child() -> None:
    """A forked process has neither the other threads nor any of the processes."""
    global _lock, _timer, _tunings
    _lock, _timer = threading.Lock(), None
    _idle.clear()
    while _all:
        _all.pop().forget()
    mine = current()
    if mine is not None:
        mine.forget()
    elif _tunings:
        _restore_make_backend()
    _tunings = 0 if mine is None else 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
atexit.register(end_idle)
