"""Removes from Triton's cache what was compiled for candidates that lost, where the user asks for it.

Fifty candidates of a large kernel fill tens of megabytes. They are kept by default, because another shape of the same
kernel finds its candidates compiled. What has been removed is compiled again when it is needed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def remove(compiled: Iterable[Any], kept: Iterable[Any], since: float) -> int:
    """Removes the cached files of the kernels ``compiled``, except those that also belong to one of ``kept``.

    ``since``: seconds since the epoch; what is older was compiled for something else and stays. Returns how many
    kernels were removed. Nothing is removed from caches that are no folders (Triton's remote caches), and nothing is
    raised: whoever else removes or uses the files at the same time is right as well.
    """
    losing = _names(compiled) - _names(kept)
    return sum(_remove_one(name, since) for name in losing)


def _names(kernels: Iterable[Any]) -> set[str]:
    return {kernel.hash for kernel in kernels if isinstance(getattr(kernel, "hash", None), str)}


def _remove_one(name: str, since: float) -> bool:
    from triton.runtime.cache import get_cache_manager

    try:
        folder = Path(get_cache_manager(name).cache_dir)
        files = [file for file in folder.iterdir() if file.name != "lock"]
        if not files or min(file.stat().st_mtime for file in files) < since:
            return False
    except (AttributeError, TypeError, OSError):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True
