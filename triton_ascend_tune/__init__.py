"""Triton backend plugin that tunes stock ``@triton.autotune`` kernels on Ascend NPUs.

Nothing has to be imported or changed in a program: once installed, the package is found by Triton itself. The names
below are for programs that want to steer it. This module is imported at every start of the interpreter (by the
``.pth`` file), so it must stay free of imports; names are loaded when they are first asked for.
"""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without importing typing, which costs more than this whole module
if TYPE_CHECKING:
    from triton_ascend_tune.activation import install as install
    from triton_ascend_tune.activation import uninstall as uninstall
    from triton_ascend_tune.candidates.hints import hints as hints
    from triton_ascend_tune.candidates.presets import get_autotune_cube_config as get_autotune_cube_config
    from triton_ascend_tune.candidates.presets import get_autotune_cv_config as get_autotune_cv_config
    from triton_ascend_tune.candidates.presets import get_autotune_vector_config as get_autotune_vector_config
    from triton_ascend_tune.candidates.presets import get_max_configs as get_max_configs
    from triton_ascend_tune.candidates.presets import max_autotune as max_autotune
    from triton_ascend_tune.key_mapping import key_map as key_map
    from triton_ascend_tune.measure.bench import do_bench as do_bench
    from triton_ascend_tune.measure.bench_npu import do_bench_npu as do_bench_npu
    from triton_ascend_tune.program_options import options as options

__version__ = "0.1.0"

#: Public name -> the module that defines it.
_LAZY = {
    "install": "triton_ascend_tune.activation",
    "uninstall": "triton_ascend_tune.activation",
    "key_map": "triton_ascend_tune.key_mapping",
    "do_bench": "triton_ascend_tune.measure.bench",
    "do_bench_npu": "triton_ascend_tune.measure.bench_npu",
    "options": "triton_ascend_tune.program_options",
    "hints": "triton_ascend_tune.candidates.hints",
    "max_autotune": "triton_ascend_tune.candidates.presets",
    "get_max_configs": "triton_ascend_tune.candidates.presets",
    "get_autotune_vector_config": "triton_ascend_tune.candidates.presets",
    "get_autotune_cube_config": "triton_ascend_tune.candidates.presets",
    "get_autotune_cv_config": "triton_ascend_tune.candidates.presets",
}

__all__ = [
    "__version__",
    "do_bench",
    "do_bench_npu",
    "get_autotune_cube_config",
    "get_autotune_cv_config",
    "get_autotune_vector_config",
    "get_max_configs",
    "hints",
    "install",
    "key_map",
    "max_autotune",
    "options",
    "uninstall",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'triton_ascend_tune' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *_LAZY})
