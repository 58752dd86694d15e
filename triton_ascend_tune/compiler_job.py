"""What a tuning and a compiler's own process say to each other, and how it is written.

Pickled, as both are the same interpreter with the same packages. Triton before 3.4 loads its backends as modules that
nobody can import; their classes are named by backend instead.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from dataclasses import dataclass
from typing import Any

#: The size of a message in bytes, in front of it.
HEADER = struct.Struct(">Q")
#: What the process says when it is ready for its first job.
READY = b"ready"


@dataclass(frozen=True)
class Job:
    """Stages to run.

    ``backend``: the class of Triton's backend; ``target``: what it is made for; ``arguments``: what ``add_stages`` gets
    besides the stages. ``stage``: the first one to run. ``content``: what it gets, a module as text if ``is_module``.
    ``metadata``: of the compilation so far. ``environment`` and ``folder``: the caller's at this moment.
    """

    backend: type
    target: Any
    arguments: tuple[Any, ...]
    stage: str
    content: str | bytes
    is_module: bool
    metadata: dict[str, Any]
    environment: dict[str, str]
    folder: str


@dataclass(frozen=True)
class Answer:
    """``outputs``: what each stage made, in order; modules as text. ``metadata``: after the last of them.

    ``error``: what the stage after them has raised, or what kept the job from being done; None: all went well.
    """

    outputs: dict[str, str | bytes]
    metadata: dict[str, Any]
    error: Exception | None = None


def dumps(value: Any) -> bytes:
    """``value`` as bytes. Whatever pickling raises."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


def loads(content: bytes) -> Any:
    return _Unpickler(io.BytesIO(content)).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, type):
            return None
        name: str = value.__qualname__
        if hasattr(sys.modules.get(value.__module__), name):
            return None
        owners = [backend for backend in _backends() if _names_of(backend).get(name) is value]
        return (owners[0], name) if owners else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        backend, name = pid
        return _names_of(backend)[name]


def _backends() -> dict[str, Any]:
    from triton.backends import backends

    return dict(backends)


def _names_of(backend: str) -> dict[str, Any]:
    """The global names of the module that defines a backend's compiler."""
    names: dict[str, Any] = _backends()[backend].compiler.add_stages.__globals__
    return names
