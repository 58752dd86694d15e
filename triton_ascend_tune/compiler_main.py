"""The program of a compiler's own process: runs a backend's stages over a module that another process has made.

What comes in is the module as text, right after Triton's Python front end, with everything that the stages read: the
backend, its options, the metadata so far. What goes out is what each stage made and the metadata. Nothing of the user's
program is imported, and no device is touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from triton_ascend_tune import settings
from triton_ascend_tune.compiler_job import HEADER, READY, Answer, Job, dumps, loads


def serve(connection: int, life: int) -> None:
    """Answers jobs until the other process closes ``connection``, a socket.

    ``life``: a pipe that carries nothing; when the other process is gone, this one and all it has started are killed.
    """
    _end_with(life)
    # A compiler that aborts is expected here, and would leave the memory of a whole Triton on disk each time.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    import triton.compiler  # noqa: F401 - what takes long, before saying that it is done

    with socket.socket(fileno=connection) as other, other.makefile("rb") as incoming:
        # The compilers that are started from here get neither.
        other.set_inheritable(False)
        os.set_inheritable(life, False)
        _send(other, READY)
        while header := incoming.read(HEADER.size):
            (size,) = HEADER.unpack(header)
            answer = _answer(incoming.read(size))
            with contextlib.suppress(Exception):  # whatever a compiler has done to them
                sys.stdout.flush()
                sys.stderr.flush()
            _send(other, answer)


def run_stages(job: Job) -> Answer:
    """Runs the stages of ``job`` from the first one on."""
    stages: dict[str, Any] = {}
    _spare_the_device(job)
    backend = job.backend(job.target)
    backend.add_stages(stages, *job.arguments)
    names = list(stages)
    metadata = dict(job.metadata)
    outputs: dict[str, str | bytes] = {}
    value = _module(backend, job.content) if job.is_module else job.content
    for name in names[names.index(job.stage) :]:
        try:
            value = stages[name](value, metadata)
        except Exception as error:
            return Answer(outputs, metadata, error)
        outputs[name] = value if isinstance(value, (str, bytes)) else str(value)
    return Answer(outputs, metadata)


def _spare_the_device(job: Job) -> None:
    """Lets triton-ascend's compiler take the chip's name from the target, where it has the same from.

    By itself it loads its driver for that, which is linked with torch_npu: seconds and hundreds of megabytes for each
    process, and an error where torch_npu has not been imported.
    """
    names = job.backend.add_stages.__globals__  # type: ignore[attr-defined]
    driver = names.get("NPUUtils")
    if isinstance(driver, functools.partial):  # the job before this one's
        _, driver = driver.args
    if driver is not None:
        told_otherwise = job.environment.get(settings.ARCH)
        names["NPUUtils"] = functools.partial(_Chip, None if told_otherwise else job.target.arch, driver)


class _Chip:
    """What stands in for triton-ascend's ``NPUUtils``, and is it where more than a known name is asked for."""

    def __init__(self, name: str | None, driver: Callable[[], Any]) -> None:
        self._driver = driver
        if name is not None:
            self.get_arch = lambda: name

    def __getattr__(self, attribute: str) -> Any:
        import torch_npu  # noqa: F401 - its libraries

        return getattr(self._driver(), attribute)


def _module(backend: Any, text: str | bytes) -> Any:
    from triton._C.libtriton import ir

    assert isinstance(text, str)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    return module


def _answer(message: bytes) -> bytes:
    try:
        job: Job = loads(message)
        settings.adopt(job.environment)
        os.chdir(job.folder)
        answer = run_stages(job)
    except Exception as error:
        answer = Answer({}, {}, error)
    try:
        written = dumps(answer)
        loads(written)  # not every exception survives it
    except Exception as unfit:
        text = f"{type(answer.error).__name__}: {answer.error}" if answer.error else f"no result to hand over: {unfit}"
        written = dumps(Answer(answer.outputs, {}, RuntimeError(text)))
    return written


def _send(other: socket.socket, message: bytes) -> None:
    other.sendall(HEADER.pack(len(message)) + message)


def _end_with(life: int) -> None:
    """Lets the kernel kill this process's group when the other end of ``life`` is closed, whatever is running here."""
    # SIGIO, which by itself ends a process: no thread of Python's could do it while a compiler holds the interpreter.
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpgid(0))
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if not _is_open(life):  # it was closed before the kernel was asked
        os._exit(0)


def _is_open(life: int) -> bool:
    os.set_blocking(life, False)
    try:
        return os.read(life, 1) != b""
    except BlockingIOError:
        return True
