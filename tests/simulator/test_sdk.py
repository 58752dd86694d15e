"""The SDK of the simulated CANN: its tree, its environment, and building it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from triton_ascend_tune import simulator

FORWARDERS = (
    "opapi",
    "runtime",
    "hccl",
    "acl_op_compiler",
    "ge_runner",
    "graph",
    "acl_tdt_channel",
    "ascend_hal",
    "msprofiler",
)


# ---- the tree ----------------------------------------------------------------------------------


def test_the_tree_has_what_torch_npu_and_triton_look_for(sdk: Path) -> None:
    for folder in ("runtime", "compiler", "opp"):
        assert (sdk / folder).is_dir()
    for file in (
        "include/experiment/runtime/runtime/rt.h",
        "include/ATen/ATen.h",
        "include/cann_sim/op_command_layout.h",
        "bin/bisheng",
        "bin/hivmc",
        "bin/msprof",
        "lib64/libascendcl.so",
        *(f"lib64/lib{name}.so" for name in FORWARDERS),
    ):
        assert (sdk / file).is_file(), file
    assert "version=8.5.0" in next(sdk.glob("*/ascend_*_install.info")).read_text()


def test_nobody_else_may_write_to_the_tree(sdk: Path) -> None:
    """Some versions of torch_npu refuse an SDK that others may change."""
    loose = [p for p in (sdk, *sdk.rglob("*")) if p.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)]
    assert not loose


def test_every_library_leads_to_the_same_functions(sdk: Path, sim_env: Mapping[str, str]) -> None:
    code = f"""
import ctypes
for name in {FORWARDERS!r}:
    library = ctypes.CDLL(f"lib{{name}}.so")
    assert library.aclrtSetDevice and library.rtKernelLaunch and library.MsprofSysCycleTime, name
"""
    subprocess.run([sys.executable, "-c", code], env=dict(sim_env), check=True)


def test_the_library_shows_only_c_interfaces(sdk: Path) -> None:
    text = subprocess.run(
        ["nm", "-D", "--defined-only", str(sdk / "lib64" / "libascendcl.so")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    assert len(names) > 80
    assert [n for n in names if not re.match(r"(acl|rt|Msprof|hal|cann_sim_)", n)] == []


def test_bisheng_answers_only_what_it_knows(sdk: Path) -> None:
    def bisheng(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(sdk / "bin" / "bisheng"), *arguments], capture_output=True, text=True, check=False)

    assert "hiipu64" in bisheng("-print-targets").stdout
    unknown = bisheng("-c", "kernel.cce")
    assert unknown.returncode != 0
    assert "-c kernel.cce" in unknown.stderr


def test_the_size_of_op_command_is_that_of_the_wheel(sdk: Path) -> None:
    """2.13.0 has 1144 bytes; a smaller stand-in would let its constructor overrun the stack."""
    text = (sdk / "include" / "cann_sim" / "op_command_layout.h").read_text()
    values = {name: int(value) for name, value in re.findall(r"#define (\w+) (\d+)", text)}
    assert values["CANN_SIM_OP_COMMAND_ALIGNMENT"] in (8, 16)
    assert 500 < values["CANN_SIM_OP_COMMAND_BYTES"] < 10_000
    if simulator._version("torch_npu") == "2.13.0":
        assert values["CANN_SIM_OP_COMMAND_BYTES"] == 1144


def test_a_first_kernel_compiles_against_the_slim_headers(run_on_sim: Callable[..., Any], tmp_path: Path) -> None:
    """From an empty cache: driver, precompiled header, launcher and kernel. The full headers make the precompiled one
    four times as large."""
    pytest.importorskip("triton.backends.ascend")
    correct = run_on_sim(
        """
        import torch, torch_npu, triton, triton.language as tl

        @triton.jit
        def add(x, y, out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

        n = 5000
        x, y = torch.randn(n, device="npu"), torch.randn(n, device="npu")
        out = torch.empty_like(x)
        add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
        report(torch.equal(out.cpu(), x.cpu() + y.cpu()))
        """,
        env={"TRITON_CACHE_DIR": str(tmp_path), "TRITON_ASCEND_TUNE": "0"},
        timeout=300,
    )
    assert correct is True
    headers = list(tmp_path.rglob("precompiled.h.gch"))
    assert len(headers) == 1
    assert headers[0].stat().st_size < 200e6


# ---- the environment -----------------------------------------------------------------------------


def test_environment_names_the_sdk(sdk: Path) -> None:
    found = simulator.environment(sdk, {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/opt/lib", "PYTHONPATH": "/mine"})
    assert found["ASCEND_HOME_PATH"] == str(sdk.resolve())
    assert Path(found["ASCEND_OPP_PATH"]).is_dir()
    assert found["LD_LIBRARY_PATH"] == f"{sdk.resolve()}/lib64:/opt/lib"
    assert found["PYTHONPATH"] == f"{sdk.resolve()}/python/site-packages:/mine"
    path = found["PATH"].split(":")
    assert path[0] == f"{sdk.resolve()}/bin" and path[-1] == "/usr/bin"
    assert path.index(str(Path(sys.executable).parent)) < path.index("/usr/bin")
    assert any((Path(folder) / "bishengir-compile").is_file() for folder in path)


def test_environment_leaves_no_empty_entry_in_a_search_path(sdk: Path) -> None:
    """An empty entry means the current folder."""
    found = simulator.environment(sdk, {})
    assert "" not in found["PATH"].split(":")
    assert "" not in found["LD_LIBRARY_PATH"].split(":")
    assert "" not in found["PYTHONPATH"].split(":")


def test_environment_keeps_the_users_kernel_cache(sdk: Path) -> None:
    assert "TRITON_CACHE_DIR" not in simulator.environment(sdk, {"TRITON_CACHE_DIR": "/somewhere"})
    assert Path(simulator.environment(sdk, {})["TRITON_CACHE_DIR"]).parent == sdk.resolve().parent


def test_environment_does_not_change_this_process(sdk: Path) -> None:
    before = dict(os.environ)
    simulator.environment(sdk)
    assert dict(os.environ) == before


def test_environment_of_no_sdk_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(simulator.SimulatorError, match="holds no simulated CANN"):
        simulator.environment(tmp_path)


def test_shell_exports_survive_the_shell() -> None:
    variables = {"A": "plain", "B": 'it\'s a "test" $HOME `x`', "C": ""}
    script = simulator.shell_exports(variables) + 'printf "%s\\n" "$A" "$B" "$C"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(variables.values())


# ---- running ---------------------------------------------------------------------------------------


def run_in_child(sdk: Path, *command: str) -> subprocess.CompletedProcess[str]:
    code = f"from triton_ascend_tune import simulator; simulator.run({list(command)!r}, sdk={str(sdk)!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_run_replaces_the_process(sdk: Path) -> None:
    done = run_in_child(
        sdk, "python", "-c", "import os, sys; print(sys.executable, os.environ['ASCEND_HOME_PATH']); sys.exit(7)"
    )
    assert done.returncode == 7
    executable, home = done.stdout.split()
    assert os.path.samefile(executable, sys.executable)
    assert home == str(sdk.resolve())


def test_run_names_a_missing_program(sdk: Path) -> None:
    done = run_in_child(sdk, "no-such-program-here")
    assert done.returncode != 0
    assert "no program named 'no-such-program-here' on PATH" in done.stderr


def test_run_needs_a_command() -> None:
    with pytest.raises(ValueError, match="a command to run is needed"):
        simulator.run([])


# ---- building: with a small project in the place of the real sources -----------------------------------

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(small NONE)
add_custom_target(work ALL COMMAND ${CMAKE_COMMAND} -E sleep 0.3
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/content.txt libascendcl.so)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libascendcl.so DESTINATION lib64)
install(DIRECTORY sdk/include DESTINATION .)
"""


@pytest.fixture
def project(sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree that builds in a second. Depends on ``sdk`` only to skip where that is impossible."""
    folder = tmp_path / "small"
    (folder / "sdk" / "include").mkdir(parents=True)
    (folder / "sdk" / "include" / "rt.h").write_text("// one\n")
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "content.txt").write_text("one")
    monkeypatch.setattr(simulator, "sources", lambda: folder)
    return folder


def content(sdk: Path) -> str:
    return (sdk / "lib64" / "libascendcl.so").read_text()


def test_build_makes_an_sdk_once(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = simulator.build(tmp_path / "out", jobs=1)
    assert content(first) == "one"
    monkeypatch.setattr(simulator, "_call", lambda command: pytest.fail(f"called {command}"))
    assert simulator.build(tmp_path / "out") == first


def test_build_replaces_a_stale_sdk(project: Path, tmp_path: Path) -> None:
    first = simulator.build(tmp_path / "out")
    (project / "content.txt").write_text("two")
    second = simulator.build(tmp_path / "out")
    assert content(second) == "two"
    assert content(first) == "one"  # a running process may still use it
    assert first.name == second.name  # the headers are the same
    (project / "sdk" / "include" / "rt.h").write_text("// two\n")
    assert simulator.build(tmp_path / "out").name != second.name


def test_build_depends_on_the_version_of_torch_npu(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = simulator.build(tmp_path / "out")
    monkeypatch.setattr(simulator, "_version", lambda distribution: "99.0")
    assert simulator.build(tmp_path / "out") != first


def test_build_keeps_a_few_old_sdks(project: Path, tmp_path: Path) -> None:
    made = []
    for k in range(simulator.KEPT_SDKS + 2):
        (project / "content.txt").write_text(f"number {k}")
        made.append(simulator.build(tmp_path / "out"))
        os.utime(made[-1].parent, (k, k))
    assert [p.exists() for p in made] == [False] * 2 + [True] * simulator.KEPT_SDKS


def test_two_processes_may_build_at_once(project: Path, tmp_path: Path) -> None:
    code = f"""
import json, pathlib
from triton_ascend_tune import simulator
simulator.sources = lambda: pathlib.Path({str(project)!r})
calls = []
real = simulator._call
simulator._call = lambda command: (calls.append(command), real(command))
sdk = simulator.build({str(tmp_path / "out")!r})
print(json.dumps([str(sdk), (sdk / "lib64" / "libascendcl.so").read_text(), len(calls)]))
"""
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [json.loads(child.communicate(timeout=60)[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert {(path, text) for path, text, _ in answers} == {(answers[0][0], "one")}
    assert sorted(calls for _, _, calls in answers) == [0, 0, 3]  # one configured, built and installed
    assert not list((tmp_path / "out").glob("unfinished-*"))


def test_sources_that_change_during_a_build_are_built_again(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = simulator._call, 0

    def call(command: list[str]) -> None:
        nonlocal calls
        calls += 1
        real(command)
        if calls == 2:  # after the first build
            (project / "content.txt").write_text("two")

    monkeypatch.setattr(simulator, "_call", call)
    assert content(simulator.build(tmp_path / "out")) == "two"
    assert calls == 6
    assert len(list((tmp_path / "out").glob("*/sdk-*"))) == 1


def test_a_failing_build_shows_the_compilers_message(project: Path, tmp_path: Path) -> None:
    (project / "CMakeLists.txt").write_text(PROJECT + 'message(FATAL_ERROR "line 9 is wrong")\n')
    with pytest.raises(simulator.SimulatorError, match="line 9 is wrong"):
        simulator.build(tmp_path / "out")
    assert not list((tmp_path / "out").glob("*/sdk-*")) + list((tmp_path / "out").glob("unfinished-*"))


@pytest.mark.parametrize("folder", ["tools", "my-tools-1/out"])
def test_a_folder_in_which_msprof_would_not_be_found_is_refused(project: Path, tmp_path: Path, folder: str) -> None:
    with pytest.raises(simulator.SimulatorError, match="contains 'tools'"):
        simulator.build(tmp_path / folder)


def test_jobs_must_be_positive(project: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, not 0"):
        simulator.build(tmp_path / "out", jobs=0)


def test_cmake_is_asked_for(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.shutil, "which", lambda *_args, **_kwargs: None)
    with pytest.raises(simulator.SimulatorError, match="needs cmake on PATH"):
        simulator.build(tmp_path / "out")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(simulator.SimulatorError, match="no_such_package_here is not installed"):
        simulator._package_folder("no_such_package_here")
    with pytest.raises(simulator.SimulatorError, match="no-such-distribution"):
        simulator._version("no-such-distribution")
