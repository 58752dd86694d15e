"""One thread at a time parses kernels.

CPython 3.11 counts the depth of the trees that ``ast.parse`` makes for all threads together: where a garbage collection
lets another thread parse, one of the two ends with a ``SystemError`` ("AST constructor recursion depth mismatch").
Triton parses a kernel when it compiles it, in several threads during a tuning, and when it makes its digest, of which
such an error leaves a placeholder behind.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

_turn = threading.RLock()


def one_at_a_time() -> None:
    """Lets Triton's JIT functions wait for each other before they parse. It stays so; to ask again changes nothing."""
    from triton.runtime.jit import JITFunction

    owner: Any = next(cls for cls in JITFunction.__mro__ if "parse" in vars(cls))
    parse = owner.parse
    if hasattr(parse, "_triton_ascend_tune"):
        return

    @functools.wraps(parse)
    def parse_alone(self: Any) -> Any:
        with _turn:
            return parse(self)

    parse_alone._triton_ascend_tune = True  # type: ignore[attr-defined]
    owner.parse = parse_alone
    os.register_at_fork(after_in_child=_begin_anew)


def _begin_anew() -> None:
    """A forked process has none of the threads that may have been parsing."""
    global _turn
    _turn = threading.RLock()
