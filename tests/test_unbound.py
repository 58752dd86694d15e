"""Configs that do not give the kernel what it takes: the error is stock Triton's, its text says which config."""

from __future__ import annotations

from typing import Any

import pytest
from tuning_fakes import TIMES, StockTuner, World, copy_kernel, triton, tuner, vectors, world  # noqa: F401


def config(**kwargs: Any) -> Any:
    return triton.Config(kwargs)


def refusal(tuned: Any) -> Exception:
    x, y, _ = vectors()
    with pytest.raises((TypeError, KeyError)) as caught:
        tuned[(4,)](x, y, 64)
    return caught.value


CONFIGS: dict[str, list[dict[str, Any]]] = {
    "one of several": [{"BLOCK": 16}, {"BLCOK": 32}, {"BLOCK": 64}],
    "all": [{"BLCOK": 32}, {"BLCOK": 64}],
    "the only one": [{"BLCOK": 32}],
    "besides the right one": [{"BLOCK": 16}, {"BLOCK": 32, "EXTRA": 3}],
    "nothing at all": [{"BLOCK": 16}, {}],
}


@pytest.mark.parametrize("given", CONFIGS.values(), ids=list(CONFIGS))
def test_the_error_is_of_the_class_that_stock_raises(timed: World, given: list[dict[str, Any]]) -> None:
    ours, stock = (
        refusal(tuner(timed, copy_kernel, [config(**each) for each in given], cls=cls)) for cls in (None, StockTuner)
    )
    assert type(ours) is type(stock)


def test_a_misspelt_constexpr_is_named_with_its_config_and_what_was_meant(timed: World) -> None:
    said = str(refusal(tuner(timed, copy_kernel, [config(BLOCK=16), config(BLCOK=32), config(BLOCK=64)])))
    assert "kernel copy_kernel lacks BLOCK" in said and "nor set by config {BLCOK=32}" in said
    assert "BLCOK, given by config {BLCOK=32}, is neither an argument (src, dst, n, BLOCK)" in said
    assert "did you mean BLOCK?" in said


def test_a_name_too_many_is_named_with_its_config(timed: World) -> None:
    said = str(refusal(tuner(timed, copy_kernel, [config(BLOCK=16), config(BLOCK=32, EXTRA=3)])))
    assert "kernel copy_kernel does not know EXTRA" in said
    assert "given by config {BLOCK=32, EXTRA=3}" in said and "(src, dst, n, BLOCK)" in said
    assert "did you mean" not in said


def test_a_name_too_many_in_the_call_is_not_blamed_on_a_config(timed: World) -> None:
    x, y, _ = vectors()
    with pytest.raises(KeyError, match="EXTRA, given by the call, is neither"):
        tuner(timed, copy_kernel, [config(BLOCK=16), config(BLOCK=32)])[(4,)](x, y, 64, EXTRA=3)


def test_a_config_that_sets_nothing_is_named(timed: World) -> None:
    said = str(refusal(tuner(timed, copy_kernel, [config(BLOCK=16), config()])))
    assert "lacks BLOCK: neither passed by the call nor set by config {}" in said


def test_compile_options_are_no_unknown_names(timed: World) -> None:
    said = str(refusal(tuner(timed, copy_kernel, [config(num_warps=1)])))
    assert "lacks BLOCK" in said and "num_warps" not in said


def test_other_errors_of_the_kinds_are_left_alone(timed: World) -> None:
    x, y, _ = vectors()
    tuned = tuner(timed, copy_kernel, [config(BLOCK=16), config(BLOCK=32)])
    with pytest.raises(KeyError, match=r"^'NO_SUCH'$"):
        tuned[lambda meta: (meta["NO_SUCH"],)](x, y, 64)
