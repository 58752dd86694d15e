"""Compilers in processes of their own: what crashes, hangs or talks nonsense is one failed candidate (FR-28).

The stand-in backend of ``isolation_backend`` is compiled for with the installed Triton's own ``compile``.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import isolation_backend
import pytest
import triton.compiler.compiler as compiler
from tuning_fakes import World, add, add_kernel, blocks, fresh, tuner, vectors, world  # noqa: F401

from triton_ascend_tune import compiler_process, isolation
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.values import Stage, Status

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


#: A program that compiles one module of its own making, and then does nothing.
ISOLATED_JOB = """
import os, signal
from isolation_backend import StandIn
from triton_ascend_tune.compiler_job import Job
from triton_ascend_tune.isolation import Isolation
environment = dict(os.environ)
Isolation(None).run(Job(StandIn, None, (None,), "bin", "tensor<16xi32>", False, {}, environment, os.getcwd()))
signal.pause()
"""


def processes_with(marker: str) -> list[int]:
    """The processes, zombies aside, whose environment at their start contains ``marker``."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if marker.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def gone(marker: str) -> bool:
    """Whether no process with ``marker`` is left, after a while."""
    for _ in range(100):
        if not processes_with(marker):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def marker(monkeypatch: Any, tmp_path: Path) -> str:
    monkeypatch.setenv("STAND_IN_MARKER", str(tmp_path))
    return f"STAND_IN_MARKER={tmp_path}"


@pytest.fixture
def isolated(world: World, marker: str, monkeypatch: Any, tmp_path: Path) -> Iterator[World]:  # noqa: F811
    """A world whose compiler is the installed Triton's, over the stand-in backend, in processes."""
    world.times = TIMES
    monkeypatch.setenv("TRITON_ASCEND_TUNE_ISOLATE", "1")
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "2")
    monkeypatch.setenv(isolation_backend.LOG, str(tmp_path / "log"))
    monkeypatch.setattr(compiler, "make_backend", isolation_backend.StandIn)
    real, make_up = compiler.compile, world.compile

    def compile_(src: Any, target: Any = None, options: Any = None, **_: Any) -> Any:
        made_up = make_up(src, target=target, options=options)
        made_up.asm = real(src, target=target, options=options).asm
        return made_up

    monkeypatch.setattr("triton.compiler.compile", compile_)
    yield world
    assert compiler.make_backend is isolation_backend.StandIn
    assert isolation.current() is None
    isolation.end_idle()
    assert gone(marker)


def faults(monkeypatch: Any, wished: str) -> None:
    monkeypatch.setenv(isolation_backend.FAULTS, wished)


def compilations(tmp_path: Path) -> list[tuple[int, int, bool]]:
    """Block, process, and whether that process was a compiler's own, of all compilations so far."""
    log = tmp_path / "log"
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(int(block), int(pid), own == "True") for block, pid, own in lines]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_all_is_well(isolated: World, monkeypatch: Any, tmp_path: Path, workers: str) -> None:
    """Each worker has one process, which serves one candidate after the other, and the next tuning."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", workers)
    tuned = tuner(isolated, add_kernel, blocks(*TIMES, 128, 256, 512))
    isolated.times = lambda settings: float(settings["BLOCK"])
    add(tuned)
    add(tuner(isolated, add_kernel, blocks(8, 4)))
    assert [outcome.samples.p50 for outcome in tuned.verdict.outcomes] == [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]
    made = compilations(tmp_path)
    assert sorted(block for block, _, _ in made) == [4, 8, 16, 32, 64, 128, 256, 512]
    assert all(own for _, _, own in made)
    assert len({pid for _, pid, _ in made}) <= int(workers) and os.getpid() not in {pid for _, pid, _ in made}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("abort", "CompilerEndedError: the compiler ended by SIGABRT"),
        ("segfault", "CompilerEndedError: the compiler ended by SIGSEGV"),
        ("exit", "CompilerEndedError: the compiler ended with status 0 and no result"),
        ("garbage_and_exit", "CompilerEndedError: the compiler ended with status 3 and no result: "),
        ("hang", "CompileTimeoutError: took longer than 6 s"),
        ("hang_in_program", "CompileTimeoutError: took longer than 6 s"),
        ("break_connections", "CompilerEndedError: the compiler's answer cannot be read"),
        ("close_connections", "CompilerEndedError: the compiler closed its connection without a result"),
        ("refuse", "no block of 16"),
        ("unfit", "UnfitError: no block of 16"),
    ],
)
def test_each_is_one_failed_candidate(isolated: World, monkeypatch: Any, fault: str, reason: str) -> None:
    """FR-28; FR-24, FR-51: the others are tuned, and the winner is launched."""
    if "hang" in fault:
        monkeypatch.setenv("TRITON_ASCEND_TUNE_COMPILE_TIMEOUT", "6")
    monkeypatch.setattr(compiler_process, "_PATIENCE_S", 0.5)
    faults(monkeypatch, f"16={fault}")
    tuned = tuner(isolated, add_kernel, blocks(*TIMES))
    kernel = add(tuned)
    failed, *others = tuned.verdict.outcomes
    assert (failed.status, failed.stage) == (Status.FAILED, Stage.COMPILE)
    assert reason in failed.reason and "\n" not in failed.reason and len(failed.reason) <= 512
    assert [(outcome.reason, outcome.status) for outcome in others] == [("", Status.TIMED)] * 2
    assert tuned.best_config.kwargs == {"BLOCK": 32} and kernel.settings["BLOCK"] == 32


def test_one_worker_goes_on_with_another_process(isolated: World, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "1")
    faults(monkeypatch, "16=abort,64=segfault")
    tuned = tuner(isolated, add_kernel, blocks(*TIMES))
    add(tuned)
    assert [outcome.status for outcome in tuned.verdict.outcomes] == [Status.FAILED, Status.TIMED, Status.FAILED]
    assert len({pid for _, pid, _ in compilations(tmp_path)}) == len(compilations(tmp_path)) - 1


def test_with_all_failed_one_error_says_so(isolated: World, monkeypatch: Any) -> None:
    faults(monkeypatch, "16=abort,32=exit,64=refuse")
    with pytest.raises(NoCandidateError, match="3 failed, 0 pruned") as caught:
        add(tuner(isolated, add_kernel, blocks(*TIMES)))
    assert "SIGABRT" in str(caught.value) and "status 0" in str(caught.value) and "no block of 64" in str(caught.value)


def test_what_a_compiler_prints_is_seen_and_does_no_harm(isolated: World, monkeypatch: Any, capfd: Any) -> None:
    faults(monkeypatch, "16=garbage,32=say")
    tuned = tuner(isolated, add_kernel, blocks(*TIMES))
    add(tuned)
    assert all(outcome.status is Status.TIMED for outcome in tuned.verdict.outcomes)
    assert "remark: block 32" in capfd.readouterr().err


def test_a_compiler_that_died_is_tried_again_alone(isolated: World, monkeypatch: Any, tmp_path: Path) -> None:
    """FR-50: it may have been killed for want of memory; one that refused is not tried again."""
    faults(monkeypatch, "16=abort,32=refuse")
    add(tuner(isolated, add_kernel, blocks(*TIMES)))
    assert sorted(block for block, _, _ in compilations(tmp_path)) == [16, 16, 32, 64]


def test_a_candidate_with_a_hook_is_isolated_as_well(isolated: World, monkeypatch: Any, tmp_path: Path) -> None:
    """It is compiled at its first launch, as its hook may change the arguments."""
    faults(monkeypatch, "16=abort")
    configs = blocks(16, 32, pre_hook=lambda arguments: None)
    tuned = tuner(isolated, add_kernel, configs)
    add(tuned)
    failed, fine = tuned.verdict.outcomes
    assert (failed.status, failed.stage) == (Status.FAILED, Stage.COMPILE) and "SIGABRT" in failed.reason
    assert fine.status is Status.TIMED
    assert all(own for _, _, own in compilations(tmp_path))


def test_what_is_compiled_ahead_by_hand_is_isolated_as_well(isolated: World, monkeypatch: Any) -> None:
    faults(monkeypatch, "32=abort")
    x, y, out = vectors()
    with pytest.raises(Exception, match="the compiler ended by SIGABRT"):
        tuner(isolated, add_kernel, blocks(*TIMES)).warmup(x, y, out, 64, grid=(1,))


def test_what_the_user_launches_is_compiled_here(isolated: World, tmp_path: Path) -> None:
    x, y, out = vectors()
    fresh(add_kernel)[(4,)](x, y, out, 64, BLOCK=16)
    assert {pid for _, pid, _ in compilations(tmp_path)} == {os.getpid()}


def test_off_by_default(isolated: World, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.delenv("TRITON_ASCEND_TUNE_ISOLATE")
    add(tuner(isolated, add_kernel, blocks(*TIMES)))
    assert {pid for _, pid, _ in compilations(tmp_path)} == {os.getpid()}


def test_an_interrupt_ends_what_is_at_work(isolated: World, marker: str, monkeypatch: Any, tmp_path: Path) -> None:
    faults(monkeypatch, "16=hang,32=hang_in_program")
    tuned = tuner(isolated, add_kernel, blocks(*TIMES))

    def interrupt() -> None:
        while {block for block, _, _ in compilations(tmp_path)} < {16, 32}:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        add(tuned)
    assert gone(marker)
    faults(monkeypatch, "")
    add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_an_interrupt_while_one_is_compiled_after_the_other(
    isolated: World, marker: str, monkeypatch: Any, tmp_path: Path
) -> None:
    faults(monkeypatch, "16=hang")
    tuned = tuner(isolated, add_kernel, blocks(16, pre_hook=lambda arguments: None) + blocks(32))

    def interrupt() -> None:
        while 16 not in {block for block, _, _ in compilations(tmp_path)}:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        add(tuned)
    isolation.end_idle()
    assert gone(marker)


@pytest.mark.parametrize("fault", ["hang", "hang_in_program", ""])
def test_nothing_outlives_a_program_that_was_killed(marker: str, tmp_path: Path, fault: str) -> None:
    """Neither a compiler that holds the interpreter, nor what it has started, nor one that waits for its next job."""
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
        isolation_backend.FAULTS: f"16={fault}" if fault else "",
        isolation_backend.LOG: str(log),
    }
    program = subprocess.Popen([sys.executable, "-c", ISOLATED_JOB], env=environment)
    while not (log.exists() and log.read_text()) and program.poll() is None:
        time.sleep(0.05)
    assert len(processes_with(marker)) >= 2
    program.kill()
    program.wait()
    assert gone(marker)


def test_a_process_that_was_killed_while_it_waited_is_replaced(isolated: World, tmp_path: Path) -> None:
    add(tuner(isolated, add_kernel, blocks(16, 32)))
    for _, pid, _ in compilations(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    tuned = tuner(isolated, add_kernel, blocks(64, 16))
    add(tuned)
    assert all(outcome.status is Status.TIMED for outcome in tuned.verdict.outcomes)


def test_processes_that_nobody_needs_are_ended(isolated: World, marker: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(isolation, "IDLE_S", 0.1)
    add(tuner(isolated, add_kernel, blocks(*TIMES)))
    assert gone(marker)


def test_two_threads_may_tune_at_once(isolated: World, tmp_path: Path) -> None:
    tuned = tuner(isolated, add_kernel, blocks(*TIMES), do_bench=lambda call, quantiles: call() or 1.0)
    with ThreadPoolExecutor(2) as executor:
        kernels = list(executor.map(lambda n: add(tuned, n=n), (64, 65, 66)))
    assert [kernel.settings["BLOCK"] for kernel in kernels] == [16] * 3
    assert os.getpid() not in {pid for _, pid, _ in compilations(tmp_path)}


def test_a_forked_process_has_its_own(isolated: World, tmp_path: Path) -> None:
    """FR-53."""
    add(tuner(isolated, add_kernel, blocks(*TIMES)))
    child = os.fork()
    if not child:
        status = 1
        try:
            add(tuner(isolated, add_kernel, blocks(128, 256), key=()))
        except KeyError:  # no times for these: they were compiled and launched
            status = 0
        finally:
            isolation.end_idle()
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    before = {pid for block, pid, _ in compilations(tmp_path) if block <= 64}
    after = {pid for block, pid, _ in compilations(tmp_path) if block >= 128}
    assert after and not before & after
    tuned = tuner(isolated, add_kernel, blocks(4, 8))
    isolated.times = lambda settings: float(settings["BLOCK"])
    add(tuned)
    assert {pid for block, pid, _ in compilations(tmp_path) if block <= 8} <= before


def test_failures_do_not_keep_the_tensors_of_the_call_alive(isolated: World, monkeypatch: Any) -> None:
    """FR-51."""
    faults(monkeypatch, "16=abort,32=refuse")
    tuned = tuner(isolated, add_kernel, blocks(*TIMES))
    x, y, out = vectors()
    gc.disable()
    try:
        gone_x = weakref.ref(x)
        tuned[(4,)](x, y, out, 64)
        del x
        assert gone_x() is None
    finally:
        gc.enable()


def test_no_cache_no_difference(isolated: World, monkeypatch: Any, tmp_path: Path) -> None:
    """Triton's cache is used by Triton's own code, so what turns it off does so here."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    for _ in range(2):
        add(tuner(isolated, add_kernel, blocks(16, 32)))
    assert sorted(block for block, _, _ in compilations(tmp_path)) == [16, 16, 32, 32]
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE")
    add(tuner(isolated, add_kernel, blocks(16, 32)))
    assert len(compilations(tmp_path)) == 4


def test_a_cache_elsewhere_is_filled(isolated: World, monkeypatch: Any) -> None:
    """As ``TRITON_CACHE_MANAGER`` says, which is also how Triton's remote caches are asked for."""
    monkeypatch.setattr("triton.runtime.cache.__cache_cls", None, raising=False)
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "isolation_backend:Remembering")
    isolation_backend.Remembering.names.clear()
    add(tuner(isolated, add_kernel, blocks(16, 32)))
    kept = isolation_backend.Remembering.names
    assert [name for name in kept if name.endswith(".bin")] == ["add_kernel.bin"] * 2


def test_what_needs_the_modules_themselves_is_compiled_here(
    isolated: World, monkeypatch: Any, tmp_path: Path, caplog: Any
) -> None:
    monkeypatch.setattr(isolation, "_impossible", lambda: "a reason")
    with caplog.at_level(logging.WARNING, "triton_ascend_tune"):
        add(tuner(isolated, add_kernel, blocks(16, 32)))
    assert {pid for _, pid, _ in compilations(tmp_path)} == {os.getpid()}
    assert "TRITON_ASCEND_TUNE_ISOLATE is set, but candidates are compiled in this process: a reason" in caplog.text
