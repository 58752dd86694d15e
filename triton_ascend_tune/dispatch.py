"""The hit path as the general path sees it: which calls may be answered without it, and what has to be known of them.

The native ``Hits`` (csrc/hit_launch.h) answers a call that it has been taught: it builds a key of values, dtype objects
and the device, looks it up, and launches with the winner's settings as they were merged once. It is taught a call here,
after the general path has launched it; the general path stays the reference, and takes every call that

* is of a kernel with ``*args``, or with a ``key_map`` that is a user's own function;
* passes a tensor or something unhashable for a name in ``key``, or a compile option that is no int, bool, str or None;
* has a winner with a pre-hook, or one that is no plain ``triton.Config``;
* has over 126 arguments, or is the seventeenth way of calling one kernel (so many positional, such keywords);
* finds anything changed since: the driver, ``keys``, ``configs``, ``cache``, the winner's own settings.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from triton_ascend_tune.key import Key
from triton_ascend_tune.key_mapping import is_pure
from triton_ascend_tune.launch import LAUNCH_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.plan import Place, Plan

_log = logging.getLogger("triton_ascend_tune")

# What of an argument is in a key: ``Source`` in csrc/hit_key.h.
DTYPE, VALUE, CONSTEXPR, INTEGER, OPTION = range(5)
# What must hold of ``configs``: ``Rule`` in csrc/hit_launch.h. Candidates that we propose come and go without effect on
# a winner.
ANY, SEVERAL, LONE = range(3)

#: Keys of hits may be more than winners, where values are mapped; so many more, and four for each winner.
SPARE_HITS = 1024


def learn(
    tuner: Any, plan: Plan, place: Place, call: tuple[tuple[Any, ...], dict[str, Any]], key: Key, config: Any, rule: int
) -> None:
    """Makes a call that was just launched with ``config`` a hit from now on, if it can be one."""
    if config.pre_hook is not None or not plan.can_hit:
        return
    if plan.hits is None or plan.lone != (rule == LONE):
        _open(tuner, plan, rule == LONE)
        if plan.hits is None:
            return
    args, keywords = call
    plan.hits.learn(
        args,
        keywords,
        place.device,
        SPARE_HITS + 4 * len(tuner.cache),
        lambda: _parts(plan, len(args), keywords, rule),
        lambda: _hit(key, config, keywords, rule),
    )


def _open(tuner: Any, plan: Plan, lone: bool) -> None:
    """Gives ``plan`` new hits, for its driver as it is now."""
    from triton_ascend_tune.autotuner import Tuner

    try:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            raise ImportError("it needs the GIL, which PYTHON_GIL=0 keeps off")
        from triton_ascend_tune._native import Hits
    except ImportError as error:
        _log.info("no native hit path, every launch takes the general one: %s", error)
        plan.can_hit = False
        return
    active = plan.driver.active
    hits = Hits(plan.driver, active, current_device(active), plan.keys, Tuner.run, tuner.stock.__getitem__)
    hits.touch = plan.recency.touch if plan.recency is not None else None
    plan.hits, plan.lone = hits, lone


def current_device(active: Any) -> Callable[[], int]:
    """A driver's ``get_current_device``, without what torch wraps around it to initialise the device first.

    A hit comes after a launch, so that is done.
    """
    given: Callable[[], int] = active.get_current_device
    native: Callable[[], int] | None = None
    torch, torch_npu = sys.modules.get("torch"), sys.modules.get("torch_npu")
    if torch is not None and given is torch.cuda.current_device:
        native = getattr(torch._C, "_cuda_getDevice", None)
    elif torch_npu is not None and getattr(given, "__qualname__", "").endswith("NPUDriver.get_current_device"):
        native = getattr(torch_npu._C, "_npu_getDevice", None)
    return native or given


def can_hit(plan: Plan) -> bool:
    """Whether the calls of a kernel can be told apart without the general path."""
    parameters = {parameter.name: parameter.kind for parameter in plan.parameters}
    ordinary = inspect.Parameter.VAR_POSITIONAL not in parameters.values() and parameters.keys().isdisjoint(LAUNCH_ONLY)
    return ordinary and all(is_pure(mapped) for mapped in plan.maps.values())


def _parts(plan: Plan, positional: int, keywords: Mapping[str, Any], rule: int) -> tuple[tuple[int, int], ...]:
    """Which arguments of a call are in its key, by place, and as what."""
    parameters = {parameter.name: parameter for parameter in plan.parameters}
    parts: list[tuple[int, int]] = []
    for place, name in enumerate([*list(parameters)[:positional], *_passed(keywords)]):
        parameter = parameters.get(name)
        if parameter is None:
            parts += [(place, OPTION)] if name not in LAUNCH_ONLY else []
            continue
        if name in plan.names:
            parts.append((place, INTEGER if name in plan.maps else CONSTEXPR if parameter.constexpr else VALUE))
        if not parameter.constexpr:
            parts.append((place, DTYPE))
    return () if rule == LONE else tuple(parts)


def _hit(key: Key, config: Any, keywords: Mapping[str, Any], rule: int) -> tuple[Any, ...] | None:
    """What ``Hits`` needs to launch with ``config`` and to see that it is still the same: ``Field`` in hit_launch.h."""
    from triton.runtime.autotuner import Config

    attributes = getattr(config, "__dict__", {"all_kwargs": None})
    plain = getattr(type(config), "all_kwargs", None) is Config.all_kwargs and "all_kwargs" not in attributes
    if not plain or type(config.kwargs) is not dict:
        return None
    passed = _passed(keywords)
    settings = {name: value for name, value in config.all_kwargs().items() if name not in keywords}
    names = (*passed, "grid", "warmup", *settings)
    return key, config, _flat(attributes), config.kwargs, _flat(config.kwargs), names, tuple(settings.values()), rule


def _passed(keywords: Mapping[str, Any]) -> list[str]:
    return [name for name in keywords if name not in ("grid", "warmup")]


def _flat(mapping: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(each for item in mapping.items() for each in item)
