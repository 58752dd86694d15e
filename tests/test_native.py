"""The C++ measuring loop on a fake runtime library whose calls and clock the test sees and steers."""

from __future__ import annotations

import ast
import gc
import math
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native_fakes import STREAM, FakeAcl, Work, compile_library

from triton_ascend_tune import _native


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> FakeAcl:
    return FakeAcl(compile_library(tmp_path_factory.mktemp("fake") / "libascendcl_fake.so"))


@pytest.fixture
def acl(library: FakeAcl) -> Iterator[FakeAcl]:
    library.reset()
    yield library
    gc.collect()


def without_events(log: list[str]) -> list[str]:
    """The log with event numbers removed, and without creation, destruction and reading of events."""
    return [line.split()[0] for line in log if line.split()[0] not in ("create", "destroy", "elapsed")]


def test_order_of_one_sample(acl: FakeAcl) -> None:
    """FR-21, FR-35."""
    trial = Work(acl.step("launch", 2.0), acl.step("before", 5.0), acl.step("after", 7.0))
    run = acl.timer(flush_ms=0.5).run([trial], [0])
    assert without_events(acl.log) == [
        *("drain", "record"),  # the opening of the first iteration
        *("before", "flush", "drain", "record", "launch", "drain", "record", "after", "drain", "record"),
        "synchronize",
    ]
    assert run.kernel_ms == pytest.approx([2.0])
    assert run.iteration_ms == pytest.approx([14.5])
    assert run.rejected == []
    assert run.host_ms > 0


def test_hooks_that_are_none_are_not_called_and_record_nothing(acl: FakeAcl) -> None:
    acl.timer().run([Work(acl.step("launch", 1.0))], [0])
    assert without_events(acl.log)[2:] == ["flush", "drain", "record", "launch", "drain", "record", "synchronize"]


def test_no_flush(acl: FakeAcl) -> None:
    timer = _native.EventTimer(_native.AclRuntime(acl.path), None, acl.stream)
    assert timer.run([Work(acl.step("launch", 1.0))], [0]).iteration_ms == pytest.approx([1.0])
    assert "flush" not in acl.log


def test_every_record_directly_follows_a_drain_on_the_current_stream(acl: FakeAcl) -> None:
    handles = iter(range(100, 1000))
    last = []

    def stream() -> int:
        acl.note("drain")
        last.append(next(handles))
        return last[-1]

    timer = _native.EventTimer(_native.AclRuntime(acl.path), acl.step("flush"), stream, 8)
    timer.run([Work(acl.step("launch", 1.0), None, acl.step("after"))], [0] * 20)
    log = acl.log
    records = [i for i, line in enumerate(log) if line.startswith("record")]
    assert len(records) == 20 * 3 + 3  # three batches of at most eight
    assert all(log[i - 1] == "drain" for i in records)
    assert [int(log[i].split()[-1]) for i in records] == last


def test_interleaved_trials_keep_their_own_times(acl: FakeAcl) -> None:
    trials = [Work(acl.step("a", 1.0)), Work(acl.step("b", 3.0), None, acl.step("after b", 10.0))]
    order = [1, 0, 0, 1, 0]
    run = acl.timer(flush_ms=0.5).run(trials, order)
    assert run.trials == order
    assert run.kernel_ms == pytest.approx([3.0, 1.0, 1.0, 3.0, 1.0])
    # What runs after a trial belongs to its own iteration, not to that of the next one.
    assert run.iteration_ms == pytest.approx([13.5, 1.5, 1.5, 13.5, 1.5])


def test_samples_in_flight_are_bounded_and_events_reused(acl: FakeAcl) -> None:
    timer = acl.timer(in_flight=4)
    for _ in range(3):
        run = timer.run([Work(acl.step("launch", 1.0))], [0] * 10)
        assert run.kernel_ms == pytest.approx([1.0] * 10)
        # A wait lies between the batches, and none of it counts as an iteration.
        assert run.iteration_ms == pytest.approx([1.5] * 10)
    assert sum(line.startswith("synchronize") for line in acl.log) == 3 * 3
    assert timer.events_created == timer.events_idle == 3 + 3 * 4
    del timer
    gc.collect()
    created = [line.split()[1] for line in acl.log if line.startswith("create")]
    assert sorted(created) == sorted(line.split()[1] for line in acl.log if line.startswith("destroy"))


def test_events_are_created_for_timing(acl: FakeAcl) -> None:
    acl.timer().run([Work(acl.step("launch", 1.0))], [0])
    assert {line.split("flag ")[1] for line in acl.log if line.startswith("create")} == {"8"}  # ACL_EVENT_TIME_LINE


def test_nothing_to_do(acl: FakeAcl) -> None:
    run = acl.timer().run([], [])
    assert (run.trials, run.kernel_ms, run.rejected) == ([], [], [])
    assert acl.log == []


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_that_are_none_are_rejected_and_counted(acl: FakeAcl, bad: float) -> None:
    times = iter([1.0, bad, 2.0])
    # A clock that went to infinity stays there; the last sample is only good where it did not.
    run = acl.timer(flush_ms=3.0).run([Work(lambda: acl.advance(next(times)))], [0, 0, 0])
    good = [1.0, 2.0] if math.isfinite(bad) else [1.0]
    assert run.kernel_ms == pytest.approx(good)
    assert run.rejected == [0] * (3 - len(good))


@pytest.mark.parametrize("place", ["before", "launch", "after", "flush", "stream"])
def test_an_exception_comes_out_unchanged_and_leaves_all_clean(acl: FakeAcl, place: str) -> None:
    error = ValueError("mine")
    calls = {"n": 0}

    def fail_third() -> int:
        calls["n"] += 1
        if calls["n"] == 3:
            raise error
        acl.advance(1.0)
        return STREAM

    parts: dict[str, Any] = {"before": None, "launch": acl.step("launch", 1.0), "after": None}
    host: dict[str, Any] = {"flush": acl.step("flush", 1.0), "stream": acl.stream}
    (host if place in host else parts)[place] = fail_third
    timer = _native.EventTimer(_native.AclRuntime(acl.path), host["flush"], host["stream"], 4)
    with pytest.raises(ValueError, match="mine") as caught:
        timer.run([Work(**parts)], [0] * 4)
    assert caught.value is error
    assert any(frame.name == "fail_third" for frame in caught.traceback)
    # The third fetch of the stream drains the first launch, so the launch is what failed.
    assert timer.interruption == (0, "launch" if place == "stream" else place)
    assert acl.log[-1].startswith("synchronize stream")
    assert timer.events_idle == timer.events_created > 0
    assert len(timer.run([Work(**parts)], [0] * 4).kernel_ms) == 4  # the fourth call and later ones succeed
    assert timer.interruption is None


def test_interruption_names_the_trial(acl: FakeAcl) -> None:
    def bad() -> None:
        raise RuntimeError("launch failed")

    timer = acl.timer()
    with pytest.raises(RuntimeError, match="launch failed"):
        timer.run([Work(acl.step("good", 1.0)), Work(bad)], [0, 0, 1, 0])
    assert timer.interruption == (1, "launch")


@pytest.mark.parametrize(
    ("function", "step"),
    [("aclrtRecordEvent", "record"), ("aclrtSynchronizeStream", "synchronize"), ("aclrtEventElapsedTime", None)],
)
def test_a_failed_call_is_an_error_with_its_name_code_and_message(acl: FakeAcl, function: str, step: str) -> None:
    acl.fail(function, 507015, "aicore exception")
    timer = acl.timer()
    with pytest.raises(_native.DeviceError, match=f"{function} failed with code 507015: aicore exception") as caught:
        timer.run([Work(acl.step("launch", 1.0))], [0])
    assert (caught.value.call, caught.value.code, caught.value.detail) == (function, 507015, "aicore exception")
    assert isinstance(caught.value, RuntimeError)
    assert timer.interruption == (0, step or "synchronize")
    assert timer.events_idle == timer.events_created > 0


def test_events_that_cannot_be_created(acl: FakeAcl) -> None:
    acl.fail("aclrtCreateEventExWithFlag", 207008)
    timer = acl.timer()
    with pytest.raises(_native.DeviceError, match=r"aclrtCreateEventExWithFlag failed with code 207008$"):
        timer.run([Work(acl.step("launch", 1.0))], [0])
    assert timer.events_created == timer.events_idle == 0
    assert "launch" not in acl.log


def test_bad_arguments_are_named(acl: FakeAcl) -> None:
    timer = acl.timer()
    work = Work(acl.step("launch", 1.0))
    with pytest.raises(IndexError, match="order holds 1; allowed are the indices of the 1 trials"):
        timer.run([work], [0, 1])
    with pytest.raises(TypeError, match="launch is None"):
        timer.run([Work(None)], [0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="in_flight is 0"):
        acl.timer(in_flight=0)
    assert "launch" not in acl.log


def test_a_timer_is_not_reentered(acl: FakeAcl) -> None:
    timer = acl.timer()
    inner = Work(acl.step("inner", 1.0))
    with pytest.raises(RuntimeError, match="already running"):
        timer.run([Work(lambda: timer.run([inner], [0]))], [0])
    assert timer.run([inner], [0]).kernel_ms == pytest.approx([1.0])


def test_keyboard_interrupt_ends_the_loop(acl: FakeAcl) -> None:
    launches = []

    def launch() -> None:
        launches.append(1)
        acl.advance(1.0)
        if len(launches) == 5:
            signal.raise_signal(signal.SIGINT)

    timer = acl.timer()
    with pytest.raises(KeyboardInterrupt):
        timer.run([Work(launch)], [0] * 1000)
    assert len(launches) == 5
    assert timer.events_idle == timer.events_created


def test_a_pending_interrupt_is_seen_between_samples_without_python_code(acl: FakeAcl) -> None:
    # C functions as callables: the interpreter's own check for signals never runs between them.
    threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
    timer = _native.EventTimer(_native.AclRuntime(acl.path), None, int(STREAM).__index__, 1)
    with pytest.raises(KeyboardInterrupt):
        timer.run([Work(time.monotonic)], [0] * 20_000_000)


def test_other_threads_run_while_the_loop_waits(acl: FakeAcl) -> None:
    acl.slow_synchronize(300)
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    begin = time.monotonic()
    acl.timer().run([Work(acl.step("launch", 1.0))], [0])
    end = time.monotonic()
    done.set()
    other.join()
    assert end - begin > 0.3
    assert sum(begin + 0.05 < at < end - 0.05 for at in ticks) > 5


def test_the_collector_sees_through_a_timer(acl: FakeAcl) -> None:
    def make() -> weakref.ref[Any]:
        def stream() -> int:
            return timer.events_idle

        timer = _native.EventTimer(_native.AclRuntime(acl.path), None, stream)
        return weakref.ref(stream)

    reference = make()
    gc.collect()
    assert reference() is None


def test_missing_library_names_it_and_the_variable() -> None:
    with pytest.raises(_native.LibraryError, match=r"libascendcl_missing\.so.*LD_LIBRARY_PATH"):
        _native.AclRuntime("libascendcl_missing.so")


def test_library_without_a_function(tmp_path: Path) -> None:
    source = tmp_path / "empty.cpp"
    source.write_text("")
    path = tmp_path / "libempty.so"
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    with pytest.raises(_native.LibraryError, match=r"libempty\.so has no function aclrtCreateEventExWithFlag"):
        _native.AclRuntime(str(path))


def test_runtime_says_what_it_loaded(acl: FakeAcl, tmp_path: Path) -> None:
    runtime = _native.AclRuntime(acl.path)
    assert runtime.library_path == acl.path
    assert runtime.simulator_version is None
    simulated = compile_library(tmp_path / "libsimulated.so", '-DFAKE_SIMULATOR_VERSION="1.2"')
    assert _native.AclRuntime(str(simulated)).simulator_version == "1.2"


def test_the_stub_describes_the_module() -> None:
    stub = ast.parse(Path(_native.__file__).with_name("_native.pyi").read_text())
    described = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    classes = {name for name in public(_native) if isinstance(getattr(_native, name), type)}
    assert classes == {name for name in described if not name.startswith("_")}
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in public(_native) if not isinstance(getattr(_native, name), type)} == functions
    for name in public(_native) - functions - {"DeviceError", "LibraryError"}:  # those are filled in when raised
        body = described[name].body
        members = {node.name for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")}
        members |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}  # attributes
        assert public(getattr(_native, name)) == members - public(_native.DeviceRuntime)


def public(scope: object) -> set[str]:
    return {name for name in dir(scope) if not name.startswith("_")}
