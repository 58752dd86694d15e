"""What is wrong with a launch whose arguments the kernel's own binder refuses: too few, or one that it does not know.

Loaded when a launch has failed. The error stays of the class that stock Triton raises; the text names the kernel, the
arguments, and which configs are to blame.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from triton_ascend_tune.launch import LAUNCH_ONLY, named_arguments
from triton_ascend_tune.stock import heuristics_below

#: Configs named in one message; there can be hundreds.
SHOWN_CONFIGS = 4
#: How Triton's binder begins to say that it does not know a keyword.
_UNKNOWN = "Keyword argument "


def explained(
    error: TypeError | KeyError, tuner: Any, args: Sequence[Any], keywords: Mapping[str, Any]
) -> TypeError | KeyError:
    """``error`` of launching the kernel of ``tuner``, unless an argument is missing or unknown: then one that says so.

    ``keywords``: the call's and the config's.
    """
    kernel, arguments, configs = tuner.base_fn.__name__, tuner.arg_names, tuner.configs
    fields = {name for config in configs for name in config.all_kwargs() if name not in config.kwargs}
    unknown = _unknown(keywords, {*arguments, *fields, *LAUNCH_ONLY})
    if isinstance(error, KeyError):
        refused = str(error.args[0]) if error.args else ""
        if not unknown or not refused.startswith(_UNKNOWN):
            return error
        return KeyError(f"kernel {kernel} does not know {', '.join(unknown)}: {_meant(unknown, arguments, configs)}")
    given = {*named_arguments(arguments, args), *keywords, *heuristics_below(tuner.fn)}
    required = tuner._plan.required() if tuner._plan is not None else ()
    missing = [name for name in required if name not in given]
    if not missing:
        return error
    lacking = [config for config in configs if not set(missing) & set(config.kwargs)]
    by = f"config {_named(lacking)}" if 0 < len(lacking) < len(configs) else "a config"
    why_not = tuner._request.why_not if tuner._request is not None else ""
    parts = [
        f"kernel {kernel} lacks {', '.join(missing)}: neither passed by the call nor set by {by}.",
        _meant(unknown, arguments, configs) if unknown else "",
        "Pass it, or give `configs` that set it.",
        f"No candidates were proposed: {why_not}" if why_not else "",
    ]
    return TypeError(" ".join(filter(None, parts)))


def _unknown(given: Collection[str], known: Collection[str]) -> list[str]:
    """Names in ``given`` that are neither ``known`` nor compile options; none where the options cannot be told."""
    options = _option_names()
    return [] if options is None else [name for name in given if name not in known and name not in options]


def _option_names() -> set[str] | None:
    from triton.compiler import make_backend
    from triton.runtime.driver import driver

    try:
        return set(vars(make_backend(driver.active.get_current_target()).parse_options({})))
    except Exception:  # an explanation must not end in another error
        return None


def _meant(unknown: Sequence[str], arguments: Sequence[str], configs: Sequence[Any]) -> str:
    """Who gives the ``unknown`` names, what the kernel has, and what may have been meant."""
    guilty = [config for config in configs if set(unknown) & set(config.kwargs)]
    source = f"config {_named(guilty)}" if guilty else "the call"
    near = [match for name in unknown for match in difflib.get_close_matches(name, arguments, n=1)]
    hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else "."
    return (
        f"{', '.join(unknown)}, given by {source}, is neither an argument ({', '.join(arguments)}) "
        f"nor a compile option{hint}"
    )


def _named(configs: Sequence[Any]) -> str:
    shown = ["{" + ", ".join(f"{name}={value!r}" for name, value in each.kwargs.items()) + "}" for each in configs]
    names = list(dict.fromkeys(shown))
    more = f" and {len(names) - SHOWN_CONFIGS} more" if len(names) > SHOWN_CONFIGS else ""
    return ", ".join(names[:SHOWN_CONFIGS]) + more
