"""third_party/acl declares what the headers of the installed torch-npu wheel declare, and a difference is noticed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUBSET = ROOT / "third_party" / "acl" / "acl_subset.h"
CHECK = ROOT / "tests" / "native" / "acl_headers.cpp"


@pytest.fixture(scope="module")
def wheel_headers() -> Path:
    spec = importlib.util.find_spec("torch_npu")  # found, not imported: the headers need no CANN
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("torch_npu is not installed")
    headers = Path(spec.submodule_search_locations[0]) / "include" / "third_party" / "acl" / "inc"
    assert (headers / "acl" / "acl.h").is_file()
    return headers


def compile_check(wheel_headers: Path, subset_folder: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    command = [compiler, "-std=c++17", "-fsyntax-only", f"-I{subset_folder}", f"-isystem{wheel_headers}", str(CHECK)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_declarations_agree(wheel_headers: Path) -> None:
    result = compile_check(wheel_headers, SUBSET.parent)
    assert result.returncode == 0, result.stderr


def test_every_declared_function_is_listed_and_so_checked() -> None:
    text = SUBSET.read_text()
    declared = set(re.findall(r"^\w[\w* ]*[ *](acl\w+)\(", text, re.MULTILINE))
    listed = set(re.findall(r"X\((acl\w+)\)", text))
    assert declared == listed
    assert len(declared) >= 8


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("aclrtEvent* event, uint32_t flag", "aclrtEvent* event, uint64_t flag", "aclrtCreateEventExWithFlag"),
        ("aclError aclrtDestroyEvent(", "void aclrtDestroyEvent(", "aclrtDestroyEvent"),
        ("(float* ms, ", "(double* ms, ", "aclrtEventElapsedTime"),
        ("(float* ms, aclrtEvent start, ", "(float* ms, ", "aclrtEventElapsedTime"),
        ("enum aclrtEventRecordedStatus {", "enum aclrtEventRecordedStatus : char {", "aclrtQueryEventStatus"),
        ("STATUS_COMPLETE = 1", "STATUS_COMPLETE = 2", "ACL_EVENT_RECORDED_STATUS_COMPLETE"),
        ("kAclEventTimeLine = 0x8U", "kAclEventTimeLine = 0x1U", "kAclEventTimeLine"),
        ("aclGetRecentErrMsg", "aclGetLatestErrMsg", "aclGetLatestErrMsg"),
    ],
)
def test_a_difference_is_found_and_named(
    wheel_headers: Path, tmp_path: Path, right: str, wrong: str, named: str
) -> None:
    text = SUBSET.read_text()
    assert right in text
    (tmp_path / SUBSET.name).write_text(text.replace(right, wrong))
    result = compile_check(wheel_headers, tmp_path)
    assert result.returncode != 0
    assert named in result.stderr
