"""Why profiler records give no times."""

from __future__ import annotations

import enum


class Problem(enum.Enum):
    """What is wrong. Each has its own wording, because each has its own remedy."""

    REFUSED = "no profiler session can be opened"
    FAILED = "the profiler failed"
    NO_FILE = "the profiler wrote no kernel_details.csv"
    EMPTY = "kernel_details.csv is empty"
    NO_ROW = "the kernel is not in kernel_details.csv"
    TOO_FEW = "kernel_details.csv has too few rows"
    TOO_MANY = "kernel_details.csv has too many rows"


class ProfileError(Exception):
    """There are no times by the profiler. ``problem`` is the class of the reason, ``detail`` the reason in one line."""

    def __init__(self, problem: Problem, detail: str) -> None:
        super().__init__(f"{problem.value}: {detail}")
        self.problem = problem
        self.detail = detail


class NoRowError(ProfileError):
    """No row has the name ``kernel``. ``seen``: the names that rows have, without the flush where it can be told."""

    def __init__(self, kernel: str, seen: tuple[str, ...], detail: str) -> None:
        super().__init__(Problem.NO_ROW, detail)
        self.kernel = kernel
        self.seen = seen
