"""The gate of the native loop on a fake runtime library: what lies behind it, and that it is open in the end."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from native_fakes import STREAM, GatedAcl, Work, compile_library

from triton_ascend_tune import _native


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> GatedAcl:
    return GatedAcl(compile_library(tmp_path_factory.mktemp("fake") / "libascendcl_fake_gate.so"))


@pytest.fixture
def acl(library: GatedAcl) -> Iterator[GatedAcl]:
    library.reset()
    yield library
    gc.collect()


@pytest.mark.parametrize("gate", ["notify", "value"])
def test_a_round_is_queued_behind_the_gate_and_something_follows_the_last_end(acl: GatedAcl, gate: str) -> None:
    timer = acl.gated_timer(gate=gate)
    start = len(acl.steps)
    run = timer.run([Work(acl.step("launch", 2.0))], [0, 0])
    opened = {"notify": "open", "value": "write"}[gate]
    sample = ["flush", "record", "launch", "record"]
    expected = ["record", "close", "record", *sample, *sample, "flush", "record", opened, "synchronize"]
    assert acl.steps[start:] == expected
    assert run.gated
    assert not acl.held
    assert run.kernel_ms == pytest.approx([2.0, 2.0])
    assert run.iteration_ms == pytest.approx([2.75, 2.75])  # the trailing flush is shared
    assert run.places == [0, 1]


def test_what_follows_the_last_sample_may_be_given(acl: GatedAcl) -> None:
    timer = acl.gated_timer(trail=acl.step("trail", 4.0))
    run = timer.run([Work(acl.step("launch", 2.0))], [0, 0])
    sample = ["flush", "record", "launch", "record"]
    assert acl.steps == ["record", "close", "record", *sample, *sample, "trail", "record", "open", "synchronize"]
    assert run.iteration_ms == pytest.approx([4.5, 4.5])
    start = len(acl.steps)
    timer.run([Work(acl.step("launch", 1.0), acl.step("before"), acl.step("after"))], [0])
    assert acl.steps[start + 2 : start + 9] == ["close", *sample, "trail", "open"]
    trails = acl.steps.count("trail")
    timer.run([Work(acl.step("launch", 1.0))], [0], gated=False)
    assert acl.steps.count("trail") == trails


def test_the_wait_has_a_limit_of_its_own(acl: GatedAcl) -> None:
    acl.gated_timer().run([Work(acl.step("launch", 1.0))], [0])
    assert f"close stream {STREAM} limit 2000" in acl.log


def test_no_hook_runs_behind_a_closed_gate(acl: GatedAcl) -> None:
    held = []
    trials = [
        Work(acl.step("launch", 1.0)),
        Work(acl.step("launch", 2.0), lambda: held.append(acl.held), lambda: held.append(acl.held)),
    ]
    run = acl.gated_timer().run(trials, [0, 1, 1, 0, 0])
    assert held == [False] * 4
    assert run.gated
    assert run.trials == [0, 1, 1, 0, 0]
    assert run.places == [0, 1, 2, 3, 4]
    assert run.kernel_ms == pytest.approx([1.0, 2.0, 2.0, 1.0, 1.0])
    assert acl.steps.count("close") == acl.steps.count("open") == acl.steps.count("synchronize") == 4


def test_what_is_timed_of_a_trial_with_hooks_is_behind_the_gate(acl: GatedAcl) -> None:
    acl.gated_timer().run([Work(acl.step("launch", 1.0), acl.step("before", 4.0), acl.step("after", 8.0))], [0])
    order = ["record", "before", "close", "flush", "record", "launch", "record", "open", "after", "record"]
    assert acl.steps == [*order, "synchronize"]


def test_a_whole_iteration_of_a_trial_with_hooks(acl: GatedAcl) -> None:
    run = acl.gated_timer().run([Work(acl.step("launch", 1.0), acl.step("before", 4.0), acl.step("after", 8.0))], [0])
    assert run.iteration_ms == pytest.approx([13.5])


def test_pieces_behind_the_gate_are_bounded(acl: GatedAcl) -> None:
    run = acl.gated_timer(in_flight=4).run([Work(acl.step("launch", 1.0))], [0] * 10)
    assert len(run.kernel_ms) == 10
    assert run.places == list(range(10))
    closes = [i for i, step in enumerate(acl.steps) if step == "close"]
    opens = [i for i, step in enumerate(acl.steps) if step == "open"]
    assert [acl.steps[a:b].count("launch") for a, b in zip(closes, opens)] == [4, 4, 2]


def test_ungated_on_request(acl: GatedAcl) -> None:
    run = acl.gated_timer().run([Work(acl.step("launch", 1.0))], [0, 0], gated=False)
    assert "close" not in acl.steps
    assert not run.gated


def test_priming_launches_are_not_timed(acl: GatedAcl) -> None:
    times = iter([9.0, 1.0, 2.0, 7.0])
    run = acl.gated_timer(flush_ms=0, prime=True).run([Work(lambda: acl.advance(next(times)))], [0, 0])
    assert run.kernel_ms == pytest.approx([1.0, 2.0])
    assert run.iteration_ms == pytest.approx([9.0, 10.0])  # 9 and 7 are shared


def test_priming_without_a_gate(acl: GatedAcl) -> None:
    times = iter([9.0, 1.0, 2.0])
    run = acl.gated_timer(flush_ms=0, prime=True, gate="").run([Work(lambda: acl.advance(next(times)))], [0, 0])
    assert run.kernel_ms == pytest.approx([1.0, 2.0])
    assert run.iteration_ms == pytest.approx([5.5, 6.5])


def test_a_trial_with_hooks_is_never_launched_without_them(acl: GatedAcl) -> None:
    work = Work(acl.step("launch", 1.0), acl.step("before"), acl.step("after"))
    acl.gated_timer(flush_ms=0, prime=True).run([work], [0, 0])
    assert acl.steps.count("launch") == acl.steps.count("before") == acl.steps.count("after") == 2


def test_a_launch_that_waits_behind_the_gate_opens_it_and_is_taken_again(acl: GatedAcl) -> None:
    """What a launch that synchronises does: it cannot return before the gate has opened."""

    def launch() -> None:
        acl.note("launch")
        for _ in range(5000):
            if not acl.held:
                break
            time.sleep(0.001)
        acl.note("launched")
        acl.advance(1.0)

    timer = acl.gated_timer()
    run = timer.run([Work(launch)], [0, 0])
    assert not run.gated
    assert timer.gate_expired
    assert run.kernel_ms == pytest.approx([1.0, 1.0])
    first = [acl.steps.index(step) for step in ("close", "launch", "open", "launched")]
    assert first == sorted(first)
    assert acl.steps.count("close") == acl.steps.count("open") == 1  # opened by the watchdog alone
    assert acl.log.count("set context") == 1  # the watchdog's thread has no context of its own
    assert not timer.run([Work(launch)], [0]).gated
    assert acl.steps.count("close") == 1


@pytest.mark.parametrize("place", ["before", "launch", "after", "flush", "stream"])
def test_an_exception_leaves_the_gate_open(acl: GatedAcl, place: str) -> None:
    calls = {"n": 0}

    def fail_third() -> int:
        calls["n"] += 1
        if calls["n"] == 3:
            raise ValueError("mine")
        acl.advance(1.0)
        return STREAM

    parts: dict[str, Any] = {"before": None, "launch": acl.step("launch", 1.0), "after": None}
    host: dict[str, Any] = {"flush": acl.step("flush", 1.0), "stream": acl.stream}
    (host if place in host else parts)[place] = fail_third
    timer = _native.EventTimer(_native.AclRuntime(acl.path), host["flush"], host["stream"], gate="notify")
    with pytest.raises(ValueError, match="mine"):
        timer.run([Work(**parts)], [0] * 4)
    assert not acl.held
    assert acl.steps.count("close") == acl.steps.count("open") > 0
    assert acl.steps[-1] == "synchronize"
    assert timer.events_idle == timer.events_created > 0
    run = timer.run([Work(**parts)], [0] * 4)
    assert len(run.kernel_ms) == 4
    assert run.gated


def test_keyboard_interrupt_opens_the_gate(acl: GatedAcl) -> None:
    def launch() -> None:
        acl.note("launch")
        if acl.steps.count("launch") == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        acl.gated_timer().run([Work(launch)], [0] * 50)
    assert acl.steps.count("launch") == 3
    assert acl.steps[-2:] == ["open", "synchronize"]


def test_a_gate_that_cannot_be_opened_is_an_error(acl: GatedAcl) -> None:
    acl.fail("aclrtRecordNotify", 507899, "lost")
    with pytest.raises(_native.DeviceError, match="aclrtRecordNotify failed with code 507899: lost"):
        acl.gated_timer().run([Work(acl.step("launch", 1.0))], [0])


def test_the_probe_takes_the_first_gate_that_works(acl: GatedAcl) -> None:
    assert _native.choose_gate(_native.AclRuntime(acl.path)) == ("notify", "")
    assert not acl.held
    acl.reset()
    acl.fail("aclrtCreateNotify", 207000, "not supported")
    kind, problem = _native.choose_gate(_native.AclRuntime(acl.path))
    assert kind == "value"
    assert problem == "notify: aclrtCreateNotify failed with code 207000: not supported"


@pytest.mark.parametrize(("holds", "releases", "fault"), [(False, True, "hold"), (True, False, "release")])
def test_the_probe_finds_broken_gates(acl: GatedAcl, holds: bool, releases: bool, fault: str) -> None:
    acl.gate(holds, releases)
    kind, problem = _native.choose_gate(_native.AclRuntime(acl.path))
    assert kind == ""
    assert problem == f"notify: does not {fault} a stream; value: does not {fault} a stream"


def test_a_library_without_gates(tmp_path: Any) -> None:
    source = "".join(f'extern "C" int {name}() {{ return 0; }}\n' for name in REQUIRED)
    path = compile_library(tmp_path / "libplain.so", source=source)
    runtime = _native.AclRuntime(str(path))
    assert _native.choose_gate(runtime) == ("", "the device's library has none")
    with pytest.raises(ValueError, match=r"gate is 'notify'; .*libplain\.so offers"):
        _native.EventTimer(runtime, None, int, gate="notify")


REQUIRED = (
    "aclrtCreateEventExWithFlag", "aclrtDestroyEvent", "aclrtRecordEvent", "aclrtQueryEventStatus",
    "aclrtSynchronizeEvent", "aclrtEventElapsedTime", "aclrtSynchronizeStream", "aclGetRecentErrMsg",
)  # fmt: skip


@pytest.mark.parametrize("limit", [0, 2000])
def test_the_limit_is_checked(acl: GatedAcl, limit: int) -> None:
    with pytest.raises(ValueError, match=f"gate_limit_ms is {limit}; allowed are 1 to 1999"):
        _native.EventTimer(_native.AclRuntime(acl.path), None, acl.stream, gate_limit_ms=limit)


def test_a_cuda_driver_that_is_not_there() -> None:
    with pytest.raises(_native.LibraryError, match=r"cannot load the CUDA driver libcuda_missing\.so"):
        _native.CudaRuntime("libcuda_missing.so")
