"""Times on disk: what a second process measures, and what it does not."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import triton.runtime.cache
from store_fakes import TIMES, another_process, measured, records
from tuning_fakes import HAS_KNOBS, World, add, add_kernel, blocks, torch, triton, tuner, world  # noqa: F401

from triton_ascend_tune import identity, once, turns
from triton_ascend_tune.failures import NoCandidateError


def test_a_second_process_measures_nothing(timed: World) -> None:
    """FR-01, FR-55: the second process compiles and launches the winner alone."""
    first = another_process(timed)
    add(first)
    second = another_process(timed)
    add(second)
    assert timed.protocols == [] and timed.log == [("compile", 32), ("launch", 32)]
    assert second.best_config is second.configs[1]
    assert list(second.configs_timings.values()) == list(first.configs_timings.values())
    assert not hasattr(second, "bench_time")
    assert [outcome.samples for outcome in second.verdict.outcomes] == [o.samples for o in first.verdict.outcomes]
    assert list(second.cache.values()) == [second.best_config]


@pytest.mark.parametrize(("value", "kept"), [("1", True), ("true", True), ("0", False), (None, False)])
def test_the_environment_switches_it_on(
    timed: World, monkeypatch: Any, tmp_path: Path, value: str | None, kept: bool
) -> None:
    """FR-01: `TRITON_CACHE_AUTOTUNING` works although `run` is replaced, and where Triton has no such cache."""
    if value is not None:
        monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", value)
    add(tuner(timed, add_kernel, blocks(16, 32)))
    assert bool(records(tmp_path)) is kept


@pytest.mark.skipif(not HAS_KNOBS, reason="this Triton has no such argument")
def test_the_argument_of_the_decorator_switches_it_on(timed: World, tmp_path: Path) -> None:
    add(tuner(timed, add_kernel, blocks(16, 32), cache_results=True))
    assert len(records(tmp_path)) == 3  # two candidates and the winner


def test_an_added_candidate_is_measured_alone(timed: World) -> None:
    """FR-13: neither adding, nor removing, nor reordering configs throws a time away."""
    add(another_process(timed, 16, 32))
    tuned = another_process(timed, 64, 16, 32)
    add(tuned)
    assert measured(timed) == {64}
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert [outcome.samples.p50 for outcome in tuned.verdict.outcomes] == [2.0, 3.0, 1.0]
    tuned = another_process(timed, 64, 16)
    add(tuned)
    assert measured(timed) == set() and tuned.best_config.kwargs == {"BLOCK": 64}


def test_the_added_candidate_can_win(timed: World) -> None:
    add(another_process(timed, 16, 64))
    tuned = another_process(timed, 16, 32, 64)
    add(tuned)
    assert measured(timed) == {32} and tuned.best_config.kwargs == {"BLOCK": 32}


def test_options_of_the_backend_tell_candidates_apart(timed: World, tmp_path: Path) -> None:
    """FR-05, W-10: identity covers constexprs and compile options alike, also after loading."""
    timed.times = lambda settings: settings["BLOCK"] / 16 + settings["num_warps"]
    configs = [*blocks(16, num_warps=4), *blocks(16, num_warps=2), *blocks(32, num_warps=2)]
    add(another_process(timed, configs=configs))
    assert len(records(tmp_path)) == 4
    tuned = another_process(timed, configs=configs)
    add(tuned)
    assert timed.protocols == []
    assert [o.samples.p50 for o in tuned.verdict.outcomes] == [5.0, 3.0, 4.0]
    assert tuned.best_config is configs[1]


def test_the_order_of_a_configs_settings_does_not_matter(timed: World) -> None:
    """W-07."""
    add(another_process(timed, configs=[triton.Config({"BLOCK": 16, "MODE": 1}), *blocks(32)]))
    add(another_process(timed, configs=[triton.Config({"MODE": 1, "BLOCK": 16}), *blocks(32)]))
    assert timed.protocols == []


def test_sizes_have_results_of_their_own(timed: World) -> None:
    """FR-09, FR-07."""
    for change in ({}, {"n": 128}, {"dtype": torch.float16}):
        add(another_process(timed), **change)
        assert measured(timed) == {16, 32, 64}


def test_the_number_of_the_device_does_not_matter_and_its_target_does(timed: World) -> None:
    """FR-10."""
    add(another_process(timed))
    for device, arch, expected in ((1, "Ascend910B3", set()), (0, "Ascend910_9391", {16, 32, 64})):
        timed.device, timed.arch = device, arch
        add(another_process(timed))
        assert measured(timed) == expected


@pytest.mark.parametrize("what", ["_triton", "_torch_npu", "_cann_version", "__version__", "environment"])
def test_another_toolchain_measures_again(timed: World, monkeypatch: Any, what: str) -> None:
    """FR-10: Triton, torch_npu, CANN, this package, and variables that change what is compiled."""
    add(another_process(timed))
    monkeypatch.setattr(identity, what, "9.9" if what == "__version__" else lambda *_: "another")
    add(another_process(timed))
    assert measured(timed) == {16, 32, 64}


def test_a_simulated_time_is_never_a_devices(timed: World, monkeypatch: Any) -> None:
    from triton_ascend_tune import memory

    add(another_process(timed))
    monkeypatch.setattr(memory, "_simulator", lambda: "1.0")
    add(another_process(timed))
    assert measured(timed) == {16, 32, 64}


def test_another_protocol_measures_again(timed: World, monkeypatch: Any) -> None:
    """FR-14."""
    add(another_process(timed))
    monkeypatch.setenv("TRITON_ASCEND_TUNE_FLUSH", "none")
    add(another_process(timed))
    assert measured(timed) == {16, 32, 64}


def test_a_users_timer_is_part_of_the_key(timed: World) -> None:
    """FR-14: neither our protocol nor another timer's results are taken for its own."""
    calls = []

    def bench(call: Any, quantiles: Any) -> list[float]:
        calls.append(1)
        call()
        return [timed.time()] * 3

    def other(call: Any, quantiles: Any) -> float:
        calls.append(2)
        call()
        return timed.time() * 2

    add(another_process(timed))
    for timer, expected in ((bench, [1] * 3), (bench, []), (other, [2] * 3), (other, []), (None, [])):
        calls.clear()
        tuned = another_process(timed, do_bench=timer)
        add(tuned)
        assert calls == expected
        assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert measured(timed) == set()


def test_infinite_results_of_a_users_timer_are_not_stored(timed: World, tmp_path: Path) -> None:
    """FR-26: nothing infinite is stored or reused."""

    def bench(call: Any, quantiles: Any) -> list[float]:
        call()
        return [1.0, float("inf"), 1.0]

    tuned = another_process(timed, do_bench=bench)
    add(tuned)
    assert "Infinity" not in "".join(path.read_text() for path in records(tmp_path))
    add(another_process(timed, do_bench=bench))
    assert len(timed.logged("launch")) == 4


def test_values_without_a_lasting_text_do_not_stop_a_tuning(timed: World, tmp_path: Path, caplog: Any) -> None:
    class Thing:
        pass

    with caplog.at_level(logging.INFO, "triton_ascend_tune"):
        tuned = another_process(timed, key=["MODE"])
        tuned.fn.run = lambda *args, **keywords: timed.last.update(BLOCK=keywords["BLOCK"])
        add(tuned, MODE=Thing())
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert records(tmp_path) == []
    assert "not stored on disk" in caplog.text


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '{"format": 99}', "\udcff", '{"configs_timings": [[{"unknown": 1}, [1, 1, 1]]]}'],
)
def test_a_damaged_record_is_a_miss_with_one_warning(timed: World, tmp_path: Path, damage: str, caplog: Any) -> None:
    """FR-16, FR-04: truncated, empty, foreign, of another version, not even text."""
    add(another_process(timed))
    for path in records(tmp_path):
        path.write_bytes(damage.encode(errors="surrogateescape"))
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        second = another_process(timed)
        add(second)
    assert measured(timed) == {16, 32, 64}
    assert second.best_config.kwargs == {"BLOCK": 32}
    assert len(caplog.records) == 1
    add(another_process(timed))
    assert timed.protocols == []  # written anew


def test_a_record_in_another_ones_place_is_a_miss(timed: World, tmp_path: Path) -> None:
    add(another_process(timed))
    fast = next(path for path in records(tmp_path) if "BLOCK: 32" in path.read_text())
    slow = next(path for path in records(tmp_path) if "BLOCK: 16" in path.read_text())
    slow.write_text(fast.read_text())
    add(another_process(timed))
    assert measured(timed) == {16}


def test_a_config_with_a_hook_is_not_stored_and_the_log_says_so(timed: World, tmp_path: Path, caplog: Any) -> None:
    """FR-15: stock stores nothing then, and is silent; here the others are kept."""
    for expected in ({16, 32}, {16}):
        once._told.clear()
        caplog.clear()
        with caplog.at_level(logging.INFO, "triton_ascend_tune"):
            tuned = another_process(timed, configs=[*blocks(16, pre_hook=lambda _: None), *blocks(32)])
            add(tuned)
        assert measured(timed) == expected
        assert tuned.best_config.kwargs == {"BLOCK": 32}
        assert sum("pre_hook" in record.message for record in caplog.records) == 1


def test_a_failed_tuning_stores_no_time_and_is_raised(timed: World, tmp_path: Path) -> None:
    """FR-26: all failed is no result, neither in memory nor on disk."""
    timed.launch_errors = dict.fromkeys(TIMES, RuntimeError("fault"))
    tuned = another_process(timed)
    with pytest.raises(NoCandidateError):
        add(tuned)
    assert records(tmp_path) == [] and tuned.cache == {}


def test_a_folder_that_cannot_be_written_costs_one_warning(timed: World, monkeypatch: Any, caplog: Any) -> None:
    """FR-17: a persistence error never fails the kernel's call."""

    def put(*_: Any, **__: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(triton.runtime.cache.FileCacheManager, "put", put)
    tuned = another_process(timed)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert len(timed.protocols) == 1
    assert [record.message.count("read-only") for record in caplog.records if record.levelname == "WARNING"] == [1]


def test_results_go_through_the_users_own_cache_manager(timed: World, monkeypatch: Any, tmp_path: Path) -> None:
    """Triton's remote caches are managers like this one."""
    shelf: dict[tuple[str, str], str] = {}

    class Manager(triton.runtime.cache.FileCacheManager):
        def put(self, data: Any, filename: str, binary: bool = True) -> str:
            shelf[self.key, filename] = data
            return filename

        def get_file(self, filename: str) -> str | None:
            if (self.key, filename) not in shelf:
                return None
            path = tmp_path / "fetched"
            path.write_text(shelf[self.key, filename])
            return str(path)

    if HAS_KNOBS:
        # Not by setattr: it would put back what the environment said, for good.
        monkeypatch.setitem(vars(triton.knobs.cache), "manager_class", Manager)
    else:
        monkeypatch.setattr(triton.runtime.cache, "get_cache_manager", lambda key: Manager(key))
    add(another_process(timed))
    assert len(shelf) == 4 and records(tmp_path) == []
    add(another_process(timed))
    assert timed.protocols == []


# --- one by one ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_at", [16, 32, 64])
def test_a_tuning_that_was_cut_short_goes_on_where_it_was(timed: World, monkeypatch: Any, stop_at: int) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_PLAN", "classic")
    times = dict(TIMES)

    def interrupted(settings: dict[str, Any]) -> float:
        if settings["BLOCK"] == stop_at:
            raise KeyboardInterrupt
        return times[settings["BLOCK"]]

    timed.times = interrupted
    with pytest.raises(KeyboardInterrupt):
        add(another_process(timed))
    timed.times = times
    tuned = another_process(timed)
    add(tuned)
    done = [16, 32, 64][: [16, 32, 64].index(stop_at)]
    assert measured(timed) == {16, 32, 64} - set(done)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_what_a_plan_chose_by_more_than_times_is_kept(timed: World) -> None:
    first = another_process(timed)
    add(first)
    candidate = first.verdict.outcomes[2]
    key, _ = next(iter(first.cache.items()))
    plan = first._plan
    from triton_ascend_tune.memory import open_memory

    memory = open_memory(first, plan, plan.place(), key, lambda _: {}, timed.protocols[0], True)
    memory.set_winner(candidate, [outcome.candidate for outcome in first.verdict.outcomes])
    second = another_process(timed)
    add(second)
    assert timed.protocols == [] and second.best_config.kwargs == {"BLOCK": 64}
    assert second.verdict.margin == pytest.approx(1.0 / 2.0 - 1.0)
    third = another_process(timed, 16, 32)
    add(third)
    assert third.best_config.kwargs == {"BLOCK": 32}  # another contest


def test_a_record_can_be_read_by_people(timed: World, tmp_path: Path) -> None:
    add(another_process(timed, kernel=add_kernel))
    contents = [json.loads(path.read_text()) for path in records(tmp_path)]
    times = [content for content in contents if "samples" in content]
    assert {content["kernel"] for content in times} == {"add_kernel"}
    assert any(content["config"].startswith("BLOCK: 32") for content in times)
    assert all(path.name.startswith("add_kernel.") for path in records(tmp_path))


def test_what_is_stored_is_taken_without_a_turn(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a lock made in a folder that may be there to be read alone."""
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    add(tuner(timed, add_kernel, blocks(16, 32)))
    monkeypatch.setattr(turns, "turn", lambda *_: pytest.fail("it waits for its turn"))
    second = tuner(timed, add_kernel, blocks(16, 32))
    add(second)
    assert second.best_config.kwargs == {"BLOCK": 32} and not hasattr(second, "bench_time")
    with pytest.raises(pytest.fail.Exception, match="waits for its turn"):
        add(tuner(timed, add_kernel, blocks(16, 32, 64)))
