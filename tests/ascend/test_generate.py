"""Candidates from the generator of the triton-ascend 3.2.0 wheel, tuned by us."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tuning_fakes import FakeDriver, World, blocks, copy_kernel, torch, triton, vectors, world  # noqa: F401
from tuning_fakes import tuner as make_tuner

pytestmark = pytest.mark.ascend


@pytest.fixture
def generating(world: World, monkeypatch: Any) -> Any:  # noqa: F811
    """``make(kernel, configs, key)`` gives our tuner over the wheel's generating class, for 40 vector cores."""
    properties = {"num_aicore": 40, "num_vectorcore": 40, "max_shared_mem": 192 * 1024}
    utils = SimpleNamespace(get_device_properties=lambda device: properties)
    monkeypatch.setattr(FakeDriver, "utils", utils, raising=False)
    for module in ("autotiling_tuner", "utils", "tile_generator"):  # they ask the driver when they are imported
        monkeypatch.delitem(sys.modules, f"triton.runtime.{module}", raising=False)
    world.times = lambda settings: abs(settings["BLOCK"] - 1000) + 1.0

    def make(configs: Any, key: Any = ("n",), **options: Any) -> Any:
        from triton.runtime.autotiling_tuner import AutoTilingTuner

        from triton_ascend_tune.classes import make_tuner_class

        return make_tuner(world, copy_kernel, configs, list(key), cls=make_tuner_class(AutoTilingTuner), **options)

    return make


def call(tuned: Any, n: int = 100_000) -> Any:
    x, y, _ = vectors()
    return tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)


def test_tiles_are_generated_measured_and_chosen_from(generating: Any, world: World) -> None:  # noqa: F811
    tuned = generating([])
    kernel = call(tuned)
    tried = {outcome.candidate.config.kwargs["BLOCK"] for outcome in tuned.verdict.outcomes}
    assert len(tried) > 1
    assert kernel.settings["BLOCK"] == min(tried, key=lambda block: abs(block - 1000))
    world.log.clear()
    call(tuned)
    assert len(world.log) == 1  # a hit generates nothing


def test_the_users_own_configs_take_part(generating: Any) -> None:
    tuned = generating(blocks(1000))
    call(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 1000}
    assert tuned.configs[-1] is tuned.user_configs[0]


def test_without_tensors_and_configs_the_missing_configs_are_named(generating: Any) -> None:
    with pytest.raises(ValueError, match="give `configs`"):
        generating([])[(1,)](1, 2, 3)


def test_an_argument_that_cannot_be_generated_is_named(generating: Any) -> None:
    x, _, _ = vectors()
    with pytest.raises(ValueError, match=r"Missing required arguments: \['dst'\].*`configs`"):
        generating([])[(1,)](x, n=5)


def test_the_class_stays_the_wheels(generating: Any) -> None:
    from triton.runtime.autotiling_tuner import AutoTilingTuner

    tuned = generating([])
    assert isinstance(tuned, AutoTilingTuner)
    assert tuned.keys == {"x": "n"}
    assert torch.float32 is not None
