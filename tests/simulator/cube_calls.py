"""Single matrix products as modules: two nd2nz, perhaps a bias, two products into one accumulator, one fixpipe.

    python cube_calls.py --out FILE

FILE gets a JSON list of ``{"name", "called", "error", "wrong"}``: results are compared with NumPy, exactly, since the
operands are small whole numbers. Expects the environment of the simulator.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from acl_calls import Acl, AclError
from hivm_fixtures import to_float

GM, L1, L0C = (f"#hivm.address_space<{space}>" for space in ("gm", "cbuf", "cc"))
BIAS_ADDRESS = 458752  # behind the tiles in L1
#: By type in names: the module's type, NumPy's, bytes, type of the accumulator, quantisation of the fixpipe.
TYPES = {
    "half": ("f16", "float16", 2, 1),
    "bfloat16_t": ("bf16", "uint16", 2, 16),
    "float": ("f32", "float32", 4, 0),
    "int8_t": ("i8", "int8", 1, 0),
    "int32_t": ("i32", "int32", 4, 0),
}


@dataclass(frozen=True)
class Product:
    """out = 2 A B + bias, computed as A B + bias and then A B added to it; without what is negative after ``relu``."""

    source: str
    out: str
    transposed_a: bool
    transposed_b: bool
    m: int
    k: int
    n: int
    unit_flag: int = 0
    loop: int = -1
    relu: bool = False
    bias: str = ""  # its type, if there is one

    @property
    def accumulator(self) -> str:
        return "int32_t" if self.source == "int8_t" else "float"

    @property
    def names(self) -> list[str]:
        with_bias, transposed = "", "_ta" * self.transposed_a + "_tb" * self.transposed_b
        if self.bias:
            with_bias = f"with_{self.bias}_bias_"
        return [
            f"nd2nz_{self.source}",
            f"set_l1_2d_{self.source}",
            f"mma_tile_{with_bias}{self.source}_to_{self.accumulator}{transposed}",
            f"fixpipe_nz2nd_{self.accumulator}_to_{self.out}_4d_to_2d",
            *([f"load_gm_to_cbuf_1d_{self.bias}"] if self.bias else []),
        ]

    def text(self) -> str:
        kind, _, size, _ = TYPES[self.source]
        wide, out = TYPES[self.accumulator][0], TYPES[self.out][0]
        c0 = 32 // size
        whole = max(c0, 16)  # columns of a tile: also a multiple of 16
        up = lambda value, step: -(-value // step)  # noqa: E731
        shape_a = (self.k, self.m) if self.transposed_a else (self.m, self.k)
        shape_b = (self.n, self.k) if self.transposed_b else (self.k, self.n)
        tile_a, tile_b = ((up(c, whole) * whole // c0, up(r, 16), 16, c0) for r, c in (shape_a, shape_b))
        tile_c = (up(self.n, 16), up(self.m, 16), 16, 16)
        lines = []

        def view(name: str, shape: tuple[int, ...], element: str, space: str) -> str:
            """Hides the sizes of a view, as calls expect."""
            static = f"memref<{'x'.join(map(str, shape))}x{element}, {space}>"
            unknown = (
                f"memref<{'?x' * len(shape)}{element}, strided<[{', '.join('?' * len(shape))}], offset: ?>, {space}>"
            )
            lines.append(f"%{name}_d = memref.cast %{name} : {static} to {unknown}")
            return unknown

        def outside(name: str, argument: int, shape: tuple[int, int], element: str) -> str:
            pointer = f"memref<?x{element}, {GM}>"
            static = f"memref<{shape[0]}x{shape[1]}x{element}, {GM}>"
            lines.append(
                f"%{name} = memref.reinterpret_cast %arg{argument} to offset: [0], sizes: [{shape[0]}, {shape[1]}], "
                f"strides: [{shape[1]}, 1] : {pointer} to {static}"
            )
            return view(name, shape, element, GM)

        def local(name: str, address: int, shape: tuple[int, ...], element: str, space: str) -> str:
            static = f"memref<{'x'.join(map(str, shape))}x{element}, {space}>"
            lines.append(f"%{name} = hivm.hir.pointer_cast(%at{address}) : {static}")
            return view(name, shape, element, space)

        for address in (0, 262144, BIAS_ADDRESS):
            lines.append(f"%at{address} = arith.constant {address} : i64")
        zero = "0" if kind == "i8" else "0.000000e+00"
        for name, value, element in (
            ("zero", zero, kind),
            ("none", -1, "i64"),
            ("quant", TYPES[self.out][3] if self.out != self.accumulator else 0, "i64"),
            ("nil", 0, "i64"),
            ("relu", int(self.relu), "i64"),
            ("unpadded", 0, "i32"),
            ("loop", self.loop, "i64"),
            ("flag", self.unit_flag, "i8"),
            *((f"{name}_size", value, "index") for name, value in (("m", self.m), ("k", self.k), ("n", self.n))),
        ):
            lines.append(f"%{name} = arith.constant {value} : {element}")
        lines += ["%true = arith.constant true", "%false = arith.constant false"]
        types = [outside("a", 3, shape_a, kind), outside("b", 4, shape_b, kind), outside("c", 5, (self.m, self.n), out)]
        types += [
            local("la", 0, tile_a, kind, L1),
            local("lb", 262144, tile_b, kind, L1),
            local("lc", 0, tile_c, wide, L0C),
        ]
        to_l1, fill, mma, fix, *load = self.names
        for name, tile in (("la", tile_a), ("lb", tile_b)):
            count = int(np.prod(tile))
            dense, row = "x".join(map(str, tile)), f"memref<?x{kind}, strided<[?], offset: ?>, {L1}>"
            lines += [
                f"%{name}_row = memref.collapse_shape %{name} [[0, 1, 2, 3]] : memref<{dense}x{kind}, {L1}> into "
                f"memref<{count}x{kind}, {L1}>",
                f"%{name}_fill = memref.cast %{name}_row : memref<{count}x{kind}, {L1}> to {row}",
                f"call @{fill}(%zero, %{name}_fill) : ({kind}, {row}) -> ()",
                "hivm.hir.pipe_barrier[<PIPE_MTE2>]",
            ]
        for source, target, kinds in (("a", "la", (types[0], types[3])), ("b", "lb", (types[1], types[4]))):
            lines.append(f"call @{to_l1}(%{source}_d, %{target}_d) : ({kinds[0]}, {kinds[1]}) -> ()")
        bias = bias_type = ""
        for name in load:
            element = TYPES[self.bias][0]
            pointer, flat = f"memref<?x{element}, {GM}>", f"memref<{self.n}x{element}, {GM}>"
            lines.append(
                f"%bias = memref.reinterpret_cast %arg6 to offset: [0], sizes: [{self.n}], strides: [1] : "
                f"{pointer} to {flat}"
            )
            kinds = view("bias", (self.n,), element, GM), local("row", BIAS_ADDRESS, (self.n,), element, L1)
            lines.append(f"call @{name}(%bias_d, %row_d, %unpadded) : ({kinds[0]}, {kinds[1]}, i32) -> ()")
            bias, bias_type = "%lbias_d, ", local("lbias", BIAS_ADDRESS, (1, 1, 1, self.n), element, L1) + ", "
        lines.append("hivm.hir.set_flag[<PIPE_MTE2>, <PIPE_MTE1>, <EVENT_ID0>]")
        numbers = "i1, index, index, index"
        events = ", ".join(["i64"] * 7)
        for init, wait in (("true", "nil"), ("false", "none")):
            lines.append(
                f"call @{mma}(%la_d, %lb_d, %{init}, %m_size, %k_size, %n_size, {bias}%lc_d, %{wait}, %none, %none, "
                f"%none, %loop, %none, %none, %flag) : ({types[3]}, {types[4]}, {numbers}, {bias_type}{types[5]}, "
                f"{events}, i8) -> ()"
            )
        if not self.unit_flag:
            lines += [f"hivm.hir.{what}_flag[<PIPE_M>, <PIPE_FIX>, <EVENT_ID0>]" for what in ("set", "wait")]
        lines.append(
            f"call @{fix}(%lc_d, %c_d, %quant, %relu, %false, %flag) : ({types[5]}, {types[2]}, i64, i64, i1, i8) -> ()"
        )
        lines += ["hivm.hir.pipe_barrier[<PIPE_ALL>]", "return"]
        elements = [kind, kind, out, *([TYPES[self.bias][0]] if self.bias else [])]
        pointers = ", ".join(f"%arg{3 + i}: memref<?x{element}, {GM}>" for i, element in enumerate(elements))
        head = f"func.func @k(%arg0: i64, %arg1: memref<?xi8, {GM}>, %arg2: memref<?xi8, {GM}>, {pointers}"
        kinds = "hacc.entry, hivm.func_core_type = #hivm.func_core_type<AIC>"
        body = "\n".join(f"    {line}" for line in lines)
        return f"module attributes {{}} {{\n  {head}) attributes {{{kinds}}} {{\n{body}\n  }}\n}}\n"


def products() -> Iterator[Product]:
    """Every micro-kernel of the cube core, at sizes with and without tails, and some of more than one part of L0."""
    sizes = [(16, 32, 16), (33, 50, 21), (64, 64, 64), (1, 7, 100), (128, 300, 96)]
    for source, outs in (
        ("half", ("float", "half", "bfloat16_t")),
        ("bfloat16_t", ("float", "bfloat16_t")),
        ("float", ("float",)),
        ("int8_t", ("int32_t",)),
    ):
        for ta in (False, True):
            for tb in (False, True):
                for number, (m, k, n) in enumerate(sizes):
                    yield Product(source, outs[number % len(outs)], ta, tb, m, k, n, loop=number - 1)
    yield Product("half", "float", False, False, 64, 64, 64, unit_flag=3)
    for out in ("float", "half", "bfloat16_t"):
        yield Product("half", out, False, False, 33, 50, 21, relu=True)
    yield Product("int8_t", "int32_t", False, False, 33, 50, 21, relu=True)
    for source, bias in (
        *((s, b) for s in ("half", "bfloat16_t", "float") for b in ("float", "half")),
        ("int8_t", "int32_t"),
    ):
        for m, k, n in sizes:
            out = "int32_t" if source == "int8_t" else "float"
            yield Product(source, out, False, False, m, k, n, bias=bias, relu=n == 21)


def run(acl: Acl, product: Product, folder: Path) -> str:
    """What is wrong with the result; empty if nothing is. Raises AclError if the launch fails."""
    (folder / "m.mlir").write_text(product.text())
    subprocess.run(["hivmc", str(folder / "m.mlir"), "-o", str(folder / "m")], check=True)
    stub = acl.register((folder / "m.o").read_bytes(), b"k")
    draw = np.random.default_rng(product.m + product.n)

    def stored(values: np.ndarray, kind: str) -> np.ndarray:
        if kind == "bfloat16_t":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)  # exact for small whole numbers
        return values.astype(TYPES[kind][1])

    a, b = draw.integers(-3, 4, (product.m, product.k)), draw.integers(-3, 4, (product.k, product.n))
    bias = draw.integers(-40, 41, product.n) if product.bias else np.zeros(product.n, int)
    expected = 2 * (a @ b) + bias
    if product.relu:
        expected = np.maximum(expected, 0)
    if product.out == "bfloat16_t":
        expected = np.clip(expected, -256, 256)  # beyond, bfloat16 has not every whole number
    out = stored(np.zeros((product.m, product.n)), product.out)
    given = [stored(a.T if product.transposed_a else a, product.source)]
    given += [stored(b.T if product.transposed_b else b, product.source), out]
    given += [stored(bias, product.bias)] if product.bias else []
    addresses = [acl.malloc(array.nbytes) for array in given]
    for address, array in zip(addresses, given, strict=True):
        acl.upload(address, np.ascontiguousarray(array).tobytes())
    stream = acl.stream()
    acl.launch(stub, 1, struct.pack(f"<{3 + len(addresses)}Q", 0, 0, 0, *addresses), stream)
    acl.sync(stream)
    result = to_float(
        np.frombuffer(acl.download(addresses[2], out.nbytes), out.dtype).reshape(out.shape),
        "bfloat16" if product.out == "bfloat16_t" else "",
    )
    if product.out == "bfloat16_t":
        result = np.where(np.abs(result) >= 256, np.clip(result, -256, 256), result)
    return f"{int((result != expected).sum())} of {result.size} elements" if (result != expected).any() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    acl, rows = Acl(), []
    with tempfile.TemporaryDirectory() as folder:
        for product in products():
            row = {"name": str(product), "called": product.names, "error": "", "wrong": ""}
            try:
                row["wrong"] = run(acl, product, Path(folder))
            except AclError as error:
                row["error"] = error.text
            rows.append(row)
    options.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
