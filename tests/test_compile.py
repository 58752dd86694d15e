"""Compiling ahead: failures are set aside, the caller's mistakes are not, and the work can be handed to a pool."""

from __future__ import annotations

from typing import Any

import pytest
from tuning_fakes import (
    World,
    add_kernel,
    blocks,
    copy_kernel,
    fresh,
    torch,
    triton,
    vectors,
    world,  # noqa: F401
)

from triton_ascend_tune.compile import compile_candidates, compiles_ahead, warmup
from triton_ascend_tune.values import Candidate


def candidates(*sizes: int) -> list[Candidate]:
    return [Candidate(i, config, config.all_kwargs()) for i, config in enumerate(blocks(*sizes))]


def test_results_and_failures_stay_in_order() -> None:
    def compile_one(candidate: Candidate) -> str:
        if candidate.index == 1:
            raise RuntimeError("too big")
        return f"kernel {candidate.index}"

    compiled = compile_candidates(candidates(1, 2, 3), compile_one)
    assert [each.kernel for each in compiled] == ["kernel 0", None, "kernel 2"]
    assert [str(each.error) for each in compiled] == ["None", "too big", "None"]


def test_the_callers_mistake_is_raised() -> None:
    with pytest.raises(TypeError, match="bad argument"):
        compile_candidates(candidates(1, 2), lambda _: (_ for _ in ()).throw(TypeError("bad argument")))


def test_what_compiles_without_launching() -> None:
    class LibEntry:
        fn = add_kernel

    heuristics = triton.heuristics({"BLOCK": lambda _: 4})(copy_kernel)
    assert compiles_ahead(copy_kernel)
    assert compiles_ahead(heuristics)
    assert not compiles_ahead(LibEntry())


def test_run_with_warmup_compiles_and_does_not_launch(world: World) -> None:  # noqa: F811
    x, y, out = vectors()
    kernel = fresh(add_kernel)
    kernel.run(x, y, out, 64, grid=(1,), warmup=True, BLOCK=32)
    assert world.log == [("compile", 32)]
    kernel.run(x, y, out, 64, grid=(1,), warmup=False, BLOCK=32)
    assert world.log == [("compile", 32), ("launch", 32)]  # the launch finds what was compiled


def test_warmup_through_heuristics_with_dtypes_in_place_of_tensors(world: World) -> None:  # noqa: F811
    seen: list[Any] = []

    def block(arguments: dict[str, Any]) -> int:
        seen.append(arguments)
        return 8

    heuristics = triton.heuristics({"BLOCK": block})(fresh(copy_kernel))
    warmup(heuristics, (torch.float32, torch.float32, 64), {"grid": (1,), "num_warps": 4})
    assert world.log == [("compile", 8)]
    assert seen[0]["n"] == 64
