"""Launches of kernels that may not be tuned: what is stored, what the program names, or what works."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tuning_fakes import TIMES, World, add, add_kernel, blocks, triton, tuner, world  # noqa: F401

import triton_ascend_tune


@pytest.fixture(params=["environment", "block", "kernel"])
def untuned(request: Any, timed: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a tuner that may not measure, and a function that launches it: in each way of saying so."""

    def make(*args: Any, **options: Any) -> Any:
        made = tuner(timed, add_kernel, *args, **options)
        if request.param == "environment":
            monkeypatch.setenv("TRITON_ASCEND_TUNE_MEASURE", "0")
        elif request.param == "kernel":
            triton_ascend_tune.options(measure=False)(made)

        def launch(**call: Any) -> Any:
            if request.param != "block":
                return add(made, **call)
            with triton_ascend_tune.options(measure=False):
                return add(made, **call)

        return made, launch

    return make


def test_the_first_that_compiles_is_launched_and_kept(untuned: Any, timed: World) -> None:
    """FR-57, FR-58: no measurement happens."""
    timed.compile_errors = {16: RuntimeError("no")}
    made, launch = untuned(blocks(16, 32, 64))
    assert launch().settings["BLOCK"] == 32
    assert timed.logged("compile") == [16, 32] and timed.logged("launch") == [32]
    assert launch().settings["BLOCK"] == 32 and timed.logged("compile") == [16, 32]
    assert made.best_config is made.configs[1] and not hasattr(made, "bench_time") and made.nargs is None


def test_what_is_stored_comes_first(untuned: Any, timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """FR-57: a server launches what an earlier process has tuned."""
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    add(tuner(timed, add_kernel, blocks(16, 32, 64)))
    timed.log.clear()
    made, launch = untuned(blocks(16, 32, 64))
    triton_ascend_tune.options(fallback=triton.Config({"BLOCK": 128}))(made)
    assert launch().settings["BLOCK"] == 32
    assert launch(n=128).settings["BLOCK"] == 128  # nothing is stored for this one
    assert timed.logged("launch") == [32, 128]


def test_of_some_that_are_stored_the_best(untuned: Any, timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    add(tuner(timed, add_kernel, blocks(16, 64)))
    timed.log.clear()
    _, launch = untuned(blocks(16, 32, 64))
    assert launch().settings["BLOCK"] == 64 and timed.logged("launch") == [64]


def test_the_programs_choice_comes_before_chance(untuned: Any, timed: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "triton_ascend_tune")
    made, launch = untuned(blocks(16, 32))
    triton_ascend_tune.options(fallback=triton.Config({"BLOCK": 64}))(made)
    assert launch().settings["BLOCK"] == 64
    assert timed.logged("compile") == [64] and "nothing is measured; launched with BLOCK: 64" in caplog.text


def test_where_nothing_compiles_the_first_says_why(untuned: Any, timed: World) -> None:
    timed.compile_errors = dict.fromkeys(TIMES, RuntimeError("no such instruction"))
    made, launch = untuned(blocks(*TIMES))
    with pytest.raises(RuntimeError, match="no such instruction"):
        launch()
    assert made.nargs is None


def test_what_is_nearer_to_the_kernel_holds(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_MEASURE", "0")
    made = triton_ascend_tune.options(measure=True)(tuner(timed, add_kernel, blocks(*TIMES)))
    assert add(made).settings["BLOCK"] == 32


def test_senseless_values_are_named(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="options: measure is 'no'; allowed: True, False"):
        triton_ascend_tune.options(measure="no")
    monkeypatch.setenv("TRITON_ASCEND_TUNE_MEASURE", "maybe")
    with pytest.raises(ValueError, match="TRITON_ASCEND_TUNE_MEASURE is 'maybe'; allowed"):
        add(tuner(timed, add_kernel, blocks(16, 32)))
