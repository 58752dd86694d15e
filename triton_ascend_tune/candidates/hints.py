"""What a program says of its kernel so that candidates need not be guessed: names, checks, expansion, presets.

    @triton_ascend_tune.hints(axes={"x": "n"}, GROUP=[1, 4, 8], multibuffer=[True, False])
    @triton.autotune(configs=[], key=["n"])
    @triton.jit
    def kernel(...): ...

or, where the installed ``triton.autotune`` has that argument, ``hints={...}``. Names that are reserved say something of
the kernel; constexprs and compile options list values to try.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from triton_ascend_tune import program_options
from triton_ascend_tune.candidates import options, presets, symbol
from triton_ascend_tune.candidates.axes import NAMES, Analysis, Axis
from triton_ascend_tune.candidates.tiles import LIMITS

KINDS = ("auto", "vector", "cube", "mix")
PARSER_MODES = ("assist", "observe", "authoritative", "off")
#: Reserved names of the incumbent, and two of ours: ``effort`` and ``preset``.
RESERVED = (
    "axes",
    "split_params",
    "tiling_params",
    "low_dim_axes",
    "reduction_axes",
    "auto_gen_config",
    "kernel_type",
    "tunable_parameter",
    "vv_parser_v2_mode",
    "enable_ascend_autotune",
    "effort",
    "preset",
)
#: Where a kernel keeps the hints that decorate it.
ATTRIBUTE = "tune_hints"

Kernel = TypeVar("Kernel")


@dataclass(frozen=True)
class Hints:
    """Checked hints. ``lists``: constexpr or option -> values to try. ``generate``: propose besides given configs."""

    axes: Mapping[str, str | int] = field(default_factory=dict)
    split: Mapping[str, str] = field(default_factory=dict)
    tiling: Mapping[str, str] = field(default_factory=dict)
    low_dims: tuple[str, ...] | None = None
    reductions: tuple[str, ...] | None = None
    kind: str = "auto"
    tunable: tuple[str, ...] = ()
    generate: bool = False
    effort: str = "normal"
    lists: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        return LIMITS[self.effort]

    def expanded(self, constants: Mapping[str, Any]) -> list[dict[str, Any]]:
        """``constants`` with every combination of the listed values, without those that make the same binary."""
        joint = options.stages_count()
        seen, found = set(), []
        for values in itertools.product(*self.lists.values()):
            chosen = {**constants, **dict(zip(self.lists, values))}
            known = {name: value for name, value in chosen.items() if name in options.ALLOWED}
            rest = tuple(sorted((name, value) for name, value in chosen.items() if name not in options.ALLOWED))
            identity = (rest, options.effective(known, joint))
            if identity not in seen:
                seen.add(identity)
                found.append(chosen)
        return found


def hints(**given: Any) -> Callable[[Kernel], Kernel]:
    """Attaches hints to the kernel it decorates; they are checked when the kernel is first tuned."""

    def attach(kernel: Kernel) -> Kernel:
        holder: Any = kernel
        while not hasattr(holder, "configs") and hasattr(holder, "fn"):
            holder = holder.fn
        holder = holder if hasattr(holder, "configs") else kernel
        setattr(holder, ATTRIBUTE, {**getattr(holder, ATTRIBUTE, {}), **given})
        return kernel

    return attach


def attached(kernel: Any) -> dict[str, Any]:
    """The hints that decorate ``kernel`` and what it wraps; the outermost wins."""
    return program_options.attached(kernel, ATTRIBUTE)


def checked(given: Mapping[str, Any], function: Any) -> Hints:
    """``given`` as ``Hints`` of ``function``, a JIT function. ValueError names hint, value and what is allowed."""
    constexprs = [parameter.name for parameter in function.params if parameter.is_constexpr]
    runtime = [parameter.name for parameter in function.params if not parameter.is_constexpr]
    unknown = [
        name for name in given if name not in RESERVED and name not in constexprs and name not in options.ALLOWED
    ]
    if unknown:
        allowed = f"{', '.join(RESERVED)}; constexprs {', '.join(constexprs)}; options {', '.join(options.ALLOWED)}"
        raise ValueError(f"Unsupported hints keys: {unknown}; allowed are {allowed}")
    axes = _axes(given.get("axes"), runtime)
    split = _parameters("split_params", given.get("split_params"), axes, constexprs)
    tiling = _parameters("tiling_params", given.get("tiling_params"), axes, constexprs)
    kind = str(given.get("kernel_type", "auto")).strip().lower()
    if kind not in KINDS:
        raise ValueError(f"Unsupported kernel_type {given['kernel_type']!r}; allowed: {', '.join(KINDS)}")
    mode = given.get("vv_parser_v2_mode", "assist")
    if mode not in PARSER_MODES:
        raise ValueError(
            f"hints.vv_parser_v2_mode is {mode!r}; allowed: {', '.join(PARSER_MODES)} (there is one analysis)"
        )
    effort = given.get("effort", "normal")
    if effort not in LIMITS:
        raise ValueError(f"hints.effort is {effort!r}; allowed: {', '.join(LIMITS)}")
    lists: dict[str, Sequence[Any]] = {}
    if (preset := given.get("preset")) is not None:
        if preset not in presets.SETS:
            raise ValueError(f"hints.preset is {preset!r}; allowed: {', '.join(presets.SETS)}")
        lists.update(presets.of_hint(preset))
    lists.update({name: value for name, value in given.items() if name not in RESERVED})
    return Hints(
        axes=axes,
        split=split,
        tiling=tiling,
        low_dims=_names("low_dim_axes", given.get("low_dim_axes"), axes),
        reductions=_names("reduction_axes", given.get("reduction_axes"), axes),
        kind=kind,
        tunable=_tunable(given.get("tunable_parameter"), constexprs, runtime),
        generate=bool(given.get("auto_gen_config") or given.get("enable_ascend_autotune")),
        effort=effort,
        lists={name: options.checked(name, values) for name, values in lists.items()},
    )


def _axes(given: Any, runtime: Sequence[str]) -> dict[str, str | int]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"hints.axes must be a dict of axis and length, e.g. {{'x': 'n'}}, not {given!r}")
    for name, length in given.items():
        if name not in NAMES:
            raise ValueError(f"All keys in 'hints.axes' must be valid axis names ({', '.join(NAMES)}), not {name!r}")
        if isinstance(length, bool) or not isinstance(length, (str, int)) or not length:
            raise ValueError(
                f"All values in 'hints.axes' must be non-empty argument names or numbers; {name!r} is {length!r}"
            )
        if isinstance(length, int) and length < 1:
            raise ValueError(f"hints.axes[{name!r}] is {length}; allowed: 1 and more, or an argument's name")
        if isinstance(length, str) and not length.isdigit() and length not in runtime:
            raise ValueError(
                f"hints.axes[{name!r}] is {length!r}; it must reference runtime non-constexpr argument names "
                f"({', '.join(runtime)}) or be a number"
            )
    return dict(given)


def _parameters(hint: str, given: Any, axes: Mapping[str, Any], constexprs: Sequence[str]) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{hint} must be a dict of axis and constexpr, not {given!r}")
    if not axes:
        raise ValueError(f"hints.axes must be provided when axis metadata is given ({hint})")
    for name, parameter in given.items():
        _known_axis(hint, name, axes)
        if parameter not in constexprs:
            raise ValueError(f"{hint}[{name!r}] is {parameter!r}; allowed: {', '.join(constexprs)}")
    return dict(given)


def _names(hint: str, given: Any, axes: Mapping[str, Any]) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{hint} must be a list of axis names, not {given!r}")
    if given and not axes:
        raise ValueError(f"hints.axes must be provided when axis metadata is given ({hint})")
    for name in given:
        _known_axis(hint, name, axes)
    return tuple(given)


def _known_axis(hint: str, name: Any, axes: Mapping[str, Any]) -> None:
    if isinstance(name, str) and name.startswith("r") and name not in axes:
        raise ValueError(f"{hint}: r-prefixed axis names are not supported: {name!r}; allowed: {', '.join(axes)}")
    if name not in axes:
        raise ValueError(f"{hint}: axis {name!r} is missing from 'hints.axes', which has {', '.join(axes) or 'none'}")


def _tunable(given: Any, constexprs: Sequence[str], runtime: Sequence[str]) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"hints.tunable_parameter must be a list of constexprs, not {given!r}")
    for name in given:
        if name in runtime:
            raise ValueError(f"hints.tunable_parameter must reference constexpr parameters only; {name!r} is none")
        if name not in constexprs:
            raise ValueError(
                f"hints.tunable_parameter contains unknown parameters: {name!r}; allowed: {', '.join(constexprs)}"
            )
    return tuple(dict.fromkeys(given))


def applied(hints: Hints, analysis: Analysis) -> Analysis:
    """``analysis`` where the hints say nothing, the hints where they do.

    A hinted axis is the found one that is cut by the same parameter, or has the same length, or (for a length that
    could not be told) has the same name; otherwise it is a new one.
    """
    if not hints.axes:
        return analysis
    left = list(analysis.axes)
    result: list[Axis] = []
    for name, length in hints.axes.items():
        poly = symbol.param(length) if isinstance(length, str) and not length.isdigit() else symbol.number(int(length))
        said = {hints.split.get(name), hints.tiling.get(name)} - {None}
        found = next((axis for axis in left if said & set(axis.parameters)), None)
        found = found or next((axis for axis in left if axis.length == poly and not axis.parameters and said), None)
        found = found or next((axis for axis in left if not said and axis.length == poly), None)
        found = found or next((axis for axis in left if axis.name == name and axis.length is None), None)
        found = found or next((axis for axis in left if axis.length is None and axis.parameters and not said), None)
        if found is not None:
            left.remove(found)
        axis = replace(found or Axis(name), name=name, length=poly)
        if name in hints.split or name in hints.tiling:
            axis = replace(axis, split=hints.split.get(name), tiling=hints.tiling.get(name), whole=None)
            if axis.split is not None and axis.grid_dim is None:
                axis = replace(axis, grid_dim=len([other for other in result if other.split]))
        if hints.low_dims is not None:
            axis = replace(axis, contiguous=name in hints.low_dims)
        if hints.reductions is not None:
            axis = replace(axis, reduced=name in hints.reductions)
        result.append(axis)
    claimed = {parameter for axis in result for parameter in axis.parameters}
    # What the analysis made of a parameter that a hint puts elsewhere is wrong.
    left = [axis for axis in left if not claimed & {*axis.parameters}]
    taken = {axis.name for axis in result}
    free = (name for name in (*NAMES, *(f"a{place}" for place in range(99))) if name not in taken)
    result += [replace(axis, name=next(free)) for axis in left]
    mapped = {parameter for axis in result for parameter in axis.parameters}
    unmapped = tuple(name for name in analysis.tunables if name not in mapped and name not in hints.lists)
    settled = {axis.line for axis in analysis.axes if axis.length is None} if hints.axes else set()
    notes = tuple(
        note
        for note in analysis.notes
        if not (note.line in settled and "length" in note.text)
        and not any(f"constexpr {name} " in note.text for name in analysis.tunables if name not in unmapped)
    )
    return replace(analysis, axes=tuple(result), unmapped=unmapped, notes=notes)
