"""The native loop's fake runtime library, ``native/fake_acl.cpp``, as tests handle it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from triton_ascend_tune import _native

SOURCE = Path(__file__).parent / "native" / "fake_acl.cpp"
STREAM = 77
#: Of the gate, in milliseconds of real time.
LIMIT_MS = 40
#: First words of lines that a step leaves.
NOTES = {"flush", "launch", "launched", "before", "after", "trail"}


@dataclass
class Work:
    launch: Callable[[], Any]
    before: Callable[[], Any] | None = None
    after: Callable[[], Any] | None = None


class FakeAcl:
    """Python's handle on the fake library: notes, clock and failures."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._library = ctypes.CDLL(self.path)
        self._library.fake_log.restype = ctypes.c_char_p
        self._library.fake_advance.argtypes = [ctypes.c_double]

    def reset(self) -> None:
        self._library.fake_reset()

    def note(self, text: str) -> None:
        self._library.fake_note(text.encode())

    def advance(self, ms: float) -> None:
        self._library.fake_advance(ms)

    def fail(self, function: str, code: int, message: str = "") -> None:
        self._library.fake_fail(function.encode(), code, message.encode())

    def slow_synchronize(self, ms: int) -> None:
        """Every wait for the stream takes ``ms`` of real time."""
        self._library.fake_slow_synchronize(ms)

    @property
    def log(self) -> list[str]:
        return self._library.fake_log().decode().splitlines()

    def step(self, text: str, ms: float = 0.0) -> Callable[[], None]:
        """A callable that logs ``text`` and lets ``ms`` pass."""

        def run() -> None:
            self.note(text)
            self.advance(ms)

        return run

    def stream(self) -> int:
        self.note("drain")
        return STREAM

    def timer(self, flush_ms: float = 0.5, in_flight: int = 64) -> _native.EventTimer:
        runtime = _native.AclRuntime(self.path)
        return _native.EventTimer(runtime, self.step("flush", flush_ms), self.stream, in_flight)


class GatedAcl(FakeAcl):
    def gate(self, holds: bool = True, releases: bool = True) -> None:
        self._library.fake_gate(int(holds), int(releases))

    @property
    def held(self) -> bool:
        return bool(self._library.fake_held())

    def gated_timer(self, flush_ms: float = 0.5, gate: str = "notify", **options: Any) -> _native.EventTimer:
        runtime = _native.AclRuntime(self.path)
        flush = self.step("flush", flush_ms) if flush_ms else None
        return _native.EventTimer(runtime, flush, self.stream, gate=gate, gate_limit_ms=LIMIT_MS, **options)

    @property
    def steps(self) -> list[str]:
        """The first word of each line that says something about the order on the stream."""
        words = [line.split()[0] for line in self.log]
        return [word for word in words if word in {"record", "close", "open", "write", "synchronize"} | NOTES]


def compile_library(path: Path, *options: str, source: str | None = None) -> Path:
    """The fake library, or one of C++ ``source`` text."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    command = [compiler, "-shared", "-fPIC", "-O1", *options, "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, check=True, text=True, input=SOURCE.read_text() if source is None else source)
    return path
