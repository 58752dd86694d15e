"""Micro-kernels that compute each element by itself: arithmetic, functions, casts, comparisons, selection."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from micro_calls import TYPES, Operand, Scalar
from micro_group import BITWISE, NUMBERS, REALS, SHAPES, Group, bits_of, from_bfloat16, group, to_bfloat16

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "vadd": np.add, "vsub": np.subtract, "vmul": np.multiply, "vmax": np.maximum, "vmin": np.minimum, "vdiv": np.divide,
}  # fmt: skip
LOGIC: dict[str, Callable[..., Any]] = {"vand": np.bitwise_and, "vor": np.bitwise_or, "vxor": np.bitwise_xor}


@group
def binary(g: Group) -> None:
    """All ranks and types, with a broadcast axis from rank 2 on."""
    for (name, function), rank, kind in product(ARITHMETIC.items(), SHAPES, NUMBERS):
        if name == "vdiv" and kind not in REALS:
            continue
        shape = SHAPES[rank]
        narrow = (*shape[:-2], 1, shape[-1]) if rank > 1 else shape
        column = (*shape[:-1], 1) if rank > 1 else shape
        for left, right in ((shape, shape), (shape, narrow), (column, shape))[: 3 if rank > 1 else 1]:
            (a, x), (b, y), to = g.source(kind, left), g.source(kind, right), g.target(kind, shape)
            g.call(f"{name}_{rank}d_{kind}", a, b, to, g.target(kind, (8,)))
            g.expect(to, function(x, y))


@group
def logic(g: Group) -> None:
    for (name, function), rank, kind in product(LOGIC.items(), SHAPES, BITWISE):
        if name == "vxor" and kind in ("half", "bfloat16_t", "float"):
            continue
        (a, x), (b, y), to = (g.source(kind, SHAPES[rank]), g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank]))
        g.call(f"{name}_{rank}d_{kind}", a, b, to, g.target("int8_t", (32,)))
        g.expect(to, function(bits_of(x), bits_of(y)).view(x.dtype))


@group
def scalars(g: Group) -> None:
    for name, kind, rank in product(("vadds", "vsub", "vmuls", "vmaxs", "vmins", "vdiv"), NUMBERS, SHAPES):
        if name == "vdiv" and kind not in REALS:
            continue
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank])
        number = TYPES[kind][1](3 if kind in REALS else 30000)
        function = ARITHMETIC[name.removesuffix("s")]
        g.call(f"{name}_vs_{rank}d_{kind}", a, Scalar(number, kind), to, g.target(kind, (8,)))
        g.expect(to, function(x, number))
        if name in ("vsub", "vdiv"):
            other = g.target(kind, SHAPES[rank])
            g.call(f"{name}_sv_{rank}d_{kind}", Scalar(number, kind), a, other, g.target(kind, (8,)))
            g.expect(other, function(number, x))


@group
def shifts(g: Group) -> None:
    for kind, rank, count in product(("int16_t", "uint16_t", "int32_t", "uint32_t"), SHAPES, (0, 5, 15)):
        for name, function in (("vshls", np.left_shift), ("vshrs", np.right_shift)):
            (a, x), to = g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank])
            g.call(f"{name}_vs_{rank}d_{kind}", a, Scalar(count, kind), to)
            g.expect(to, function(x, x.dtype.type(count)))


@group
def unary(g: Group) -> None:
    exact: dict[str, Callable[..., Any]] = {
        "vabs": np.abs, "vsqrt": np.sqrt, "vrec": lambda x: x.dtype.type(1) / x,
        "vrsqrt": lambda x: x.dtype.type(1) / np.sqrt(x), "vrelu": lambda x: np.maximum(x, x.dtype.type(0)),
    }  # fmt: skip
    for (name, function), kind, rank in product(exact.items(), (*REALS, "int32_t"), SHAPES):
        if kind == "int32_t" and name != "vrelu":
            continue
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank])
        g.call(f"{name}_{rank}d_{kind}", a, to, g.target(kind, (8,)))
        g.expect(to, function(x))
    for kind, rank in product(BITWISE, SHAPES):
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank])
        g.call(f"vnot_{rank}d_{kind}", a, to, g.target("int8_t", (32,)))
        g.expect(to, 1 - x if kind == "bool" else np.invert(bits_of(x)).view(x.dtype))


@group
def functions(g: Group) -> None:
    """exp and ln over their whole range, against the correctly rounded value."""
    for name, kind, rank in product(("vexp", "vln"), REALS, SHAPES):
        dtype = TYPES[kind][1]
        if name == "vexp":
            x = np.linspace(-110, 95, 1680, dtype=np.float64).astype(dtype)
        else:
            x = np.exp(np.linspace(-103, 88.7, 1680)).astype(dtype)
            x[:840] = np.linspace(0.5, 2, 840)  # where the result is small
        x[:5] = np.inf, -np.inf, np.nan, 0.0, -0.0
        x = x.reshape({1: (1680,), 2: (105, 16), 3: (7, 15, 16)}[rank])
        a, to = g.program.place(x, kind), g.target(kind, x.shape)
        g.call(f"{name}_{rank}d_{kind}", a, to, g.target(kind, (8,)))
        exact = np.exp(x.astype(np.float64)) if name == "vexp" else np.log(x.astype(np.float64))
        g.expect(to, exact.astype(dtype), ulps=1)


def rounded(x: np.ndarray, mode: int) -> np.ndarray:
    """float64 -> whole float64, by cast mode."""
    away = np.copysign(np.floor(np.abs(x) + 0.5), x)
    return {0: np.rint(x), 1: away, 2: np.floor(x), 3: np.ceil(x), 4: np.trunc(x)}[mode]


def to_integer(x: np.ndarray, kind: str, mode: int) -> np.ndarray:
    """What a cast of floats gives: the nearest end outside the range, 0 for NaN; the low bits in mode 6."""
    dtype = np.dtype(TYPES[kind][1])
    if mode == 6:
        return np.trunc(x).astype(np.int64).astype(dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    whole = [
        0 if np.isnan(v) else low if v <= low else high if v >= high else int(v) for v in rounded(x, mode).reshape(-1)
    ]
    return np.array(whole, dtype).reshape(x.shape)


INTERESTING = [
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -2.5,
    0.49999997,
    1.25,
    -1.75,
    127.5,
    128,
    -128.6,
    255.5,
    300,
    -300,
    32767.5,
    -40000,
    65000,
]
LARGE = [2147483520, 2147483648, -2147483648, -3e9, 9.3e18, -9.3e18, 1e30, 8388609, np.inf, -np.inf, np.nan, 0.0, -0.0]


@group
def casts_from_float(g: Group) -> None:
    sources = {"float": np.float32, "half": np.float16, "bfloat16_t": np.uint16}
    targets = {"float": ("int64_t", "int32_t", "int16_t"), "half": ("int32_t", "int16_t", "int8_t", "uint8_t"),
               "bfloat16_t": ("int32_t",)}  # fmt: skip
    for kind, rank in product(sources, (1, 2)):
        numbers = np.array(INTERESTING + LARGE + [3.0], np.float32).reshape((32,) if rank == 1 else (2, 16))
        x = to_bfloat16(numbers) if kind == "bfloat16_t" else numbers.astype(sources[kind])
        wide = (from_bfloat16(x) if kind == "bfloat16_t" else x).astype(np.float64)
        for to_kind, mode in product(targets[kind], (0, 1, 2, 3, 4, 6)):
            a, to = g.program.place(x, kind), g.target(to_kind, x.shape)
            g.call(f"vcast_{kind}_to_{to_kind}_{rank}d_with_mode", a, to, Scalar(mode, "i32"))
            g.expect(to, to_integer(wide, to_kind, mode))
        if kind == "float":
            for mode in range(5):
                a, to = g.program.place(x, kind), g.target("float", x.shape)
                g.call(f"vcast_float_to_float_{rank}d_with_mode", a, to, Scalar(mode, "i32"))
                g.expect(to, rounded(wide, mode).astype(np.float32))
            for to_kind in ("half", "bfloat16_t"):
                a, to = g.program.place(x, kind), g.target(to_kind, x.shape)
                g.call(f"vcast_float_to_{to_kind}_{rank}d_with_mode", a, to, Scalar(0, "i32"))
                g.expect(to, to_bfloat16(x) if to_kind == "bfloat16_t" else x.astype(np.float16))
        else:
            a, to = g.program.place(x, kind), g.target("float", x.shape)
            g.call(f"vcast_{kind}_to_float_{rank}d_with_mode", a, to, Scalar(0, "i32"))
            g.expect(to, wide.astype(np.float32))


@group
def casts_from_integer(g: Group) -> None:
    with_mode = [
        "uint8_t:half",
        "int8_t:half",
        "int16_t:half",
        "int16_t:float",
        "int32_t:float",
        "int32_t:int64_t",
        "int32_t:int16_t",
        "int64_t:int32_t",
        "int64_t:float",
    ]
    for pair, rank in product(with_mode, (1, 2)):
        kind, to_kind = pair.split(":")
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(to_kind, SHAPES[rank])
        g.call(f"vcast_{kind}_to_{to_kind}_{rank}d_with_mode", a, to, Scalar(0, "i32"))
        dtype = np.dtype(TYPES[to_kind][1])
        narrowing = dtype.kind == "i" and dtype.itemsize < x.dtype.itemsize
        through = x.astype(np.float32) if to_kind == "half" else x
        limits = np.iinfo(dtype) if narrowing else None
        g.expect(to, np.clip(x, limits.min, limits.max).astype(dtype) if limits else through.astype(dtype))
    for pair, rank, how in product(
        ("int32_t:int8_t", "int16_t:int8_t", "int32_t:int16_t", "int64_t:int32_t"), (1, 2), ("", "_no_size_align")
    ):
        kind, to_kind = pair.split(":")
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(to_kind, SHAPES[rank])
        g.call(f"vcast_{kind}_to_{to_kind}_{rank}d_with_overflow{how}", a, to, g.target(kind, (8,)), Scalar(6, "i32"))
        g.expect(to, x.astype(TYPES[to_kind][1]))
    for kind, to_kind, rank in product(
        ("bool", "uint8_t"), ("half", "float", "bfloat16_t", "int16_t", "int32_t", "uint16_t", "uint32_t"), (1, 2)
    ):
        if kind == "uint8_t" and rank == 2:
            continue
        (a, x), to = g.source(kind, SHAPES[rank]), g.target(to_kind, SHAPES[rank])
        g.call(f"vcast_{kind}_to_{to_kind}_{rank}d_with_temp", a, to, g.target("half", (8,)), Scalar(0, "i32"))
        g.expect(to, to_bfloat16(x.astype(np.float32)) if to_kind == "bfloat16_t" else x.astype(TYPES[to_kind][1]))


COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@group
def compare(g: Group) -> None:
    for (name, function), kind in product(COMPARE.items(), ("half", "float", "int32_t")):
        if kind == "int32_t" and name not in ("eq", "ne"):
            continue
        for count in (32, 77):
            x, y = g.values(kind, (count,)), g.values(kind, (count,))
            y[::3] = x[::3]
            a, b, to = g.program.place(x, kind), g.program.place(y, kind), g.target("bool", (count,), offset=count % 7)
            g.call(f"vcmp_{name}_1d_{kind}", a, b, to)
            g.expect(to, function(x, y).astype(np.uint8))
            other = g.target("bool", (count,))
            g.call(f"vcmps_{name}_1d_{kind}", a, Scalar(x[4], kind), other)
            g.expect(other, function(x, x[4]).astype(np.uint8))


@group
def select(g: Group) -> None:
    for kind in ("half", "float", "int16_t", "int32_t", "uint16_t", "uint32_t", "bfloat16_t", "int64_t"):
        for condition, kinds in (("bool", "vv"), ("int8_t", "vv"), ("bool", "vs"), ("bool", "sv"), ("bool", "ss")):
            chosen = g.random.integers(0, 2, 77).astype(np.uint8)
            c = g.program.place(chosen, condition, offset=5 if condition == "bool" else 0)
            sides: list[Operand] = []
            values = []
            for side in kinds:
                view, x = g.source(kind, (77,))
                number = 2.5 if kind in ("half", "float", "bfloat16_t") else 25
                stored = to_bfloat16(np.float32(number)) if kind == "bfloat16_t" else TYPES[kind][1](number)
                sides.append(view if side == "v" else Scalar(number, kind))
                values.append(x if side == "v" else stored)
            to = g.target(kind, (77,))
            types = f"{condition}_{kind}" if kinds == "vv" else kind
            g.call(f"vsel_{kinds}_1d_{types}", c, *sides, to, g.target(kind, (8,)))
            g.expect(to, np.where(chosen != 0, *values))
