"""Stock Triton's own CUDA compiler in processes of its own: the same kernels, and its real fatal errors survived.

No device is needed: kernels are compiled for one that only has a name.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest
from isolation_kernels import KERNELS

pytestmark = pytest.mark.stock

TRITON = tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])

SET_UP = """
import os, pathlib, re
import torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton_ascend_tune import isolation

class Driver:
    def get_current_device(self): return 0
    def get_current_target(self): return GPUTarget("cuda", 90, 32)
    def get_current_stream(self, device): return 0
    def get_benchmarker(self): return None

driver.set_active(Driver())
"""

COMPILE = """
@triton.jit
def described(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([i, j], source.load([i, j]) + 1.0)

x, half = torch.zeros(64, 64), torch.zeros(64, 64, dtype=torch.float16)

def compile_all(folder, isolate, only=None):
    \"\"\"The files in Triton's cache, by name, and the metadata and packed metadata of the kernels.\"\"\"
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    os.environ["TRITON_ASCEND_TUNE_ISOLATE"] = "1" if isolate else "0"
    calls = [
        (elementwise, (x, None, x, 4096), dict(K=3, BLOCK=256)),
        (elementwise, (x, x, x, 4097), dict(K=2, BLOCK=512, num_warps=8)),
        (matmul, (half, half, half, 64, 64, 64), dict(BM=64, BN=64, BK=32, num_stages=3)),
        (described, (x, x, 64, 64), dict(BM=16, BN=32)),
    ]
    kernels = []
    with isolation.compilers():
        assert (isolation.current() is not None) == isolate
        for kernel, args, options in calls if only is None else calls[only:only + 1]:
            kernels.append(triton.jit(kernel.fn).warmup(*args, grid=(1,), **options))
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in pathlib.Path(folder).rglob("*")
        if path.is_file() and not path.name.startswith("__grp__")
    }
    kept = [[str(kernel.metadata), str(kernel.packed_metadata), kernel.hash, kernel.name] for kernel in kernels]
    return files, kept, [dict(kernel.asm) for kernel in kernels]

def nameless(text):
    # A loop's variable loses its name on the way: MLIR prints no location for it. All else of a module is the same.
    names = {}
    return re.sub(r"%[A-Za-z0-9_#]+", lambda found: names.setdefault(found.group(0), f"%{len(names)}"), text)

def differences(first, second):
    return sorted(
        name
        for name in first.keys() | second.keys()
        if first.get(name) != second.get(name)
        and not (name.endswith(".ttir") and nameless(first[name].decode()) == nameless(second[name].decode()))
    )
"""
PREAMBLE = SET_UP + KERNELS + COMPILE


def test_kernels_and_metadata_are_the_same(run_program: Any) -> None:
    """Helper functions, None arguments, constants, descriptors, options: every file in Triton's cache but the names of
    loop variables in one."""
    result = run_program(
        PREAMBLE
        + """
here = pathlib.Path.cwd()
files, kept, asm = compile_all(here / "plain", False)
files_2, kept_2, asm_2 = compile_all(here / "isolated", True)
report({
    "different": differences(files, files_2),
    "kept": kept == kept_2,
    "binaries": [each["cubin"] == other["cubin"] and len(each["cubin"]) for each, other in zip(asm, asm_2)],
    "kinds": sorted({name.rsplit(".", 1)[1] for name in files}),
})
"""
    )
    assert result["different"] == [] and result["kept"]
    assert len(result["binaries"]) == 4 and all(size > 1000 for size in result["binaries"])
    assert {"cubin", "json", "ptx", "ttir"} <= set(result["kinds"])


@pytest.mark.skipif(TRITON < (3, 9), reason="older Tritons get an ordinary error for it")
def test_a_fatal_error_of_llvm_is_one_failed_candidate(run_program: Any) -> None:
    """FR-28: without isolation it ends the program. It is the real one, over a config that asks for an old PTX."""
    result = run_program(
        PREAMBLE
        + """
os.environ["TRITON_ASCEND_TUNE_TARGETS"] = "cuda"
os.environ["TRITON_ASCEND_TUNE_ISOLATE"] = "1"

def times(call, quantiles):
    return [1.0, 1.0, 1.0]

configs = [triton.Config({"BLOCK": 64, "ptx_version": 32}), triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 32})]
tuned = triton.autotune(configs, key=["n"], do_bench=times)(triton.jit(elementwise.fn))
try:
    tuned[(1,)](x, None, x, 4096, K=3)
except Exception:  # there is no device to launch the winner on
    if tuned.verdict is None:
        raise
report({
    "outcomes": [[o.status.value, o.stage and o.stage.value, o.reason] for o in tuned.verdict.outcomes],
    "best": tuned.best_config.kwargs["BLOCK"],
})
"""
    )
    (status, stage, reason), *others = result["outcomes"]
    assert (status, stage) == ("failed", "compile")
    assert "the compiler ended with status" in reason and "LLVM ERROR: PTX version 3.2" in reason
    assert [other[0] for other in others] == ["timed", "timed"] and result["best"] == 128


def test_an_override_between_the_stages_is_compiled(run_program: Any) -> None:
    """Triton puts a file of the user's in the place of a stage's output; the stages after it get that."""
    result = run_program(
        PREAMBLE
        + """
here = pathlib.Path.cwd()
os.environ["TRITON_KERNEL_DUMP"], os.environ["TRITON_DUMP_DIR"] = "1", str(here / "override")
compile_all(here / "first", False, only=0)
del os.environ["TRITON_KERNEL_DUMP"]
os.environ["TRITON_KERNEL_OVERRIDE"], os.environ["TRITON_OVERRIDE_DIR"] = "1", str(here / "override")
for path in (here / "override").rglob("*"):
    if path.suffix == ".ttir":
        path.write_text(path.read_text().replace("3.000000e+00", "5.000000e+00"))
    elif path.is_file():
        path.unlink()
_, _, plain = compile_all(here / "plain", False, only=0)
_, _, isolated = compile_all(here / "isolated", True, only=0)
_, _, without = compile_all(here / "first", False, only=0)
report([plain[0]["cubin"] == isolated[0]["cubin"], plain[0]["cubin"] == without[0]["cubin"]])
"""
    )
    assert result == [True, False]


def test_what_may_change_the_stages_is_left_here(run_program: Any) -> None:
    result = run_program(
        PREAMBLE
        + """
os.environ["TRITON_ASCEND_TUNE_ISOLATE"] = "1"
seen = []
with isolation.compilers():
    seen.append(isolation.current() is not None)
os.environ["USE_IR_LOC"] = "ttir"
with isolation.compilers():
    seen.append(isolation.current() is not None)
del os.environ["USE_IR_LOC"]
if hasattr(triton.knobs.runtime, "add_stages_inspection_hook"):
    triton.knobs.runtime.add_stages_inspection_hook = lambda *args: ("", "")
    with isolation.compilers():
        seen.append(isolation.current() is not None)
report(seen)
"""
    )
    assert result[0] is True and result[1:] and not any(result[1:])
