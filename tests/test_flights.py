"""One tuning at a time for each key; one measurement at a time on each device."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, tuner, world  # noqa: F401

from triton_ascend_tune import flights

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


class Shared:
    """One value that is made slowly; ``inside`` is set while somebody makes it, who goes on when ``go`` is."""

    def __init__(self) -> None:
        self.value: Any = None
        self.made = 0
        self.inside, self.go = threading.Event(), threading.Event()

    def make(self) -> Any:
        self.made += 1
        self.inside.set()
        assert self.go.wait(10)
        self.value = f"made {self.made}"
        return self.value

    def get(self, make: Callable[[], Any] | None = None, **options: Any) -> Any:
        return flights.once(self, "key", make or self.make, lambda: self.value, **options)


def test_the_others_wait_and_get_what_was_made() -> None:
    shared = Shared()
    with ThreadPoolExecutor(8) as executor:
        results = [executor.submit(shared.get) for _ in range(8)]
        assert shared.inside.wait(10)
        shared.go.set()
        assert {result.result(10) for result in results} == {"made 1"}
    assert shared.made == 1 and not flights._flights


def test_another_key_or_tuner_does_not_wait() -> None:
    one, two = Shared(), Shared()
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(one.get)
        assert one.inside.wait(10)
        two.go.set()
        assert two.get() == "made 1"
        assert flights.once(one, "other key", lambda: "made", lambda: None) == "made"
        one.go.set()
        slow.result(10)


def test_whoever_waited_for_a_failure_tries_himself() -> None:
    shared = Shared()

    def fail() -> Any:
        shared.inside.set()
        assert shared.go.wait(10)
        raise RuntimeError("no luck")

    with ThreadPoolExecutor(2) as executor:
        unlucky = executor.submit(shared.get, fail)
        assert shared.inside.wait(10)
        lucky = executor.submit(shared.get)
        shared.go.set()
        with pytest.raises(RuntimeError, match="no luck"):
            unlucky.result(10)
        assert lucky.result(10) == "made 1"
    assert not flights._flights


def test_a_tuning_inside_of_itself_does_not_wait_for_itself() -> None:
    shared = Shared()
    shared.go.set()
    assert shared.get(lambda: ("outer", shared.get())) == ("outer", "made 1")


def test_the_device_is_measured_on_by_one_thread_at_a_time() -> None:
    """FR-40, for the threads of one process."""
    inside, go, order = threading.Event(), threading.Event(), []

    def hold() -> None:
        with flights.device("npu:0"), flights.device("npu:0"):
            inside.set()
            assert go.wait(10)
            order.append("first")

    def follow() -> None:
        with flights.device("npu:0"):
            order.append("second")

    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(hold)
        assert inside.wait(10)
        with flights.device("npu:1"):
            order.append("another device")
        second = executor.submit(follow)
        go.set()
        first.result(10), second.result(10)
    assert order == ["another device", "first", "second"]


def test_a_stuck_device_does_not_stop_a_tuning_for_good(monkeypatch: Any) -> None:
    monkeypatch.setattr(flights, "DEVICE_PATIENCE_S", 0.01)
    with flights.device("npu:7"), ThreadPoolExecutor(1) as executor:

        def enter() -> str:
            with flights.device("npu:7"):
                return "entered"

        assert executor.submit(enter).result(10) == "entered"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_does_not_wait_for_threads_it_has_not() -> None:
    shared = Shared()
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(shared.get)
        assert shared.inside.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(0 if flights.once(shared, "key", lambda: 1, lambda: None) == 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        shared.go.set()
        slow.result(10)


# --- in the tuner ----------------------------------------------------------------------------------------------------


def held(world: World) -> tuple[Any, threading.Event, threading.Event]:  # noqa: F811
    """A tuner whose timer waits, and the events that say that it is at it and that it may go on."""
    inside, go = threading.Event(), threading.Event()

    def bench(call: Any, quantiles: Any) -> float:
        inside.set()
        assert go.wait(10)
        call()
        return world.time()

    return tuner(world, add_kernel, blocks(16, 32, 64), do_bench=bench), inside, go


def test_a_hit_is_not_held_up_by_a_tuning(world: World) -> None:  # noqa: F811
    """FR-64: hits take no lock."""
    world.times = TIMES
    tuned, inside, go = held(world)
    go.set()
    add(tuned, n=64)
    go.clear(), inside.clear()
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(add, tuned, 128)
        assert inside.wait(10)
        with flights._lock:  # whoever needs it now would hang
            assert add(tuned, n=64).settings["BLOCK"] == 32
        go.set()
        slow.result(10)


@pytest.mark.parametrize("broken", [{}, {16: RuntimeError("no")}])
def test_by_option_the_first_config_that_works_is_launched_meanwhile(
    world: World,  # noqa: F811
    monkeypatch: Any,
    broken: dict[int, Exception],
) -> None:
    """FR-64: or a fallback, which is not remembered."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_BUSY", "first")
    world.times, world.compile_errors = TIMES, broken
    tuned, inside, go = held(world)
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(add, tuned)
        assert inside.wait(10)
        assert add(tuned).settings["BLOCK"] == (32 if broken else 16)
        assert tuned.cache == {}
        go.set()
        assert slow.result(10).settings["BLOCK"] == 32
    assert add(tuned).settings["BLOCK"] == 32


def test_an_unknown_way_of_being_busy_is_named(world: World, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setenv("TRITON_ASCEND_TUNE_BUSY", "never")
    with pytest.raises(ValueError, match="TRITON_ASCEND_TUNE_BUSY is 'never'; allowed: unset, or one of wait, first"):
        add(tuner(world, add_kernel, blocks(16, 32)))
