"""Whether the current stream is being captured into a graph: then nothing may be measured, or even waited for."""

from __future__ import annotations

import sys
from typing import Any


class CaptureError(RuntimeError):
    """Something had to be measured while the current stream was being captured."""


def in_progress(backend: str) -> bool:
    """Whether the current stream of ``backend`` ("npu" or "cuda") is being captured. Touches no device."""
    module: Any = getattr(sys.modules.get("torch"), backend, None)
    if module is None or not module.is_initialized():  # also where torch was built without it
        return False
    return bool(module.is_current_stream_capturing())
