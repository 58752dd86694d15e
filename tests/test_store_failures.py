"""Failures that are remembered, in a process and on disk, and those that are tried again."""

from __future__ import annotations

import pytest
from store_fakes import TIMES, another_process, measured
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources
from tuning_fakes import World, add, add_kernel, blocks, triton, tuner, world  # noqa: F401

from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.values import Status


def test_a_failure_is_not_compiled_again_for_another_key(timed: World) -> None:
    """FR-03: what is compiled is the same for both keys."""
    timed.compile_errors[16] = CompilationError("def k(): ...", None, "ub overflow")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    add(tuned, n=64)
    add(tuned, n=128)
    assert timed.logged("compile").count(16) == 1
    failed = tuned.verdict.outcomes[0]
    assert (failed.status, failed.reason) == (Status.FAILED, "CompilationError: ub overflow")


def test_a_failure_is_compiled_again_where_what_is_compiled_differs(timed: World) -> None:
    timed.compile_errors[16] = CompilationError("def k(): ...", None, "too big")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), key=["n", "MODE"])
    for times, call in enumerate([{"n": 64}, {"n": 65}, {"n": 1}, {"MODE": 1}, {"num_warps": 8}], 1):
        add(tuned, **call)
        assert timed.logged("compile").count(16) == times


def test_a_failure_is_remembered_on_disk_with_its_reason(timed: World) -> None:
    timed.compile_errors[16] = CompilationError("def k(): ...", None, "too big")
    add(another_process(timed))
    timed.compile_errors.clear()
    tuned = another_process(timed)
    add(tuned)
    assert timed.log == [("compile", 32), ("launch", 32)]
    assert tuned.verdict.outcomes[0].reason == "CompilationError: too big"
    tuned = another_process(timed)
    add(tuned, n=128)
    assert 16 not in timed.logged("compile")


@pytest.mark.parametrize(
    "error",
    [RuntimeError("who knows"), OSError(28, "No space left on device"), CompilationError("", None, "timed out")],
)
def test_what_may_pass_is_tried_again(timed: World, error: Exception) -> None:
    """W-18: a full disk or a killed compiler does not stick."""
    timed.compile_errors[16] = error
    tuned = another_process(timed)
    add(tuned)
    assert tuned.verdict.outcomes[0].status is Status.FAILED
    timed.compile_errors.clear()
    tuned = another_process(timed)
    add(tuned)
    assert measured(timed) == {16}


def test_if_all_are_known_to_fail_they_are_tried_again(timed: World) -> None:
    timed.compile_errors = {size: CompilationError("", None, "too big") for size in TIMES}
    with pytest.raises(NoCandidateError):
        add(another_process(timed))
    timed.compile_errors = {}
    tuned = another_process(timed)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_a_hook_that_may_change_what_is_compiled_switches_the_memory_of_failures_off(timed: World) -> None:
    """FR-03: its last sentence."""
    timed.compile_errors[16] = CompilationError("", None, "too big")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), pre_hook=lambda arguments, reset_only=False: None)
    add(tuned, n=64)
    add(tuned, n=128)
    assert timed.logged("compile").count(16) > 1


def test_a_launch_that_failed_is_measured_again(timed: World) -> None:
    timed.launch_errors[16] = RuntimeError("fault")
    add(another_process(timed))
    timed.launch_errors.clear()
    add(another_process(timed))
    assert measured(timed) == {16}


def test_too_many_resources_is_remembered_wherever_it_shows(timed: World) -> None:
    timed.launch_errors[16] = OutOfResources(2, 1, "shared memory")
    tuned = another_process(timed)
    add(tuned)
    timed.launch_errors.clear()
    add(another_process(timed))
    assert timed.log == [("compile", 32), ("launch", 32)]


def test_heuristics_are_part_of_what_is_compiled(timed: World) -> None:
    mode = {"value": 0}
    kernel = triton.heuristics({"MODE": lambda _: mode["value"]})(add_kernel)
    timed.compile_errors[16] = CompilationError("", None, "too big")
    for value, compiled in ((0, 1), (1, 1), (1, 0)):
        mode["value"] = value
        timed.log.clear()
        tuned = tuner(timed, triton.heuristics(kernel.values)(triton.jit(add_kernel.fn)), blocks(16, 32, 64), jit=False)
        add(tuned)
        assert timed.logged("compile").count(16) == compiled
