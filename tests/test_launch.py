"""The one way in which call and candidate become a launch."""

from __future__ import annotations

import pytest

from triton_ascend_tune.launch import ConflictError, merge, named_arguments

OPTIONS = {"BLOCK": 64, "num_warps": 4, "num_stages": 2}


def test_the_candidate_completes_the_call() -> None:
    assert merge({"grid": (1,), "n": 3}, OPTIONS, ["n", "BLOCK"]) == {"grid": (1,), "n": 3, **OPTIONS}


def test_a_compile_option_of_the_call_holds_for_every_candidate() -> None:
    assert merge({"num_warps": 8}, OPTIONS, ["n", "BLOCK"]) == {**OPTIONS, "num_warps": 8}


@pytest.mark.parametrize("kind", [ValueError, TypeError])  # stock: the first while measuring, the second when launching
def test_an_argument_in_both_is_a_conflict(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"Conflicting meta-parameters: BLOCK\. .*\(BLOCK=64\)"):
        merge({"BLOCK": 32}, OPTIONS, ["n", "BLOCK"])
    assert issubclass(ConflictError, kind)


def test_surplus_arguments_are_left_to_the_kernel() -> None:
    assert named_arguments(["a", "b"], (1, 2, 3)) == {"a": 1, "b": 2}
