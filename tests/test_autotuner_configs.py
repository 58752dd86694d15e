"""Which configs the tuner compiles: few or none given, survivors of pruning, candidates that fail."""

from __future__ import annotations

from typing import Any

import pytest
import triton.language as tl
from tuning_fakes import (
    Autotuner,
    StockTuner,
    World,
    add,
    add_kernel,
    blocks,
    copy_kernel,
    torch,
    triton,
    tuner,
    vectors,
    world,  # noqa: F401
)

from triton_ascend_tune.classes import make_tuner_class
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.generate import GIVEN
from triton_ascend_tune.values import Stage, Status

# --- single configs and survivors ------------------------------------------------------------------------------------


def test_a_single_config_is_neither_pruned_nor_measured_nor_cached(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16), prune_configs_by={"early_config_prune": lambda *_, **__: 1 / 0})
    add(tuned)
    assert timed.log == [("compile", 16), ("launch", 16)]
    assert tuned.best_config is tuned.configs[0]
    assert tuned.cache == {} and tuned.nargs is None
    assert not hasattr(tuned, "configs_timings")


def test_a_single_survivor_is_cached_without_measurement(timed: World) -> None:
    """FR-02."""
    calls = []

    def early(configs: Any, named: Any, **_: Any) -> Any:
        calls.append(named["n"])
        return configs[:1]

    tuned = tuner(timed, add_kernel, blocks(16, 32), prune_configs_by={"early_config_prune": early})
    add(tuned)
    add(tuned)
    assert calls == [64]
    assert timed.logged("launch") == [16, 16]
    assert list(tuned.cache.values()) == [tuned.configs[0]]


def test_a_single_survivor_resets_where_the_installed_triton_does(timed: World) -> None:
    """Before 3.9 stock measures it, so that its first real launch finds what a reset leaves."""
    resets: dict[Any, list[bool]] = {}
    for cls in (None, StockTuner):
        seen = resets[cls] = []

        def hook(arguments: Any, reset_only: bool = False, seen: list[bool] = seen) -> None:
            seen.append(reset_only)

        prune = {"early_config_prune": lambda configs, named, **_: configs[:1]}
        add(tuner(timed, add_kernel, blocks(16, 32), prune_configs_by=prune, pre_hook=hook, cls=cls))
    assert [flag for flag in resets[StockTuner] if flag] == [flag for flag in resets[None] if flag]
    assert False not in resets[None]


def test_a_library_that_overrides_prune_configs_is_asked(timed: World) -> None:
    class Library(make_tuner_class(Autotuner)):  # type: ignore[misc]
        def prune_configs(self, keywords: Any) -> Any:
            assert self.nargs["n"] == 64
            return self.configs[2:]

    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), cls=Library)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}


def test_warmup_compiles_the_survivors_and_launches_nothing(timed: World) -> None:
    """FR-57."""
    rules = {"early_config_prune": lambda configs, named, **_: configs[:2]}
    tuned = tuner(timed, copy_kernel, blocks(16, 32, 64), prune_configs_by=rules)
    kernels = tuned.warmup(torch.float32, torch.float32, 64, grid=(1,))
    assert [kernel.settings["BLOCK"] for kernel in kernels] == [16, 32]
    assert timed.logged("launch") == [] and tuned.cache == {} and tuned.nargs is None


def test_hints_that_stock_ignores_do_not_break_a_program(timed: World, caplog: Any) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    setattr(tuned, GIVEN, (list(tuned.configs), {"nonsense": 1}))  # what the wheel's decorator was given
    add(tuned)
    assert tuned.best_config in tuned.configs
    [warning] = [record.getMessage() for record in caplog.records if "hints" in record.getMessage()]
    assert "nonsense" in warning and "add_kernel" in warning


def test_no_configs_means_the_default_one_as_in_stock(timed: World) -> None:
    ours, stock = (tuner(timed, add_kernel, [], cls=cls) for cls in (None, StockTuner))
    assert [str(config) for config in ours.configs] == [str(config) for config in stock.configs]
    add_with_default_block = ours[(4,)](*vectors(), 64)
    assert add_with_default_block.settings["BLOCK"] == 16


@triton.jit
def shifted_kernel(src, dst, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + offsets, tl.load(src + offsets, mask=offsets < n) + SHIFT, mask=offsets < n)


def test_no_configs_and_a_tile_that_nobody_sets_is_proposed(timed: World) -> None:
    tuned = tuner(timed, copy_kernel, [])
    x, y, _ = vectors()
    kernel = tuned[(4,)](x, y, 64)
    assert kernel.settings["BLOCK"] >= 16  # four programs of fewer would not reach all elements


def test_no_configs_and_a_constexpr_that_is_no_tile_is_a_clear_error(timed: World) -> None:
    tuned = tuner(timed, shifted_kernel, [])
    x, y, _ = vectors()
    message = (
        r"kernel shifted_kernel lacks SHIFT, BLOCK: neither passed .* `configs`.*constexpr SHIFT belongs to no axis"
    )
    with pytest.raises(TypeError, match=message) as caught:
        tuned[(4,)](x, y, 64)
    assert caught.value.__cause__ is not None


def test_a_tile_that_no_config_sets_is_a_clear_error_before_anything_is_measured(timed: World) -> None:
    tuned = tuner(timed, copy_kernel, [triton.Config({}, num_warps=1), triton.Config({}, num_warps=2)])
    x, y, _ = vectors()
    with pytest.raises(TypeError, match="kernel copy_kernel lacks BLOCK"):
        tuned[(4,)](x, y, 64)
    assert tuned.cache == {} and timed.logged("launch") == []


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_candidate_that_does_not_compile_is_set_aside(timed: World) -> None:
    timed.compile_errors[32] = RuntimeError("ub overflow, requires 2097152 bits while 1572864 bits available!")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    failed = tuned.verdict.outcomes[1]
    assert (failed.status, failed.stage) == (Status.FAILED, Stage.COMPILE)
    assert failed.reason == "unified buffer overflow: needs 256 KiB, has 192 KiB"
    assert failed.error is None  # no traceback is kept
    assert tuned.configs_timings[tuned.configs[1]] == [float("inf")] * 3
    assert 32 not in timed.logged("launch")


def test_a_candidate_that_does_not_launch_is_set_aside(timed: World) -> None:
    timed.launch_errors[32] = RuntimeError("grid should be less than 65536!")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    assert tuned.verdict.outcomes[1].stage is Stage.LAUNCH


def test_all_failed_is_one_error_and_leaves_everything_as_it_was(timed: World) -> None:
    """FR-24."""
    timed.compile_errors[16] = RuntimeError("one")
    timed.launch_errors[32] = RuntimeError("two")
    x, y, out = vectors()
    tuned = tuner(timed, add_kernel, blocks(16, 32), reset_to_zero=["out_ptr"], restore_value=["x_ptr"])
    timed.effect = lambda tensors: tensors[0].add_(1)
    with pytest.raises(NoCandidateError, match="2 failed") as caught:
        tuned[(4,)](x, y, out, 64)
    assert "one" in str(caught.value) and "two" in str(caught.value)
    assert str(caught.value.__cause__) == "one"
    assert tuned.cache == {} and tuned.nargs is None
    for name in ("best_config", "configs_timings", "bench_time"):
        assert not hasattr(tuned, name)
    assert torch.equal(x, torch.ones(64))
    timed.compile_errors.clear()
    add(tuned)  # and nothing of it sticks
    assert tuned.best_config.kwargs == {"BLOCK": 16}


def test_a_failed_tuning_of_one_key_leaves_the_others(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    kept, best = dict(tuned.cache), tuned.best_config
    timed.launch_errors.update({16: RuntimeError(), 32: RuntimeError()})
    with pytest.raises(NoCandidateError):
        add(tuned, n=128)
    assert tuned.cache == kept and tuned.best_config is best
