"""Messages that a process logs once, however often their cause comes up."""

from __future__ import annotations

import logging

_log = logging.getLogger("triton_ascend_tune")
_told: set[str] = set()


def warn_once(text: str) -> None:
    _once(logging.WARNING, text)


def tell_once(text: str) -> None:
    _once(logging.INFO, text)


def _once(level: int, text: str) -> None:
    if text not in _told and _log.isEnabledFor(level):
        _told.add(text)
        _log.log(level, "%s", text)
