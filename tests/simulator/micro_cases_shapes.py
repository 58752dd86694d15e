"""Micro-kernels that reduce, scan, spread, rearrange, sort and move, and operands that overlap or are not aligned."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from micro_calls import TYPES, Scalar, View
from micro_group import BITWISE, INTEGERS, NUMBERS, REALS, SHAPES, Group, from_bfloat16, group, to_bfloat16

AXES = {"r": 0, "ar": 1, "ra": 0, "aar": 2, "ara": 1, "ra0a1": 0}
REDUCTIONS: dict[str, Any] = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "xori": np.bitwise_xor, "ori": np.bitwise_or, "andi": np.bitwise_and,
}  # fmt: skip


def reduction_names() -> list[tuple[str, str, str, str]]:
    """name, operation, axes, type."""
    names = []
    for (operation, axes), kind in product(product(("sum", "max", "min"), AXES), NUMBERS):
        if kind in REALS and axes in ("r", "ar", "aar"):
            names += [
                (f"{unit}_reduce_{operation}_{axes}_{kind}", operation, axes, kind)
                for unit in ("enablevc", "enablevcg")
            ]
        else:
            names.append((f"reduce_{operation}_{axes}_{kind}", operation, axes, kind))
    names += [(f"reduce_prod_{axes}_{kind}", "prod", axes, kind) for axes, kind in product(AXES, NUMBERS)]
    names += [(f"reduce_xori_{axes}_int{n}_t", "xori", axes, f"int{n}_t") for axes, n in product(AXES, (8, 16, 32, 64))]
    names += [
        (f"reduce_{o}_{axes}_{kind}", o, axes, kind) for o, axes, kind in product(("ori", "andi"), AXES, INTEGERS)
    ]
    return names


def reduce_programs(g: Group, which: Callable[[str], bool]) -> None:
    for name, operation, axes, kind in reduction_names():
        if not which(kind):
            continue
        rank, axis = {"r": 1, "ar": 2, "ra": 2}.get(axes, 3), AXES[axes]
        shape = {1: (300,), 2: (5, 40), 3: (3, 4, 16)}[rank]
        x = g.values(kind, shape, special=operation in ("max", "min"))
        if operation == "prod" and kind in REALS:
            x = (1 + x / 1000).astype(x.dtype)
        a, to = g.program.place(x, kind), g.target(kind, tuple(1 if d == axis else n for d, n in enumerate(shape)))
        g.call(name, a, to, g.target(kind, (8,)), Scalar(0, kind))
        expected = REDUCTIONS[operation].reduce(x, axis=axis, keepdims=True, dtype=x.dtype)
        g.expect(to, expected, ulps=64 if kind in REALS and operation in ("sum", "prod") else 0)


@group
def reduce_floats(g: Group) -> None:
    reduce_programs(g, lambda kind: kind in REALS)


@group
def reduce_integers(g: Group) -> None:
    reduce_programs(g, lambda kind: kind not in REALS)


@group
def reduce_with_index(g: Group) -> None:
    for operation, end, axes, kind, special in product(
        ("max", "min"), ("left", "right"), ("r", "ar", "ra"), REALS, (0, 1)
    ):
        shape, axis = ((40,), 0) if axes == "r" else ((6, 40), AXES[axes])
        x = g.random.integers(-4, 5, shape).astype(TYPES[kind][1])  # many equal winners
        if special:
            x.reshape(-1)[g.random.integers(0, x.size, 3)] = np.nan
        find = np.argmax if operation == "max" else np.argmin
        index = find(x, axis=axis, keepdims=True)
        if end == "right":
            index = shape[axis] - 1 - find(np.flip(x, axis), axis=axis, keepdims=True)
        a, to = g.program.place(x, kind), g.target(kind, index.shape)
        to_index = g.target("int32_t", index.shape)
        g.call(
            f"reduce_{operation}_with_index_{end}_{axes}_{kind}", a, to, to_index, g.target(kind, (8,)), Scalar(0, kind)
        )
        g.expect(to, np.take_along_axis(x, index, axis))
        g.expect(to_index, index.astype(np.int32))


@group
def scans(g: Group) -> None:
    for operation, axes, reverse, kind in product(("sum", "prod"), ("ra", "ara"), ("", "_reverse"), NUMBERS):
        shape, axis = ((6, 16), 0) if axes == "ra" else ((3, 5, 16), 1)
        x = g.values(kind, shape, special=False)
        a, to = g.program.place(x, kind), g.target(kind, shape)
        g.call(f"cum{operation}_{axes}{reverse}_{kind}", a, to)
        run = np.cumsum if operation == "sum" else np.cumprod
        ordered = np.flip(x, axis) if reverse else x
        y = run(ordered, axis=axis, dtype=x.dtype)
        g.expect(to, np.flip(y, axis) if reverse else y)


@group
def spread(g: Group) -> None:
    for kind, rank in product(BITWISE, (1, 2)):
        to = g.target(kind, SHAPES[rank])
        g.call(f"broadcast_scalar_{kind}_to_{rank}d", Scalar(1, kind), to)
        one = to_bfloat16(np.float32(1)) if kind == "bfloat16_t" else TYPES[kind][1](1)
        g.expect(to, np.full(SHAPES[rank], one))
    wide = [kind for kind in BITWISE if kind == "bool" or np.dtype(TYPES[kind][1]).itemsize > 1]
    names = [(f"broadcast_1d_{kind}", kind, (1,), (37,)) for kind in BITWISE]
    for rank, full in ((2, (5, 16)), (3, (3, 4, 16))):
        names += [(f"broadcast_first_axis_align_{rank}d_{kind}", kind, (1, *full[1:]), full) for kind in BITWISE]
        names += [
            (f"broadcast_first_axis_{how}_{rank}d_{kind}", kind, (1, *full[1:]), full)
            for how, kind in product(("unalign", "unknown_align"), wide[1:])
        ]
    names += [(f"broadcast_middle_axis_align_3d_{kind}", kind, (3, 1, 16), (3, 4, 16)) for kind in BITWISE]
    names += [(f"broadcast_last_axis_align_2d_{kind}", kind, (5, 1), (5, 16)) for kind in wide]
    names += [
        (f"broadcast_last_axis_{how}_2d_{kind}", kind, (5, 1), (5, 16))
        for how, kind in product(("unalign", "unknown_align"), wide[1:])
    ]
    for name, kind, narrow, full in names:
        (a, x), to = g.source(kind, narrow), g.target(kind, full)
        g.call(name, a, to, g.target("int8_t", (32,)))
        g.expect(to, np.broadcast_to(x, full))


@group
def arange(g: Group) -> None:
    for kind, rank in product(("int16_t", "int32_t", "int64_t", "half", "float"), SHAPES):
        to, steps = g.target(kind, SHAPES[rank]), (100, 7, 2)[3 - rank :]
        g.call(f"arange_{rank}d_{kind}", to, Scalar(11, "index"), *[Scalar(s, "index") for s in steps])
        axes = np.indices(SHAPES[rank])
        g.expect(to, (11 + sum(s * axis for s, axis in zip(steps, axes))).astype(TYPES[kind][1]))


@group
def rearrange(g: Group) -> None:
    whole = [kind for kind in BITWISE if kind != "bool"]
    middle = [kind for kind in whole if np.dtype(TYPES[kind][1]).itemsize in (2, 4)]
    for kind in whole:
        for name, shape, order in (
            ("transpose_2d_with_last_axis", (5, 16), (1, 0)),
            ("transpose_3d_with_last_axis", (3, 4, 16), (2, 1, 0)),
            ("transpose_3d_without_last_axis", (3, 4, 16), (1, 0, 2)),
        ):
            (a, x), to = g.source(kind, shape), g.target(kind, tuple(shape[d] for d in order))
            g.call(f"{name}_{kind}", a, to)
            g.expect(to, x.transpose(order))
        (a, x), to = g.source(kind, (37,)), g.target(kind, (37,))
        g.call(f"flip_1d_{kind}", a, to)
        g.expect(to, x[::-1])
        for rank in SHAPES:
            (a, x), to = g.source(kind, SHAPES[rank]), g.target(kind, SHAPES[rank])
            g.call(f"copy_ubuf_to_ubuf_{rank}d_{kind}", a, to, Scalar(0, "i32"), Scalar(0, kind))
            g.expect(to, x)
    for rank in SHAPES:
        (a, x), to = g.source("bool", SHAPES[rank], offset=3), g.target("bool", SHAPES[rank], offset=6)
        g.call(f"copy_ubuf_to_ubuf_{rank}d_bool", a, to)
        g.expect(to, x)
    for kind in middle:
        for channel in (0, 1):
            (a, x), to = g.source(kind, (64,)), g.target(kind, (32,))
            g.call(f"deinterleave_channel_{channel}_from_2_channels_1d_{kind}", a, to)
            g.expect(to, x[channel::2])
        x = g.values(kind, (16,))
        a, to = g.program.place(x, kind, strides=(3,)), g.target(kind, (16,))
        g.call(f"deinterleave_channel_0_from_n_channels_1d_{kind}", a, to)
        g.expect(to, x)
        (a, x), to = g.source(kind, (5, 16)), g.target(kind, (5, 16))
        g.call(f"deinterleave_channel_0_from_n_channels_2d_{kind}", a, to)
        g.expect(to, x)
        (a, x), (b, y), to = g.source(kind, (21,)), g.source(kind, (21,)), g.target(kind, (42,))
        g.call(f"interleave_1d_{kind}", a, b, to, g.target(kind, (8,)))
        g.expect(to, np.stack([x, y], -1).reshape(-1))
        index = g.random.integers(0, 21, 30).astype(np.int32)
        to = g.target(kind, (30,))
        g.call(f"gather_1d_{kind}", a, g.program.place(index, "int32_t"), to, g.target("int32_t", (8,)))
        g.expect(to, x[index])


@group
def sort(g: Group) -> None:
    for kind, descending in product(REALS, (False, True)):
        (a, x), to = g.source(kind, (100,)), g.target(kind, (100,))
        g.call(f"sort_1d_{kind}", a, to, g.target(kind, (8,)), Scalar(descending, "i8"))
        g.expect(to, np.sort(x)[::-1] if descending else np.sort(x))


@group
def sort_with_index(g: Group) -> None:
    """Equal numbers stay in their order, in both directions; NaN counts as the largest."""
    for kind, descending, n in product(REALS, (False, True), (1, 33, 300)):
        x = g.random.integers(-9, 10, n).astype(TYPES[kind][1])
        x[:: max(n // 3, 2)] = np.nan
        a, to, places = g.program.place(x, kind), g.target(kind, (n,)), g.target("int32_t", (n,))
        name = f"sort_with_index_1d_{kind}"
        g.call(name, a, to, places, g.target(kind, (8,)), Scalar(descending, "i8"))
        rank = np.where(np.isnan(x), np.float32(99), x.astype(np.float32))
        order = np.argsort(-rank if descending else rank, kind="stable")
        g.expect(to, x[order])
        g.expect(places, order.astype(np.int32))


@group
def transfers(g: Group) -> None:
    """Loads with their padding, stores, and read-modify-writes in global memory."""
    for kind, rank in product([k for k in BITWISE if k != "bool"], SHAPES):
        shape = {1: (37,), 2: (5, 11), 3: (3, 4, 5)}[rank]
        dtype = np.dtype(TYPES[kind][1])
        per_block = 32 // dtype.itemsize
        pitch = -(-shape[-1] // per_block) * per_block
        padded = (*shape[:-1], pitch)
        strides = tuple(int(s) for s in np.array(np.empty(padded).strides) // 8)
        for mode in (0, 1, 2):
            source, x = g.source(kind, shape, space="gm")
            row = g.target(kind, padded)
            to = View("ub", row.address, kind, shape, strides)
            one = to_bfloat16(np.float32(1)) if kind == "bfloat16_t" else dtype.type(1)
            g.call(
                f"load_gm_to_ubuf_{rank}d_{kind}", source, to, Scalar(mode, "i32"), Scalar(1, kind), Scalar(0, "index")
            )
            expected = np.full(padded, one if mode == 2 else 0, dtype)
            if mode == 1:
                expected[...] = x[..., :1]
            expected[..., : shape[-1]] = x
            g.expect(row, expected)
        for atomic, function in ((0, None), (1, np.add), (2, np.maximum), (3, np.minimum)):
            (source, x), (to, y) = g.source(kind, shape), g.source(kind, shape, space="gm")
            g.call(f"store_ubuf_to_gm_{rank}d_{kind}", source, to, Scalar(atomic, "i32"))
            if kind == "bfloat16_t" and function:
                g.expect(to, to_bfloat16(function(from_bfloat16(y), from_bfloat16(x))))
            else:
                g.expect(to, function(y, x) if function else x)


@group
def padded_loads(g: Group) -> None:
    """Rows that do not start on blocks, where padding one must not destroy the next; and padding on the left."""
    for pitch in (11, 20):
        x = g.values("float", (5, 11))
        source = g.program.place(x, "float", strides=(pitch, 1), space="gm")
        to = g.target("float", (5, 11))
        g.call("load_gm_to_ubuf_2d_float", source, to, Scalar(2, "i32"), Scalar(1, "float"), Scalar(0, "index"))
        g.expect(to, x)
    for mode, fill in ((0, 0.0), (2, 1.0)):
        source, x = g.source("float", (8,), space="gm")
        row = g.target("float", (16,))
        to = View("ub", row.address, "float", (8,), (1,), offset=3)
        g.call("load_gm_to_ubuf_1d_float", source, to, Scalar(mode, "i32"), Scalar(1, "float"), Scalar(3, "index"))
        g.expect(row, np.concatenate([np.full(3, fill, np.float32), x, np.full(5, fill, np.float32)]))


@group
def in_place(g: Group) -> None:
    """Targets that start where a source starts, as the compiler assigns them, and two that would destroy a source."""
    view, x = g.source("float", (100,))
    g.call("vadd_1d_float", view, view, view, g.target("float", (8,)))
    g.expect(view, x + x)
    view, x = g.source("float", (100,))
    half = View("ub", view.address, "half", (100,), (1,))
    g.call("vcast_float_to_half_1d_with_mode", view, half, Scalar(0, "i32"))
    g.expect(half, x.astype(np.float16))
    (a, x), (b, y) = g.source("float", (100,)), g.source("float", (100,))
    bits = View("ub", a.address, "bool", (100,), (1,))
    g.call("vcmp_lt_1d_float", a, b, bits)
    g.expect(bits, (x < y).astype(np.uint8))
    view, x = g.source("half", (100,), special=False)
    room = g.target("float", (100,))
    wide = View("ub", view.address, "float", (100,), (1,))
    assert room.address > view.address
    g.call("vcast_half_to_float_1d_with_mode", view, wide, Scalar(0, "i32"))
    g.expect(wide, x.astype(np.float32))
    view, x = g.source("float", (16, 16))
    g.call("transpose_2d_with_last_axis_float", view, view)
    g.expect(view, x.T)


@group
def unaligned(g: Group) -> None:
    """Views that start off a block or have gaps: the library's scalar loops."""
    for kind in NUMBERS:
        x, y = g.values(kind, (20,)), g.values(kind, (20,))
        a, b = g.program.place(x, kind, offset=3), g.program.place(y, kind, strides=(2,))
        to = g.target(kind, (20,), strides=(3,), offset=1)
        g.call(f"vadd_1d_{kind}", a, b, to)
        g.expect(to, x + y)
    x = g.values("float", (20,))
    source, to = g.program.place(x, "float", strides=(3,), space="gm"), g.target("float", (20,), offset=1)
    g.call("load_gm_to_ubuf_1d_float", source, to, Scalar(0, "i32"), Scalar(0, "float"), Scalar(0, "index"))
    g.expect(to, x)
    back = g.target("float", (20,), strides=(2,), space="gm")
    g.call("store_ubuf_to_gm_1d_float", to, back, Scalar(0, "i32"))
    g.expect(back, x)
