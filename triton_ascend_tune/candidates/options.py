"""The compile options of the Ascend backend: which may be tuned, what they default to, and which make equal binaries.

Defaults and effects are those of triton-ascend 3.2.0 with the compiler of ascendnpu-ir 1.2.0, found by compiling the
same kernels with each value and comparing the binaries (``tests/simulator/test_compile_options.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The option whose values are no small set but counts of buffers by name; versions after 3.2.0 have it.
MODE = "multibuffer_mode"
#: Option -> the values that may be tuned, as the vendor's documentation allows them. The modes are those of all
#: versions; an installed one has some of them.
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
    "enable_auto_bind_sub_block": (True, False),
    "compile_mode": (
        "simd",
        "unstructured_in_simt",
        "simt_only",
        "simd_simt",
        "simt_template",
        "simd_simt_template",
    ),
    MODE: (),
}
#: What the compiler does where an option is not given.
DEFAULTS: dict[str, Any] = {
    "multibuffer": True,
    "unit_flag": False,
    "limit_auto_multi_buffer_only_for_local_buffer": False,
    "limit_auto_multi_buffer_of_local_buffer": "no-l0c",
    "set_workspace_multibuffer": 4,
    "enable_hivm_auto_cv_balance": False,
    "tile_mix_vector_loop": 1,
    "tile_mix_cube_loop": 1,
    "sync_solver": True,
    "enable_auto_bind_sub_block": True,
    "enable_ubuf_saving": False,
    "compile_mode": "simd",
}
#: Architectures with vector cores that also run code in the style of threads; elsewhere there is one mode.
THREADED = ("Ascend910_95", "Ascend950")


def checked(name: str, values: Any) -> tuple[Any, ...]:
    """``values`` of an option or constexpr to be tried. ValueError names it, the value and what is allowed."""
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(f"hint {name!r} must be a non-empty list/tuple of values to try, not {values!r}")
    if name == MODE:
        return tuple(_buffer_counts(value) for value in values)
    allowed = ALLOWED.get(name)
    for value in values:
        if allowed is not None and not any(type(value) is type(each) and value == each for each in allowed):
            raise ValueError(f"Invalid value for {name!r}: {value!r}; allowed: {', '.join(map(repr, allowed))}")
    return tuple(values)


def _buffer_counts(value: Any) -> tuple[tuple[str, int], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        counts = dict(pairs)
    except (TypeError, ValueError):
        counts = {}
    right = all(isinstance(name, str) and type(count) is int for name, count in counts.items())
    if not counts or not right:
        raise ValueError(f"Invalid value for {MODE!r}: {value!r}; allowed: a dict of names and counts, or such pairs")
    return tuple(sorted(counts.items()))


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


def compile_modes(arch: str) -> tuple[str, ...]:
    """The modes other than the default one that are worth compiling for ``arch``; none before Ascend 950.

    On older parts ``unstructured_in_simt`` makes the binary that ``simd`` makes, and their compiler refuses
    ``simt_only``. Which modes the installed backend has, its options class tells: it refuses others, or (3.2.0) sets no
    further field for them.
    """
    if not arch.startswith(THREADED) or "compile_mode" not in supported():
        return ()
    usual, refuses = _meant_by({}), _meant_by({"compile_mode": "no such mode"}) is None
    found: dict[Any, str] = {}
    for mode in ALLOWED["compile_mode"]:
        meant = _meant_by({"compile_mode": mode})
        if meant is None or usual is None or meant == usual:
            continue
        known = refuses or {**meant, "compile_mode": ""} != {**usual, "compile_mode": ""}
        if known:
            found.setdefault(repr(sorted(meant.items())), mode)  # the first of several names for the same
    return tuple(found.values())


def _meant_by(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of the backend's options class for ``given``; None if it refuses them."""
    from triton.backends.ascend.compiler import NPUOptions

    try:
        return dict(vars(NPUOptions(**given)))
    except (TypeError, ValueError):
        return None
