"""What is tried around tiles: options one at a time on an NPU, warps with every tile and stages of products on CUDA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import product_idioms
import pytest
import worked_examples
from kernel_calls import arguments
from tuning_fakes import triton

from triton_ascend_tune.candidates import hardware, hints, options, variants
from triton_ascend_tune.candidates.proposal import Proposal
from triton_ascend_tune.values import Candidate, Outcome, Status

H200 = hardware.cuda("90", {"multiprocessor_count": 132, "max_shared_mem": 232_448})


def proposal(module: Any, name: str, chip: hardware.Hardware, **given: Any) -> Proposal:
    kernel = getattr(module, name)
    return Proposal(
        kernel,
        {**arguments(kernel, module), **given},
        lambda values: (100_000,),
        hints.checked({}, kernel),
        lambda: chip,
    )


def finished(proposed: Proposal, time: Any) -> list[Any]:
    """All configs of the rounds that follow, with ``time(config)`` as their times."""
    found, outcomes, fresh = [], [], proposed.configs
    while fresh:
        found += fresh
        outcomes += [
            Outcome(Candidate(place, config, config.all_kwargs()), Status.TIMED, timings=[time(config)] * 3)
            for place, config in enumerate(fresh, len(outcomes))
        ]
        fresh = proposed.more(outcomes)
    return found[len(proposed.configs) :]


def test_every_tile_on_cuda_comes_with_few_to_many_elements_for_a_thread() -> None:
    found = proposal(worked_examples, "e1", H200, n=1 << 20)
    warps: dict[int, set[int]] = {}
    for config in found.configs:
        warps.setdefault(config.kwargs["BS"], set()).add(config.num_warps)
    assert warps[4096] == {4, 16, 32}
    assert warps[256] == {1, 4}
    assert len(found.configs) <= 64


def test_the_best_on_cuda_is_tried_with_half_and_twice_its_warps() -> None:
    proposed = proposal(worked_examples, "e1", H200, n=1 << 20)
    later = finished(proposed, lambda config: abs(config.kwargs["BS"] - 4096) + abs(config.num_warps - 8) + 1.0)
    assert {config.num_warps for config in later if config.kwargs["BS"] == 4096} >= {8}


def test_stages_are_tried_where_a_loop_feeds_products() -> None:
    proposed = proposal(product_idioms, "matmul_grouped", H200, GROUP=4)
    later = finished(proposed, lambda config: float(sum(config.kwargs.values())))
    assert {config.num_stages for config in later} >= set(variants.STAGES)
    vector = proposal(worked_examples, "e4", H200)
    usual = triton.Config({}).num_stages
    assert all(config.num_stages == usual for config in finished(vector, lambda config: float(config.kwargs["T"])))


def test_what_the_call_sets_is_left_alone() -> None:
    proposed = proposal(product_idioms, "matmul_grouped", H200, GROUP=4, num_warps=4, num_stages=2)
    usual = triton.Config({})
    for config in [*proposed.configs, *finished(proposed, lambda config: float(sum(config.kwargs.values())))]:
        assert (config.num_warps, config.num_stages) == (usual.num_warps, usual.num_stages)


def test_modes_in_the_style_of_threads_are_tried_with_warps() -> None:
    known = frozenset(options.ALLOWED)
    changes = list(variants.of_npu("vector", (), True, known, ("unstructured_in_simt", "simt_only")))
    assert {"compile_mode": "unstructured_in_simt"} in changes
    threads = [each["num_warps"] for each in changes if each.get("compile_mode") == "simt_only"]
    assert threads == list(variants.THREAD_WARPS)
    assert not any("compile_mode" in each for each in variants.of_npu("vector", (), True, known))
    assert not any("compile_mode" in each for each in variants.of_npu("mix", (), True, known, ("simt_only",)))


def test_modes_are_those_that_the_installed_backend_tells_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that refuses what it does not know, and knows one mode by two names."""

    def meant(given: Any) -> dict[str, Any] | None:
        names = {"simd": "simd", "simt_only": "simt_only", "simt_template": "t", "unstructured_in_simt": "t"}
        mode = given.get("compile_mode", "simd")
        return {"compile_mode": names[mode]} if mode in names else None

    monkeypatch.setattr(options, "supported", lambda: frozenset({"compile_mode"}))
    monkeypatch.setattr(options, "_meant_by", meant)
    assert options.compile_modes("Ascend950PR_9589") == ("unstructured_in_simt", "simt_only")
    assert options.compile_modes("Ascend910B3") == ()
    assert SimpleNamespace(**meant({}) or {}).compile_mode == "simd"
