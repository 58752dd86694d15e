"""``max_autotune``: given configs, each with every combination of the compile options that a kind of kernel has.

    @triton_ascend_tune.max_autotune(configs=[triton.Config({"BLOCK": 1024})], key=["n"], kernel_type="vector",
                                     num_stages=[1, 2])
    @triton.jit
    def kernel(...): ...

Names, signatures, sets and defaults are those of triton-ascend's later versions; where one of them is installed, these
functions take the place of its own. Unlike there a config with Triton's default ``num_stages`` is no error, a name that
is no option is warned of, and options that the installed backend does not have are left out.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton_ascend_tune.candidates import options

_log = logging.getLogger("triton_ascend_tune")

#: Option -> what is tried where a program lists nothing.
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "num_stages": (2,),
    "unit_flag": (False,),
    "limit_auto_multi_buffer_only_for_local_buffer": (False,),
    "limit_auto_multi_buffer_of_local_buffer": ("no-l0c",),
    "set_workspace_multibuffer": (2, 4),
    "enable_hivm_auto_cv_balance": (True,),
    "tile_mix_vector_loop": (2, 4),
    "tile_mix_cube_loop": (2, 4),
    "enable_ubuf_saving": (True,),
}
#: Kind of kernel -> its options besides ``multibuffer`` and ``multibuffer_mode``, which belong to all.
SETS: dict[str, tuple[str, ...]] = {
    "vector": ("num_stages", "enable_ubuf_saving"),
    "cube": ("num_stages", "unit_flag", "limit_auto_multi_buffer_of_local_buffer"),
    "mix": tuple(DEFAULTS),
}
_OF_ALL = ("multibuffer", "multibuffer_mode")
#: How programs call the kinds.
_KINDS = {"cube": "cube", "vector": "vector", "mix": "mix", "mixcv": "mix", "cv": "mix"}


def max_autotune(
    configs: Sequence[Any],
    key: Sequence[str],
    kernel_type: str = "mixcv",
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    **tuning_params: Any,
) -> Callable[[Any], Any]:
    """``triton.autotune`` with each of ``configs`` expanded by ``get_max_configs``.

    ``tuning_params``: lists of values by option, and what else the installed ``triton.autotune`` takes
    (``cache_results``, ``hints``, ...). ValueError: no config, an unknown kind, a list with an illegal value.
    """
    import triton

    if not configs:
        raise ValueError(
            "max_autotune: configs is empty; give at least one, or use triton.autotune(configs=[]), for which tiles "
            "and options are proposed"
        )
    passed_on = {
        name: tuning_params.pop(name)
        for name in list(tuning_params)
        if name in inspect.signature(triton.autotune).parameters
    }
    expanded = [each for config in configs for each in get_max_configs(config, kernel_type, **tuning_params)]
    decorate: Callable[[Any], Any] = triton.autotune(
        expanded,
        key,
        prune_configs_by=prune_configs_by,
        reset_to_zero=reset_to_zero,
        restore_value=restore_value,
        pre_hook=pre_hook,
        post_hook=post_hook,
        warmup=warmup,
        rep=rep,
        use_cuda_graph=use_cuda_graph,
        do_bench=do_bench,
        **passed_on,
    )
    return decorate


def get_max_configs(config: Any, kernel_type: str = "mixcv", **tuning_params: Any) -> list[Any]:
    """``config`` with every combination of the options of ``kernel_type`` ("vector", "cube"; "mixcv", "mix" or "cv").

    The values of an option are those listed, else the config's own, else the default. All else of the config is kept.
    """
    kind = _KINDS.get(kernel_type)
    if kind is None:
        raise ValueError(f"kernel_type is {kernel_type!r}; allowed: {', '.join(_KINDS)}")
    found = []
    lists = _lists(config, kind, tuning_params)
    joint = options.stages_count()
    seen = set()
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values))
        meant = options.effective(chosen, joint)
        if meant not in seen:
            seen.add(meant)
            found.append(with_settings(config, chosen))
    return found


def get_autotune_vector_config(**tuning_params: Any) -> list[Any]:
    """Configs without constexprs for a vector kernel; see ``get_max_configs``."""
    return _without_base("vector", tuning_params)


def get_autotune_cube_config(**tuning_params: Any) -> list[Any]:
    """Configs without constexprs for a cube kernel; see ``get_max_configs``."""
    return _without_base("cube", tuning_params)


def get_autotune_cv_config(**tuning_params: Any) -> list[Any]:
    """Configs without constexprs for a mixed kernel; see ``get_max_configs``."""
    return _without_base("mix", tuning_params)


def of_hint(kind: str) -> dict[str, tuple[Any, ...]]:
    """What the hint ``preset`` lists: as above, with and without multi-buffering, of what the backend has."""
    known = options.supported()
    lists = {"multibuffer": (True, False), **{name: DEFAULTS[name] for name in SETS[kind] if name != "num_stages"}}
    return {name: values for name, values in lists.items() if name in known}


def with_settings(config: Any, settings: Mapping[str, Any]) -> Any:
    """A copy of ``config`` with constexprs, compile options and ``num_stages`` set; all its other fields are kept."""
    changed = copy.copy(config)
    changed.kwargs = dict(config.kwargs)
    for name, value in settings.items():
        # The Config of triton-ascend 3.2.0 keeps options as attributes, which win over those in kwargs.
        if name in vars(changed) and (name == "num_stages" or vars(changed)[name] is not None):
            setattr(changed, name, value)
        else:
            changed.kwargs[name] = value
    return changed


def _without_base(kind: str, tuning_params: Mapping[str, Any]) -> list[Any]:
    from triton.runtime.autotuner import Config

    return get_max_configs(Config({}), kind, **tuning_params)


def _lists(config: Any, kind: str, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Option -> values to combine, of what the installed backend has."""
    checked = {name: options.checked(name, given[name]) for name in given if name in options.ALLOWED}
    if "num_stages" in checked and "multibuffer_mode" in checked:
        raise ValueError("num_stages and multibuffer_mode cannot be given together")
    for name in given:
        if name not in checked:
            _log.warning(
                "max_autotune: %r is no compile option, ignored; options: %s", name, ", ".join(options.ALLOWED)
            )
        elif name not in SETS[kind] and name not in _OF_ALL:
            _log.warning("max_autotune: option %r does not reach %s kernels, ignored", name, kind)
    own = config.all_kwargs()
    lists: dict[str, tuple[Any, ...]] = {}
    for name in (*_OF_ALL, *SETS[kind]):
        if name in checked:
            lists[name] = checked[name]
        elif own.get(name) in options.ALLOWED[name]:
            lists[name] = (own[name],)
        elif name in DEFAULTS and not (name == "num_stages" and "multibuffer_mode" in checked):
            lists[name] = DEFAULTS[name]
    known = options.supported()
    if "multibuffer" not in lists and "multibuffer" in known and not options.stages_count():
        # There multi-buffering is what num_stages says in later versions.
        lists["multibuffer"] = tuple(stages != 1 for stages in lists.get("num_stages", ()))
        lists.pop("num_stages", None)
    if missing := [name for name in checked if name in lists and name not in known]:
        _log.warning("max_autotune: the installed Triton has no %s; left out", ", ".join(missing))
    return {name: values for name, values in lists.items() if name in known and values}
