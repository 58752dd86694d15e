"""The scalar unit, control flow and errors of the HIVM executor, on modules made for the purpose."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GM = "#hivm.address_space<gm>"
UB = "#hivm.address_space<ub>"
OUT = f"memref<?xi64, {GM}>"

#: ``run(text, entry, blocks, out_bytes, scalars, cut)`` launches a module and returns the bytes of its output in
#: hexadecimal, or the message of the error. ``cut``: how many bytes of the argument struct are held back.
SETUP = """
import json, struct, subprocess, tempfile, pathlib
from acl_calls import *
acl, folder = Acl(), pathlib.Path(tempfile.mkdtemp())

def run(text, entry, blocks, out_bytes, scalars, cut):
    (folder / "m.mlir").write_text(text)
    done = subprocess.run(["hivmc", str(folder / "m.mlir"), "-o", str(folder / "m")], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    stub = acl.register((folder / "m.o").read_bytes(), entry.encode())
    out = acl.malloc(out_bytes)
    acl.fill(out, 0, out_bytes)
    packed = struct.pack("<QQQQ", 0, 0, 0, out) + struct.pack("<iifiii", *scalars, blocks, 1, 1)
    packed = packed[: len(packed) - cut]
    try:
        acl.launch(stub, blocks, packed)
        acl.sync()
    except AclError as error:
        return error.text
    return acl.download(out, out_bytes).hex()
"""

A, B, X = -7, 3, 0.1  # %arg4, %arg5 (i32) and %arg6 (f32); %arg3 is the output


def module(body: str, maps: str = "") -> str:
    return (
        maps
        + "module attributes {hivm.module_core_type = #hivm.module_core_type<AIV>} {\n"
        + f"  func.func @k(%arg0: i64, %arg1: memref<?xi8, {GM}>, %arg2: memref<?xi8, {GM}>, %arg3: {OUT}, "
        + "%arg4: i32, %arg5: i32, %arg6: f32, %arg7: i32, %arg8: i32, %arg9: i32) attributes {hacc.entry, "
        + "hivm.func_core_type = #hivm.func_core_type<AIV>} {\n"
        + "    %c0 = arith.constant 0 : index\n    %c1 = arith.constant 1 : index\n"
        + body
        + "    return\n  }\n}\n"
    )


def store(value: str, at: int) -> str:
    """Stores an i64 value as result number `at`."""
    return (
        f"    %slot{at} = memref.reinterpret_cast %arg3 to offset: [{at}], sizes: [1], strides: [1] : {OUT} "
        f"to memref<1xi64, strided<[1], offset: {at}>, {GM}>\n"
        f"    memref.store {value}, %slot{at}[%c0] : memref<1xi64, strided<[1], offset: {at}>, {GM}>\n"
    )


Run = Callable[..., Any]


@pytest.fixture(scope="module")
def run(run_on_sim: Any) -> Run:
    def call(text: str, results: int = 1, blocks: int = 1, cut: int = 0) -> Any:
        code = SETUP + f"report(run(*json.loads({json.dumps([text, 'k', blocks, 8 * results, [A, B, X], cut])!r})))\n"
        answer = run_on_sim(code, env={"PYTHONPATH": str(Path(__file__).parent)})
        try:
            return list(struct.unpack(f"<{results}q", bytes.fromhex(answer)))
        except ValueError:
            return answer

    return call


def wrap32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


# What is tried, the operation, and its result before it wraps to i32.
INTEGERS: list[tuple[str, str, int]] = [
    ("addi", "arith.addi %arg4, %big : i32", wrap32(A + 2**31 - 1)),
    ("subi", "arith.subi %low, %arg5 : i32", wrap32(-(2**31) - B)),
    ("muli", "arith.muli %big, %big : i32", wrap32((2**31 - 1) ** 2)),
    ("divsi", "arith.divsi %arg4, %arg5 : i32", -2),
    ("divsi", "arith.divsi %low, %minus : i32", -(2**31)),
    ("remsi", "arith.remsi %arg4, %arg5 : i32", -1),
    ("divui", "arith.divui %arg4, %arg5 : i32", (2**32 + A) // B),
    ("remui", "arith.remui %arg4, %arg5 : i32", (2**32 + A) % B),
    ("shli", "arith.shli %arg4, %arg5 : i32", A << B),
    ("shli beyond the width", "arith.shli %arg4, %forty : i32", 0),
    ("shrsi", "arith.shrsi %arg4, %arg5 : i32", A >> B),
    ("shrsi beyond the width", "arith.shrsi %arg4, %forty : i32", -1),
    ("shrui", "arith.shrui %arg4, %arg5 : i32", (2**32 + A) >> B),
    ("andi", "arith.andi %arg4, %big : i32", A & (2**31 - 1)),
    ("xori", "arith.xori %arg4, %arg5 : i32", A ^ B),
    ("maxsi", "arith.maxsi %arg4, %arg5 : i32", B),
    ("maxui", "arith.maxui %arg4, %arg5 : i32", A),
]


def test_integers_wrap_and_round_as_their_type_does(run: Run) -> None:
    body = (
        "    %big = arith.constant 2147483647 : i32\n    %low = arith.constant -2147483648 : i32\n"
        "    %minus = arith.constant -1 : i32\n    %forty = arith.constant 40 : i32\n"
    )
    for i, (_, operation, _) in enumerate(INTEGERS):
        body += f"    %r{i} = {operation}\n    %w{i} = arith.extsi %r{i} : i32 to i64\n" + store(f"%w{i}", i)
    got = run(module(body), len(INTEGERS))
    assert {i: (name, value) for i, ((name, _, _), value) in enumerate(zip(INTEGERS, got, strict=True))} == {
        i: (name, wrap32(value)) for i, (name, _, value) in enumerate(INTEGERS)
    }


def test_conversions(run: Run) -> None:
    lines = [
        ("%v = arith.trunci %arg4 : i32 to i8\n    %w = arith.extui %v : i8 to i64", 256 + A),
        ("%v = arith.cmpi slt, %arg4, %arg5 : i32\n    %w = arith.extui %v : i1 to i64", 1),
        ("%v = arith.cmpi ult, %arg4, %arg5 : i32\n    %w = arith.extui %v : i1 to i64", 0),
        ("%v = arith.cmpi slt, %arg4, %arg5 : i32\n    %w = arith.extsi %v : i1 to i64", -1),
        ("%u = arith.index_cast %arg4 : i32 to index\n    %v = arith.index_cast %u : index to i1\n"
         "    %w = arith.extui %v : i1 to i64", 1),
        ("%v = arith.index_castui %arg4 : i32 to index\n    %w = arith.index_cast %v : index to i64", 2**32 + A),
        ("%u = arith.sitofp %arg4 : i32 to f32\n    %v = arith.mulf %u, %arg6 : f32\n"
         "    %t = arith.constant 1.000000e+09 : f32\n    %s = arith.mulf %v, %t : f32\n"
         "    %w = arith.fptosi %s : f32 to i64", int(f32(f32(A * f32(X)) * 1e9))),
        ("%u = arith.truncf %arg6 : f32 to f16\n    %v = arith.extf %u : f16 to f32\n"
         "    %t = arith.constant 0x4E6E6B28 : f32\n    %s = arith.mulf %v, %t : f32\n"
         "    %w = arith.fptosi %s : f32 to i64", int(f32(0.0999755859375 * 1e9))),
        ("%u = math.sqrt %arg6 : f32\n    %t = arith.constant 1.000000e+09 : f32\n    %s = arith.mulf %u, %t : f32\n"
         "    %w = arith.fptosi %s : f32 to i64", int(f32(f32(math.sqrt(f32(X))) * 1e9))),
    ]  # fmt: skip
    body = ""
    for i, (code, _) in enumerate(lines):
        for name in "stuvw":
            code = code.replace(f"%{name} ", f"%{name}{i} ").replace(f"%{name},", f"%{name}{i},")
        body += f"    {code}\n" + store(f"%w{i}", i)
    assert run(module(body), len(lines)) == [value for _, value in lines]


def test_products_of_double_width(run: Run) -> None:
    body = (
        "    %m = arith.constant -2147483645 : i32\n"
        "    %low, %high = arith.mulsi_extended %arg4, %m : i32\n"
        "    %ulow, %uhigh = arith.mului_extended %arg4, %m : i32\n"
    )
    for i, name in enumerate(("low", "high", "ulow", "uhigh")):
        body += f"    %w{i} = arith.extsi %{name} : i32 to i64\n" + store(f"%w{i}", i)
    m = -2147483645
    signed, unsigned = A * m, (2**32 + A) * (2**32 + m)
    expected = [wrap32(x) for x in (signed, signed >> 32, unsigned, unsigned >> 32)]
    assert run(module(body), 4) == expected


def test_affine_maps_round_down(run: Run) -> None:
    maps = (
        "#map = affine_map<()[s0, s1] -> (s0 floordiv s1)>\n#map1 = affine_map<()[s0, s1] -> (s0 mod s1)>\n"
        "#map2 = affine_map<(d0)[s0] -> ((-d0 + s0) ceildiv 2, d0 * 3 - s0 * (s0 + 1))>\n"
    )
    calls = [
        ("affine.apply #map()[%a, %b]", A // B),
        ("affine.apply #map1()[%a, %b]", A % B),
        ("affine.min #map2(%a)[%b]", min(-((A - B) // 2), A * 3 - B * (B + 1))),
        ("affine.max #map2(%a)[%b]", max(-((A - B) // 2), A * 3 - B * (B + 1))),
    ]
    body = "    %a = arith.index_cast %arg4 : i32 to index\n    %b = arith.index_cast %arg5 : i32 to index\n"
    for i, (code, _) in enumerate(calls):
        body += f"    %r{i} = {code}\n    %w{i} = arith.index_cast %r{i} : index to i64\n" + store(f"%w{i}", i)
    assert run(module(body, maps), len(calls)) == [value for _, value in calls]


def test_loops_exchange_values_and_branches_give_results(run: Run) -> None:
    """A loop that swaps its two values, Fibonacci in a while, results of an if, nested in each other."""
    three = "(i64, i64, i64)"
    body = f"""    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %ten = arith.constant 10 : i64
    %c5 = arith.constant 5 : index
    %0:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %zero, %y = %ten) -> (i64, i64) {{
      scf.yield %y, %x : i64, i64
    }}
{store("%0#0", 0)}{store("%0#1", 1)}    %1:3 = scf.while (%p = %zero, %q = %one, %n = %zero) : {three} -> {three} {{
      %go = arith.cmpi slt, %n, %ten : i64
      scf.condition(%go) %q, %p, %n : i64, i64, i64
    }} do {{
    ^bb0(%q: i64, %p: i64, %n: i64):
      %sum = arith.addi %p, %q : i64
      %next = arith.addi %n, %one : i64
      scf.yield %q, %sum, %next : i64, i64, i64
    }}
{store("%1#0", 2)}{store("%1#1", 3)}{store("%1#2", 4)}    %negative = arith.cmpi slt, %arg4, %arg5 : i32
    %2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %zero) -> (i64) {{
      %3 = scf.if %negative -> (i64) {{
        %4 = arith.addi %x, %ten : i64
        scf.yield %4 : i64
      }} else {{
        scf.yield %x : i64
      }}
      scf.yield %3 : i64
    }}
{store("%2", 5)}    %5 = scf.for %i = %c5 to %c0 step %c1 iter_args(%x = %ten) -> (i64) {{
      scf.yield %zero : i64
    }}
{store("%5", 6)}"""
    assert run(module(body), 7) == [10, 0, 89, 55, 10, 50, 10]


def test_views(run: Run) -> None:
    """Elements of UB through views: a dropped dimension, a stride, collapsed, expanded, as single bits."""
    ub = f"memref<4x8xi64, {UB}>"
    column = f"memref<4xi64, strided<[8], offset: 2>, {UB}>"
    flat = f"memref<32xi64, {UB}>"
    every = f"memref<10xi64, strided<[3], offset: 1>, {UB}>"
    square = f"memref<2x4x4xi64, {UB}>"
    metadata = f"{column} -> memref<i64, {UB}>, index, index, index"
    body = f"""    %address = arith.constant 64 : i64
    %m = hivm.hir.pointer_cast(%address) : {ub}
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c4 step %c1 {{
      scf.for %j = %c0 to %c8 step %c1 {{
        %0 = arith.muli %i, %c8 : index
        %1 = arith.addi %0, %j : index
        %2 = arith.index_cast %1 : index to i64
        memref.store %2, %m[%i, %j] : {ub}
      }}
    }}
    %column = memref.subview %m[0, 2] [4, 1] [1, 1] : {ub} to {column}
    %a = memref.load %column[%c3] : {column}
{store("%a", 0)}    %flat = memref.collapse_shape %m [[0, 1]] : {ub} into {flat}
    %c13 = arith.constant 13 : index
    %b = memref.load %flat[%c13] : {flat}
{store("%b", 1)}    %every = memref.subview %flat[1] [10] [3] : {flat} to {every}
    %c = memref.load %every[%c4] : {every}
{store("%c", 2)}    %square = memref.expand_shape %flat [[0, 1, 2]] output_shape [2, 4, 4] : {flat} into {square}
    %d = memref.load %square[%c1, %c0, %c3] : {square}
{store("%d", 3)}    %base, %offset, %sizes, %strides = memref.extract_strided_metadata %column : {metadata}
    %o = arith.index_cast %offset : index to i64
    %s = arith.index_cast %strides : index to i64
{store("%o", 4)}{store("%s", 5)}    %bits = hivm.hir.pointer_cast(%address) : memref<64xi1, {UB}>
    %true = arith.constant true
    %false = arith.constant false
    memref.store %true, %bits[%c13] : memref<64xi1, {UB}>
    %e = memref.load %m[%c0, %c0] : {ub}
{store("%e", 6)}    memref.store %false, %bits[%c13] : memref<64xi1, {UB}>
    %f = memref.load %m[%c0, %c0] : {ub}
{store("%f", 7)}"""
    assert run(module(body), 8) == [3 * 8 + 2, 13, 1 + 4 * 3, 16 + 3, 2, 8, 1 << 13, 0]


def test_nothing_is_left_from_the_block_before(run: Run) -> None:
    """Each block finds its local memory filled with ones, not with what the block before it stored."""
    one = f"memref<1xi64, strided<[1], offset: ?>, {GM}>"
    body = f"""    %address = arith.constant 256 : i64
    %m = hivm.hir.pointer_cast(%address) : memref<1xi64, {UB}>
    %0 = hivm.hir.get_block_idx -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = memref.load %m[%c0] : memref<1xi64, {UB}>
    %slot = memref.reinterpret_cast %arg3 to offset: [%1], sizes: [1], strides: [1] : {OUT} to {one}
    memref.store %2, %slot[%c0] : {one}
    memref.store %0, %m[%c0] : memref<1xi64, {UB}>
"""
    assert run(module(body), 3, blocks=3) == [-1, -1, -1]


@pytest.mark.parametrize("zero", ["known", "given"])
def test_a_division_by_zero_gives_zero_and_does_not_stop_the_kernel(run: Run, zero: str) -> None:
    """Kernels divide by the zeros of masked lanes."""
    body = "    %a = arith.extsi %arg4 : i32 to i64\n    %zero = "
    body += "arith.constant 0 : i64\n" if zero == "known" else "arith.subi %a, %a : i64\n"
    operations = ("divsi", "divui", "remsi", "remui")
    for i, name in enumerate(operations):
        body += f"    %{i} = arith.{name} %a, %zero : i64\n{store(f'%{i}', i)}"
    assert run(module(body), len(operations)) == [0] * len(operations)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (store("%zero", 1), "outside of every allocation"),
        ("    scf.for %i = %c0 to %c1 step %c0 {\n    }\n", "scf.for with the step 0"),
        (
            "    scf.while : () -> () {\n      scf.condition(%true)\n    } do {\n      scf.yield\n    }\n",
            "too many loop iterations",
        ),
        (
            f"    %m = hivm.hir.pointer_cast(%zero) : memref<2xi64, {UB}>\n"
            "    scf.while : () -> () {\n      scf.condition(%true)\n    } do {\n"
            f"      func.call @broadcast_scalar_int64_t_to_1d(%zero, %m) : (i64, memref<2xi64, {UB}>) -> ()\n"
            "      scf.yield\n    }\n",
            "too many loop iterations",
        ),
        (
            "    hivm.hir.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID3>]\n",
            "flag V->MTE3 event 3 is waited for but was never set",
        ),
        ("    hivm.hir.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID3>]\n", "1 flags are still set at the end"),
        ("    hivm.hir.set_flag[<PIPE_V>, <PIPE_MTE3>, %far]\n", "event 99 does not exist"),
        (
            f"    %m = hivm.hir.pointer_cast(%last) : memref<2xi64, {UB}>\n"
            f"    memref.store %zero, %m[%c1] : memref<2xi64, {UB}>\n",
            "element at byte 196608 of ub, which has 196608 bytes",
        ),
        (
            f"    %m = hivm.hir.pointer_cast(%far) : memref<2xi64, {UB}>\n"
            "    %i = arith.index_cast %arg4 : i32 to index\n"
            f"    %s = memref.subview %m[0] [%i] [1] : memref<2xi64, {UB}> to memref<?xi64, strided<[1]>, {UB}>\n",
            "negative size -7",
        ),
        (
            store("%zero", 0)
            + f"    call @load_gm_to_ubuf_1d_int64_t(%slot0, %slot0, %nil, %zero, %c0) : (memref<1xi64, {GM}>, "
            + f"memref<1xi64, {GM}>, i32, i64, index) -> ()\n",
            "micro-kernel load_gm_to_ubuf_1d_int64_t: the target lies in global memory",
        ),
        (
            f"    %m = hivm.hir.pointer_cast(%last) : memref<2xi64, {UB}>\n"
            f"    call @broadcast_scalar_int64_t_to_1d(%zero, %m) : (i64, memref<2xi64, {UB}>) -> ()\n",
            "at byte 196600 lies outside of the memory",
        ),
    ],
)
def test_errors_name_the_line_and_the_reason(run: Run, body: str, message: str) -> None:
    constants = (
        "    %zero = arith.constant 0 : i64\n    %nil = arith.constant 0 : i32\n    %true = arith.constant true\n"
        "    %far = arith.constant 99 : i64\n    %last = arith.constant 196600 : i64\n"
    )
    error = run(module(constants + body))
    assert isinstance(error, str), error
    assert message in error
    assert "kernel 'k' block 0" in error


def test_an_argument_struct_of_the_wrong_size_is_refused(run: Run) -> None:
    assert "too few arguments (argument struct of 48 bytes)" in run(module(""), cut=8)
