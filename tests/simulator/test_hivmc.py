"""The tool hivmc: what it writes, what it refuses, and that its messages reach the user."""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hivm_fixtures import modules

MODULE = "vadd_fp32_B1024"


class Hivmc:
    """hivmc of the SDK under test, working in a folder of its own."""

    def __init__(self, tool: Path, folder: Path) -> None:
        self.tool, self.folder = tool, folder

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.tool, *arguments], capture_output=True, text=True, timeout=60, errors="replace")

    def compile(self, text: str | bytes, *options: str) -> subprocess.CompletedProcess[str]:
        source = self.folder / "module.hivm.opt.mlir"
        source.write_bytes(text.encode() if isinstance(text, str) else text)
        return self(source, *options, "-o", self.folder / "kernel")

    def error(self, text: str | bytes) -> str:
        """The message of a compilation that must fail, and must leave nothing behind."""
        done = self.compile(text)
        assert done.returncode == 1, done
        assert done.stdout == ""
        assert done.stderr.startswith("hivmc: error: ")
        assert sorted(os.listdir(self.folder)) == ["module.hivm.opt.mlir"]
        return done.stderr.removeprefix("hivmc: error: ").strip()


@pytest.fixture
def hivmc(sdk: Path, tmp_path: Path) -> Hivmc:
    return Hivmc(sdk / "bin" / "hivmc", tmp_path)


@pytest.fixture(scope="session")
def text() -> str:
    return modules()[MODULE].decode()


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


def test_version(hivmc: Hivmc) -> None:
    done = hivmc("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"hivmc \d+\.\d+ \(simulated .*\)\n", done.stdout)


def test_writes_an_object_and_a_library_that_the_loader_takes(hivmc: Hivmc, text: str) -> None:
    # The options that bishengir-compile passes on.
    done = hivmc.compile(
        text,
        "--enable-debug-info=false",
        "--enable-static-bare-ptr=true",
        "--enable-bin-relocation=true",
        "--enable-hivm-inject-barrier-all-sync=false",
        "--enable-sanitizer=false",
        "--enable-triton-kernel-compile=true",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(os.listdir(hivmc.folder)) == ["kernel.o", "libkernel.so", "module.hivm.opt.mlir"]
    library = ctypes.CDLL(str(hivmc.folder / "libkernel.so"))
    function = library.vadd_infer_task_type_function
    function.restype = ctypes.c_int64
    assert function() == 10
    with pytest.raises(AttributeError):
        library.vadd_infer_workspace_shape_function  # noqa: B018
    magic, version, _, size = struct.unpack_from("<8sIIQ", (hivmc.folder / "kernel.o").read_bytes())
    assert (magic, version, size) == (b"HIVMSIM\0", 1, len(text.encode()))


def test_library_exports_every_host_function(hivmc: Hivmc, text: str) -> None:
    """Several functions, with values that need 64 bits and a sign."""
    values = {f"f{i}_infer_x_function": value for i, value in enumerate([0, -1, 2**63 - 1, -(2**63), *range(100, 140)])}
    functions = "".join(
        f"  func.func @{name}() -> i64 attributes {{hacc.function_kind = #hacc.function_kind<HOST>}} {{\n"
        f"    %c = arith.constant {value} : i64\n    return %c : i64\n  }}\n"
        for name, value in values.items()
    )
    start = text.index("  func.func @vadd_infer")
    assert hivmc.compile(text[:start] + functions + text[start:]).returncode == 0
    library = ctypes.CDLL(str(hivmc.folder / "libkernel.so"))
    for name, value in values.items():
        function = getattr(library, name)
        function.restype = ctypes.c_int64
        assert function() == value


def test_unknown_micro_kernel_is_named_with_its_line(hivmc: Hivmc, text: str) -> None:
    changed = text.replace("@vadd_1d_float(", "@vfoo_1d_float(")
    line = line_of(changed, "call @vfoo_1d_float(")
    assert hivmc.error(changed) == f"line {line}: micro-kernel 'vfoo_1d_float' is not supported"


def test_unknown_operation_is_named_with_its_line(hivmc: Hivmc, text: str) -> None:
    changed = text.replace("hivm.hir.set_mask_norm", "hivm.hir.set_mask_count")
    line = line_of(changed, "set_mask_count")
    assert hivmc.error(changed) == f"line {line}: operation 'hivm.hir.set_mask_count' is not supported"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<PIPE_V>, <PIPE_MTE3>", "<PIPE_V>, <PIPE_X>", "pipe 'PIPE_X' is not supported"),
        ("memref<1024xf32, #hivm.address_space<ub>>", "memref<1024xf8, #hivm.address_space<ub>>", "element type 'f8'"),
        ("arith.remsi %3, %arg7 : i32", "arith.remsi %3, %nope : i32", "value '%nope' is not defined"),
        ("arith.muli %4, %c1024_i32 : i32", "arith.muli %4, %c1024 : i32", "values of different types"),
        ("affine.min #map1()[%9, %6]", "affine.min #map7()[%9, %6]", "affine map 'map7' is not defined"),
        ("[0] [%11] [1]", "[0, 0] [%11, 1] [1, 1]", "'memref.subview' of a memref with 1 dimensions"),
    ],
)
def test_what_is_not_understood_is_named(hivmc: Hivmc, text: str, old: str, new: str, message: str) -> None:
    assert old in text
    error = hivmc.error(text.replace(old, new))
    assert message in error
    assert re.match(r"line \d+: ", error)


def test_kernels_are_refused_for_the_wrong_kind_of_core(hivmc: Hivmc, text: str) -> None:
    """Local memory, flags between cores and the halves of a mixed kernel have to fit the core that runs them."""
    cube = text.replace("func_core_type<AIV>, hivm.storage", "func_core_type<AIC>, hivm.storage")
    assert "'hivm.hir.pointer_cast' to 'ub', which this kind of core lacks" in hivmc.error(cube)
    flag = "hivm.hir.sync_block_set[<{}>, <PIPE_MTE3>, <PIPE_S>] flag = 0 ffts_base_addr = %arg0"
    with_flag = text.replace("hivm.hir.set_mask_norm", flag.format("VECTOR"))
    assert "'hivm.hir.sync_block_set' in a kernel that is not mixed" in hivmc.error(with_flag)
    other_core = text.replace("hivm.hir.set_mask_norm", flag.format("CUBE"))
    assert "'hivm.hir.sync_block_set' of 'CUBE' on the other kind of core" in hivmc.error(other_core)


def test_both_halves_of_a_mixed_kernel_are_needed(hivmc: Hivmc) -> None:
    mixed = modules()["matmul_relu_64x64x64"].decode()
    start = mixed.index("  func.func @matmul_relu_mix_aiv(")
    alone = mixed[:start] + "}\n"
    assert "'matmul_relu_mix_aic' is half a mixed kernel, and the other half is missing" in hivmc.error(alone)
    renamed = mixed.replace("@matmul_relu_mix_aiv(", "@matmul_relu_vector(")
    assert "half a mixed kernel is named 'matmul_relu_vector'" in hivmc.error(renamed)


@pytest.mark.parametrize(
    "rubbish", [b"", b"\x00\xff" * 500, b"module {\n", b"module {\n}\n", b"}\n", b"\x7fELF" + bytes(64)]
)
def test_rubbish_is_refused(hivmc: Hivmc, rubbish: bytes) -> None:
    assert hivmc.error(rubbish)


@pytest.mark.parametrize("nested", ["(" * 100000, "scf.if %true {\n" * 100000, "memref<" * 100000])
def test_deep_nesting_is_refused(hivmc: Hivmc, text: str, nested: str) -> None:
    assert hivmc.error(text.replace("hivm.hir.set_mask_norm", "%true = arith.constant true\n" + nested))
    assert hivmc.error(f"#map = affine_map<()[s0] -> ({nested})>\n" + text)


def test_damaged_modules_never_crash(hivmc: Hivmc) -> None:
    """Characters and lines lost or exchanged: the tool compiles it or says a line, and does not end by a signal."""
    pick = random.Random(5)
    texts = [modules()[name].decode() for name in (MODULE, "while_loop", "gather", "permute3d")]
    refused = 0
    for _ in range(120):
        lines = pick.choice(texts).split("\n")
        a, b = pick.randrange(len(lines)), pick.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a][: pick.randrange(len(lines[a]) + 1)]
        done = hivmc.compile("\n".join(lines))
        assert done.returncode in (0, 1), done
        if done.returncode:
            refused += 1
            assert re.match(r"hivmc: error: (line \d+: |the module )", done.stderr)
    assert refused > 60


def test_modules_with_locations_compile(hivmc: Hivmc, text: str) -> None:
    """TRITON_DISABLE_LINE_INFO=0 makes the compiler print a location behind each operation and parameter."""
    located = re.sub(r"^(    .*[^{\n])$", r'\1 loc("a (b).py":3:0)', text, flags=re.M)
    located = re.sub(r"(%arg\d+: i32)([,)])", r"\1 loc(#loc)\2", located)
    assert located.count("loc(") > 40
    assert hivmc.compile("#loc = loc(unknown)\n" + located).returncode == 0


@pytest.mark.parametrize("name", ["memref.collapse_shape", "memref.expand_shape", "memref.subview", "memref.load"])
def test_attributes_of_views_are_skipped(hivmc: Hivmc, name: str) -> None:
    """The compiler leaves marks of its own passes, as {vector_producer_to_fuse_0} behind a collapse_shape."""
    operation = re.compile(rf"^( *%\S+ = {re.escape(name)} [^:{{\n]*) : ", re.M)
    module = next(text for text in (data.decode() for data in modules().values()) if operation.search(text))
    assert hivmc.compile(module).returncode == 0
    marked = operation.sub(r"\1 {vector_producer_to_fuse_0} : ", module)
    assert "{vector_producer_to_fuse_0}" in marked
    done = hivmc.compile(marked)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no input file"),
        (["m.mlir"], "no output"),
        (["m.mlir", "-o"], "-o needs a file name"),
        (["m.mlir", "n.mlir", "-o", "k"], "more than one input"),
        (["m.mlir", "--frobnicate", "-o", "k"], "unknown option '--frobnicate'"),
    ],
)
def test_wrong_command_lines(hivmc: Hivmc, arguments: list[str], message: str) -> None:
    done = hivmc(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_unreadable_input_and_unwritable_output(hivmc: Hivmc, text: str) -> None:
    missing = hivmc(hivmc.folder / "absent.mlir", "-o", hivmc.folder / "kernel")
    assert missing.returncode == 1
    assert "cannot read" in missing.stderr and "No such file" in missing.stderr
    source = hivmc.folder / "m.mlir"
    source.write_text(text)
    nowhere = hivmc(source, "-o", hivmc.folder / "no" / "kernel")
    assert nowhere.returncode == 1
    assert "cannot write" in nowhere.stderr


def test_files_appear_complete_or_not_at_all(hivmc: Hivmc, text: str) -> None:
    """A reader that holds the old object keeps it: the new one takes its name by a rename."""
    assert hivmc.compile(text).returncode == 0
    with (hivmc.folder / "kernel.o").open("rb") as old:
        before = (hivmc.folder / "kernel.o").stat().st_ino
        assert hivmc.compile(text + "\n// changed\n").returncode == 0
        assert (hivmc.folder / "kernel.o").stat().st_ino != before
        assert old.read().endswith(text.encode())
    assert sorted(os.listdir(hivmc.folder)) == ["kernel.o", "libkernel.so", "module.hivm.opt.mlir"]
    # A failing run leaves the files of the one before.
    assert hivmc.compile("nonsense").returncode == 1
    assert (hivmc.folder / "kernel.o").read_bytes().endswith(b"// changed\n")


def test_the_user_sees_what_is_not_supported(run_on_sim: Any, sdk: Path, tmp_path: Path) -> None:
    """hivmc's message comes through bishengir-compile and triton-ascend's MLIRCompilationError.

    In front of the real hivmc stands one that renames a micro-kernel, as another version of the compiler might.
    """
    script = tmp_path / "hivmc"
    script.write_text(
        "#!/bin/sh\n"
        'for file in "$@"; do case $file in *.mlir) sed -i s/@vmuls_vs_1d_float/@vfoo_1d_float/ "$file";; esac; done\n'
        f'exec {sdk}/bin/hivmc "$@"\n'
    )
    script.chmod(0o755)
    message = run_on_sim(
        f"""
        import os
        os.environ["PATH"] = {str(tmp_path)!r} + os.pathsep + os.environ["PATH"]
        import torch, triton, triton.language as tl

        @triton.jit
        def scale(x, out, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, tl.load(x + i) * 3.25)

        x = torch.zeros(32).npu()
        try:
            scale[(1,)](x, x, N=32)
            report("no error")
        except Exception as error:
            report(type(error).__name__ + ": " + str(error))
        """
    )
    assert message.startswith("MLIRCompilationError")
    assert re.search(r"hivmc: error: line \d+: micro-kernel 'vfoo_1d_float' is not supported", message)
