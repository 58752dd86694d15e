"""Candidates that are one launch are measured once; grids that no device launches are not compiled."""

from __future__ import annotations

import collections
from typing import Any

import pytest
from triton.runtime.errors import OutOfResources
from tuning_fakes import World, add, add_kernel, blocks, fresh, triton, tuner, vectors, world  # noqa: F401

from triton_ascend_tune import same_binary
from triton_ascend_tune.compile import Compiled
from triton_ascend_tune.grid import grid_of, refused
from triton_ascend_tune.same_binary import groups
from triton_ascend_tune.values import Candidate, Stage, Status

TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


class Kernel:
    def __init__(self, kernel: Any, backend: str = "npu", **fields: Any) -> None:
        fields = {"target": collections.namedtuple("Target", "backend")(backend), **fields}
        self.kernel, self.metadata = kernel, collections.namedtuple("Metadata", fields)(**fields)


def grouped(*kernels: Any, grids: Any = None) -> list[list[int]]:
    (config,) = blocks(16)
    compiled = [Compiled(Candidate(0, config, {}), kernel) for kernel in kernels]
    return groups(compiled, grids or [(1,)] * len(kernels))


def test_equal_binaries_with_equal_launches_are_one() -> None:
    assert grouped(Kernel(b"a", name="k"), Kernel(b"b", name="k"), Kernel(b"a", name="k")) == [[0, 2], [1]]


@pytest.mark.parametrize("option", ["num_stages", "multibuffer", "unit_flag", "hash", "maxnreg", "num_warps"])
def test_options_that_only_the_compiler_reads_do_not_matter(option: str) -> None:
    assert grouped(Kernel(b"a", **{option: 1}), Kernel(b"a", **{option: 2})) == [[0, 1]]


@pytest.mark.parametrize("field", ["shared", "name", "mix_mode", "workspace_size", "something_new"])
def test_what_a_launcher_may_read_does(field: str) -> None:
    assert grouped(Kernel(b"a", **{field: 1}), Kernel(b"a", **{field: 2})) == [[0], [1]]


def test_the_number_of_warps_matters_to_threads() -> None:
    for fields in ({"backend": "cuda"}, {"parallel_mode": "simt"}):
        assert grouped(Kernel(b"a", num_warps=4, **fields), Kernel(b"a", num_warps=8, **fields)) == [[0], [1]]


@pytest.mark.parametrize("kernel", [None, object(), Kernel(None), type("K", (), {"kernel": b"a"})()])
def test_what_cannot_be_told_is_different(kernel: Any) -> None:
    assert grouped(kernel, kernel) == [[0], [1]]


def test_another_or_an_unknown_grid_is_another_launch() -> None:
    same = [Kernel(b"a") for _ in range(4)]
    assert grouped(*same, grids=[(4,), (2,), (4,), None]) == [[0, 2], [1], [3]]


def test_both_get_the_timing_and_the_first_one_wins(world: World) -> None:  # noqa: F811
    """W-59, W-38: presets that multiply identical binaries cost nothing."""
    world.times = TIMES
    world.binary = lambda settings: str(settings["BLOCK"]).encode()
    configs = [*blocks(16), *blocks(32, num_stages=2), *blocks(32, num_stages=4), *blocks(64)]
    tuned = tuner(world, add_kernel, configs)
    add(tuned)
    launches = world.logged("launch")
    assert launches.count(16) == launches.count(64) == launches.count(32) - 1
    assert [outcome.samples.p50 for outcome in tuned.verdict.outcomes] == [3.0, 1.0, 1.0, 2.0]
    assert [outcome.candidate.config for outcome in tuned.verdict.outcomes] == configs
    assert tuned.best_config is configs[1]
    assert len(tuned.configs_timings) == 4


def test_both_get_the_failure(world: World) -> None:  # noqa: F811
    world.times, world.launch_errors = TIMES, {32: RuntimeError("fault")}
    world.binary = lambda settings: str(settings["BLOCK"]).encode()
    tuned = tuner(world, add_kernel, [*blocks(16), *blocks(32, num_stages=2), *blocks(32, num_stages=4)])
    add(tuned)
    assert [outcome.status.value for outcome in tuned.verdict.outcomes] == ["timed", "failed", "failed"]
    assert world.logged("launch").count(32) == 0 and tuned.verdict.outcomes[2].reason == "RuntimeError: fault"


# --- options that no compiler reads ---------------------------------------------------------------------------------


@pytest.fixture
def warps(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:  # noqa: F811
    """Two blocks, each with three numbers of warps and stages, on the backend that reads neither."""
    monkeypatch.setattr(same_binary, "_known_backend", lambda: True)
    world.times = TIMES
    world.binary = lambda settings: str(settings["BLOCK"]).encode()
    return [config for block in (16, 32) for n in (1, 2, 4) for config in blocks(block, num_warps=n, num_stages=n)]


def test_what_differs_in_unread_options_is_compiled_once(world: World, warps: list[Any]) -> None:  # noqa: F811
    tuned = tuner(world, add_kernel, warps)
    add(tuned)
    assert world.logged("compile") == [16, 32]
    assert [outcome.samples.p50 for outcome in tuned.verdict.outcomes] == [3.0] * 3 + [1.0] * 3
    assert tuned.best_config is warps[3] and list(tuned.configs_timings) == warps


def test_one_failure_is_that_of_all(world: World, warps: list[Any]) -> None:  # noqa: F811
    world.compile_errors = {32: OutOfResources(2, 1, "shared memory")}
    tuned = tuner(world, add_kernel, warps)
    add(tuned)
    assert world.logged("compile") == [16, 32]
    assert [outcome.status.value for outcome in tuned.verdict.outcomes] == ["timed"] * 3 + ["failed"] * 3
    assert len({outcome.reason for outcome in tuned.verdict.outcomes[3:]}) == 1


def other_backend(_: Any, patch: pytest.MonkeyPatch) -> Any:
    patch.setattr(same_binary, "_known_backend", lambda: False)
    return add_kernel


def heuristics(*_: Any) -> Any:
    return triton.heuristics({"MODE": lambda arguments: arguments["num_warps"]})(fresh(add_kernel))


@pytest.mark.parametrize("given", [other_backend, heuristics])
def test_all_are_compiled_where_something_may_read_them(
    given: Any,
    world: World,  # noqa: F811
    warps: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = given(world, monkeypatch)
    add(tuner(world, kernel, warps, jit=given is not heuristics))
    assert world.logged("compile") == [16] * 3 + [32] * 3


@pytest.mark.parametrize(
    ("call", "arguments", "more", "same"),
    [
        ({}, ["x", "n"], {}, True),
        ({"compile_mode": "simt_only"}, ["x", "n"], {}, False),
        ({}, ["x", "num_stages"], {}, False),
        ({}, ["x", "n"], {"multibuffer": False}, False),
        ({}, ["x", "n"], {"force_simt_template": True}, False),
    ],
)
def test_what_a_compiler_for_an_npu_reads(
    call: Any, arguments: Any, more: Any, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_binary, "_known_backend", lambda: True)
    one = same_binary.compilation({"BLOCK": 16, "num_warps": 4, "num_stages": 2}, call, arguments)
    two = same_binary.compilation({"BLOCK": 16, "num_warps": 8, "num_stages": 3, **more}, call, arguments)
    assert (one is not None and one == two) is same


def test_values_that_only_look_alike_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two functions that a factory made have one text; a list has no hash."""
    monkeypatch.setattr(same_binary, "_known_backend", lambda: True)

    def compilation(value: Any, warps: int) -> Any:
        return same_binary.compilation({"F": value, "num_warps": warps}, {}, ["x", "F"])

    one, other = fresh(add_kernel), fresh(add_kernel)
    assert repr(one) == repr(other)
    assert compilation(one, 1) == compilation(one, 2) != compilation(other, 2)
    assert compilation(0.0, 1) != compilation(-0.0, 1)
    assert compilation(1, 1) != compilation(True, 1)
    assert compilation([1], 1) is None


# --- grids -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [(4, 2), [4, 2], lambda meta: (meta["x"], 2), lambda meta: [meta["x"], 2.0]])
def test_grids_of_all_kinds(grid: Any) -> None:
    assert grid_of(grid, {"x": 4}) == (4, 2)


@pytest.mark.parametrize("grid", [None, lambda meta: meta["missing"], lambda meta: None, ("many",)])
def test_a_grid_that_cannot_be_told(grid: Any) -> None:
    assert grid_of(grid, {}) is None


@pytest.mark.parametrize(
    ("grid", "target", "spread", "legal"),
    [
        ((65535,), "npu:Ascend910B3", False, True),
        ((65536,), "npu:Ascend910B3", False, False),
        ((256, 256), "npu:Ascend910B3", False, False),
        ((65536,), "npu:Ascend910B3", True, True),
        ((65536,), "cuda:90", False, True),
        (None, "npu:Ascend910B3", False, True),
    ],
)
def test_the_limit_of_blocks(grid: Any, target: str, spread: bool, legal: bool) -> None:
    assert (refused(grid, target, spread) == "") is legal


def call(tuned: Any, n: int) -> Any:
    x, y, out = vectors()
    return tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)


def test_a_config_with_too_many_blocks_is_skipped_and_not_compiled(world: World) -> None:  # noqa: F811
    """FR-29, FR-30: one of three has a grid of 65536; the other two are measured."""
    world.times = TIMES
    tuned = tuner(world, add_kernel, blocks(16, 32, 64))
    call(tuned, 16 * 65536)
    assert world.logged("compile") == [32, 64]
    first = tuned.verdict.outcomes[0]
    assert (first.status, first.stage) == (Status.FAILED, Stage.LAUNCH)
    assert first.reason == (
        "grid (65536,) has 65536 blocks; allowed are 65535, or more with TRITON_ALL_BLOCKS_PARALLEL=1"
    )
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_triton_ascends_setting_makes_it_legal(world: World, monkeypatch: Any) -> None:  # noqa: F811
    """FR-30: respected when it is set."""
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    world.times = TIMES
    tuned = tuner(world, add_kernel, blocks(16, 32, 64))
    call(tuned, 16 * 65536)
    assert world.logged("compile") == [16, 32, 64]
