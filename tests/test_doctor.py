"""The doctor's findings. Each test is a program in a fresh interpreter, because the doctor tries things for real."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("triton") is None:
    pytest.skip("needs a Triton", allow_module_level=True)

#: A process in which everything is right: an active driver for an NPU, and a runtime library.
WELL = """
from types import SimpleNamespace
import triton
import triton_ascend_tune._native as native
from triton_ascend_tune.doctor import examine
class Driver:
    def get_current_target(self): return SimpleNamespace(backend=backend, arch="Ascend910B2", warp_size=0)
backend = "npu"
triton.runtime.driver.set_active(Driver())
class Runtime:
    library_path, simulator_version = "/opt/cann/lib64/libascendcl.so", None
native.AclRuntime = Runtime
"""
EXAMINE = "\nreport(examine().as_dict())\n"


def test_a_healthy_process(run_program: Any) -> None:
    report = run_program(WELL + EXAMINE)
    assert report["problems"] == []
    assert report["healthy"] is True
    assert report["target"] == "npu Ascend910B2"
    assert report["tuned"] is True
    assert report["runtime"] == "/opt/cann/lib64/libascendcl.so"
    assert report["simulated"] is None
    assert report["method"] == "event"
    assert report["replaced"] == ["triton.runtime.autotuner.Autotuner"]
    assert report["ways_in"][0] in ("entry point", "import hook")
    assert report["versions"]["triton-ascend-tune"] and report["versions"]["torch"].startswith("2.")
    # Both provide the package triton: the one that is not installed is not missing.
    assert len({"triton", "triton-ascend"} & report["versions"].keys()) == 1


def test_the_simulated_runtime_is_called_so(run_program: Any) -> None:
    report = run_program(WELL + "Runtime.simulator_version = '0.1.0'" + EXAMINE)
    assert (report["simulated"], report["healthy"]) == ("0.1.0", True)


@pytest.mark.parametrize(
    ("sickness", "env", "words"),
    [
        ("", {"TRITON_ASCEND_TUNE": "0"}, "TRITON_ASCEND_TUNE switches the package off"),
        ("", {"TRITON_ASCEND_TUNE": "perhaps"}, "TRITON_ASCEND_TUNE is 'perhaps'; allowed"),
        ("", {"TRITON_BENCH_METHOD": "stopwatch"}, "TRITON_BENCH_METHOD is 'stopwatch'; allowed"),
        ("", {"TRITON_ASCEND_TUNE_TARGETS": "tpu"}, "TRITON_ASCEND_TUNE_TARGETS is 'tpu'; allowed"),
        ("", {"TRITON_INTERPRET": "1"}, "TRITON_INTERPRET is set"),
        ("backend = 'cuda'", {}, "kernels for the target cuda keep Triton's own tuner; tuned are: npu"),
        ("import triton_ascend_tune; triton_ascend_tune.uninstall()", {}, "triton.autotune is still Triton's own"),
        (
            "sys.modules['triton_ascend_tune.autotuner'] = None",
            {},
            "the tuner for triton.runtime.autotuner.Autotuner cannot",
        ),
        ("sys.modules['triton_ascend_tune._native'] = None", {}, "the native module does not load"),
        ("triton.runtime.driver.set_active(object())", {}, "Triton has no active target, so no kernel can run"),
    ],
)
def test_what_is_wrong_is_said(sickness: str, env: dict[str, str], words: str, run_program: Any) -> None:
    report = run_program(WELL + sickness + EXAMINE, env=env)
    assert not report["healthy"]
    assert [problem for problem in report["problems"] if words in problem], report["problems"]


def test_cuda_is_well_when_it_is_asked_for(run_program: Any) -> None:
    report = run_program(WELL + "backend = 'cuda'" + EXAMINE, env={"TRITON_ASCEND_TUNE_TARGETS": "cuda"})
    assert (report["problems"], report["tuned"]) == ([], True)


def test_the_method_is_the_one_asked_for(run_program: Any) -> None:
    report = run_program(WELL + EXAMINE, env={"TRITON_BENCH_METHOD": "npu"})
    assert (report["method"], report["healthy"]) == ("profiler", True)


def test_a_missing_library_is_named_with_its_cause(run_program: Any, tmp_path: Path) -> None:
    """torch loads torch_npu when it is imported, and hides what that failed of behind an error of its own."""
    (tmp_path / "torch.py").write_text(
        "try:\n    raise ImportError('libhccl.so: cannot open shared object file')\n"
        "except ImportError as error:\n    raise RuntimeError('Failed to load the backend extension') from error\n"
    )
    report = run_program("from triton_ascend_tune.doctor import examine" + EXAMINE)
    assert (
        "import torch fails: RuntimeError: Failed to load the backend extension"
        " (because of ImportError: libhccl.so: cannot open shared object file)"
    ) in report["problems"]


def test_two_packages_that_overwrite_each_other(run_program: Any, tmp_path: Path) -> None:
    for name, version in (("triton", "3.9.0"), ("triton-ascend", "3.2.0"), ("torch-npu", "2.13.0")):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    report = run_program(WELL + EXAMINE)
    assert [problem for problem in report["problems"] if "both triton and triton-ascend are installed" in problem]


def test_warnings_of_other_packages_become_notes_without_their_colours(run_program: Any) -> None:
    report = run_program(
        WELL
        + """
import warnings
def get_current_target(self):
    warnings.warn("\\x1b[31;20mno compiler\\n here\\x1b[0m")
    warnings.warn("old", DeprecationWarning)
    return SimpleNamespace(backend="npu", arch="Ascend910B2")
Driver.get_current_target = get_current_target
"""
        + EXAMINE
    )
    assert "no compiler here" in report["notes"]
    assert "old" not in report["notes"]


def test_the_command_prints_json_and_its_exit_code_tells(run_program: Any) -> None:
    done = run_program(
        "", command=["-m", "triton_ascend_tune.cli", "doctor", "--json"], env={"TRITON_ASCEND_TUNE": "0"}, check=False
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["healthy"] is False


def test_the_command_prints_a_table_with_what_is_wrong_below(run_program: Any) -> None:
    done = run_program(
        WELL + "from triton_ascend_tune import cli\ncli.app(['doctor'])",
        env={"TRITON_BENCH_METHOD": "stopwatch"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "npu Ascend910B2 (tuned)" in done.stdout
    assert "wrong: TRITON_BENCH_METHOD is 'stopwatch'" in done.stdout
    done = run_program(WELL + "from triton_ascend_tune import cli\ncli.app(['doctor'])", check=False)
    assert (done.returncode, "all is well" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.ascend
def test_a_machine_without_cann(run_program: Any) -> None:
    """The wheels are installed, the libraries they need are not: what a user sees who forgot set_env.sh."""
    done = run_program(
        "",
        command=["-m", "triton_ascend_tune.cli", "doctor", "--json"],
        env={"LD_LIBRARY_PATH": "", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1", "PATH": os.defpath},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    problems = json.loads(done.stdout)["problems"]
    assert [problem for problem in problems if problem.startswith("import torch fails") and ".so" in problem]
    assert [problem for problem in problems if "libascendcl.so" in problem]
