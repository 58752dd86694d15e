"""What a tuner prepares once: where it acts, and that a hit asks nothing of the environment."""

from __future__ import annotations

from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, driver, tuner, world  # noqa: F401

from triton_ascend_tune import settings
from triton_ascend_tune.plan import Plan


def plan(kernel: Any = add_kernel, keys: Any = ("n",)) -> Plan:
    return Plan(keys, kernel.fn, kernel.arg_names, kernel)


def test_a_place_names_target_and_device(world: World) -> None:  # noqa: F811
    world.device = 3
    place = plan().place()
    assert place is not None
    assert (place.device, place.target, place.label) == (3, "npu:Ascend910B3", "npu:Ascend910B3:3")


@pytest.mark.parametrize(("variable", "value"), [("TRITON_ASCEND_TUNE", "0"), ("TRITON_INTERPRET", "1")])
def test_switched_off_it_acts_nowhere(world: World, monkeypatch: Any, variable: str, value: str) -> None:  # noqa: F811
    monkeypatch.setenv(variable, value)
    assert plan().place() is None


def test_a_target_counts_if_the_user_names_it(world: World, monkeypatch: Any) -> None:  # noqa: F811
    world.target, world.arch = "cuda", "90"
    assert plan().place() is None
    monkeypatch.setenv("TRITON_ASCEND_TUNE_TARGETS", "npu,cuda")
    place = plan().place()
    assert place is not None and place.target == "cuda:90"


def test_without_a_driver_it_acts_nowhere(world: World) -> None:  # noqa: F811
    class Nothing:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("0 active drivers")

    driver.set_active(Nothing())
    assert plan().place() is None


def test_a_hit_reads_no_settings(world: World, monkeypatch: Any) -> None:  # noqa: F811
    world.times = {16: 1.0, 32: 2.0}
    tuned, single = tuner(world, add_kernel, blocks(16, 32)), tuner(world, add_kernel, blocks(16))
    add(tuned)
    add(single)
    monkeypatch.setattr(settings, "_read", lambda variable: 1 / 0)
    monkeypatch.setattr(settings, "_knob", lambda group, name: 1 / 0)
    add(tuned)
    add(single)


def test_axes_of_the_generating_tuner_name_arguments() -> None:
    assert plan(keys={"x": "n", "y": "MODE"}).names == ("n", "MODE")
    assert plan(keys=None).names == ()


def test_what_a_launch_must_give_a_value_to() -> None:
    assert plan().required() == ["x_ptr", "y_ptr", "out_ptr", "n"]
