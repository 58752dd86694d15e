"""Options said by a program: for a block, for a kernel, and which of them wins; and launches during stream capture."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import triton
from tuning_fakes import World, add, add_kernel, blocks, fresh, tuner, world  # noqa: F401

import triton_ascend_tune
from triton_ascend_tune.measure import capture
from triton_ascend_tune.program_options import attached, current, options
from triton_ascend_tune.values import MIB, Protocol

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


@pytest.fixture
def timed(world: World, monkeypatch: pytest.MonkeyPatch) -> World:  # noqa: F811
    for name in ("PLAN", "FLUSH", "FLUSH_MIB", "TOLERANCE", "BUDGET_MS", "SEED", "GATE"):
        monkeypatch.delenv(f"TRITON_ASCEND_TUNE_{name}", raising=False)
    world.times = TIMES
    return world


def protocol_of(timed: World, tuned: Any) -> Protocol:
    add(tuned)
    return timed.protocols[-1]


def test_it_is_public() -> None:
    assert triton_ascend_tune.options is options


def test_without_any_the_defaults_hold(timed: World) -> None:
    assert protocol_of(timed, tuner(timed, add_kernel, blocks(16, 32))) == Protocol()


def test_a_block_of_a_program(timed: World) -> None:
    with options(plan="classic", tolerance=0.02), options(tolerance=0.05, flush_mib=64):
        protocol = protocol_of(timed, tuner(timed, add_kernel, blocks(16, 32)))
    assert protocol == Protocol(plan="classic", tolerance=0.05, flush_bytes=64 * MIB)
    assert current() == {}


def test_a_block_ends_also_by_an_exception_and_may_be_entered_again() -> None:
    block = options(seed=3)
    with pytest.raises(KeyError), block, block:
        raise KeyError
    assert current() == {}
    with block:
        assert current() == {"seed": 3}


def test_a_block_is_of_its_thread() -> None:
    seen: list[Any] = []
    with options(seed=3):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [{}]


def test_a_kernel_above_its_tuner(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    assert options(flush="none")(tuned) is tuned
    assert protocol_of(timed, tuned).flush == "none"
    assert protocol_of(timed, tuner(timed, add_kernel, blocks(16, 32))).flush == "write"


def test_a_kernel_below_its_tuner(timed: World) -> None:
    kernel = options(flush="none", seed=1)(fresh(add_kernel))
    tuned = tuner(timed, kernel, blocks(16, 32), jit=False)
    assert protocol_of(timed, tuned) == Protocol(flush="none", seed=1)
    options(seed=2)(tuned)
    assert attached(tuned) == {"flush": "none", "seed": 2}


def test_above_what_is_wrapped_around_a_tuner(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    wrapped = triton.heuristics({"MODE": lambda arguments: 0})(tuned)
    assert options(seed=5)(wrapped) is wrapped
    assert protocol_of(timed, wrapped).seed == 5


def test_what_is_nearer_to_the_kernel_wins(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_BUDGET_MS", "1")
    monkeypatch.setenv("TRITON_ASCEND_TUNE_SEED", "1")
    monkeypatch.setenv("TRITON_ASCEND_TUNE_TOLERANCE", "0.1")
    monkeypatch.setenv("TRITON_ASCEND_TUNE_PLAN", "classic")
    tuned = options(seed=3)(tuner(timed, add_kernel, blocks(16, 32), rep=2))
    with options(seed=2, tolerance=0.2):
        protocol = protocol_of(timed, tuned)
    assert protocol == Protocol(plan="classic", repeat_ms=2.0, tolerance=0.2, seed=3)


def test_a_tuning_ends_where_a_hit_begins(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    with options(plan="fixed"):
        add(tuned)
    assert len(timed.protocols) == 1


def test_an_illegal_variable_is_named_at_the_tuning(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE_PLAN", "guess")
    with pytest.raises(ValueError, match=r"TRITON_ASCEND_TUNE_PLAN is 'guess'; allowed: .*race, classic, fixed"):
        add(tuner(timed, add_kernel, blocks(16, 32)))


def test_bad_options_are_named() -> None:
    with pytest.raises(TypeError, match="unknown option speed; allowed: plan, flush"):
        options(speed=1)
    with pytest.raises(ValueError, match=r"options: tolerance is 1\.5; allowed: 0\.0 up to"):
        options(tolerance=1.5)
    with pytest.raises(ValueError, match=r"options: fallback is \{'BLOCK': 16\}; allowed: a triton\.Config"):
        options(fallback={"BLOCK": 16})
    with pytest.raises(TypeError, match=r"options decorates kernels.*not function.*with options"):
        options(seed=1)(lambda: None)


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def in_progress(backend: str) -> bool:
        asked.append(backend)
        return True

    monkeypatch.setattr(capture, "in_progress", in_progress)
    return asked


def test_nothing_is_compiled_or_launched_while_the_stream_is_captured(timed: World, capturing: list[str]) -> None:
    """FR-65."""
    tuned = tuner(timed, add_kernel, blocks(16, 32), pre_hook=lambda *_, **__: pytest.fail("a hook ran"))
    with pytest.raises(capture.CaptureError, match=r"add_kernel has no config for these arguments.*before the capture"):
        add(tuned)
    assert timed.log == []
    assert tuned.cache == {}
    assert tuned.nargs is None
    assert capturing == ["npu"]


def test_a_named_fallback_is_launched_and_not_remembered(timed: World, capturing: list[str]) -> None:
    [fallback] = blocks(64)
    tuned = options(fallback=fallback)(tuner(timed, add_kernel, blocks(16, 32)))
    assert add(tuned).settings["BLOCK"] == 64
    assert timed.logged("launch") == [64]
    assert tuned.cache == {}


def test_a_choice_that_was_made_before_is_used_in_a_capture(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    add(tuned)
    monkeypatch.setattr(capture, "in_progress", lambda backend: True)
    assert add(tuned).settings["BLOCK"] == 32


def test_one_config_needs_no_choice(timed: World, capturing: list[str]) -> None:
    assert add(tuner(timed, add_kernel, blocks(16))).settings["BLOCK"] == 16
