"""Errors that are kept: without what their tracebacks would keep alive. Imports no Triton."""

from __future__ import annotations


def forget_tracebacks(error: BaseException) -> None:
    """Takes the tracebacks off ``error`` and all errors behind it."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            pending += [each.__cause__, each.__context__]
