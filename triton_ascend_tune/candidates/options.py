"""Compile options worth trying on a tile that is good already, one at a time, and which of them make equal binaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Option -> the values that may be tuned, as the vendor's documentation allows them.
ALLOWED: dict[str, tuple[Any, ...]] = {
    "num_stages": (1, 2),
    "multibuffer": (True, False),
    "unit_flag": (True, False),
    "limit_auto_multi_buffer_only_for_local_buffer": (True, False),
    "limit_auto_multi_buffer_of_local_buffer": ("no-limit", "no-l0c"),
    "set_workspace_multibuffer": (2, 4),
    "enable_hivm_auto_cv_balance": (True, False),
    "tile_mix_vector_loop": (2, 4, 8),
    "tile_mix_cube_loop": (2, 4, 8),
    "enable_ubuf_saving": (True, False),
    "sync_solver": (True, False),
    "compile_mode": ("simd", "unstructured_in_simt", "simt_only"),
}
#: What the compiler does where an option is not given. None: it decides itself.
DEFAULTS: dict[str, Any] = {
    "multibuffer": True,
    "unit_flag": False,
    "limit_auto_multi_buffer_only_for_local_buffer": False,
    "limit_auto_multi_buffer_of_local_buffer": "no-limit",
    "set_workspace_multibuffer": 1,
    "enable_hivm_auto_cv_balance": True,
    "tile_mix_vector_loop": 1,
    "tile_mix_cube_loop": 1,
    "sync_solver": False,
    "enable_ubuf_saving": False,
    "compile_mode": "simd",
}
#: Kind of kernel -> options that reach its code, the likeliest to help first.
REACHES: dict[str, tuple[str, ...]] = {
    "vector": ("multibuffer", "enable_ubuf_saving", "sync_solver"),
    "cube": ("multibuffer", "unit_flag", "limit_auto_multi_buffer_of_local_buffer", "sync_solver"),
    "mix": (
        "multibuffer",
        "set_workspace_multibuffer",
        "tile_mix_vector_loop",
        "tile_mix_cube_loop",
        "enable_hivm_auto_cv_balance",
        "unit_flag",
        "limit_auto_multi_buffer_of_local_buffer",
        "limit_auto_multi_buffer_only_for_local_buffer",
        "sync_solver",
    ),
}


def supported() -> frozenset[str]:
    """The options that the installed backend knows; others would be an error at the first compile."""
    try:
        from triton.backends.ascend.compiler import NPUOptions
    except ImportError:
        return frozenset()
    return frozenset(name for name in ALLOWED if name in NPUOptions.__dataclass_fields__)


def stages_count() -> bool:
    """Whether the installed backend reads ``num_stages`` as well as ``multibuffer``: the ones after wheel 3.2.0 do."""
    import importlib.util

    try:
        return importlib.util.find_spec("triton.backends.ascend.runtime") is not None
    except ImportError:
        return False


def effective(options: Mapping[str, Any], joint: bool) -> tuple[tuple[str, Any], ...]:
    """What ``options`` mean to the compiler; equal for options that make the same binary.

    ``joint``: whether multi-buffering is off for ``multibuffer=False`` as well as for ``num_stages=1``; otherwise
    ``num_stages`` never reaches the compiler.
    """
    meant = {name: value for name, value in options.items() if name != "num_stages"}
    on = bool(meant.get("multibuffer", DEFAULTS["multibuffer"]))
    if joint and options.get("num_stages") == 1:
        on = False
    meant["multibuffer"] = on
    return tuple(sorted((name, value) for name, value in meant.items() if value != DEFAULTS.get(name)))


def variants(
    kind: str, taken: Mapping[str, Any], doubles: bool, known: frozenset[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Option settings next to the compiler's defaults, one option changed in each.

    ``taken``: options that the call or a config sets, which are left alone. ``doubles``: whether multi-buffering has
    anything to double, and the memory to do so; otherwise it makes the same binary either way. ``known``: the options
    of the backend; by default the installed one's.
    """
    known = supported() if known is None else known
    for name in REACHES[kind]:
        if name in taken or name not in known or (name == "multibuffer" and not doubles):
            continue
        if name == "multibuffer" and "num_stages" in taken:
            continue
        yield from ({name: value} for value in ALLOWED[name] if value != DEFAULTS[name])
