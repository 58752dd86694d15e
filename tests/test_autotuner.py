"""The tuner as a whole, over real ``triton.jit`` functions on a made-up device: choices, keys, timers, targets."""

from __future__ import annotations

import copy
import inspect
import logging
from typing import Any

import pytest
from tuning_fakes import (
    SAMPLES,
    TIMES,
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

from triton_ascend_tune.classes import make_tuner_class

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


def test_an_unknown_name_in_key_is_named_clearly(timed: World, caplog: Any) -> None:
    """At the first launch: a library's many kernels are decorated when it is imported."""
    try:
        tuned = tuner(timed, add_kernel, blocks(16, 32), key=["n", "typo"])
    except ValueError as error:  # Triton 3.9
        message = str(error)
    else:
        assert caplog.text == ""
        for n in (64, 128):
            add(tuned, n=n)
        [message] = [record.getMessage() for record in caplog.records]
    assert "typo" in message and "x_ptr" in message


def test_a_deep_copy_tunes_for_itself(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), jit=False)
    add(tuned)
    tuned.fn = None
    twin = copy.deepcopy({k: v for k, v in tuned.__dict__.items() if k == "_plan"})
    assert twin == {"_plan": None}


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


def test_fresh_kernels_do_not_share_what_they_compiled() -> None:
    assert fresh(add_kernel) is not fresh(add_kernel)
