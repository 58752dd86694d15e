"""On-chip memories of the device, as CANN's platform configuration has them for its part.

CANN 9 answers ``aclplatformGetDeviceInfo`` of ``libplatform.so`` (declared in ``acl/acl_platform.h``) with what stands
in ``platform_config/<part>.ini`` under ``[AICoreSpec]``, as text.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

#: Field of ``Hardware`` -> ``aclplatformDevInfo``.
ITEMS = {"ub": 1, "l0a": 9, "l0b": 10, "l0c": 11, "l1": 12}
_FUNCTION, _LIBRARY = "aclplatformGetDeviceInfo", "libplatform.so"
_MAX_TEXT = 64


@functools.cache
def memories() -> dict[str, int]:
    """Bytes by field of ``Hardware``; empty where this CANN does not say, or not all. Asked once in a process."""
    function = _find()
    return {} if function is None else asked(function)


def asked(function: Callable[..., int]) -> dict[str, int]:
    """What ``function``, an ``aclplatformGetDeviceInfo``, answers; empty if it has no answer to something."""
    found = {}
    for field, item in ITEMS.items():
        text = ctypes.create_string_buffer(_MAX_TEXT)
        if function(item, text, _MAX_TEXT) != 0 or not text.value.isdigit() or int(text.value) == 0:
            return {}
        found[field] = int(text.value)
    return found


def _find() -> Any:
    for library in (None, _LIBRARY):  # what the process has loaded already, then by name
        try:
            function = getattr(ctypes.CDLL(library), _FUNCTION)
        except (OSError, AttributeError):
            continue
        function.argtypes, function.restype = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32), ctypes.c_int
        return function
    return None
