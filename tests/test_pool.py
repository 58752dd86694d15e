"""Compiling several candidates at once, over the real ``triton.jit`` of whichever Triton is installed."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, fresh, triton, tuner, vectors, world  # noqa: F401

from triton_ascend_tune import pool
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.values import Stage, Status

TIMES = {16: 3.0, 32: 1.0, 64: 2.0, 128: 4.0}


class Compiler:
    """Holds compilations until ``wanted`` of them run at once, or a second has passed."""

    def __init__(self, world: World, wanted: int) -> None:  # noqa: F811
        self.at_once = self.most = 0
        self.threads: set[int] = set()
        self._lock, self._met = threading.Condition(), False
        self._wanted, self._compile = wanted, world.compile

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.threads.add(threading.get_ident())
            self._met = self._met or self.at_once >= self._wanted
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._met, timeout=1)
        try:
            return self._compile(*args, **kwargs)
        finally:
            with self._lock:
                self.at_once -= 1


@pytest.fixture
def timed(world: World, monkeypatch: Any) -> Iterator[World]:  # noqa: F811
    world.times = TIMES
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "3")
    yield world
    assert no_mode_is_active()
    assert not [thread for thread in threading.enumerate() if "triton-ascend-tune" in thread.name]


def no_mode_is_active() -> bool:
    try:
        return importlib.import_module("triton.runtime._async_compile").active_mode.get() is None
    except ImportError:
        return True


def compiler(world: World, monkeypatch: Any, wanted: int) -> Compiler:  # noqa: F811
    made = Compiler(world, wanted)
    monkeypatch.setattr(triton.compiler, "compile", made)
    return made


def cached(jit: Any) -> list[Any]:
    """Everything in the kernel caches of a JIT function."""
    entries = jit.device_caches.values() if hasattr(jit, "device_caches") else jit.cache.values()
    return [kernel for entry in entries for kernel in (entry[0] if isinstance(entry, tuple) else entry).values()]


@pytest.mark.parametrize(("workers", "expected"), [("1", 1), ("2", 2), ("3", 3), ("9", 4)])
def test_as_many_at_once_as_there_are_workers(timed: World, monkeypatch: Any, workers: str, expected: int) -> None:
    """FR-50: in parallel, in order, and with the choice that one after the other gives."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", workers)
    made = compiler(timed, monkeypatch, expected)
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    kernel = add(tuned)
    assert made.most == expected
    assert (threading.get_ident() in made.threads) == (workers == "1")
    assert sorted(timed.logged("compile")) == sorted(TIMES)
    assert [outcome.samples.p50 for outcome in tuned.verdict.outcomes] == list(TIMES.values())
    assert tuned.best_config.kwargs == {"BLOCK": 32} and type(kernel).__name__ == "Kernel"
    assert {type(kernel).__name__ for kernel in cached(tuned.fn)} == {"Kernel"}


def test_eight_compilations_run_four_at_a_time(timed: World, monkeypatch: Any) -> None:
    """FR-50."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "4")
    timed.times = lambda settings: float(settings["BLOCK"])
    held = compiler(timed, monkeypatch, 4)
    add(tuner(timed, add_kernel, blocks(*(1 << bit for bit in range(8)))))
    assert held.most == len(held.threads) == 4 and len(timed.logged("compile")) == 8


def test_of_several_failures_none_leaves_anything_behind(timed: World, monkeypatch: Any) -> None:
    """FR-51, W-15, W-20: all are reported, the others are measured, the next kernel compiles as ever."""
    compiler(timed, monkeypatch, 3)
    timed.compile_errors = {16: RuntimeError("first"), 64: RuntimeError("second")}
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    add(tuned)
    assert [outcome.reason for outcome in tuned.verdict.outcomes] == [
        "RuntimeError: first",
        "",
        "RuntimeError: second",
        "",
    ]
    assert {kernel.settings["BLOCK"] for kernel in cached(tuned.fn)} == {32, 128}
    timed.compile_errors = {}
    other = tuner(timed, add_kernel, blocks(*TIMES))
    add(other)
    assert all(outcome.status is Status.TIMED for outcome in other.verdict.outcomes)


def test_an_unusual_exception_is_that_candidates_and_is_named(timed: World) -> None:
    """FR-24, W-13, W-17: any class of error, and with all failed one error with the whole list."""

    class OddError(Exception):
        pass

    timed.compile_errors = {size: OddError(f"no {size}") for size in TIMES}
    with pytest.raises(NoCandidateError, match="4 failed, 0 pruned") as caught:
        add(tuner(timed, add_kernel, blocks(*TIMES)))
    assert all(f"OddError: no {size}" in str(caught.value) for size in TIMES)
    assert isinstance(caught.value.__cause__, OddError)
    assert {outcome.stage for outcome in caught.value.outcomes} == {Stage.COMPILE}


def test_the_callers_mistake_is_raised_and_everything_is_put_back(timed: World) -> None:
    timed.compile_errors[32] = TypeError("bad argument")
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    with pytest.raises(TypeError, match="bad argument"):
        add(tuned)
    assert all(type(kernel).__name__ == "Kernel" for kernel in cached(tuned.fn))
    timed.compile_errors.clear()
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_an_interrupt_is_raised_and_everything_is_put_back(timed: World) -> None:
    timed.compile_errors[64] = KeyboardInterrupt()
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    with pytest.raises(KeyboardInterrupt):
        add(tuned)
    assert all(type(kernel).__name__ == "Kernel" for kernel in cached(tuned.fn))
    timed.compile_errors.clear()
    add(tuned)


def test_no_hook_of_the_user_runs_while_candidates_are_compiled(timed: World, monkeypatch: Any) -> None:
    """FR-51, W-47: neither tuner hooks nor a config's."""
    seen: list[Any] = []
    original = timed.compile

    def compile_(*args: Any, **kwargs: Any) -> Any:
        seen.append("compile")
        return original(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", compile_)
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), post_hook=lambda arguments, exception: seen.append("post"))
    add(tuned)
    assert seen[:3] == ["compile"] * 3 and seen[3:] == ["post"] * (len(seen) - 3)


def test_equal_compilations_are_made_once(timed: World) -> None:
    timed.compile_errors[16] = RuntimeError("too big")
    tuned = tuner(timed, add_kernel, blocks(16, 16, 32))
    add(tuned)
    assert [outcome.status.value for outcome in tuned.verdict.outcomes] == ["failed", "failed", "timed"]


def test_what_failed_for_want_of_memory_is_compiled_again_alone(timed: World, monkeypatch: Any) -> None:
    """FR-50: failed speculative compilations are retried serially."""
    original, refused = timed.compile, []

    def crowded(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            refused.append(1)
            raise OSError(12, "Cannot allocate memory")
        return original(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", crowded)
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    add(tuned)
    assert len(refused) == 3
    assert all(outcome.status is Status.TIMED for outcome in tuned.verdict.outcomes)


def test_failures_do_not_keep_the_tensors_of_the_call_alive(timed: World) -> None:
    """FR-51: tracebacks hold frames, and frames hold tensors."""
    timed.compile_errors = {16: RuntimeError("one"), 32: RuntimeError("two")}
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64))
    x, y, out = vectors()
    gc.disable()
    try:
        gone = weakref.ref(x)
        tuned[(4,)](x, y, out, 64)
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_another_thread_may_launch_what_is_being_compiled(timed: World, monkeypatch: Any) -> None:
    inside, go = threading.Event(), threading.Event()
    original, main = timed.compile, threading.get_ident()

    def held(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != main:
            inside.set()
            assert go.wait(10)
        return original(*args, **kwargs)

    monkeypatch.setattr(triton.compiler, "compile", held)
    jit = fresh(add_kernel)
    tuned = tuner(timed, jit, blocks(16, 32, 64), jit=False)
    x, y, out = vectors()

    def launch() -> str:
        assert inside.wait(10)
        threading.Timer(0.2, go.set).start()
        return jit[(4,)](x, y, out, 64, BLOCK=16, num_warps=4).__class__.__name__

    with ThreadPoolExecutor(1) as executor:
        launched = executor.submit(launch)
        add(tuned)
        launched.result(10)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert {type(kernel).__name__ for kernel in cached(jit)} == {"Kernel"}


def test_two_threads_may_compile_for_one_kernel(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(*TIMES), do_bench=lambda call, quantiles: call() or 1.0)
    with ThreadPoolExecutor(4) as executor:
        kernels = list(executor.map(lambda n: add(tuned, n=n), (64, 65, 66, 67)))
    assert [type(kernel).__name__ for kernel in kernels] == ["Kernel"] * 4
    assert {type(kernel).__name__ for kernel in cached(tuned.fn)} == {"Kernel"}


def test_heuristics_below_compile_in_parallel_and_unknown_wrappers_do_not(timed: World, monkeypatch: Any) -> None:
    """FR-54: a wrapper may launch where it is only to compile."""
    made = compiler(timed, monkeypatch, 3)
    add(tuner(timed, triton.heuristics({"MODE": lambda _: 1})(fresh(add_kernel)), blocks(16, 32, 64), jit=False))
    assert made.most == 3

    class Wrapper:
        def __init__(self, fn: Any) -> None:
            self.fn, self.arg_names = fn, fn.arg_names

        def run(self, *args: Any, **kwargs: Any) -> Any:
            return self.fn.run(*args, **kwargs)

    made = compiler(timed, monkeypatch, 1)
    add(tuner(timed, Wrapper(fresh(add_kernel)), blocks(16, 32, 64), jit=False))
    assert made.most == 1 and made.threads == {threading.get_ident()}


@pytest.mark.skipif("triton.runtime._async_compile" in sys.modules, reason="Triton makes the promises itself")
def test_something_that_wants_to_hear_of_compilations_gets_them_one_by_one(timed: World) -> None:
    jit = fresh(add_kernel)
    assert pool.can_promise(jit)
    jit.compiled_hook = lambda *args, **kwargs: None
    assert not pool.can_promise(jit)
