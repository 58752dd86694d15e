"""Triton's own disk cache of tunings below our tuner (the wheel of triton-ascend 3.2.0 has none)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from triton.runtime.errors import OutOfResources
from tuning_fakes import World, add, add_kernel, blocks, triton, tuner, world  # noqa: F401

from triton_ascend_tune import disk
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.values import Protocol, Stage

pytestmark = pytest.mark.stock
TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


@pytest.fixture
def timed(world: World) -> World:  # noqa: F811
    world.times = TIMES
    return world


def stored(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "triton").rglob("*.autotune.json"))


def another_process(world: World, *configs: Any, **options: Any) -> Any:  # noqa: F811
    """A tuner that has nothing in memory."""
    return tuner(world, add_kernel, [*configs] or blocks(*TIMES), cache_results=True, **options)


def test_a_second_process_measures_nothing(timed: World, tmp_path: Path) -> None:
    add(another_process(timed))
    timed.protocols.clear()
    timed.log.clear()
    second = another_process(timed)
    add(second)
    assert timed.protocols == [] and timed.log == [("compile", 32), ("launch", 32)]
    assert second.best_config.kwargs == {"BLOCK": 32}
    assert [timings[0] for timings in second.configs_timings.values()] == [3.0, 1.0, 2.0]
    assert not hasattr(second, "bench_time") and second.verdict is None
    assert list(second.cache.values()) == [second.best_config]  # under our key, and under no other
    assert len(stored(tmp_path)) == 1


def test_the_environment_switches_it_on_too(timed: World, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    add(tuner(timed, add_kernel, blocks(*TIMES)))
    assert len(stored(tmp_path)) == 1


def test_nothing_is_stored_unless_asked_for(timed: World, tmp_path: Path) -> None:
    add(tuner(timed, add_kernel, blocks(*TIMES)))
    assert stored(tmp_path) == []


def test_the_number_of_the_device_does_not_matter_and_its_target_does(timed: World) -> None:
    add(another_process(timed))
    for device, arch, tunings in ((1, "Ascend910B3", 0), (0, "Ascend910_9391", 1)):
        timed.protocols.clear()
        timed.device, timed.arch = device, arch
        add(another_process(timed))
        assert len(timed.protocols) == tunings


def test_the_way_of_measuring_is_part_of_the_key(timed: World) -> None:
    add(another_process(timed))
    add(another_process(timed, do_bench=timed.bench))
    assert len(timed.protocols) == 1 and timed.logged("launch").count(16) > 5
    events, other = Protocol(), Protocol(flush_bytes=0)
    assert disk.disk_key((1, "p"), "p", "t", events) != disk.disk_key((1, "p"), "p", "t", other)


def test_values_that_are_no_json_do_not_stop_a_tuning(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(*TIMES), key=["MODE"], cache_results=True)
    add(tuned, MODE=triton.language.float16)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


@pytest.mark.parametrize("damage", ["", "{", '{"configs_timings": [[{"unknown": 1}, [1, 1, 1]]]}', "[]"])
def test_a_damaged_entry_is_a_miss_with_one_warning(timed: World, tmp_path: Path, damage: str, caplog: Any) -> None:
    add(another_process(timed))
    stored(tmp_path)[0].write_text(damage)
    timed.protocols.clear()
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        second = another_process(timed)
        add(second)
    assert len(timed.protocols) == 1
    assert second.best_config.kwargs == {"BLOCK": 32}
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_stored_tuning_in_which_nothing_worked_is_not_used(timed: World, tmp_path: Path) -> None:
    add(another_process(timed))
    path = stored(tmp_path)[0]
    content = json.loads(path.read_text())
    content["configs_timings"] = [[fields, [float("inf")] * 3] for fields, _ in content["configs_timings"]]
    path.write_text(json.dumps(content))
    second = another_process(timed)
    add(second)
    assert second.verdict is not None and second.best_config.kwargs == {"BLOCK": 32}


def test_a_config_with_a_hook_is_not_stored_and_the_log_says_so(timed: World, tmp_path: Path, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "triton_ascend_tune"):
        add(another_process(timed, *blocks(16, pre_hook=lambda _: None), *blocks(32)))
    assert stored(tmp_path) == []
    assert "not stored on disk" in caplog.text


def test_a_failed_tuning_stores_nothing_and_is_raised(timed: World, tmp_path: Path) -> None:
    timed.launch_errors = dict.fromkeys(TIMES, OutOfResources(2, 1, "shared memory"))
    with pytest.raises(NoCandidateError):
        add(another_process(timed))
    assert stored(tmp_path) == []


def test_a_read_only_cache_folder_costs_only_a_warning(timed: World, monkeypatch: Any, caplog: Any) -> None:
    def put(*_: Any, **__: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(triton.runtime.cache.FileCacheManager, "put", put)
    tuned = another_process(timed)
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert len(timed.protocols) == 1  # what was measured counts
    assert "read-only" in caplog.text


def test_the_listener_hears_of_tunings_and_disk_hits_only(timed: World, monkeypatch: Any) -> None:
    heard: list[dict[str, Any]] = []
    monkeypatch.setattr(triton.knobs.autotuning, "listener", lambda **event: heard.append(event))
    first, second = another_process(timed), another_process(timed)
    for tuned in (first, first, second):
        add(tuned)
    add(tuner(timed, add_kernel, blocks(16)))
    assert [event["cache_hit"] for event in heard] == [False, True]
    assert heard[0]["key"] == (64, "torch.float32", "torch.float32", "torch.float32")
    assert heard[0]["fn"] is first.fn
    assert heard[0]["best_config"] is first.best_config and heard[0]["configs_timings"] is first.configs_timings
    assert heard[0]["duration"] == first.bench_time and heard[1]["duration"] is None
    assert set(heard[0]) == {"fn", "key", "best_config", "configs_timings", "duration", "cache_hit"}


def test_a_listener_that_raises_does_not_undo_the_tuning(timed: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(triton.knobs.autotuning, "listener", lambda **_: 1 / 0)
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    with pytest.raises(ZeroDivisionError):
        add(tuned)
    timed.log.clear()
    add(tuned)
    assert timed.log == [("launch", 32)]


def test_promises_of_an_asynchronous_compile_are_resolved(timed: World) -> None:
    from concurrent.futures import ThreadPoolExecutor

    timed.compile_errors[32] = RuntimeError("too big")
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    with ThreadPoolExecutor(2) as executor, triton.AsyncCompileMode(executor, ignore_errors=True):
        kernel = add(tuned)
    assert kernel.settings["BLOCK"] == 64
    assert type(kernel).__name__ == "Kernel"
    failed = tuned.verdict.outcomes[1]
    assert (failed.stage, failed.reason) == (Stage.COMPILE, "RuntimeError: too big")


def test_no_promise_is_returned_for_a_single_config_either(timed: World) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as executor, triton.AsyncCompileMode(executor):
        assert type(add(tuner(timed, add_kernel, blocks(16)))).__name__ == "Kernel"
