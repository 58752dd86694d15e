"""Candidates that the installed triton-ascend generates itself, where its user asked for that.

The 3.2 wheel does so under ``hints={"enable_ascend_autotune": True}``: its ``AutoTilingTuner`` reads split and tiling
parameters off the kernel's source and proposes tiles, which join the user's own configs. Only its proposing is used
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MODULE = "triton.runtime.autotiling_tuner"


def generates(tuner_class: type) -> bool:
    """Whether tuners of this class propose candidates."""
    return any(cls.__module__ == _MODULE for cls in tuner_class.__mro__)


def propose(tuner: Any, named: Mapping[str, Any], call: Mapping[str, Any]) -> list[Any]:
    """Generated configs, then the user's, for one call. ValueError names what the generator cannot do without."""
    given = {**named, **call}
    arguments = {name: value for name, value in given.items() if name in tuner.arg_names}
    dtype = _widest_dtype(arguments)
    kernel = tuner.base_fn.__name__
    if dtype is None:
        if tuner.user_configs:
            return list(tuner.user_configs)
        raise ValueError(f"kernel {kernel}: candidates can only be generated for a call with tensors; give `configs`")
    missing = [name for name in tuner.arg_names if name not in given]
    tuner.input_ptr_nums = tuner.autoparse_ptr_nums(missing)
    # The parsers look at the kernel's source alone, so what they found stays true for every later call.
    tuner.low_dims = tuner.low_dims or tuner.autoparse_low_dims()
    tuner.split_params = tuner.split_params or tuner.autoparse_split_params(missing)
    missing = [name for name in missing if name not in tuner.split_params.values()]
    tuner.tiling_params = tuner.tiling_params or tuner.autoparse_tiling_params(missing)
    missing = [name for name in missing if name not in tuner.tiling_params.values()]
    if missing:
        raise ValueError(
            f"Missing required arguments: {missing}. Kernel {kernel} neither gets them nor lets them be "
            f"generated from its axes; pass them, or set them in `configs`."
        )
    sizes = {axis: arguments[name] for axis, name in tuner.keys.items() if name in arguments}
    return list(tuner._gen_tile_configs(sizes, dtype))


def _widest_dtype(arguments: Mapping[str, Any]) -> Any:
    """The dtype of most bytes; the last of equals, as the generator has it. None without a tensor."""
    from triton.runtime.utils import get_byte_per_numel

    widest = None
    for value in arguments.values():
        if hasattr(value, "dtype") and get_byte_per_numel(value.dtype) >= get_byte_per_numel(widest):
            widest = value.dtype
    return widest
