"""Hints: what is refused and in which words, what wins, what is expanded."""

from __future__ import annotations

from typing import Any

import pytest
import worked_examples
from kernel_calls import arguments

from triton_ascend_tune import generate
from triton_ascend_tune.candidates import hints
from triton_ascend_tune.candidates.axes import analyse

KERNEL = worked_examples.e3
AXES = {"x": "rows", "y": "width"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nothing": [1]}, r"Unsupported hints keys: \['nothing'\].*RBLK.*multibuffer"),
        ({"axes": ["rows"]}, "hints.axes must be a dict"),
        ({"axes": {"q": "rows"}}, "All keys in 'hints.axes' must be valid axis names.*'q'"),
        ({"axes": {"x": ""}}, "All values in 'hints.axes' must be non-empty argument names"),
        ({"axes": {"x": True}}, "All values in 'hints.axes' must be non-empty argument names"),
        ({"axes": {"x": 0}}, "All values in 'hints.axes'"),
        ({"axes": {"x": "RT"}}, "must reference runtime non-constexpr argument names.*rows"),
        ({"split_params": {"x": "RBLK"}}, "hints.axes must be provided when axis metadata"),
        ({"axes": AXES, "split_params": ["x"]}, "split_params must be a dict"),
        ({"axes": AXES, "tiling_params": "RT"}, "tiling_params must be a dict"),
        ({"axes": AXES, "low_dim_axes": "y"}, "low_dim_axes must be a list"),
        ({"axes": AXES, "reduction_axes": {}}, "reduction_axes must be a list"),
        ({"axes": AXES, "reduction_axes": ["z"]}, "axis 'z' is missing from 'hints.axes'"),
        ({"axes": AXES, "reduction_axes": ["ry"]}, "r-prefixed axis names are not supported"),
        ({"axes": AXES, "split_params": {"x": "rows"}}, r"split_params\['x'\] is 'rows'; allowed: RBLK, RT, CT"),
        ({"kernel_type": "warp"}, "Unsupported kernel_type 'warp'; allowed: auto, vector, cube, mix"),
        ({"vv_parser_v2_mode": "on"}, "vv_parser_v2_mode is 'on'; allowed: assist"),
        ({"effort": "huge"}, "effort is 'huge'; allowed: low, normal, high"),
        ({"preset": "all"}, "preset is 'all'; allowed: vector, cube, mix"),
        ({"tunable_parameter": "RT"}, "tunable_parameter must be a list"),
        ({"tunable_parameter": ["rows"]}, "must reference constexpr parameters only"),
        ({"tunable_parameter": ["Q"]}, "contains unknown parameters: 'Q'; allowed: RBLK, RT, CT"),
        ({"RT": 4}, "'RT' must be a non-empty list/tuple"),
        ({"multibuffer": []}, "'multibuffer' must be a non-empty list/tuple"),
        ({"multibuffer": [1]}, "Invalid value for 'multibuffer': 1; allowed: True, False"),
        ({"num_stages": [3]}, "Invalid value for 'num_stages': 3; allowed: 1, 2"),
        ({"tile_mix_cube_loop": [3]}, "Invalid value for 'tile_mix_cube_loop': 3; allowed: 2, 4, 8"),
    ],
)
def test_a_bad_hint_is_named_with_its_value_and_what_is_allowed(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hints.checked(given, KERNEL)


def test_hints_win_over_the_analysis() -> None:
    analysis = analyse(KERNEL, arguments(KERNEL, worked_examples))
    said = hints.checked(
        {
            "axes": {"x": "rows", "y": 512},
            "split_params": {"x": "RBLK"},
            "tiling_params": {"x": "CT", "y": "RT"},
            "low_dim_axes": ["x"],
            "reduction_axes": [],
        },
        KERNEL,
    )
    x, y = hints.applied(said, analysis).axes
    assert (x.split, x.tiling, x.contiguous, x.reduced) == ("RBLK", "CT", True, False)
    assert (y.tiling, str(y.length), y.contiguous, y.reduced) == ("RT", "512", False, False)


def test_a_length_that_could_not_be_told_is_taken_from_the_hint() -> None:
    analysis = analyse(worked_examples.e10, arguments(worked_examples.e10, worked_examples))
    told = hints.applied(hints.checked({"axes": {"x": "n"}}, worked_examples.e10), analysis)
    assert str(told.axes[0]) == "x: length n, split BS, contiguous, grid dimension 0"
    assert told.notes == ()


def test_lists_are_expanded_without_equal_binaries() -> None:
    said = hints.checked({"RT": [1, 2], "multibuffer": [True, False], "unit_flag": [False]}, KERNEL)
    found = said.expanded({"CT": 64})
    assert found == [
        {"CT": 64, "RT": 1, "multibuffer": True, "unit_flag": False},
        {"CT": 64, "RT": 1, "multibuffer": False, "unit_flag": False},
        {"CT": 64, "RT": 2, "multibuffer": True, "unit_flag": False},
        {"CT": 64, "RT": 2, "multibuffer": False, "unit_flag": False},
    ]
    if not hints.options.stages_count():
        assert len(hints.checked({"num_stages": [1, 2]}, KERNEL).expanded({})) == 1


@pytest.mark.ascend
def test_presets_list_options_that_the_backend_knows() -> None:
    said = hints.checked({"preset": "mix"}, KERNEL)
    assert said.lists and set(said.lists) <= hints.options.supported()
    assert len(hints.checked({"preset": "mix", "multibuffer": [True]}, KERNEL).lists["multibuffer"]) == 1


def test_hints_decorate_from_either_side() -> None:
    class Kernel:
        fn = None

    inner, outer = Kernel(), Kernel()
    outer.fn = hints.hints(effort="low", preset="vector")(inner)  # type: ignore[assignment]
    hints.hints(effort="high")(outer)
    assert hints.attached(outer) == {"effort": "high", "preset": "vector"}


def test_axes_named_in_the_key_lose_their_mark_only_where_that_leaves_them_apart() -> None:
    reduced = {"reduction_axes": ["rx"]}
    assert generate._axes_from_key(reduced, {"y": "rows", "rx": "width"}) == {
        "axes": {"y": "rows", "x": "width"},
        "reduction_axes": ["x"],
    }
    assert generate._axes_from_key(reduced, {"x": "rows", "rx": "width"})["axes"] == {"x": "rows", "rx": "width"}
