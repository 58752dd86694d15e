"""How many choices one tuner keeps: all, as stock Triton, or only the ones that were used last.

A choice that was dropped comes back from disk, where results are kept there, or is made again.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from typing import Any

from triton_ascend_tune import program_options, settings
from triton_ascend_tune.key import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.plan import Plan


class Recency:
    """When each choice was used last; only where their number is limited."""

    def __init__(self) -> None:
        self._used: dict[Key, int] = {}
        self._clock = itertools.count()

    def touch(self, key: Key) -> None:
        self._used[key] = next(self._clock)

    def forget(self, key: Key) -> None:
        self._used.pop(key, None)

    def oldest(self, keys: Iterable[Key], count: int) -> list[Key]:
        return heapq.nsmallest(count, keys, key=lambda key: self._used.get(key, -1))


def limit_of(tuner: Any) -> int | None:
    """The most choices that ``tuner`` may keep; None: no limit."""
    asked = program_options.of(tuner).get(program_options.WINNERS)
    return asked if asked is not None else settings.winners()


def remember(tuner: Any, plan: Plan, key: Key, config: Any) -> None:
    """Makes ``config`` the choice for ``key``, and drops the choices that are too many, the longest unused first."""
    tuner.cache[key] = config
    limit = limit_of(tuner)
    if limit is None:
        return
    recency = plan.limited()
    recency.touch(key)
    for old in recency.oldest(list(tuner.cache), len(tuner.cache) - limit):
        tuner.cache.pop(old, None)
        recency.forget(old)
        if plan.hits is not None:
            plan.hits.forget(old)
