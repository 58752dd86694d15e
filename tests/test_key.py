"""The tuning key: the documented rule, on generated calls and case by case."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_ascend_tune import key as keys
from triton_ascend_tune.key import NOT_GIVEN, Parameter


@dataclass(frozen=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...] = (4,)

    def data_ptr(self) -> int:
        return id(self)


def kernel(x, y, n, m=3, bias=None, BLOCK: tl.constexpr = 8, MODE: tl.constexpr = 0):  # noqa: F821
    """Only its signature counts."""


PARAMETERS = keys.kernel_parameters(kernel, list(inspect.signature(kernel).parameters))
NAMES = ["n", "m", "BLOCK", "x"]
BUILD = keys.key_function(PARAMETERS, NAMES, "kernel")
LABELS = keys.key_labels(PARAMETERS, NAMES)
PLACE = "npu:Ascend910B3:0"


def rule(call: dict[str, Any], options: dict[str, Any], place: str) -> Any:
    """The rule as the module states it, spelled out over a call in which every argument has its final value."""

    def counted(value: Any) -> Any:
        if isinstance(value, Tensor):
            return ("tensor", value.shape)
        if isinstance(value, (list, dict, set)):
            return ("contents", type(value), repr(sorted(value)) if isinstance(value, set) else repr(value))
        return ("value", value)

    def kind(value: Any) -> Any:
        return ("dtype", value.dtype) if hasattr(value, "dtype") else ("none",) if value is None else ("other",)

    options = {name: value for name, value in options.items() if name not in ("grid", "warmup", "stream")}
    return (
        tuple(counted(call[name]) for name in NAMES),
        tuple(kind(call[name]) for name in ("x", "y", "n", "m", "bias")),
        place,
        tuple(sorted((name, repr(value)) for name, value in options.items())),
    )


TENSORS = st.builds(Tensor, st.sampled_from(["fp16", "fp32"]), st.sampled_from([(4,), (2, 2)]))
VALUES = {
    "x": TENSORS,
    "y": TENSORS | st.none(),
    "n": st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2) | st.sets(st.integers(0, 1)),
    "m": st.integers(2, 4) | st.none(),
    "bias": TENSORS | st.none(),
    "BLOCK": st.sampled_from([8, 16]),
    "MODE": st.sampled_from([0, 1]),
}
OPTIONS = st.dictionaries(
    st.sampled_from(["num_warps", "multibuffer", "grid", "stream"]), st.sampled_from([1, True, 4])
)
DEFAULTS = {p.name: p.default for p in PARAMETERS if not p.required}


@st.composite
def calls(draw: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Positional part, keyword part in any order, and what the rule says about the call."""
    full = {name: draw(values) for name, values in VALUES.items()}
    omitted = {name for name in DEFAULTS if draw(st.booleans())}
    full.update({name: DEFAULTS[name] for name in omitted})
    positional = draw(st.integers(0, 7))
    names = list(VALUES)
    while any(name in omitted for name in names[:positional]):
        positional -= 1
    rest = draw(st.permutations([name for name in names[positional:] if name not in omitted]))
    options = draw(OPTIONS)
    place = draw(st.sampled_from([PLACE, "npu:Ascend910B3:1"]))
    keywords = {**{name: full[name] for name in rest}, **options}
    args = (place, *(full[name] for name in names[:positional]))
    return args, keywords, rule(full, options, place)


def build(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return keys.hashable(BUILD(*args, **keywords), LABELS, "kernel")


@settings(max_examples=500, deadline=None, derandomize=True)
@given(calls(), calls())
def test_same_key_exactly_where_the_rule_says_so(one: Any, two: Any) -> None:
    same = build(*one[:2]) == build(*two[:2])
    assert same == (one[2] == two[2])
    if same:
        assert hash(build(*one[:2])) == hash(build(*two[:2]))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(calls())
def test_the_way_of_passing_does_not_matter(one: Any) -> None:
    args, keywords, _ = one
    by_name = dict(zip(VALUES, args[1:]))
    shuffled = dict(reversed({**by_name, **keywords}.items()))
    assert build(args[:1], shuffled) == build(args, keywords)


def test_a_key_is_flat_and_prints_as_literals() -> None:
    key = BUILD(PLACE, Tensor("fp32"), None, 5, num_warps=8)
    assert key == (5, 3, 8, "tensor(4,)", "fp32", "none", None, None, "none", PLACE, "num_warps=8")
    assert ast.literal_eval(str(key)) == key


def test_an_argument_that_nobody_gives_is_not_given() -> None:
    parameters = (Parameter("x"), Parameter("BLOCK", constexpr=True))
    assert keys.key_function(parameters, ["BLOCK"], "k")(PLACE, 1)[0] == NOT_GIVEN


def test_names_that_are_no_arguments_are_ignored_and_reported() -> None:
    assert keys.key_function(PARAMETERS, ["n", "typo"], "k")(PLACE, 1, 2, 5)[0] == 5
    assert keys.unknown_names(["n", "typo"], ["x", "n"]) == ["typo"]


def test_keyword_only_and_variadic_parameters() -> None:
    def other(x, *rest, n, BLOCK: tl.constexpr = 4):  # noqa: F821
        pass

    parameters = keys.kernel_parameters(other, ["x", "rest", "n", "BLOCK"])
    function = keys.key_function(parameters, ["n", "rest"], "other")
    assert function(PLACE, 1, 2, 3, n=7) == (7, (2, 3), None, None, PLACE)


def test_arguments_that_do_not_fit_are_reported_with_the_kernels_name() -> None:
    with pytest.raises(TypeError, match=r"kernel\(\) .*multiple values for argument 'x'"):
        BUILD(PLACE, 1, 2, 3, x=1)


@pytest.mark.parametrize("count", [8, 9, 30])
def test_too_many_arguments_are_counted_as_python_counts_them(count: int) -> None:
    """Grid and warmup, and what the key itself needs, are none of the user's."""
    values = tuple(range(count))
    with pytest.raises(TypeError) as python:
        kernel(*values)
    with pytest.raises(TypeError) as ours:
        keys.refuse_surplus(PARAMETERS, values, "kernel")
    assert str(ours.value) == str(python.value)


def test_as_many_arguments_as_there_are_parameters_are_no_surplus() -> None:
    keys.refuse_surplus(PARAMETERS, tuple(range(7)), "kernel")
    keys.refuse_surplus((keys.Parameter("rest", kind=inspect.Parameter.VAR_POSITIONAL),), (1, 2, 3), "kernel")


def test_an_unreadable_value_is_refused_with_its_arguments_name() -> None:
    class Opaque:
        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="kernel kernel: the value of 'n' in `key` is a Opaque"):
        build((PLACE, 1, 2, Opaque()), {})


def test_long_contents_are_digested_and_arrays_count_by_contents() -> None:
    numpy = pytest.importorskip("numpy")
    short, long = build((PLACE, 1, 2, [1, 2]), {})[0], build((PLACE, 1, 2, list(range(100))), {})[0]
    assert short == "list(1,2)"
    assert long.startswith("list:") and len(long) < 64
    array = [keys._contents(numpy.array(values, dtype=numpy.int32)) for values in ([1, 2], [1, 2], [1, 3])]
    assert array[0] == array[1] != array[2]


def test_the_key_that_stock_triton_shows() -> None:
    shown = keys.stock_key(["x", "n", "m"], ["n", "m", "typo"], (Tensor("fp16"),), {"n": 4, "grid": (1,)})
    assert shown == (4, "fp16")
