"""A stand-in for bishengir-compile that aborts, hangs or prints garbage, below the real triton-ascend, simulated."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

#: Does as it is told for some tiles, and else what the real compiler does. Its input is the lowered kernel.
STAND_IN = """\
#!/bin/sh
real=REAL
case "$1" in *.mlir) ;; *) exec "$real" "$@" ;; esac
if grep -q "<16xf32" "$1"; then kill -ABRT $$; fi
if grep -q "<32xf32" "$1"; then sleep 1000; fi
if grep -q "<64xf32" "$1"; then head -c 20000 /dev/urandom >&2; exit 3; fi
if grep -q "<128xf32" "$1"; then echo "error: says no" >&2; exit 1; fi
exec "$real" "$@"
"""

PROGRAM = """
import torch, triton, time
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (16, 32, 64, 128, 1024)], key=["n"])
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

n = 4000
x, out = torch.rand(n), torch.empty(n, device="npu")
start = time.time()
copy[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.to("npu"), out, n)
report({
    "outcomes": [[o.status.value, o.stage and o.stage.value, o.reason] for o in copy.verdict.outcomes],
    "equal": torch.equal(out.cpu(), x),
    "best": copy.best_config.kwargs["BLOCK"],
})
"""


@pytest.fixture(scope="module", params=["0", "1"], ids=["here", "isolated"])
def answer(request: Any, run_on_sim: Any, sim_env: dict[str, str], tmp_path_factory: Any) -> Any:
    folder: Path = tmp_path_factory.mktemp("stand_in")
    real = run_on_sim("from triton.backends.ascend.utils import _get_npucompiler_path\nreport(_get_npucompiler_path())")
    script = folder / "bishengir-compile"
    script.write_text(STAND_IN.replace("REAL", real))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    env = {
        "PATH": os.pathsep.join([str(folder), sim_env["PATH"]]),
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "TRITON_ASCEND_TUNE_COMPILE_TIMEOUT": "20",
        "TRITON_ASCEND_TUNE_WORKERS": "2",
        "TRITON_ASCEND_TUNE_ISOLATE": request.param,
    }
    return run_on_sim(PROGRAM, env=env, timeout=300)


def test_each_is_one_failed_candidate_with_a_line_of_its_own(answer: Any) -> None:
    """FR-28."""
    aborts, hangs, garbage, refuses, fine = answer["outcomes"]
    assert aborts[:2] == hangs[:2] == garbage[:2] == refuses[:2] == ["failed", "compile"]
    assert "SIGABRT" in aborts[2]
    assert hangs[2] == "CompileTimeoutError: took longer than 20 s"
    assert refuses[2] == "MLIRCompilationError: says no"
    for reason in (aborts[2], hangs[2], garbage[2], refuses[2]):
        assert 0 < len(reason) <= 512 and "\n" not in reason
    assert fine[0] == "timed" and answer["best"] == 1024 and answer["equal"]
