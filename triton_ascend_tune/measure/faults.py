"""What an error of the device means: that memory is short, that one launch failed, or that the device is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

#: What is written to find out whether a device works. Every time another number: one that stood there before proves
#: nothing.
_numbers = itertools.count(1)


class DeviceLostError(RuntimeError):
    """The device, or torch's queue to it, no longer does what it is told. Only a new process can use it again.

    Its cause is the error that was met first.
    """


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch says that device memory is short. Its class depends on the version, its text does not."""
    return type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error).lower()


def defect(allocate: Callable[[int], Any]) -> str:
    """Why a device is lost, "" if it works: a number written there must come back.

    ``allocate(items)`` makes an int32 tensor on it. After a kernel fault some devices answer every call with an error;
    torch_npu's task queue drops all work in silence once a launch was refused.
    """
    number = next(_numbers) % (1 << 31)
    try:
        found = allocate(1).fill_(number).item()
    except RuntimeError as error:
        return "" if is_out_of_memory(error) else first_line(error)
    return "" if found == number else "what is written to it does not come back"


def first_line(error: BaseException) -> str:
    """The first line of the error's text, or of the error that it carries, or else its type."""
    for each in (error, error.__cause__):
        if each is not None and (lines := str(each).strip().splitlines()):
            return lines[0].rstrip(".")
    return type(error).__name__
