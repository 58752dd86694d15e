"""The real triton-ascend, compiling in processes of its own, simulated: the same kernels, and crashes survived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from isolation_kernels import KERNELS

#: Three kernels, tuned: a helper function, an argument that is None, and options; two loops; a cube unit's product.
SET_UP = """
import hashlib, os, pathlib, sys
import torch, triton
import triton.language as tl
from triton_ascend_tune import compiler_process
if faults := os.environ.get("FAULTS"):
    compiler_process._PROGRAM = faults + "; " + compiler_process._PROGRAM  # in the compilers' processes alone
"""

MEASURE = """
elementwise = triton.autotune(
    configs=[triton.Config({"BLOCK": b, "multibuffer": m}) for b in (256, 512) for m in (True, False)], key=["n"]
)(elementwise)
matmul = triton.autotune(configs=[triton.Config({"BM": 32, "BN": 64, "BK": b}) for b in (32, 64)], key=["K"])(matmul)

n = 4000
x, out = torch.rand(n), torch.empty(n, device="npu")
a, c = torch.rand(128, 128).half(), torch.empty(128, 128, device="npu", dtype=torch.float16)
elementwise[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to("npu"), None, out, n, K=3)
matmul[lambda meta: (128 // meta["BM"], 128 // meta["BN"])](a.to("npu"), a.to("npu"), c, 128, 128, 128)
cache = pathlib.Path(os.environ["TRITON_CACHE_DIR"])
report({
    "files": {
        str(path.relative_to(cache)): hashlib.sha256(path.read_bytes().replace(__file__.encode(), b"")).hexdigest()
        for path in cache.rglob("*")
        # Groups name the folder, and g++ its own temporary files in a header that it has precompiled for launchers.
        if path.is_file() and not path.name.startswith("__grp__") and path.suffix != ".gch"
    },
    "outcomes": [
        [o.status.value, o.stage and o.stage.value, o.reason, o.samples and o.samples.p50]
        for tuned in (elementwise, matmul)
        for o in tuned.verdict.outcomes
    ],
    "winners": [str(elementwise.best_config), str(matmul.best_config)],
    "right": [
        torch.allclose(out.cpu(), x.exp() * 3, rtol=1e-4),
        torch.allclose(c.cpu().float(), a.float() @ a.float(), rtol=1e-2),
    ],
})
"""
PROGRAM = SET_UP + KERNELS + MEASURE

#: What a process that compiles runs first: libtriton's passes end it for tiles of 512.
ABORT_IN_LIBTRITON = """\
exec('''
import os, triton.compiler
from triton.backends import backends
names = backends["ascend"].compiler.add_stages.__globals__
passes = names["make_ttir"]
def make_ttir(module, metadata, options):
    if "tensor<512x" in str(module):
        os.abort()
    return passes(module, metadata, options)
names["make_ttir"] = make_ttir
''')"""


@pytest.fixture(scope="module")
def run(run_on_sim: Any, tmp_path_factory: Any) -> Any:
    def run(isolate: str, **environment: str) -> Any:
        folder: Path = tmp_path_factory.mktemp("isolation")
        env = {"TRITON_CACHE_DIR": str(folder), "TRITON_ASCEND_TUNE_WORKERS": "2"}
        return run_on_sim(PROGRAM, env={**env, "TRITON_ASCEND_TUNE_ISOLATE": isolate, **environment}, timeout=400)

    return run


@pytest.fixture(scope="module")
def plain(run: Any) -> Any:
    return run("0")


def test_kernels_and_choices_are_the_same(run: Any, plain: Any) -> None:
    """Every file in Triton's cache, metadata and launchers included, is equal byte for byte; so is what is chosen.

    No compiler's process loads torch for that.
    """
    isolated = run("1", FAULTS="import sys; sys.modules['torch'] = sys.modules['torch_npu'] = None")
    files, others = isolated["files"], plain["files"]
    assert sorted(name for name in files.keys() | others.keys() if files.get(name) != others.get(name)) == []
    assert isolated == plain
    assert {name.rsplit(".", 1)[1] for name in plain["files"]} >= {"npubin", "json", "ttadapter", "ttir"}
    assert plain["right"] == [True, True]
    assert [outcome[0] for outcome in plain["outcomes"]] == ["timed"] * 6


def test_an_abort_inside_triton_is_one_failed_candidate(run: Any, plain: Any) -> None:
    """FR-28: Triton's own passes, which run in the program's process otherwise."""
    answer = run("1", FAULTS=ABORT_IN_LIBTRITON)
    fine, failed = answer["outcomes"][:2] + answer["outcomes"][4:], answer["outcomes"][2:4]
    assert fine == plain["outcomes"][:2] + plain["outcomes"][4:]
    assert failed == [["failed", "compile", "CompilerEndedError: the compiler ended by SIGABRT", None]] * 2
    assert answer["right"] == [True, True]


def test_what_a_compiler_asks_its_driver_for_is_answered(run_on_sim: Any) -> None:
    """triton-ascend's driver is linked with torch_npu, so it stays away as long as only the chip's name is asked for,
    which the target has."""
    answer = run_on_sim("""
    from types import SimpleNamespace
    from triton.backends import backends
    from triton_ascend_tune import compiler_main
    compiler = backends["ascend"].compiler
    names = compiler.add_stages.__globals__
    real = names["NPUUtils"]
    for environment in ({}, {"TRITON_ASCEND_ARCH": "another"}):
        job = SimpleNamespace(backend=compiler, target=SimpleNamespace(arch="told"), environment=environment)
        compiler_main._spare_the_device(job)
        asked = names["NPUUtils"]()
        report([asked.get_arch(), asked.get_aicore_num() == real().get_aicore_num(), real().get_arch()])
        if not environment:
            assert asked.get_arch() == "told"
    """)
    arch, counted, real = answer
    assert arch == real != "told" and counted
