"""Properties of operators over random shapes, dtypes and views. Imported on the simulator, where ``run`` is called."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int8, torch.bool]
NUMBERS, FLOATS = DTYPES[:-1], DTYPES[:3]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
UNARY = ["abs", "neg", "exp", "sigmoid", "tanh", "relu", "sin", "floor", "round", "sign", "square"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "ge"]

sizes = st.integers(0, 5)
shapes = st.lists(sizes, max_size=4).map(tuple)
some_dimensions = shapes.filter(len)
examples = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def make(shape: Any, dtype: torch.dtype, seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=g).bool()
    if dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    return torch.randint(-20, 20, shape, generator=g).to(dtype)


def view(draw: Any, shape: Any, dtype: torch.dtype) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """A tensor, and what makes a view of ``shape`` of it: with steps, and dimensions in any order."""
    steps = [draw(st.integers(1, 3)) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    base = make([shape[d] * steps[d] + draw(st.integers(0, 2)) for d in order], dtype, draw(st.integers(0, 2**20)))

    def apply(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.permute([order.index(d) for d in range(len(shape))]) if shape else tensor
        for d, step in enumerate(steps):
            tensor = tensor[(slice(None),) * d + (slice(0, shape[d] * step, step),)]
        return tensor

    return base, apply


def both(draw: Any, shape: Any, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The same view on the CPU and on the NPU."""
    base, apply = view(draw, shape, dtype)
    return apply(base), apply(base.npu())


def same(expected: torch.Tensor, got: torch.Tensor, what: Any) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), (what, got.dtype, got.shape)
    error = TOLERANCE.get(expected.dtype, 0)
    torch.testing.assert_close(
        got.cpu(), expected, rtol=error, atol=error, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


@st.composite
def broadcasting(draw: Any) -> tuple[Any, Any]:
    """Two shapes that broadcast together."""
    whole = draw(shapes)

    def part() -> Any:
        kept = whole[draw(st.integers(0, len(whole))) :]
        return tuple(1 if size and draw(st.booleans()) else size for size in kept)

    return part(), part()


@examples
@given(st.data(), broadcasting(), st.sampled_from(BINARY), st.sampled_from(NUMBERS))
def arithmetic(data: Any, pair: Any, name: str, dtype: torch.dtype) -> None:
    (a, x), (b, y) = (both(data.draw, shape, dtype) for shape in pair)
    same(getattr(torch, name)(a, b), getattr(torch, name)(x, y), name)


@examples
@given(st.data(), broadcasting(), st.sampled_from([None, "floor", "trunc"]), st.sampled_from(DTYPES[::3]))
def division(data: Any, pair: Any, rounding: str | None, dtype: torch.dtype) -> None:
    if dtype == torch.bool:
        return
    (a, x), (b, y) = (both(data.draw, shape, dtype) for shape in pair)
    b, y = b.abs() + 1, y.abs() + 1
    same(torch.div(a, b, rounding_mode=rounding), torch.div(x, y, rounding_mode=rounding), rounding)


@examples
@given(st.data(), broadcasting(), st.sampled_from(DTYPES))
def choice(data: Any, pair: Any, dtype: torch.dtype) -> None:
    (a, x), (b, y) = (both(data.draw, shape, dtype) for shape in pair)
    condition, on_npu = both(data.draw, data.draw(st.sampled_from(pair)), torch.bool)
    same(torch.where(condition, a, b), torch.where(on_npu, x, y), "where")


@examples
@given(st.data(), broadcasting(), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def mixed_dtypes(data: Any, pair: Any, first: torch.dtype, second: torch.dtype) -> None:
    a, x = both(data.draw, pair[0], first)
    b, y = both(data.draw, pair[1], second)
    same(a + b, x + y, "add")
    same(a.to(second), x.to(second), "to")


@examples
@given(st.data(), shapes, st.sampled_from(UNARY), st.sampled_from(FLOATS))
def one_operand(data: Any, shape: Any, name: str, dtype: torch.dtype) -> None:
    a, x = both(data.draw, shape, dtype)
    same(getattr(torch, name)(a), getattr(torch, name)(x), name)


@examples
@given(
    st.data(),
    some_dimensions,
    st.sampled_from(["sum", "mean", "amax", "amin"]),
    st.booleans(),
    st.sampled_from(FLOATS),
)
def reductions(data: Any, shape: Any, name: str, keep: bool, dtype: torch.dtype) -> None:
    if name in ("amax", "amin") and 0 in shape:
        return
    rank = len(shape)
    axes = st.lists(st.integers(-rank, rank - 1), unique_by=lambda d: d % rank, min_size=1)
    dims = data.draw(axes)
    a, x = both(data.draw, shape, dtype)
    same(getattr(a, name)(dims, keepdim=keep), getattr(x, name)(dims, keepdim=keep), (name, dims))


@examples
@given(st.data(), some_dimensions, st.sampled_from(["softmax", "log_softmax", "cumsum"]), st.sampled_from(FLOATS))
def along_a_dimension(data: Any, shape: Any, name: str, dtype: torch.dtype) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    a, x = both(data.draw, shape, dtype)
    same(getattr(torch, name)(a.float(), dim).to(dtype), getattr(torch, name)(x, dim), (name, dim))


@examples
@given(st.data(), shapes, st.sampled_from(DTYPES))
def moves_between_views(data: Any, shape: Any, dtype: torch.dtype) -> None:
    a, x = both(data.draw, shape, dtype)
    same(a.contiguous(), x.contiguous(), "contiguous")
    base, apply = view(data.draw, shape, dtype)
    on_npu = base.npu()
    apply(base).copy_(a)
    apply(on_npu).copy_(x)
    same(base, on_npu, "copy into a view")


@examples
@given(st.data(), some_dimensions, st.sampled_from(DTYPES))
def joining_and_splitting(data: Any, shape: Any, dtype: torch.dtype) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    other = (*shape[:dim], data.draw(sizes), *shape[dim + 1 :])
    (a, x), (b, y) = both(data.draw, shape, dtype), both(data.draw, other, dtype)
    same(torch.cat([a, b, a], dim), torch.cat([x, y, x], dim), "cat")
    same(torch.stack([a, a], dim), torch.stack([x, x], dim), "stack")
    for part, own in zip(a.split(2, dim), x.split(2, dim)):
        same(part.contiguous(), own.contiguous(), "split")
    same(a.flip(dim), x.flip(dim), "flip")


@examples
@given(st.data(), some_dimensions.filter(all), st.sampled_from(NUMBERS), st.integers(1, 4))
def indexing(data: Any, shape: Any, dtype: torch.dtype, count: int) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    places = st.lists(st.integers(0, shape[dim] - 1), min_size=count, max_size=count)
    index = torch.tensor(data.draw(places))
    before = (slice(None),) * dim
    a, x = both(data.draw, shape, dtype)
    same(a.index_select(dim, index), x.index_select(dim, index.npu()), "index_select")
    same(a[(*before, index)], x[(*before, index.npu())], "index")
    rows = [count if d == dim else 1 for d in range(len(shape))]
    whole = index.view(rows).expand((*shape[:dim], count, *shape[dim + 1 :])).contiguous()
    same(a.gather(dim, whole), x.gather(dim, whole.npu()), "gather")
    values = make(whole.shape, dtype, 1)
    a, x = a.clone(), x.clone()
    same(a.scatter_add(dim, whole, values), x.scatter_add(dim, whole.npu(), values.npu()), "scatter_add")
    a[(*before, index)] = 3
    x[(*before, index.npu())] = 3
    same(a, x, "assignment by index")


@examples
@given(
    st.data(),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
    st.sampled_from(FLOATS[:2]),
    st.booleans(),
)
def products(data: Any, batch: Any, mnk: tuple[int, int, int], dtype: torch.dtype, same_batch: bool) -> None:
    m, n, k = mnk
    a, x = both(data.draw, (*batch, m, k), dtype)
    b, y = both(data.draw, (*(batch if same_batch else ()), k, n), dtype)
    same(torch.matmul(a.float(), b.float()).to(dtype), torch.matmul(x, y), "matmul")


CHECKS = {
    check.__name__: check
    for check in (
        arithmetic,
        division,
        choice,
        mixed_dtypes,
        one_operand,
        reductions,
        along_a_dimension,
        moves_between_views,
        joining_and_splitting,
        indexing,
        products,
    )
}


def run(name: str) -> str:
    """An empty string, or how hypothesis' smallest example fails."""
    warnings.simplefilter("ignore")
    try:
        CHECKS[name]()
    except BaseException as error:
        return "".join(traceback.format_exception(error))[-3000:]
    return ""
