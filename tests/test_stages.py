"""Stage times and the progress line."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, tuner, world  # noqa: F401

from triton_ascend_tune import stages
from triton_ascend_tune.stages import NAMES, Stages, stages_of

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


def test_times_add_up_by_stage_also_after_an_exception(monkeypatch: Any) -> None:
    clock = iter([1.0, 2.0, 5.0, 7.0, 10.0, 14.0])
    monkeypatch.setattr(stages.time, "perf_counter", lambda: next(clock))
    watch = Stages("kernel")
    for _ in range(2):
        with watch.of("compile"):
            pass
    with pytest.raises(RuntimeError), watch.of("measure"):
        raise RuntimeError
    seconds = watch.seconds
    assert list(seconds) == list(NAMES)
    assert seconds["compile"] == 3.0 and seconds["measure"] == 4.0 and seconds["prune"] == 0.0
    seconds["compile"] = 7.0
    assert watch.seconds["compile"] == 3.0


def test_the_line_names_every_stage_with_a_unit() -> None:
    watch = Stages("my_kernel")
    watch.add("compile", 2.5)
    watch.add("measure", 0.0125)
    assert str(watch) == (
        "stages of my_kernel: key 0.00 ms, propose 0.00 ms, prune 0.00 ms, store 0.00 ms, compile 2.50 s, "
        "measure 12.50 ms, choose 0.00 ms"
    )


def slow(world: World, monkeypatch: Any) -> Any:  # noqa: F811
    """A tuner whose compilations take 50 ms and whose measurements take 100 ms each; nothing else moves the clock.

    What the clock says is in ``clock`` of the tuner.
    """
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    clock = [0.0]
    monkeypatch.setattr(stages.time, "perf_counter", lambda: clock[0])
    world.times = TIMES
    original = world.compile

    def compile_(*args: Any, **kwargs: Any) -> Any:
        clock[0] += 0.05
        return original(*args, **kwargs)

    def bench(call: Any, quantiles: Any) -> float:
        call()
        clock[0] += 0.1
        return world.time()

    monkeypatch.setattr("triton.compiler.compile", compile_)
    made = tuner(world, add_kernel, blocks(*TIMES), do_bench=bench)
    made.clock = clock
    return made


def test_the_stages_of_a_tuning_add_up_to_its_time(world: World, monkeypatch: Any, capsys: Any) -> None:  # noqa: F811
    """FR-56: on request, by the report that also lists the candidates."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_REPORT", "1")
    seen: list[Stages] = []
    monkeypatch.setattr(stages.Stages, "line", lambda self: seen.append(self) or "stages: here")
    tuned = slow(world, monkeypatch)
    add(tuned)
    assert capsys.readouterr().out.count("  stages: here") == 1
    seconds = seen[0].seconds
    assert seconds.pop("compile") == pytest.approx(3 * 0.05) and seconds.pop("measure") == pytest.approx(3 * 0.1)
    assert set(seconds.values()) == {0.0} and tuned.clock[0] == pytest.approx(0.45)
    assert tuned.bench_time == pytest.approx(0.45)


def test_the_debug_log_has_them_too_and_nothing_is_printed(
    world: World,  # noqa: F811
    monkeypatch: Any,
    capsys: Any,
    caplog: Any,
) -> None:
    with caplog.at_level(logging.DEBUG, "triton_ascend_tune"):
        add(slow(world, monkeypatch))
    assert sum(record.message.startswith("stages of add_kernel: key ") for record in caplog.records) == 1
    assert "stages of" not in capsys.readouterr().out


class Terminal(io.StringIO):
    def __init__(self, is_one: bool) -> None:
        super().__init__()
        self._is_one = is_one

    def isatty(self) -> bool:
        return self._is_one


@pytest.mark.parametrize(("is_one", "after", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_a_progress_line_on_terminals_for_long_tunings(
    world: World,  # noqa: F811
    monkeypatch: Any,
    is_one: bool,
    after: float,
    shown: bool,
) -> None:
    """FR-55."""
    terminal = Terminal(is_one)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(stages, "SHOW_AFTER_S", after)
    add(slow(world, monkeypatch))
    text = terminal.getvalue()
    assert ("tuning add_kernel: measure 2/3, " in text) is shown
    assert ("tuning add_kernel: compile" in text) is shown
    if not shown:
        assert text == ""


def test_the_line_is_taken_away_after_an_exception(monkeypatch: Any) -> None:
    terminal = Terminal(True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(stages, "SHOW_AFTER_S", 0.0)
    with pytest.raises(KeyboardInterrupt), stages_of("[odd]") as watch, watch.of("compile", "1/4"):
        raise KeyboardInterrupt
    text = terminal.getvalue()
    assert "tuning [odd]: compile 1/4" in text
    assert text.rstrip("\r\n").endswith("\x1b[2K")  # erased


def test_no_error_output_at_all_is_no_terminal(monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with stages_of("kernel") as watch, watch.of("prune"):
        pass
