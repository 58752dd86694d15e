"""The tables of ``candidates.hardware`` beside the real compiler's, and what a simulated part is taken for."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from triton_ascend_tune.candidates import hardware

pytestmark = pytest.mark.ascend

FIELDS = {"AI_CORE_COUNT": "cube_cores", "VECTOR_CORE_COUNT": "vector_cores"}
BITS = {
    "UB_SIZE": "ub",
    "L1_SIZE": "l1",
    "L0A_SIZE": "l0a",
    "L0B_SIZE": "l0b",
    "L0C_SIZE": "l0c",
    "UB_ALIGN_SIZE": "align",
}


@pytest.fixture(scope="module")
def compiler() -> Path:
    spec = importlib.util.find_spec("ascendnpuir")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("ascendnpu-ir is not installed")
    return Path(spec.submodule_search_locations[0]) / "bin"


def specification(compiler: Path, target: str, module: Path) -> dict[str, int]:
    """What the compiler attaches to a module for ``target``; sizes in bits."""
    # Each of the two compilers of the package knows targets that the other does not.
    for tool in ("bishengir-opt", "bishengir-opt-a5"):
        command = [str(compiler / tool), f"--hacc-append-device-spec=target={target}", str(module)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if found := dict(re.findall(r'"(\w+)", (\d+) : i32', said)):
            return {name: int(value) for name, value in found.items()}
    return {}


def test_the_tables_say_of_every_target_what_the_compiler_says(compiler: Path, tmp_path: Path) -> None:
    module = tmp_path / "module.mlir"
    module.write_text("module {}")
    listed = subprocess.run([str(compiler / "bishengir-compile"), "--help"], capture_output=True, text=True, check=True)
    targets = sorted(set(re.findall(r"=(Ascend\S+)", listed.stdout)))
    assert len(targets) > 50
    for target in targets:
        said = specification(compiler, target, module)
        chip = hardware.known(target)
        assert {field: getattr(chip, field) for field in FIELDS.values()} == {
            field: said[name] for name, field in FIELDS.items()
        }, target
        assert {field: getattr(chip, field) * 8 for field in BITS.values()} == {
            field: said[name] for name, field in BITS.items()
        }, target


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910B4", "Ascend910_9392"])
def test_a_simulated_part_is_taken_for_what_it_is(soc: str, run_on_sim: Any) -> None:
    found = run_on_sim(
        "import dataclasses, torch, torch_npu\ntorch.npu.init()\n"
        "from triton_ascend_tune.candidates import hardware\nreport(dataclasses.asdict(hardware.current()))",
        env={"CANN_SIM_SOC": soc},
    )
    chip = hardware.known(soc)
    assert (found["arch"], found["cube_cores"], found["vector_cores"], found["ub"]) == (
        *(soc, chip.cube_cores, chip.vector_cores, chip.ub),
    )
