"""CANN's Python module for the sizes of a core, as libraries ask it for what fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from triton_ascend_tune.candidates import hardware

pytestmark = pytest.mark.ascend

ASK = """
import torch, torch_npu
from tbe.common.platform import get_soc_spec, set_current_compile_soc_info
"""
SIZES = {"UB_SIZE": "ub", "L1_SIZE": "l1", "L0A_SIZE": "l0a", "L0B_SIZE": "l0b", "L0C_SIZE": "l0c"}


@pytest.mark.parametrize("part", ["Ascend910B3", "Ascend910B1", "Ascend910_9382"])
def test_each_part_says_what_it_is_made_of(part: str, run_on_sim: Callable[..., Any]) -> None:
    said = run_on_sim(
        ASK
        + f"""
name = torch.npu.get_device_name(0)
set_current_compile_soc_info(name)
answer = {{key: get_soc_spec(key) for key in {[*SIZES, "FULL_SOC_VERSION", "CORE_NUM"]}}}
set_current_compile_soc_info(name, "VectorCore")
report([answer, get_soc_spec("CORE_NUM")])
""",
        env={"CANN_SIM_SOC": part},
    )
    chip = hardware.known(part)
    expected = {key: getattr(chip, field) for key, field in SIZES.items()}
    assert said == [{**expected, "FULL_SOC_VERSION": part, "CORE_NUM": chip.cube_cores}, chip.vector_cores]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("get_soc_spec('UB_SIZE')", "before set_current_compile_soc_info"),
        ("set_current_compile_soc_info('Ascend310P3')", "'Ascend310P3' is not the simulated part"),
        ("set_current_compile_soc_info('Ascend910B3') and get_soc_spec('VREG_SIZE')", "'VREG_SIZE' is not known"),
    ],
)
def test_what_is_not_simulated_is_an_error_that_says_so(
    question: str, answer: str, run_on_sim: Callable[..., Any]
) -> None:
    code = f"try:\n    {question}\nexcept RuntimeError as error:\n    report(str(error))\n"
    assert answer in run_on_sim(ASK + code)
