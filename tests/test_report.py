"""The texts: the table of candidates, and stock Triton's own lines in each of their versions."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest
from tuning_fakes import Autotuner, StockTuner, World, add, add_kernel, blocks, tuner, world  # noqa: F401

from triton_ascend_tune import report
from triton_ascend_tune.values import Candidate, Choice, Conditions, Outcome, Protocol, Samples, Stage, Status, Verdict


def outcomes(*configs: Any) -> list[Outcome]:
    made = [Candidate(i, config, config.all_kwargs()) for i, config in enumerate(configs)]
    return [
        Outcome(made[0], Status.TIMED, samples=Samples((0.002, 0.002, 0.004)), timings=[0.002] * 3),
        Outcome(made[1], Status.FAILED, Stage.COMPILE, "unified buffer overflow: needs 768 KiB, has 192 KiB"),
        Outcome(made[2], Status.PRUNED, Stage.PRUNE, "by early_config_prune"),
    ]


def test_every_candidate_has_a_line_with_its_time_or_its_reason() -> None:
    """FR-25."""
    rows = outcomes(*blocks(16, 65536, 4))
    text = report.describe(Verdict(rows[0], rows, Protocol(), 0.25), "add", 1.5, "npu:X, simulated")
    head, *lines = text.splitlines()
    assert head == (
        "add on npu:X, simulated: 3 configs, 1 timed (event, race plan), 1 failed, 1 pruned, 1.50 s; "
        "winner ahead by 25.0%"
    )
    assert " ".join(lines[0].split()) == "BLOCK=16 2.00 us P20 2.00, P80 3.20, 3 samples <- winner"
    assert lines[1].split(maxsplit=4)[1:4] == ["failed", "in", "compile"]
    assert lines[1].endswith("needs 768 KiB, has 192 KiB")
    assert lines[2].split() == ["BLOCK=4", "pruned", "by", "early_config_prune"]


def test_profiler_records_stand_beside_what_events_say() -> None:
    rows = outcomes(*blocks(16, 32, 4))
    near = Samples((0.020, 0.022, 0.024), "profiler", events=Samples((0.023,)))
    far = Samples((0.010,), "profiler", "by order", events=Samples((0.015,)))
    rows = [replace(row, status=Status.TIMED, samples=samples) for row, samples in zip(rows, (near, far))]
    text = report.describe(Verdict(rows[1], rows, Protocol(method="profiler")), "add", 1.5)
    head, first, second = text.splitlines()
    assert "2 timed (profiler, 5 + 30 runs)" in head
    assert " ".join(first.split()) == (
        "BLOCK=16 22.00 us mean; P50 22.00, P20 20.80, P80 23.20, 3 samples; events 23.00 us, +5%"
    )
    assert " ".join(second.split()).endswith("1 samples; events 15.00 us, +50%: host-bound; by order <- winner")
    gated = replace(far, events=Samples((0.015,), note="gate: value"))
    rows[1] = replace(rows[1], samples=gated)
    text = report.table(Verdict(rows[1], rows, Protocol(method="profiler")))
    assert "events 15.00 us, +50%: mostly overhead of launch and events; by order" in text


def test_how_the_plan_came_to_its_choice() -> None:
    rows = outcomes(*blocks(16, 32, 4))
    faster = replace(rows[1], status=Status.TIMED, stage=None, samples=Samples((0.00199,)))
    rows[1] = faster
    conditions = Conditions("notify", "", 1024, 0.0015)
    choice = Choice(rows[0], (rows[0], faster), -0.005, "tied", 10, 3.0, conditions)
    head, first, second, _ = report.describe(
        Verdict(rows[0], rows, Protocol(), -0.005, choice), "add", 0.1
    ).splitlines()
    assert head.endswith(
        "; winner behind by 0.5%, tied and first in order; 10 rounds, tied, 2 tied; gate: notify; "
        "event overhead 1.50 us"
    )
    assert first.endswith("<- winner") and second.endswith("(tied)")
    ungated = replace(choice, conditions=Conditions("", "a launch waited"))
    text = report.describe(Verdict(rows[0], rows, Protocol(), 0.5, ungated), "add", 0.1)
    assert "winner ahead by 50.0%" in text and "UNGATED (a launch waited)" in text


def test_compile_options_are_shown_where_candidates_differ_in_them() -> None:
    rows = outcomes(*blocks(16, num_warps=4), *blocks(16, num_warps=8), *blocks(16, num_warps=4))
    names = [line.split("  ")[1] for line in report.table(Verdict(rows[0], rows, Protocol())).splitlines()]
    assert names == ["BLOCK=16, num_warps=4", "BLOCK=16, num_warps=8", "BLOCK=16, num_warps=4"]


def test_a_users_timer_is_named() -> None:
    config = blocks(16)[0]
    row = Outcome(Candidate(0, config, config.all_kwargs()), Status.TIMED, timings=[0.5, 0.4, 0.6])
    text = report.describe(Verdict(row, [row], Protocol()), "add", 0.1)
    assert "1 timed (user's do_bench)" in text
    assert "500.00 us" in text and "do_bench returned [0.5, 0.4, 0.6]" in text


def test_a_simulated_device_is_called_so(world: World, monkeypatch: Any) -> None:  # noqa: F811
    assert report.where("npu:A", True) == "npu:A, simulated"
    assert report.where("npu:A", False) == "npu:A"
    assert report.where("npu:A", None) == "npu:A"  # cannot be opened here
    device = type("Device", (), {"simulated": True})()
    monkeypatch.setattr("triton_ascend_tune.measure.device.active_device", lambda: device)
    assert report.where("npu:A", None) == "npu:A, simulated"


class Old:
    def run(self, fn: str, s: str, best: str) -> None:
        print(f"Triton autotuning for function {fn} finished after {s}s; best config selected: {best};")

    def _bench(self) -> None: ...


class New:
    def run(self, fn: str, key: str) -> None:
        print(f"Triton autotuning for function {fn},\nwith key as {key},")

    def _bench(self, fn: str, config: str) -> None:
        print(f"Autotuning kernel {fn} with config {config}")


def test_the_text_is_the_one_of_the_installed_class(capsys: Any) -> None:
    rows = outcomes(*blocks(1, 2, 3))
    for stock in (Old, New):
        lines = report.StockLines(stock)
        lines.candidates("add", rows[:2])
        lines.finished("add", (7, "fp32"), 1.234, "BLOCK: 1")
    old, *new = capsys.readouterr().out.splitlines()
    assert old == "Triton autotuning for function add finished after 1.23s; best config selected: BLOCK: 1;"
    assert new[0].startswith("Autotuning kernel add with config BLOCK: 1")
    assert new[2] == "Autotuning failed with unified buffer overflow: needs 768 KiB, has 192 KiB"
    assert new[3:] == [
        "Triton autotuning for function add,",
        "with key as (7, 'fp32'),",
        "finished after 1.23s,",
        "best config selected: BLOCK: 1;",
    ]


@pytest.mark.parametrize("replaced", [False, True])
def test_printed_lines_equal_the_installed_tuners(
    world: World,  # noqa: F811
    capsys: Any,
    monkeypatch: Any,
    replaced: bool,
) -> None:
    if replaced:  # as where this package is installed, for subclasses of libraries
        stock_run = Autotuner.run
        monkeypatch.setattr(
            Autotuner, "run", functools.wraps(stock_run)(lambda *args, **named: stock_run(*args, **named))
        )
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    world.times = {16: 3.0, 32: 1.0}
    printed = []
    for cls in (StockTuner, None):
        tuned = tuner(world, add_kernel, blocks(16, 32), cls=cls, do_bench=world.bench)
        for _ in range(2):  # the second call is a hit, and prints nothing
            add(tuned)
        lines = [line for line in capsys.readouterr().out.splitlines() if "Please DO NOT tune" not in line]
        printed.append([line if "finished after" not in line else line.split("finished after")[0] for line in lines])
    assert printed[0] == printed[1]
    assert any("Triton autotuning for function add_kernel" in line for line in printed[1])
