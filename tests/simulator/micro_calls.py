"""Calls of single micro-kernels: modules that load an image of the unified buffer, call, and store the image.

A ``Program`` collects calls whose operands lie in an image of the unified buffer (``ub``) or of global memory
(``gm``). Its module is compiled and launched on the simulated CANN by ``run_programs`` (in a process of its own), and
the images afterwards come back, so that a test can compare any operand with what NumPy says.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import numpy as np

#: Micro-kernel type word -> (MLIR element type, NumPy type that holds it). bf16 is held as its bits, bool packed in
#: bytes.
TYPES: dict[str, tuple[str, Any]] = {
    "float": ("f32", np.float32),
    "half": ("f16", np.float16),
    "bfloat16_t": ("bf16", np.uint16),
    "bool": ("i1", np.uint8),
    **{f"{sign}int{n}_t": (f"i{n}", np.dtype(f"{sign}int{n}").type) for n in (8, 16, 32, 64) for sign in ("", "u")},
}
_UNTOUCHED = 0xA5
_BLOCK = 32


@dataclass(frozen=True)
class View:
    """An operand in an image. ``address`` in bytes; ``offset`` and ``strides`` in elements (bits for bool)."""

    space: str
    address: int
    type: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def read(self, image: bytes) -> np.ndarray:
        """The elements of the view, bool as 0 and 1."""
        if self.type == "bool":
            bits = np.unpackbits(np.frombuffer(image, np.uint8)[self.address :], bitorder="little")
            return np.lib.stride_tricks.as_strided(bits[self.offset :], self.sizes, self.strides).copy()
        dtype = np.dtype(TYPES[self.type][1])
        start = self.address + self.offset * dtype.itemsize
        strides = [s * dtype.itemsize for s in self.strides]
        return np.ndarray(self.sizes, dtype, image, start, strides).copy()


@dataclass(frozen=True)
class Scalar:
    """A scalar operand; ``type`` is an MLIR type or a type word."""

    value: float
    type: str


Operand = Union[View, Scalar]


def dense(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides."""
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


@dataclass
class Program:
    """Calls in the order in which they are made, and the images before the first."""

    name: str
    images: dict[str, bytearray] = field(default_factory=lambda: {"ub": bytearray(), "gm": bytearray()})
    calls: list[tuple[str, tuple[Operand, ...]]] = field(default_factory=list)

    def place(
        self,
        values: np.ndarray | None,
        type: str,
        sizes: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        offset: int = 0,
        space: str = "ub",
    ) -> View:
        """A new operand on a block of its own, with guard bytes behind it; ``values`` None leaves it untouched."""
        shape = tuple(values.shape if values is not None and sizes is None else sizes or ())
        steps = tuple(strides) if strides is not None else dense(shape)
        image = self.images[space]
        address = len(image)
        last = offset + sum((n - 1) * s for n, s in zip(shape, steps) if s > 0) + 1
        width = 1 if type == "bool" else np.dtype(TYPES[type][1]).itemsize * 8
        image.extend([_UNTOUCHED] * (-(-(last * width // 8 + 1 + _BLOCK) // _BLOCK) * _BLOCK))
        view = View(space, address, type, shape, steps, offset)
        if values is not None:
            self._write(view, values)
        return view

    def _write(self, view: View, values: np.ndarray) -> None:
        for index in np.ndindex(*view.sizes):
            at = view.offset + sum(i * s for i, s in zip(index, view.strides))
            image = self.images[view.space]
            if view.type == "bool":
                byte, bit = view.address + at // 8, at % 8
                image[byte] = (image[byte] & ~(1 << bit)) | (int(bool(values[index])) << bit)
            else:
                raw = np.asarray(values[index], TYPES[view.type][1]).tobytes()
                start = view.address + at * len(raw)
                image[start : start + len(raw)] = raw

    def call(self, name: str, *operands: Operand) -> None:
        self.calls.append((name, operands))

    def text(self) -> str:
        """The module: task type function, entry with the images as its two arguments, one call after the other."""
        lines: list[str] = []

        def constant(value: Any, kind: str) -> str:
            name = f"%k{len(lines)}"
            literal = _float_literal(value, kind) if kind in ("f32", "f16", "bf16") else str(int(value))
            lines.append(f"{name} = arith.constant {literal} : {kind}")
            return name

        def operand(item: Operand) -> tuple[str, str]:
            if isinstance(item, Scalar):
                kind = TYPES[item.type][0] if item.type in TYPES else item.type
                return constant(item.value, kind), kind
            kind = TYPES[item.type][0]
            space = f", #hivm.address_space<{item.space}>"
            where = constant(item.address, "index" if item.space == "gm" else "i64")
            base, view = f"%b{len(lines)}", f"%v{len(lines)}"
            if item.space == "gm":
                lines.append(f"{base} = memref.view %arg3[{where}][] : memref<?xi8{space}> to memref<1x{kind}{space}>")
            else:
                lines.append(f"{base} = hivm.hir.pointer_cast({where}) : memref<1x{kind}{space}>")
            unknown = ", ".join("?" * len(item.sizes))
            shape = "x".join(map(str, item.sizes))
            strides = ", ".join(map(str, item.strides))
            static = f"memref<{shape}x{kind}, strided<[{strides}], offset: {item.offset}>{space}>"
            lines.append(
                f"{view} = memref.reinterpret_cast {base} to offset: [{item.offset}], "
                f"sizes: [{', '.join(map(str, item.sizes))}], strides: [{strides}] : "
                f"memref<1x{kind}{space}> to {static}"
            )
            dynamic = f"memref<{'?x' * len(item.sizes)}{kind}, strided<[{unknown}], offset: ?>{space}>"
            lines.append(f"{view}d = memref.cast {view} : {static} to {dynamic}")
            return f"{view}d", dynamic

        def call(name: str, operands: Iterable[Operand]) -> None:
            pairs = [operand(item) for item in operands]
            arguments, kinds = ", ".join(p[0] for p in pairs), ", ".join(p[1] for p in pairs)
            lines.append(f"call @{name}({arguments}) : ({kinds}) -> ()")
            lines.append("hivm.hir.pipe_barrier[<PIPE_ALL>]")

        size = len(self.images["ub"])
        start = len(self.images["gm"])
        local = View("ub", 0, "int8_t", (size,), (1,))
        if size:
            stored = View("gm", start, "int8_t", (size,), (1,))
            call("load_gm_to_ubuf_1d_int8_t", [stored, local, Scalar(0, "i32"), Scalar(0, "i8"), Scalar(0, "index")])
        for name, operands in self.calls:
            call(name, operands)
        if size:
            call("store_ubuf_to_gm_1d_int8_t", [local, stored, Scalar(0, "i32")])
        body = "\n".join(f"    {line}" for line in lines)
        gm = "memref<?xi8, #hivm.address_space<gm>>"
        return f"""\
module attributes {{hivm.module_core_type = #hivm.module_core_type<AIV>}} {{
  func.func @probe_infer_task_type_function() -> i8 attributes {{hacc.function_kind = #hacc.function_kind<HOST>}} {{
    %c10_i8 = arith.constant 10 : i8
    return %c10_i8 : i8
  }}
  func.func @probe(%arg0: i64, %arg1: {gm}, %arg2: {gm}, %arg3: {gm}, %arg4: i32, %arg5: i32, %arg6: i32) \
attributes {{hacc.entry, hivm.func_core_type = #hivm.func_core_type<AIV>}} {{
{body}
    return
  }}
}}
"""


def _float_literal(value: float, kind: str) -> str:
    """A literal that is exact for every value: the bits."""
    if kind == "f16":
        return f"0x{int(np.float16(value).view(np.uint16)):04X}"
    bits = int(np.float32(value).view(np.uint32))
    return f"0x{bits >> 16:04X}" if kind == "bf16" else f"0x{bits:08X}"


@dataclass(frozen=True)
class Result:
    """What a program left: the images and its simulated duration, or the message of whoever refused it."""

    images: dict[str, bytes]
    nanoseconds: int = 0
    error: str = ""


def run_programs(programs: Sequence[Program], env: dict[str, str]) -> dict[str, Result]:
    """Results by program name."""
    with tempfile.TemporaryDirectory() as folder:
        job, answer = Path(folder, "job"), Path(folder, "answer")
        job.write_bytes(
            pickle.dumps([(p.name, p.text(), {k: bytes(v) for k, v in p.images.items()}) for p in programs])
        )
        subprocess.run([sys.executable, __file__, str(job), str(answer)], env=env, check=True, timeout=600)
        return {name: Result(*rest) for name, *rest in pickle.loads(answer.read_bytes())}


def _work(job: Path, answer: Path) -> None:
    import struct

    from acl_calls import Acl, AclError

    acl, results = Acl(), []
    for name, text, images in pickle.loads(job.read_bytes()):
        source = job.with_suffix(".mlir")
        source.write_text(text)
        done = subprocess.run(["hivmc", str(source), "-o", str(job)], capture_output=True, text=True, check=False)
        if done.returncode:
            results.append((name, {}, 0, done.stderr))
            continue
        stub = acl.register(job.with_suffix(".o").read_bytes(), b"probe")
        memory = images["gm"] + images["ub"]
        address = acl.malloc(len(memory) + _BLOCK)
        acl.upload(address, memory)
        try:
            start = acl.recorded()
            acl.launch(stub, 1, struct.pack("<QQQQiii", 0, address, address, address, 1, 1, 1) + bytes(4))
            end = acl.recorded()
            acl.sync()
        except AclError as error:
            results.append((name, {}, 0, str(error)))
            continue
        after = acl.download(address, len(memory))
        after_by_space = {"gm": after[: len(images["gm"])], "ub": after[len(images["gm"]) :]}
        results.append((name, after_by_space, acl.elapsed_ns(start, end), ""))
    answer.write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    _work(Path(sys.argv[1]), Path(sys.argv[2]))
