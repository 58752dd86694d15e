"""Tunings in rounds, on a made-up device: rescue, finalists, limits, and who prunes."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tuning_fakes import World, copy_kernel, triton, tuner, vectors, world  # noqa: F401

from triton_ascend_tune.candidates import variants
from triton_ascend_tune.candidates.hints import hints
from triton_ascend_tune.key_mapping import key_map
from triton_ascend_tune.values import Status

N = 1_000_003


def call(tuned: Any, n: int = N) -> Any:
    x, y, _ = vectors()
    return tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)


def tried(tuned: Any) -> list[Any]:
    return [each for each in tuned.verdict.outcomes if each.status is not Status.PRUNED]


def test_what_overflows_is_tried_again_with_less_and_says_so(world: World) -> None:  # noqa: F811
    world.compile_errors = {25_008: RuntimeError("ub overflow, requires 8192000 bits while 1572864 bits available!")}
    world.times = lambda settings: abs(settings["BLOCK"] - 3126) + 1.0
    tuned = tuner(world, copy_kernel, [])
    call(tuned)
    assert tuned.best_config.kwargs["BLOCK"] == 3126  # an eighth of what needed ten times of what was modelled
    (failure,) = [each for each in tried(tuned) if each.status is Status.FAILED]
    assert failure.reason == "unified buffer overflow: needs 1000 KiB, has 192 KiB; tried again as BLOCK=3126"


def test_the_best_meet_the_candidates_of_the_next_round(world: World, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setattr(variants, "of_npu", lambda *_: iter([{"multibuffer": False}]))
    world.times = lambda settings: abs(settings["BLOCK"] - 12_504) + 1.0
    tuned = tuner(world, copy_kernel, [])
    call(tuned)
    launched = world.logged("launch")
    assert tuned.best_config.kwargs["BLOCK"] == 12_504
    assert launched.count(12_504) > launched.count(4168) > 0  # the best was measured in each round
    assert len({id(each.candidate.config) for each in tried(tuned)}) == len(tried(tuned))
    assert {str(each.candidate.config.kwargs) for each in tried(tuned)} >= {"{'BLOCK': 12504, 'multibuffer': False}"}


def test_a_failure_teaches_while_others_have_yet_to_be_compiled(world: World) -> None:  # noqa: F811
    """It needs ten times of what was modelled: what then cannot fit is not compiled, what is tried instead is."""
    world.compile_errors = {25_008: RuntimeError("ub overflow, requires 8192000 bits while 1572864 bits available!")}
    world.times = lambda settings: abs(settings["BLOCK"] - 3126) + 1.0
    tuned = tuner(world, copy_kernel, [])
    call(tuned)
    compiled = world.logged("compile")
    assert compiled.index(25_008) < compiled.index(3126)
    given_up = {
        each.candidate.config.kwargs["BLOCK"]: each.reason
        for each in tuned.verdict.outcomes
        if each.status is Status.PRUNED and each.candidate.config.kwargs["BLOCK"] < 25_008
    }
    assert 16_384 in given_up and "unified buffer: needs about" in given_up[16_384]
    assert not set(given_up) & set(compiled)
    assert len(set(world.logged("launch"))) == len(set(compiled)) - 1  # one race of all that compiled


def test_a_hit_proposes_nothing_and_another_length_does(world: World) -> None:  # noqa: F811
    world.times = lambda settings: float(settings["BLOCK"])
    tuned = tuner(world, copy_kernel, [], key=[])
    call(tuned)
    world.log.clear()
    call(tuned)
    assert len(world.log) == 1
    call(tuned, 77)
    assert len(world.log) > 2 and len(tuned.cache) == 2  # the length is part of the key, though no key was given


def test_effort_and_time_bound_what_is_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """FR-41."""
    world.times = lambda settings: float(settings["BLOCK"])
    tuned = tuner(world, copy_kernel, [])
    hints(effort="low")(tuned)
    call(tuned)
    assert 1 < len(tried(tuned)) <= 16
    monkeypatch.setenv("TRITON_ASCEND_TUNE_SECONDS", "1e-9")
    hurried = tuner(world, copy_kernel, [])
    call(hurried)
    assert len(tried(hurried)) == 8


def test_the_users_pruning_sees_what_was_proposed_and_has_the_last_word(world: World) -> None:  # noqa: F811
    world.times = lambda settings: float(settings["BLOCK"])
    seen: list[int] = []

    def prune(configs: Any, named: Any, **_: Any) -> Any:
        seen.extend(config.kwargs["BLOCK"] for config in configs)
        return [config for config in configs if config.kwargs["BLOCK"] in (12_504, 32_768)]

    tuned = tuner(world, copy_kernel, [], prune_configs_by={"early_config_prune": prune})
    call(tuned)
    assert len(seen) > 2
    assert {each.candidate.config.kwargs["BLOCK"] for each in tried(tuned)} <= {12_504, 32_768}


def test_configs_that_are_given_are_tried_beside_what_is_proposed(world: World) -> None:  # noqa: F811
    """FR-41."""
    world.times = lambda settings: abs(settings["BLOCK"] - 1000) + 1.0
    given = triton.Config({"BLOCK": 1000})
    tuned = tuner(world, copy_kernel, [given])
    hints(auto_gen_config=True)(tuned)
    call(tuned)
    assert tuned.best_config is given
    assert len(tried(tuned)) > 2


@pytest.mark.parametrize("blocks", [[], [1000]])
def test_lists_in_hints_expand_configs_that_are_given_as_well_as_proposed_ones(
    world: World,  # noqa: F811
    blocks: list[int],
) -> None:
    """FR-12."""
    world.times = lambda settings: float(settings["BLOCK"])
    tuned = tuner(world, copy_kernel, [triton.Config({"BLOCK": block}) for block in blocks])
    hints(multibuffer=[True, False])(tuned)
    call(tuned)
    doubled: dict[int, set[bool]] = {}
    for each in tried(tuned):
        kwargs = each.candidate.config.kwargs
        doubled.setdefault(kwargs["BLOCK"], set()).add(kwargs["multibuffer"])
    assert list(doubled.values()) == [{True, False}] * len(doubled)
    assert list(doubled) == blocks or (not blocks and len(doubled) > 2)


def test_a_bad_hint_is_an_error_of_the_first_launch(world: World) -> None:  # noqa: F811
    tuned = tuner(world, copy_kernel, [])
    hints(effort="endless")(tuned)
    with pytest.raises(ValueError, match="effort is 'endless'"):
        call(tuned)


def test_a_mapped_length_shares_no_choice_that_would_not_cover_it(world: World) -> None:  # noqa: F811
    world.times = lambda settings: float(settings["BLOCK"])
    x, y, _ = vectors()
    tuned = key_map(n="power_of_two")(tuner(world, copy_kernel, []))
    for n in (600, 1000):
        tuned[(4,)](x, y, n)  # four programs, whatever the block
        assert 4 * tuned.best_config.kwargs["BLOCK"] >= n
    shared = key_map(n="power_of_two")(tuner(world, copy_kernel, []))
    for n in (600, 1000):
        call(shared, n)
    assert len(shared.cache) == 1


def test_candidates_are_proposed_while_others_compile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """All compilers but the failing one are held until what is tried instead of the failure begins to compile."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "32")  # one for each
    world.times = lambda settings: float(settings["BLOCK"])
    rescue_begun, in_time, order = threading.Event(), [], []
    compile_ = world.compile

    def held(src: Any, *rest: Any, **options: Any) -> Any:
        block = next(value for value in src.constants.values() if isinstance(value, int))
        order.append(block)
        if block == tuned.configs[0].kwargs["BLOCK"]:
            raise RuntimeError("ub overflow, requires 8192000 bits while 1572864 bits available!")
        if block not in {config.kwargs["BLOCK"] for config in tuned.configs}:
            rescue_begun.set()
        in_time.append(rescue_begun.wait(10))
        return compile_(src, *rest, **options)

    monkeypatch.setattr(triton.compiler, "compile", held)
    tuned = tuner(world, copy_kernel, [])
    call(tuned)
    assert rescue_begun.is_set() and all(in_time), order
    assert len(in_time) > 2


class MLIRCompilationError(Exception):
    """Named like triton-ascend's."""


def test_what_was_learnt_is_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """A second process finds the failure, what was tried instead and what was given up, and times nothing."""
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    message = "error: ub overflow, requires 8192000 bits while 1572864 bits available!"
    world.compile_errors = {25_008: MLIRCompilationError(message)}
    world.times = lambda settings: abs(settings["BLOCK"] - 3126) + 1.0
    first, again = tuner(world, copy_kernel, []), tuner(world, copy_kernel, [])
    call(first)
    compiled = world.logged("compile")
    world.log.clear()
    call(again)
    assert again.best_config.kwargs == first.best_config.kwargs == {"BLOCK": 3126}
    assert 25_008 in compiled and 25_008 not in world.logged("compile")
    assert world.logged("launch") == [3126]
    told = [[(o.candidate.config.kwargs["BLOCK"], o.status) for o in each.verdict.outcomes] for each in (first, again)]
    assert sorted(told[0], key=str) == sorted(told[1], key=str)
