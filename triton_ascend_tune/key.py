"""The tuning key: what one choice is valid for.

The rule. Two calls of one tuner share a choice if and only if they agree in

1. the value of every argument named in ``key``, defaults filled in, however it was passed (positionally, by keyword, in
   any order), mapped as the user asks (``key_mapping``). Values compare as Python compares them. A name that nobody
   gives a value to counts as not given. A tensor counts by its shape, an unhashable value by a digest of its contents;
2. for every argument that is no constexpr: its dtype if it has one, whether it is None, or neither;
3. the device and the target (backend and architecture);
4. the compile options of the call (keywords that are no kernel arguments), without grid, warmup and stream.

Not in the key: strides, alignment, the grid, constexprs that ``key`` does not name. Names in ``key`` that the kernel
does not have are ignored, with a warning by the tuner.

A key is a flat tuple of values, dtypes and place, so that it prints and serialises like stock Triton's. Building one is
on the path of every launch: the binding is done by a function generated for the kernel, in one call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune.launch import LAUNCH_ONLY

#: Stands for an argument that neither the call nor a default gives a value; a literal, so that keys stay printable.
NOT_GIVEN = "<not given>"
#: A key's text form may hold an unhashable value as it is up to this length; beyond it is digested.
_READABLE = 64

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel. ``default`` is ``inspect.Parameter.empty`` if it has none."""

    name: str
    default: Any = inspect.Parameter.empty
    constexpr: bool = False
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty and self.kind is not inspect.Parameter.VAR_POSITIONAL


def kernel_parameters(function: Callable[..., Any], arg_names: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters of the plain Python ``function`` below a tuner.

    A wrapper may have announced other ``arg_names`` than the function has; then only those names are known.
    """
    signature = inspect.signature(function).parameters
    if set(signature) != set(arg_names):
        return tuple(Parameter(name) for name in arg_names)
    return tuple(Parameter(p.name, p.default, "constexpr" in str(p.annotation), p.kind) for p in signature.values())


class _Kinds(dict[Any, Any]):
    """dtype -> its name. The entries False and True are for arguments without dtype: a value, None."""

    def __missing__(self, dtype: Any) -> str:
        self[dtype] = name = str(dtype)
        return name


_kinds = _Kinds({False: None, True: "none"})


def key_function(
    parameters: Sequence[Parameter],
    names: Iterable[str],
    kernel: str,
    maps: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[..., Key]:
    """Compiles ``build(place, *args, **kwargs) -> Key`` for the calls of ``kernel``; ``names`` are the ones in ``key``.

    ``maps``: argument -> what the user maps its value by (see ``key_mapping``). ``place`` is a string for device and
    target. The built function raises TypeError for arguments that do not fit the kernel's signature, in Python's own
    words.
    """
    taken = {p.name for p in parameters}
    wanted = [name for name in dict.fromkeys(names) if name in taken]
    arguments, kinds = ["__place", "/"], []
    scope: dict[str, Any] = {
        "__kinds": _kinds,
        "__by_shape": _by_shape,
        "__options": _option_values,
        "__unset": NOT_GIVEN,
    }
    keyword_only = False
    for index, p in enumerate(parameters):
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments.append(f"*{p.name}")
            keyword_only = True
            continue
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            arguments.append("*")
            keyword_only = True
        default = "__unset"
        if p.default is not inspect.Parameter.empty:
            default = f"__default_{index}"
            scope[default] = p.default
        arguments.append(f"{p.name}={default}")
        if not p.constexpr:
            kinds.append(f"__kinds[getattr({p.name}, 'dtype', {p.name} is None)]")
    if not keyword_only:
        arguments.append("*")
    arguments += [f"{name}=None" for name in LAUNCH_ONLY if name not in taken]
    constexprs = {p.name for p in parameters if p.constexpr}
    values = []
    for index, name in enumerate(wanted):
        value = name if name in constexprs else f"__by_shape({name}) if hasattr({name}, 'data_ptr') else {name}"
        if maps and name in maps:
            scope[f"__map_{index}"] = maps[name]
            value = f"__map_{index}({value})"
        values.append(value)
    source = (
        f"def build({', '.join(arguments)}, **__more):\n"
        f"    key = ({''.join(f'{part}, ' for part in [*values, *kinds])}__place)\n"
        f"    return key + __options(__more) if __more else key\n"
    )
    exec(source, scope)  # as Triton's own binder does: nothing else binds as fast
    build: Any = scope["build"]
    build.__name__ = build.__qualname__ = kernel  # what Python's messages about wrong arguments name
    return build  # type: ignore[no-any-return]


def refuse_surplus(parameters: Sequence[Parameter], args: Sequence[Any], kernel: str) -> None:
    """TypeError for more positional arguments than the kernel takes, with Python's own count and words."""
    ordinary = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) <= len(ordinary) or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    scope: dict[str, Any] = {}
    exec(f"def bind({', '.join(p.name if p.required else f'{p.name}=None' for p in ordinary)}): ...", scope)
    scope["bind"].__name__ = scope["bind"].__qualname__ = kernel
    scope["bind"](*args)


def key_labels(parameters: Sequence[Parameter], names: Iterable[str]) -> tuple[str, ...]:
    """What the leading parts of a key are, for messages."""
    taken = {p.name for p in parameters}
    values = [name for name in dict.fromkeys(names) if name in taken]
    scalars = [p for p in parameters if not p.constexpr and p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return (*values, *(f"{p.name}.dtype" for p in scalars), "place")


def hashable(key: Key, labels: Sequence[str], kernel: str) -> Key:
    """``key`` with every unhashable value replaced by text that is the same for the same contents.

    TypeError names the argument if its type has contents that cannot be read.
    """
    return tuple(_settle(value, label, kernel) for value, label in zip(key, [*labels, *[""] * len(key)]))


def stock_key(arg_names: Sequence[str], names: Iterable[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key:
    """The key that stock Triton has for a call: it shows it, and programs bring choices along under it."""
    given = {k: v for k, v in {**dict(zip(arg_names, args)), **kwargs}.items() if k in arg_names}
    values = [given[name] for name in names if name in given]
    return (*values, *(str(value.dtype) for value in given.values() if hasattr(value, "dtype")))


def unknown_names(names: Iterable[str], arg_names: Sequence[str]) -> list[str]:
    """The names in ``key`` that are no kernel arguments."""
    return [name for name in names if name not in arg_names]


def _by_shape(tensor: Any) -> Any:
    """Tensors hash by identity, so as they are they would retune for every new one, and be kept alive by the cache."""
    return f"tensor{tuple(tensor.shape)}" if hasattr(tensor, "shape") else str(type(tensor))


def _option_values(options: Mapping[str, Any]) -> Key:
    return tuple(f"{name}={options[name]!r}" for name in sorted(options))


def _settle(value: Any, label: str, kernel: str) -> Any:
    try:
        hash(value)
    except TypeError:
        text = _contents(value)
        if text is None:
            raise TypeError(
                f"kernel {kernel}: the value of {label!r} in `key` is a {type(value).__name__}, which can be neither "
                f"hashed nor read; allowed are hashable values and lists, tuples, dicts, sets and arrays of such"
            ) from None
        if len(text) > _READABLE:
            text = f"{type(value).__name__}:{_digest(text.encode())[:32]}"
        return text
    return value


def _contents(value: Any) -> str | None:
    """A text that is equal exactly for equal contents; None if there is no telling."""
    if isinstance(value, (list, tuple)):
        parts = [_contents(item) for item in value]
    elif isinstance(value, (set, frozenset)):
        parts = [_contents(item) for item in value]
        parts = sorted(parts) if None not in parts else [None]  # type: ignore[type-var]
    elif isinstance(value, Mapping):
        parts = [_contents(list(item)) for item in value.items()]
        parts = sorted(parts) if None not in parts else [None]  # type: ignore[type-var]
    elif hasattr(value, "tobytes") and hasattr(value, "shape"):
        return f"array({value.dtype},{tuple(value.shape)},{_digest(value.tobytes())})"
    else:
        try:
            hash(value)
        except TypeError:
            return None
        return repr(value)
    return None if None in parts else f"{type(value).__name__}({','.join(map(str, parts))})"


def _digest(contents: bytes) -> str:
    import hashlib  # only here: it takes as long to load as half of this package

    return hashlib.sha256(contents).hexdigest()
