"""The tuner as a whole, over real ``triton.jit`` functions on a made-up device."""

from __future__ import annotations

import copy
import inspect
import logging
from typing import Any

import pytest
import triton.language as tl
from tuning_fakes import (
    SAMPLES,
    Autotuner,
    FakeDriver,
    StockTuner,
    World,
    add,
    add_kernel,
    blocks,
    copy_kernel,
    driver,
    fresh,
    torch,
    triton,
    tuner,
    vectors,
    world,  # noqa: F401
)

from triton_ascend_tune.autotuner import make_tuner_class
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.generate import GIVEN
from triton_ascend_tune.values import Stage, Status

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


@pytest.fixture
def timed(world: World) -> World:  # noqa: F811
    world.times = TIMES
    return world


# --- the class -------------------------------------------------------------------------------------------------------


def test_one_class_for_each_stock_class_with_its_signature() -> None:
    ours = make_tuner_class(Autotuner)
    assert ours is make_tuner_class(Autotuner)
    assert issubclass(ours, Autotuner)
    assert inspect.signature(ours) == inspect.signature(StockTuner)
    assert (ours.__name__, ours.__doc__) == ("Autotuner", Autotuner.__doc__)


def test_an_instance_that_the_stock_constructor_made_can_become_ours(timed: World) -> None:
    made = tuner(timed, add_kernel, blocks(16, 32), cls=StockTuner, do_bench=timed.bench)
    made.__class__ = make_tuner_class(StockTuner)
    add(made)
    assert made.verdict is not None and made.best_config.kwargs == {"BLOCK": 32}


def test_decorating_needs_no_device(timed: World) -> None:
    """FR-67."""

    class Nothing:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no device here")

    driver.set_active(Nothing())
    made = tuner(timed, add_kernel, blocks(16, 32))
    driver.set_active(FakeDriver(timed))
    add(made)
    assert made.best_config.kwargs == {"BLOCK": 32}
    assert made.do_bench == timed.bench


# --- miss, hit, key --------------------------------------------------------------------------------------------------


def test_the_fastest_is_chosen_launched_and_returned(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    returned = add(tuned)
    assert returned.settings["BLOCK"] == 32  # the kernel, as stock returns it
    assert tuned.best_config is tuned.configs[1]
    assert [timings[0] for timings in tuned.configs_timings.values()] == [3.0, 1.0, 2.0]
    assert tuned.bench_time > 0
    assert tuned.nargs is None
    assert timed.logged("compile") == [16, 32, 64]
    assert timed.logged("launch") == [16] * SAMPLES + [32] * SAMPLES + [64] * SAMPLES + [32]


def test_a_hit_only_launches(timed: World) -> None:
    """FR-59."""
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    timed.log.clear()
    add(tuned)
    assert timed.log == [("launch", 32)]


@pytest.mark.parametrize("change", [{"n": 128}, {"dtype": torch.float16}, {"bias": torch.ones(4)}, {"num_warps": 8}])
def test_what_is_in_the_key_tunes_again(timed: World, change: dict[str, Any]) -> None:
    """FR-06, FR-07."""
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    add(tuned, **change)
    assert len(tuned.cache) == 2


def test_another_device_tunes_again_and_the_first_is_remembered(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    for timed.device in (0, 1, 0):
        add(tuned)
    assert len(tuned.cache) == 2


def test_another_driver_is_asked_anew(timed: World) -> None:
    tuned = tuner(timed, copy_kernel, blocks(16, 32), do_bench=timed.bench)
    x, y, _ = vectors()
    tuned[(4,)](x, y, 64)
    other = World()
    other.arch, other.times = "Ascend910_9391", TIMES
    driver.set_active(FakeDriver(other))
    tuned[(4,)](x, y, 64)
    assert [key[-1] for key in tuned.cache] == ["npu:Ascend910B3:0", "npu:Ascend910_9391:0"]


def test_defaults_count_as_if_passed(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), key=["n", "MODE"])
    add(tuned)
    add(tuned, MODE=0)
    add(tuned, bias=None)
    assert len(tuned.cache) == 1
    add(tuned, MODE=1)
    assert len(tuned.cache) == 2


def test_keyword_and_positional_calls_share_a_choice(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    x, y, out = vectors()
    tuned[(4,)](x, y, out, 64)
    tuned[(4,)](n=64, out_ptr=out, y_ptr=y, x_ptr=x)
    assert len(tuned.cache) == 1


def test_an_unhashable_key_value_is_settled_by_its_contents(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), key=["bias"])
    build = []
    tuned.fn.run = lambda *args, **keywords: build.append(keywords["BLOCK"])
    timed.last = {"BLOCK": 16}
    for bias in ([1, 2], [1, 2], [3]):
        add(tuned, bias=bias)
    assert len(tuned.cache) == 2


def test_a_changed_key_list_is_noticed(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), key=[])
    add(tuned)
    tuned.keys = ["n"]
    add(tuned)
    add(tuned, n=128)
    assert len(tuned.cache) == 3


def test_a_deep_copy_tunes_for_itself(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), jit=False)
    add(tuned)
    tuned.fn = None
    twin = copy.deepcopy({k: v for k, v in tuned.__dict__.items() if k == "_plan"})
    assert twin == {"_plan": None}


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


def test_a_users_timer_beats_the_profiler(timed: World, monkeypatch: Any) -> None:
    def refuse() -> Any:
        raise AssertionError("a profiler was opened")

    def do_bench(call: Any, quantiles: Any) -> list[float]:
        call()
        return [1.0, 1.0, 1.0]

    monkeypatch.setenv("TRITON_BENCH_METHOD", "npu")
    tuned = tuner(timed, add_kernel, blocks(16, 32), do_bench=do_bench)
    tuned.open_profiler = refuse
    add(tuned)
    assert list(tuned.configs_timings.values()) == [[1.0, 1.0, 1.0]] * 2


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


def test_a_failed_tuning_of_one_key_leaves_the_others(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    kept, best = dict(tuned.cache), tuned.best_config
    timed.launch_errors.update({16: RuntimeError(), 32: RuntimeError()})
    with pytest.raises(NoCandidateError):
        add(tuned, n=128)
    assert tuned.cache == kept and tuned.best_config is best


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


# --- timers ----------------------------------------------------------------------------------------------------------


def test_a_users_timer_beats_the_engine(timed: World) -> None:
    """FR-68."""
    given = tuner(timed, add_kernel, blocks(16, 32), do_bench=timed.bench)
    assigned = tuner(timed, add_kernel, blocks(16, 32))
    own = lambda call, quantiles: timed.bench(call, quantiles)  # noqa: E731
    assigned.do_bench = own
    for tuned in (given, assigned):
        add(tuned)
        assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert timed.protocols == []
    assert assigned.do_bench is own


def test_looking_at_the_default_timer_does_not_make_it_the_users(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    assert tuned.do_bench == timed.bench  # what the driver offers
    add(tuned)
    assert len(timed.protocols) == 1


def test_deprecated_warmup_and_rep_bound_the_engines_loop(timed: World) -> None:
    """FR-68."""
    with pytest.warns(DeprecationWarning):
        tuned = tuner(timed, add_kernel, blocks(16, 32), warmup=7, rep=30, do_bench=timed.bench)
    add(tuned)
    assert (timed.protocols[0].warmup_ms, timed.protocols[0].repeat_ms) == (7.0, 30.0)
    assert (tuned.num_warmups, tuned.num_reps, tuned.use_cuda_graph) == (7, 30, False)


def test_an_unknown_method_is_refused_at_the_tuning_and_not_read_on_a_hit(timed: World, monkeypatch: Any) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    monkeypatch.setenv("TRITON_BENCH_METHOD", "stopwatch")
    with pytest.raises(ValueError, match="TRITON_BENCH_METHOD is 'stopwatch'"):
        add(tuned)
    monkeypatch.delenv("TRITON_BENCH_METHOD")
    add(tuned)
    monkeypatch.setenv("TRITON_BENCH_METHOD", "stopwatch")
    add(tuned)


# --- where it does not act -------------------------------------------------------------------------------------------


def test_other_targets_are_left_to_stock(timed: World) -> None:
    """FR-67."""
    timed.target = "cuda"
    tuned = tuner(timed, copy_kernel, blocks(16, 32), do_bench=timed.bench)
    if not hasattr(triton, "knobs"):
        tuned.fn.run = lambda *args, **keywords: timed.last.update(BLOCK=keywords["BLOCK"])
    x, y, _ = vectors()
    tuned[(4,)](x, y, 64)
    assert list(tuned.cache) == [(64, "torch.float32", "torch.float32")]  # stock's own key
    assert tuned.verdict is None


def test_an_interpreted_kernel_is_left_to_stock(timed: World) -> None:
    from triton.runtime.interpreter import InterpretedFunction

    def run(*args: Any, **keywords: Any) -> str:
        timed.last = {"BLOCK": keywords["BLOCK"]}
        return "interpreted"

    kernel = InterpretedFunction(copy_kernel.fn)
    kernel.run = run
    tuned = tuner(timed, kernel, blocks(16, 32), jit=False, do_bench=timed.bench)
    x, y, _ = vectors()
    assert tuned[(4,)](x, y, 64) == "interpreted"
    assert list(tuned.cache) == [(64, "torch.float32", "torch.float32")]


# --- what it tells ---------------------------------------------------------------------------------------------------


def test_report_and_log(timed: World, monkeypatch: Any, capsys: Any, caplog: Any) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_REPORT", "1")
    timed.compile_errors[16] = RuntimeError("ub overflow, requires 2097152 bits while 1572864 bits available!")
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    with caplog.at_level(logging.INFO, "triton_ascend_tune"):
        add(tuned)
    printed = capsys.readouterr().out
    assert "add_kernel on npu:Ascend910B3: 3 configs, 2 timed (event, race plan), 1 failed" in printed
    assert "unified buffer overflow: needs 256 KiB, has 192 KiB" in printed
    assert "BLOCK=32" in caplog.text and "<- winner" in caplog.text


def test_the_report_says_simulated_where_the_device_is(timed: World, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_REPORT", "1")
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    tuned.open_device = lambda: type("Device", (), {"simulated": True})()
    add(tuned)
    assert "add_kernel on npu:Ascend910B3, simulated: 2 configs" in capsys.readouterr().out


def test_an_unknown_name_in_key_is_named_clearly(timed: World, caplog: Any) -> None:
    try:
        tuner(timed, add_kernel, blocks(16, 32), key=["n", "typo"])
    except ValueError as error:  # Triton 3.9
        message = str(error)
    else:
        message = caplog.text
    assert "typo" in message and "x_ptr" in message


def test_warmup_compiles_the_survivors_and_launches_nothing(timed: World) -> None:
    """FR-57."""
    rules = {"early_config_prune": lambda configs, named, **_: configs[:2]}
    tuned = tuner(timed, copy_kernel, blocks(16, 32, 64), prune_configs_by=rules)
    kernels = tuned.warmup(torch.float32, torch.float32, 64, grid=(1,))
    assert [kernel.settings["BLOCK"] for kernel in kernels] == [16, 32]
    assert timed.logged("launch") == [] and tuned.cache == {} and tuned.nargs is None


def test_a_library_that_overrides_prune_configs_is_asked(timed: World) -> None:
    class Library(make_tuner_class(Autotuner)):  # type: ignore[misc]
        def prune_configs(self, keywords: Any) -> Any:
            assert self.nargs["n"] == 64
            return self.configs[2:]

    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), cls=Library)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}


def test_fresh_kernels_do_not_share_what_they_compiled() -> None:
    assert fresh(add_kernel) is not fresh(add_kernel)


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
