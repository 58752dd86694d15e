"""``max_autotune`` and its relatives: how many configs, which values, what is kept, refused and warned of."""

from __future__ import annotations

import inspect
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from tuning_fakes import World, copy_kernel, triton, vectors, world  # noqa: F401

import triton_ascend_tune
from triton_ascend_tune.candidates import options, presets

#: What the backends after 3.2.0 have: there num_stages is another name of multi-buffering.
LATER = frozenset(options.ALLOWED)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "supported", lambda: LATER)
    monkeypatch.setattr(options, "stages_count", lambda: True)


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend of triton-ascend 3.2.0."""
    monkeypatch.setattr(options, "supported", lambda: LATER - {"enable_ubuf_saving", "multibuffer_mode"})
    monkeypatch.setattr(options, "stages_count", lambda: False)


def settings(config: Any) -> dict[str, Any]:
    return {name: value for name, value in config.all_kwargs().items() if name in options.ALLOWED}


def test_the_names_are_found_in_the_package_with_the_vendors_signature() -> None:
    names = list(inspect.signature(triton_ascend_tune.max_autotune).parameters)
    assert names == [
        *("configs", "key", "kernel_type", "prune_configs_by", "reset_to_zero", "restore_value", "pre_hook"),
        *("post_hook", "warmup", "rep", "use_cuda_graph", "do_bench", "tuning_params"),
    ]
    assert triton_ascend_tune.get_max_configs is presets.get_max_configs


@pytest.mark.usefixtures("later")
def test_each_kind_has_the_vendors_number_of_configs() -> None:
    assert len(triton_ascend_tune.get_autotune_vector_config()) == 1
    assert len(triton_ascend_tune.get_autotune_cube_config()) == 1
    assert len(triton_ascend_tune.get_autotune_cv_config()) == 8
    bases = [triton.Config({"BLOCK": size}, num_stages=2) for size in (32, 64)]
    lists = {"enable_hivm_auto_cv_balance": [True, False], "tile_mix_vector_loop": [2, 4]}
    found = [each for base in bases for each in presets.get_max_configs(base, "mixcv", **lists)]
    assert len(found) == 32
    assert len({tuple(sorted(config.all_kwargs().items(), key=str)) for config in found}) == 32


@pytest.mark.usefixtures("later")
def test_values_come_from_the_call_else_the_config_else_the_default() -> None:
    base = triton.Config({"BLOCK": 32, "unit_flag": True}, num_warps=8, num_stages=1, pre_hook=print)
    (found,) = presets.get_max_configs(base, "cube", limit_auto_multi_buffer_of_local_buffer=["no-limit"])
    assert settings(found) == {
        "unit_flag": True,
        "limit_auto_multi_buffer_of_local_buffer": "no-limit",
        "num_stages": 1,
    }
    assert (found.kwargs["BLOCK"], found.num_warps, found.pre_hook) == (32, 8, print)
    assert base.kwargs == {"BLOCK": 32, "unit_flag": True}


@pytest.mark.usefixtures("later")
def test_a_config_with_tritons_default_stages_is_no_error() -> None:
    (found,) = presets.get_max_configs(triton.Config({}, num_stages=3), "vector")
    assert found.num_stages == 2


@pytest.mark.usefixtures("later")
def test_stages_and_multibuffering_that_say_the_same_are_one_config() -> None:
    found = presets.get_max_configs(triton.Config({}), "vector", num_stages=[1, 2], multibuffer=[True, False])
    assert len(found) == 2


@pytest.mark.usefixtures("later")
def test_modes_of_multibuffering_are_checked_and_hashable() -> None:
    (found,) = presets.get_max_configs(triton.Config({}), "cube", multibuffer_mode=[{"b": 2, "a": 3}])
    assert found.kwargs["multibuffer_mode"] == (("a", 3), ("b", 2))
    for bad in ([{}], [{"a": True}], [{1: 2}], ["a"], [3]):
        with pytest.raises(ValueError, match="multibuffer_mode"):
            presets.get_max_configs(triton.Config({}), "cube", multibuffer_mode=bad)
    with pytest.raises(ValueError, match="num_stages and multibuffer_mode"):
        presets.get_max_configs(triton.Config({}), "cube", multibuffer_mode=[{"a": 2}], num_stages=[2])


@pytest.mark.usefixtures("wheel")
def test_where_stages_mean_nothing_they_are_said_as_multibuffering() -> None:
    found = presets.get_max_configs(triton.Config({"BLOCK": 1}), "vector", num_stages=[1, 2])
    assert [config.kwargs["multibuffer"] for config in found] == [False, True]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"kernel_type": "warp"}, "kernel_type is 'warp'; allowed: cube, vector, mix, mixcv, cv"),
        ({"num_stages": [3]}, "Invalid value for 'num_stages': 3; allowed: 1, 2"),
        ({"num_stages": 2}, "'num_stages' must be a non-empty list/tuple"),
        ({"unit_flag": [1]}, "Invalid value for 'unit_flag': 1; allowed: True, False"),
    ],
)
def test_what_is_refused_is_named_with_its_value_and_what_is_allowed(call: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        presets.get_max_configs(triton.Config({}), **call)


def test_no_config_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(ValueError, match=r"configs is empty.*triton.autotune\(configs=\[\]\)"):
        triton_ascend_tune.max_autotune(configs=[], key=["n"])


@pytest.mark.usefixtures("wheel")
def test_what_has_no_effect_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        presets.get_max_configs(
            triton.Config({}), "vector", unit_flags=[True], unit_flag=[True], enable_ubuf_saving=[True]
        )
    said = [record.getMessage() for record in caplog.records]
    assert "'unit_flags' is no compile option" in said[0]
    assert "'unit_flag' does not reach vector kernels" in said[1]
    assert "the installed Triton has no enable_ubuf_saving" in said[2]


def test_a_decorated_kernel_is_tuned_over_the_expanded_configs(world: World, monkeypatch: Any) -> None:  # noqa: F811
    """On a backend without the options the given configs are left, so that a program runs anywhere."""
    seen: dict[str, Any] = {}

    def autotune(configs: Any, key: Any, prune_configs_by: Any = None, cache_results: bool = False, **rest: Any) -> Any:
        seen.update(configs=configs, key=key, cache_results=cache_results, pruning=prune_configs_by, rest=rest)
        return lambda fn: fn

    monkeypatch.setattr(triton, "autotune", autotune)
    monkeypatch.setattr(options, "supported", frozenset)
    given = [triton.Config({"BLOCK": size}) for size in (256, 512)]
    decorate = triton_ascend_tune.max_autotune(
        given,
        ["n"],
        "vector",
        num_stages=[1, 2],
        cache_results=True,
        prune_configs_by={"top_k": 1},
        reset_to_zero=["y"],
    )
    assert decorate(copy_kernel) is copy_kernel
    assert [config.kwargs for config in seen["configs"]] == [{"BLOCK": 256}, {"BLOCK": 512}]
    assert seen["key"] == ["n"] and seen["cache_results"] and seen["pruning"] == {"top_k": 1}
    assert seen["rest"]["reset_to_zero"] == ["y"]


def test_the_installed_autotune_takes_what_it_is_given() -> None:
    """Positionally as triton-ascend's, and again without options of any backend."""
    tuned = triton_ascend_tune.max_autotune([triton.Config({"BLOCK": 64})], ["n"], "mixcv", None, ["dst"])(copy_kernel)
    assert isinstance(tuned, triton.runtime.Autotuner)
    assert tuned.configs and all(config.kwargs["BLOCK"] == 64 for config in tuned.configs)
    assert tuned.reset_to_zero == ["dst"]


def test_a_preset_lists_what_its_options_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "supported", lambda: LATER)
    assert presets.of_hint("vector") == {"multibuffer": (True, False), "enable_ubuf_saving": (True,)}
    assert set(presets.of_hint("mix")) == {*presets.SETS["mix"], "multibuffer"} - {"num_stages"}
    assert SimpleNamespace(**presets.of_hint("cube")).unit_flag == (False,)
