"""What ``candidates.options`` says of the compiler, asked of the real one: defaults, modes, equal binaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ascend

FOLDER = Path(__file__).resolve().parents[1] / "candidates"

BINARIES = f"""
import hashlib, sys
sys.path.insert(0, {str(FOLDER)!r})
import torch, triton, triton.language as tl
import product_idioms as P, worked_examples as W
from kernel_calls import arguments
from triton_ascend_tune.candidates import options, variants
from triton_ascend_tune.failures import reason

@triton.jit
def gather(src, index, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n, other=0)
    tl.store(dst + at, tl.load(src + where, mask=at < n, other=0.0), mask=at < n)

def given(kernel, module, dtype):
    tensor = torch.zeros(1 << 12, device="npu", dtype=dtype)
    return {{n: tensor if hasattr(v, "dtype") else v for n, v in arguments(kernel, module).items()}}

floats, whole = torch.zeros(4096, device="npu"), torch.zeros(4096, device="npu", dtype=torch.int32)
KERNELS = {{
    "vector": (W.e4, given(W.e4, W, torch.float32), dict(T=1024)),
    "mix": (P.attention, given(P.attention, P, torch.float16), dict(BLOCK_M=64, BLOCK_N=64)),
    "gather": (gather, dict(src=floats, index=whole, dst=floats, n=4000), dict(BLOCK=256)),
}}

def binary(name, **settings):
    kernel, arguments, tiles = KERNELS[name]
    try:
        return hashlib.sha256(kernel.warmup(**arguments, **tiles, **settings, grid=(40,)).kernel).hexdigest()
    except Exception as error:
        return "failed: " + reason(error)

known = options.supported()
report({{
    "known": sorted(known),
    "default": {{
        f"{{name}} {{option}}": binary(name, **{{option: value}}) == binary(name)
        for name in ("vector", "mix") for option, value in options.DEFAULTS.items() if option in known
    }},
    "changes": {{
        name: [change for change in variants.of_npu(name, (), True, known) if binary(name, **change) != binary(name)]
        for name in ("vector", "mix")
    }},
    "failing": [
        change for change in variants.of_npu("mix", (), True, known) if binary("mix", **change).startswith("failed")
    ],
    "stages": binary("vector", num_stages=2) == binary("vector", num_stages=1),
    "warps": binary("vector", num_warps=8) == binary("vector", num_warps=4),
    "templates": binary("gather", compile_mode="unstructured_in_simt") == binary("gather"),
    "threads": binary("vector", compile_mode="simt_only"),
    "modes": {{arch: options.compile_modes(arch) for arch in ("Ascend910B3", "Ascend910_9391", "Ascend950DT_9571")}},
}})
"""


@pytest.fixture(scope="module")
def found(run_on_sim: Any) -> Any:
    return run_on_sim(BINARIES, timeout=600)


def test_a_default_that_is_spelt_out_makes_the_same_binary(found: Any) -> None:
    assert len(found["default"]) >= 20
    assert not [name for name, same in found["default"].items() if not same]


def test_what_is_tried_makes_other_binaries_and_compiles(found: Any) -> None:
    assert found["changes"]["vector"] == [{"multibuffer": False}, {"sync_solver": False}]
    changed = {name for change in found["changes"]["mix"] for name in change}
    assert changed >= {"multibuffer", "unit_flag", "limit_auto_multi_buffer_of_local_buffer", "sync_solver"}
    assert found["failing"] == []


def test_stages_and_warps_never_reach_the_compiler(found: Any) -> None:
    assert found["stages"] and found["warps"]


def test_modes_are_searched_where_they_are_others(found: Any) -> None:
    """On the parts that this compiler knows one mode is no other and the next is refused."""
    assert found["templates"]
    assert found["threads"].startswith("failed: MLIRCompilationError")
    assert found["modes"] == {
        "Ascend910B3": [],
        "Ascend910_9391": [],
        "Ascend950DT_9571": ["unstructured_in_simt", "simt_only"],
    }
