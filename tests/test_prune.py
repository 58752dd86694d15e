"""Pruning: arguments of the callbacks, the rule of ``top_k``, and what is left over."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tuning_fakes import blocks

from triton_ascend_tune.failures import NoCandidateError, NothingLeftError
from triton_ascend_tune.launch import ConflictError
from triton_ascend_tune.prune import Rules, as_outcomes, prune
from triton_ascend_tune.values import Candidate, Stage, Status

ARGUMENTS = ["x", "n", "BLOCK"]
NAMED = {"x": "tensor", "n": 7}
CALL = {"grid": (1,), "warmup": False}


def run(configs: Any, *rules: Any, **more: Any) -> Any:
    return prune(configs, Rules(*rules, **more), NAMED, CALL, ARGUMENTS)


def sizes(configs: Any) -> list[int]:
    return [config.kwargs["BLOCK"] for config in configs]


def by_block(**keywords: Any) -> int:
    return keywords["BLOCK"]


def test_without_rules_everything_survives() -> None:
    configs = blocks(1, 2)
    assert run(configs).survivors == configs


def test_early_prune_gets_configs_named_arguments_and_the_callers_keywords() -> None:
    seen = []

    def early(configs: Any, named: Any, **keywords: Any) -> Any:
        seen.append((configs, named, keywords))
        return configs[1:]

    configs = blocks(1, 2, 3)
    pruned = run(configs, early)
    assert seen == [(configs, NAMED, CALL)]
    assert sizes(pruned.survivors) == [2, 3]
    assert [(config.kwargs["BLOCK"], what) for config, what in pruned.dropped] == [(1, "early_config_prune")]


def test_perf_model_gets_everything_and_keeps_the_lowest_in_ascending_order() -> None:
    seen = []

    def model(**keywords: Any) -> float:
        seen.append(keywords)
        return -keywords["BLOCK"]

    pruned = run(blocks(1, 2, 3), None, model, 2)
    assert sizes(pruned.survivors) == [3, 2]
    assert {"x", "n", "grid", "warmup", "BLOCK", "num_warps"} <= seen[0].keys()
    outcome = as_outcomes(pruned, lambda config: Candidate(0, config, {}))[0]
    assert (outcome.status, outcome.stage, outcome.reason) == (Status.PRUNED, Stage.PRUNE, "by perf_model, top_k=2")


def test_perf_model_is_not_asked_if_everything_fits() -> None:
    assert sizes(run(blocks(1, 2), None, lambda **_: 1 / 0, 2).survivors) == [1, 2]


@pytest.mark.parametrize(("top_k", "left"), [(0.5, 2), (0.1, 1), (1.0, 4), (3, 3)])
def test_a_fraction_is_one_of_what_early_pruning_left_and_keeps_one(top_k: Any, left: int) -> None:
    early = lambda configs, named, **_: configs[:4]  # noqa: E731
    assert len(run(blocks(1, 2, 3, 4, 5, 6), early, by_block, top_k).survivors) == left


@pytest.mark.parametrize("top_k", [2.5, "2", None])
def test_a_bad_top_k_is_named(top_k: Any) -> None:
    with pytest.raises(TypeError, match=f"top_k is {top_k!r}; allowed"):
        run(blocks(1, 2, 3), None, by_block, top_k)


@pytest.mark.parametrize("nothing", [[], None])
def test_nothing_left_is_an_error_that_names_the_call(nothing: Any) -> None:
    """FR-27."""
    with pytest.raises(NothingLeftError, match=r"`early_config_prune` returned no config, of 2 given.*n=7") as caught:
        run(blocks(1, 2), lambda *_, **__: nothing)
    assert isinstance(caught.value, (ValueError, NoCandidateError))  # ValueError: what Triton before 3.6 raises


def test_top_k_zero_is_an_error() -> None:
    with pytest.raises(NothingLeftError, match="top_k=0 keeps no config"):
        run(blocks(1, 2), None, by_block, 0)


def test_an_estimate_that_is_no_number_goes_last() -> None:
    model = lambda BLOCK, **_: math.nan if BLOCK == 1 else BLOCK  # noqa: E731
    assert sizes(run(blocks(1, 3, 2), None, model, 2).survivors) == [2, 3]


def test_a_conflict_with_the_call_is_found_before_the_model_runs() -> None:
    with pytest.raises(ConflictError, match="Conflicting meta-parameters: BLOCK"):
        prune(blocks(1, 2), Rules(None, by_block, 1), NAMED, {**CALL, "BLOCK": 4}, ARGUMENTS)
