"""How a call and a candidate become one launch: the same way when compiling, measuring and launching.

The rule. The candidate's settings complete the caller's keywords.

* A keyword of the call that is a kernel argument and that the candidate sets too is a mistake, as in stock Triton.
* A compile option (``num_warps``, ``num_stages``, ``multibuffer``, ...) that the caller gives holds for every
  candidate: the caller wins. Stock Triton measures with the candidate's value and then fails at the launch;
  triton-ascend's later tuners measure with the candidate's and launch with the caller's. With one rule, what is
  measured is what is launched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Keywords of a call that say where and how it is launched, not what is compiled.
LAUNCH_ONLY = ("grid", "warmup", "stream")


@dataclass(frozen=True)
class Call:
    """One call of a tuned kernel: positional arguments, the same by name, keywords (grid and warmup included)."""

    args: tuple[Any, ...]
    named: dict[str, Any]
    keywords: dict[str, Any]


class ConflictError(ValueError, TypeError):
    """A kernel argument is given both by the call and by the config.

    Stock Triton raises ValueError while it measures and TypeError when a single config is launched.
    """


def merge(call: Mapping[str, Any], options: Mapping[str, Any], arguments: Collection[str]) -> dict[str, Any]:
    """The keywords of one launch: ``call`` (with grid and warmup) completed by a candidate's ``options``.

    ``arguments`` are the kernel's argument names. ConflictError if one of them is in both.
    """
    merged = {**options, **call}
    if len(merged) != len(options) + len(call):
        clash = [name for name in call if name in options and name in arguments]
        if clash:
            raise ConflictError(
                f"Conflicting meta-parameters: {', '.join(clash)}. Set by the call as well as by the config "
                f"({', '.join(f'{name}={options[name]!r}' for name in clash)}); leave one of the two out."
            )
    return merged


def named_arguments(names: Sequence[str], args: Sequence[Any]) -> dict[str, Any]:
    """The positional arguments by name. Surplus ones are left for the kernel's own binder to complain about."""
    return dict(zip(names, args))


def kernel_name(kernel: Any) -> str | None:
    """What the device calls a compiled kernel; None if it does not say. Ascend's has its type in ``name`` as well."""
    metadata = getattr(kernel, "metadata", None)
    places = ((metadata, "kernel_name"), (metadata, "name"), (kernel, "name"))
    names = (getattr(holder, attribute, None) for holder, attribute in places)
    return next((name for name in names if isinstance(name, str) and name), None)
