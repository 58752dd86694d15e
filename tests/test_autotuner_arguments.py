"""What a call passes and what becomes of it in a tuning: tensors, options, hooks, the grid."""

from __future__ import annotations

from typing import Any

import pytest
from tuning_fakes import TIMES, World, add, add_kernel, blocks, torch, tuner, vectors, world  # noqa: F401

# --- tensors ---------------------------------------------------------------------------------------------------------


def test_an_in_place_kernel_is_applied_once(timed: World) -> None:
    """FR-19."""
    x, y, out = vectors()
    out += 5
    timed.effect = lambda tensors: (tensors[0].mul_(2), tensors[2].add_(1))
    tuned = tuner(timed, add_kernel, blocks(16, 32), restore_value=["x_ptr"], reset_to_zero=["out_ptr"])
    tuned[(4,)](x, y, out, 64)
    assert torch.equal(x, torch.full((64,), 2.0))
    assert torch.equal(out, torch.ones(64))  # zeroed once more before the launch that counts


def test_optional_tensors_may_be_none_or_passed_by_name(timed: World) -> None:
    """FR-20, FR-22."""
    x, y, out = vectors()
    timed.effect = lambda tensors: tensors[0].mul_(2)
    tuned = tuner(timed, add_kernel, blocks(16, 32), restore_value=["x_ptr", "bias"], reset_to_zero=["bias"])
    tuned[(4,)](y_ptr=y, out_ptr=out, x_ptr=x, n=64, bias=None)
    assert torch.equal(x, torch.full((64,), 2.0))


# --- options ---------------------------------------------------------------------------------------------------------


def test_a_compile_option_of_the_call_holds_in_compile_measurement_and_launch(timed: World) -> None:
    """FR-06."""
    seen = []
    timed.times = lambda settings: seen.append(settings["num_warps"]) or TIMES[settings["BLOCK"]]
    tuned = tuner(timed, add_kernel, blocks(16, 32, num_warps=4))
    assert add(tuned, num_warps=8).settings["num_warps"] == 8
    assert set(seen) == {8}
    assert add(tuned).settings["num_warps"] == 4


@pytest.mark.parametrize("count", [1, 2])
def test_an_argument_in_call_and_config_is_a_conflict(timed: World, count: int) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32)[:count])
    with pytest.raises(TypeError if count == 1 else ValueError, match="BLOCK"):
        add(tuned, BLOCK=8)


def test_a_config_pre_hook_runs_before_compiling_and_before_every_launch(timed: World) -> None:
    def hook(arguments: dict[str, Any]) -> None:
        timed.log.append(("hook", arguments["BLOCK"]))

    tuned = tuner(timed, add_kernel, [*blocks(16, pre_hook=hook), *blocks(32)])
    timed.times = {16: 1.0, 32: 2.0}
    add(tuned)
    assert timed.log[0] == ("compile", 32)  # the one with a hook, which may change its arguments, waits for it
    assert timed.log[1:4] == [("hook", 16), ("compile", 16), ("launch", 16)]
    timed.log.clear()
    add(tuned)
    assert timed.log == [("hook", 16), ("launch", 16)]


def test_a_users_pre_hook_runs_before_anything_is_compiled(timed: World) -> None:
    def hook(arguments: dict[str, Any], reset_only: bool = False) -> None:
        timed.log.append(("hook", arguments["BLOCK"]))

    add(tuner(timed, add_kernel, blocks(16, 32), pre_hook=hook))
    assert timed.log[0] == ("hook", 16)
    assert timed.logged("compile") == [16, 32]


# --- what the caller's own code raises -------------------------------------------------------------------------------


def test_a_hook_that_raises_ends_the_tuning_with_its_own_error(timed: World) -> None:
    def hook(arguments: Any, reset_only: bool = False) -> None:
        raise ZeroDivisionError("bug in the hook")

    tuned = tuner(timed, add_kernel, blocks(16, 32), pre_hook=hook)
    with pytest.raises(ZeroDivisionError, match="bug in the hook"):
        add(tuned)
    assert tuned.cache == {} and tuned.nargs is None


def test_a_wrong_argument_is_raised_as_it_is(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    with pytest.raises((TypeError, KeyError)):
        add(tuned, no_such_option=1)
    assert tuned.cache == {}


@pytest.mark.parametrize("error", [RuntimeError("bug"), ValueError("bug"), ZeroDivisionError("bug")])
@pytest.mark.parametrize("timer", ["engine", "user"])
def test_what_a_grid_raises_is_raised_as_it_is(timed: World, error: Exception, timer: str) -> None:
    """FR-32: it is no failure of the candidates, and the next launch tunes."""

    def grid(meta: Any) -> Any:
        if broken:
            raise error
        return (1,)

    broken = True
    tuned = tuner(timed, add_kernel, blocks(16, 32), do_bench=timed.bench if timer == "user" else None)
    with pytest.raises(type(error), match="bug"):
        tuned[grid](*vectors(), 64)
    assert tuned.cache == {} and tuned.nargs is None and timed.logged("launch") == []
    broken = False
    assert tuned[grid](*vectors(), 64).settings["BLOCK"] == 32
