"""Behaviour that differs between Triton versions, row by row: ours is that of Triton 3.9 or of the installed one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources
from tuning_fakes import HAS_KNOBS, TIMES, World, add, add_kernel, blocks, triton, tuner, vectors

from triton_ascend_tune.failures import NoCandidateError

CHECKS_NAMES = HAS_KNOBS and tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9)


@pytest.mark.parametrize("option", ["key", "reset_to_zero", "restore_value"])
def test_a_typo_in_a_list_of_names(timed: World, option: str) -> None:
    if CHECKS_NAMES:
        with pytest.raises(ValueError, match="typo"):
            tuner(timed, add_kernel, blocks(16, 32), **{option: ["typo"]})
        return
    tuned = tuner(timed, add_kernel, blocks(16, 32), **{option: ["typo"]})
    if option == "key":
        add(tuned)
        add(tuned, n=128)
        assert len(tuned.cache) == 1  # ignored, as in stock, with a warning
    else:
        with pytest.raises(KeyError, match="typo"):
            add(tuned)


def test_key_none(timed: World) -> None:
    if CHECKS_NAMES:
        with pytest.raises(TypeError):
            tuner(timed, add_kernel, blocks(16, 32), key=None)
    else:
        add(tuner(timed, add_kernel, blocks(16, 32), key=None))


@pytest.mark.parametrize("key", [[], (), ("n",), ["x_ptr", "y_ptr", "out_ptr", "n", "bias", "BLOCK", "MODE"]])
def test_any_sequence_of_names_of_any_length(timed: World, key: Any) -> None:
    add(tuner(timed, add_kernel, blocks(16, 32), key=key))


@pytest.mark.parametrize(
    "error",
    [
        OutOfResources(2, 1, "shared memory"),
        CompileTimeAssertionFailure("def k(): ...", None, "static_assert"),
        CompilationError("def k(): ...", None, "bad"),
        RuntimeError("PassManager::run failed"),
        type("PTXASError", (triton.TritonError if hasattr(triton, "TritonError") else Exception,), {})("ptxas"),
    ],
)
@pytest.mark.parametrize("where", ["compile_errors", "launch_errors"])
def test_a_failure_of_one_candidate_is_scored_infinite(timed: World, error: Exception, where: str) -> None:
    getattr(timed, where)[32] = error
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    assert tuned.configs_timings[tuned.configs[1]] == [math.inf] * 3


def test_all_failed_raises_and_caches_nothing(timed: World) -> None:
    timed.launch_errors = dict.fromkeys(TIMES, OutOfResources(2, 1, "shared memory"))
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    for _ in range(2):
        with pytest.raises(NoCandidateError) as caught:
            add(tuned)
        assert isinstance(caught.value.__cause__, OutOfResources)
    assert tuned.cache == {}


def test_nan_never_wins(timed: World) -> None:
    timed.times = {16: math.nan, 32: 2.0, 64: math.nan}
    tuned = tuner(timed, add_kernel, blocks(*TIMES), do_bench=timed.bench)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_scalars_and_sequences_of_a_users_timer_stand_side_by_side(timed: World) -> None:
    """FR-68."""

    def bench(call: Any, quantiles: Any) -> Any:
        call()
        return timed.time() if timed.last["BLOCK"] == 16 else [timed.time()] * 3

    timed.launch_errors[64] = OutOfResources(2, 1, "shared memory")
    tuned = tuner(timed, add_kernel, blocks(*TIMES), do_bench=bench)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_a_config_equal_to_another_is_chosen_by_place(timed: World) -> None:
    timed.times = {16: 1.0}
    tuned = tuner(timed, add_kernel, blocks(16, 16))
    add(tuned)
    assert tuned.best_config is tuned.configs[0]


def test_unhashable_settings_in_a_config_still_tune(timed: World) -> None:
    configs = blocks(16, 32)
    for config in configs:
        config.kwargs["MODE"] = [1]
    timed.times = {16: 2.0, 32: 1.0}
    tuned = tuner(timed, add_kernel, configs)
    x, y, out = vectors()
    tuned.fn.run = lambda *args, **keywords: timed.last.update(BLOCK=keywords["BLOCK"])
    tuned[(4,)](x, y, out, 64)
    assert tuned.best_config is configs[1]
