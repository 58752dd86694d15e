"""triton-ascend 3.2.0: no entry points, so the start-up hook; and its own second tuner is replaced too.

No device is needed: the tuners are only made. The wheel's second tuner asks the driver for core counts when it is
imported; a stand-in answers.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytestmark = pytest.mark.ascend

DRIVER = """
import triton
from types import SimpleNamespace
triton.runtime.driver.set_active(SimpleNamespace(
    get_current_target=lambda: SimpleNamespace(backend="npu", arch="Ascend910B2", warp_size=0),
    get_current_device=lambda: 0,
    utils=SimpleNamespace(get_device_properties=lambda device: {"num_aicore": 20})))
"""


def test_the_import_hook_is_the_way_in(run_program: Any) -> None:
    result = run_program(
        """
        import triton
        from triton_ascend_tune import activation
        state = activation.state()
        report([state.ways, state.replaced, state.problems])
        """
    )
    assert result == [["import hook"], ["triton.runtime.autotuner.Autotuner"], []]


@pytest.mark.parametrize(
    "imports", ["", "import triton.runtime.autotiling_tuner", "import triton_ascend_tune as t; t.install()"]
)
def test_the_tile_generating_tuner_is_replaced(imports: str, run_program: Any) -> None:
    result = run_program(
        DRIVER
        + imports
        + """
from triton.runtime import Autotuner
tuner = triton.autotune(configs=[], key=["n"], hints={"enable_ascend_autotune": True}, do_bench=bench)(
    FakeKernel(lambda x, n, BLOCK: None))
from triton.runtime.autotiling_tuner import AutoTilingTuner
classes = [isinstance(tuner, AutoTilingTuner), isinstance(tuner, Autotuner)]
report([is_ours(tuner), *classes, tuner.user_configs, tuner.keys])
"""
    )
    assert result == [True, True, True, [], {"x": "n"}]


def test_uninstall_also_gives_the_tile_generating_tuner_back(run_program: Any) -> None:
    result = run_program(
        DRIVER
        + """
import triton_ascend_tune
from triton.runtime.autotiling_tuner import AutoTilingTuner
wrapped = AutoTilingTuner.__init__
triton_ascend_tune.uninstall()
tuner = triton.autotune(configs=[], key=["n"], hints={"enable_ascend_autotune": True}, do_bench=bench)(
    FakeKernel(lambda x, n, BLOCK: None))
stock = AutoTilingTuner.__init__
report([type(tuner) is AutoTilingTuner, stock is not wrapped, wrapped.__wrapped__ is stock])
"""
    )
    assert result == [True, True, True]


def test_hints_are_the_third_positional_argument_as_in_the_wheel(run_program: Any) -> None:
    result = run_program(
        """
        import inspect, triton
        configs = [triton.Config({"BLOCK": 1}, multibuffer=False)]
        tuner = triton.autotune(configs, ["n"], {"enable_ascend_autotune": False}, do_bench=bench,
                                auto_profile_dir="profiles")(FakeKernel(lambda x, n, BLOCK: None))
        report([is_ours(tuner), tuner.auto_profile_dir, tuner.configs[0].multibuffer,
                list(inspect.signature(triton.autotune).parameters)[:4]])
        """
    )
    assert result == [True, "profiles", False, ["configs", "key", "hints", "prune_configs_by"]]


def test_a_subclass_that_passes_twelve_positional_arguments(run_program: Any) -> None:
    """As the wheel's own LibTuner does; importing that one needs torch_npu, so its constructor is played here."""
    result = run_program(
        """
        import warnings, triton
        class LibTuner(triton.runtime.Autotuner):
            def __init__(self, fn, arg_names, configs, key):
                super().__init__(fn, arg_names, configs, key, None, None, None, None, None, 25, 100, False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tuner = LibTuner(FakeKernel(lambda x, n: None), ["x", "n"], [triton.Config({})], ["n"])
        report([type(tuner) is LibTuner, is_ours(tuner), tuner.num_warmups, tuner.num_reps,
                [w.category.__name__ for w in caught]])
        """
    )
    assert result == [True, False, 25, 100, ["DeprecationWarning"]]


def test_decorating_needs_no_device(run_program: Any) -> None:
    """This Triton asks the driver for its benchmarker when the decorator runs; ours waits until it tunes."""
    program = inspect.cleandoc(
        """
        import triton, warnings
        warnings.simplefilter("ignore")
        try:
            triton.autotune(configs=[triton.Config({})], key=["n"])(FakeKernel(lambda x, n: None))
            report("no error")
        except Exception as error:
            report([type(error).__name__, str(error)])
        """
    )
    empty = {"PATH": "/nowhere"}
    assert run_program(program, env=empty) == "no error"
    assert "0 active drivers" in run_program(program, env={**empty, "TRITON_ASCEND_TUNE": "0"})[1]
