"""Triton's own disk cache of tunings (``cache_results=True`` or ``TRITON_CACHE_AUTOTUNING=1``; Triton 3.5 and newer).

Its one method reads, runs a benchmark on a miss, and writes. It is called here so that a failure of the storing part
never fails a launch, and so that a stored tuning in which nothing worked is not taken for one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from triton_ascend_tune.choose import usable
from triton_ascend_tune.key import Key
from triton_ascend_tune.values import Protocol

_log = logging.getLogger("triton_ascend_tune")


def enabled(tuner: Any) -> bool:
    return bool(getattr(tuner, "cache_results", False)) and hasattr(tuner, "check_disk_cache")


def disk_key(key: Key, place: str, target: str, method: Protocol | None) -> Key:
    """A tuning key as it is stored: without the number of the device, with how times are taken, all of it JSON.

    ``method`` is None for a user's own timer.
    """
    how = "do_bench" if method is None else method.identity
    parts = [target if part == place else part for part in key]
    return (*(p if isinstance(p, (int, float, str, type(None))) else repr(p) for p in parts), how)


def stored_or(tuner: Any, key: Key, configs: Sequence[Any], benchmark: Callable[[], None]) -> Any:
    """The stored winner for ``key``; None if there is none, in which case ``benchmark`` has run and was stored.

    ``benchmark`` sets ``tuner.configs_timings``, which is what Triton writes; whatever it raises is raised.
    """
    failures: list[BaseException] = []
    done = False

    def run() -> None:
        nonlocal done
        try:
            benchmark()
        except BaseException as error:
            failures.append(error)
            raise
        done = True

    if any(config.pre_hook is not None for config in configs):
        _log.info("not stored on disk: a config has a pre_hook, which cannot be part of a key")
    hit = False
    try:
        hit = tuner.check_disk_cache(key, configs, run)
    except Exception as error:
        if failures:
            raise
        _log.warning("Triton's disk cache of tunings cannot be used: %s: %s", type(error).__name__, error)
    if hit:
        winner = tuner.cache.pop(key)
        if usable(tuner.configs_timings[winner]):
            return winner
        _log.warning("the stored tuning of %s is not used: no config in it worked", tuner.base_fn.__name__)
    if not done:
        benchmark()
    return None
