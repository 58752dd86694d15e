"""Signatures, and every argument through decorator and class."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import pytest
from tuning_fakes import Autotuner, StockTuner, World, add_kernel, blocks, fresh, triton

from triton_ascend_tune.classes import make_tuner_class

VALUES: dict[str, Any] = {
    "prune_configs_by": {"top_k": 1},
    "reset_to_zero": ["out_ptr"],
    "restore_value": ["x_ptr"],
    "pre_hook": lambda a, reset_only=False: None,
    "post_hook": lambda a, exception: None,
    "warmup": 5,
    "rep": 10,
    "use_cuda_graph": True,
    "do_bench": lambda call, quantiles: 1.0,
    "cache_results": True,
    "auto_profile_dir": "/nowhere",
}
CONSTRUCTOR = inspect.signature(StockTuner.__init__)
OPTIONAL = [name for name in CONSTRUCTOR.parameters if name in VALUES]


def test_the_constructors_signature_is_the_installed_ones() -> None:
    """FR-63."""
    assert inspect.signature(make_tuner_class(Autotuner)) == inspect.signature(StockTuner)
    assert inspect.signature(make_tuner_class(Autotuner).run).parameters.keys() == {"self", "args", "kwargs"}


@pytest.mark.parametrize("name", OPTIONAL)
def test_every_argument_has_the_effect_on_the_attributes_that_it_has_in_stock(world: World, name: str) -> None:
    shown = []
    for cls in (StockTuner, make_tuner_class(Autotuner)):
        arguments = {"reset_to_zero": None, "restore_value": None, name: VALUES[name]}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = cls(fresh(add_kernel), add_kernel.arg_names, blocks(16, 32), ["n"], **arguments)
        ignored = ("fn", "_do_bench", "do_bench", "configs", "_tune_request")
        attributes = {k: v for k, v in vars(made).items() if k not in ignored}
        described = {k: getattr(v, "__qualname__", v) if callable(v) else v for k, v in attributes.items()}
        shown.append((described, [warning.category for warning in caught]))
    assert shown[0] == shown[1]


def test_thirteen_positional_arguments(world: World) -> None:
    made = make_tuner_class(Autotuner)(
        fresh(add_kernel), add_kernel.arg_names, blocks(16, 32), ["n"], ["out_ptr"], ["x_ptr"], None, None,
        {"top_k": 0.5}, None, None, False, world.bench,
    )  # fmt: skip
    assert (made.reset_to_zero, made.restore_value, made.configs_top_k) == (["out_ptr"], ["x_ptr"], 0.5)
    assert made.do_bench == world.bench


def test_attributes_that_programs_read(world: World) -> None:
    made = make_tuner_class(Autotuner)(fresh(add_kernel), add_kernel.arg_names, blocks(16, 32), ["n"], None, None)
    assert isinstance(made, triton.runtime.Autotuner)
    assert made.base_fn is add_kernel.fn
    assert (made.keys, made.cache, made.arg_names) == (["n"], {}, add_kernel.arg_names)
    # torch.compile takes a kernel only if these are literally False.
    assert made.user_defined_pre_hook is False and made.user_defined_post_hook is False and made.use_cuda_graph is False
    assert (made.perf_model, made.early_config_prune, made.configs_top_k) == (None, None, 1.0)
    assert not any(name in vars(made) for name in ("best_config", "configs_timings", "bench_time"))


def test_neither_torch_nor_triton_is_imported_with_the_module(run_program: Any) -> None:
    loaded = run_program(
        "import triton_ascend_tune.autotuner\nreport(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    assert loaded == []
    assert "torch" in sys.modules  # so that the program above had something to prove
