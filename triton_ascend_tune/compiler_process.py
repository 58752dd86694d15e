"""A compiler in a process of its own, as the tuning sees it: a job goes in, an answer comes out, or it is gone.

The process is started afresh by the interpreter (not forked, and without the user's main module), leads a group of its
own and serves one job after the other. Three things connect it with this process: a socket for jobs and answers, a pipe
for all that it and its compilers print, and a pipe that carries nothing and whose end tells it that this process has
ended. ``compiler_main`` is its program.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from triton_ascend_tune.compiler_job import HEADER, READY, loads

#: The module search path is this process's own: it may have been changed since the start.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[3:]; from triton_ascend_tune import compiler_main; "
    "compiler_main.serve(int(sys.argv[1]), int(sys.argv[2]))"
)
#: Of what is printed during one job only the first so many bytes are kept.
_MAX_OUTPUT = 1 << 20
_CHUNK = 1 << 16
#: An answer that says it is larger was not written by ``compiler_main``.
_MAX_ANSWER = 1 << 32
#: How long a process may take to get ready, in seconds: about one, but more on a machine that is short of memory.
START_S = 120.0
#: How long a process that has closed its end may take to end itself, in seconds.
_PATIENCE_S = 5.0


class CompilerEndedError(RuntimeError):
    """The compiler's process came to its end without an answer. ``output``: what it had printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class NoAnswerInTimeError(Exception):
    """There was no answer within the limit."""


class CompilerProcess:
    """One process. Used by one thread at a time; ``kill`` may be called by any.

    Raises OSError if it cannot be started.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise OSError("sys.executable is empty: no Python interpreter is known that could be started")
        self._socket, theirs = socket.socketpair()
        life, self._life = os.pipe()
        self._output, printed = os.pipe()
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(life), *sys.path]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(theirs.fileno(), life),
                start_new_session=True,
            )
        except BaseException:
            self._close()
            raise
        finally:
            theirs.close()
            os.close(life)
            os.close(printed)
        self._socket.setblocking(False)
        os.set_blocking(self._output, False)
        self._ready = False
        self._lock, self._open = threading.Lock(), True

    @property
    def running(self) -> bool:
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def ask(self, job: bytes, limit_s: float | None) -> tuple[Any, str]:
        """The answer to ``job``, and what was printed meanwhile.

        ``limit_s`` counts from when the process is ready; None: no limit.
        CompilerEndedError, NoAnswerInTimeError: the process is of no further use, and ``end`` is to be called.
        """
        if not self._ready:
            try:
                greeting, _ = self._exchange(b"", START_S)
            except NoAnswerInTimeError:
                raise CompilerEndedError(f"the compiler's process was not ready after {START_S:g} s") from None
            if greeting != READY:
                raise CompilerEndedError(f"the compiler's process began with {greeting[:40]!r}; expected {READY!r}")
            self._ready = True
        answer, output = self._exchange(HEADER.pack(len(job)) + job, limit_s)
        try:
            return loads(answer), output
        except Exception as error:
            raise CompilerEndedError(f"the compiler's answer cannot be read: {error}", output) from error

    def kill(self) -> None:
        """Kills the process and all that it has started."""
        with self._lock:
            # As long as nobody has waited for it, its number cannot be another's, even if it has ended.
            if self._process.returncode is None:
                try:
                    os.killpg(self._process.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    self._process.kill()

    def end(self) -> None:
        """Kills the process, waits for it and closes what connects it. May be called again."""
        self.kill()
        with self._lock:
            self._process.wait()
            if self._open:
                self._open = False
                self._close()

    def forget(self) -> None:
        """What a forked process does instead of ``end``: the process is another's child."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        self._socket.close()
        os.close(self._life)
        os.close(self._output)

    def _exchange(self, message: bytes, limit_s: float | None) -> tuple[bytes, str]:
        """Sends ``message``; returns the next answer and what was printed meanwhile."""
        deadline = None if limit_s is None else time.monotonic() + limit_s
        rest, received, output = memoryview(message), bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._socket, selectors.EVENT_READ | (selectors.EVENT_WRITE if rest else 0))
            while True:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise NoAnswerInTimeError
                for key, events in selector.select(left):
                    if key.fileobj == self._output:
                        if not self._listen(output):
                            selector.unregister(self._output)
                        continue
                    try:
                        if events & selectors.EVENT_WRITE:
                            rest = rest[self._socket.send(rest[:_CHUNK]) :]
                            if not rest:
                                selector.modify(self._socket, selectors.EVENT_READ)
                        if events & selectors.EVENT_READ:
                            chunk = self._socket.recv(_CHUNK)
                            if not chunk:
                                raise self._ended(output)
                            received += chunk
                    except (BrokenPipeError, ConnectionResetError):
                        raise self._ended(output) from None
                if len(received) >= HEADER.size:
                    (size,) = HEADER.unpack_from(received)
                    if size > _MAX_ANSWER:
                        raise CompilerEndedError("the compiler's answer cannot be read", self._said(output))
                    if len(received) >= HEADER.size + size:
                        return bytes(received[HEADER.size :]), self._said(output)

    def _listen(self, output: bytearray) -> bool:
        """Adds to ``output`` what is to be read now, some of it at least; False at the end of all printing."""
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return True
        output += chunk[: max(0, _MAX_OUTPUT - len(output))]
        return bool(chunk)

    def _said(self, output: bytearray) -> str:
        self._listen(output)  # no more than one pipe full can have been left
        return output.decode(errors="replace")

    def _ended(self, output: bytearray) -> CompilerEndedError:
        """Why there is no connection any more."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.running and time.monotonic() < deadline:
            time.sleep(0.01)
        running = self.running
        said = self._said(output)
        self.end()
        code = self._process.returncode
        if running:
            how = "closed its connection without a result"
        elif code >= 0:
            how = f"ended with status {code} and no result"
        else:
            how = f"ended by {_signal_name(-code)}"
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        why = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
        return CompilerEndedError(f"the compiler {how}{why and ': '}{why}", said)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
