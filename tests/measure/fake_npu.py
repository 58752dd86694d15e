"""A made-up ``torch_npu`` whose profiler writes down what is launched, and a made-up profiler without torch_npu."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from profiles import FLUSH, Row, table

from triton_ascend_tune.measure import kernel_details
from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.npu_profiler import NpuProfiler
from triton_ascend_tune.measure.profiler import Profiler

PARSED = "ASCEND_PROFILER_OUTPUT"


class FakeNpu:
    """One device and torch_npu's profiler of it.

    ``log``: what happened, in order. ``start_prints``, ``parse_prints``: what the profiler prints there. ``parse``:
    makes the parsed files of a profile, by default one ``kernel_details.csv`` of what ``change`` makes of the rows.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.rows: list[Row] = []
        self.recording = False
        self.folders: list[Path] = []
        self.start_prints = ""
        self.parse_prints = ""
        self.change: Callable[[list[Row]], list[Row]] = list
        self.parse: Callable[[Path], None] = self.write_table
        self.paths = SimpleNamespace(is_prof_inited=False, _dir_path="the user's", _worker_name="the user")
        self.pool = SimpleNamespace(_pool="the parent's")

    def launch(self, name: str, us: float) -> None:
        self.log.append(name)
        if self.recording:
            self.rows.append((name, us))

    def kernel(self, name: str, us: float) -> Callable[[], None]:
        return lambda: self.launch(name, us)

    def write_table(self, profile: Path) -> None:
        folder = profile / PARSED
        folder.mkdir()
        (folder / kernel_details.FILE_NAME).write_bytes(table(self.change(self.rows)).encode())

    def analyse(self, profile: str) -> None:
        """Runs in another process, so that only its files and its output are seen here."""
        import multiprocessing

        multiprocessing.set_start_method("spawn", force=True)  # a side effect that must not get out
        assert self.pool._pool is None
        print("[INFO] Start parsing", flush=True)
        if self.parse_prints:
            print(self.parse_prints, flush=True)
        self.parse(Path(profile))


class _Session:
    def __init__(self, npu: FakeNpu, schedule: Callable[[int], Any], on_trace_ready: Callable[[Any], None]) -> None:
        self._npu, self._schedule, self._ready = npu, schedule, on_trace_ready
        self._step = 0

    def start(self) -> None:
        self._npu.log.append("start")
        if self._npu.start_prints:
            print(self._npu.start_prints)
            return
        assert self._schedule(0) == "save"
        profile = Path(self._npu.paths._dir_path) / "host_1_20260101000000000_ascend_pt"
        profile.mkdir()
        self._npu.folders.append(profile)
        self._npu.paths.is_prof_inited = self._npu.recording = True
        self._npu.rows = []

    def step(self) -> None:
        self._step += 1
        if self._npu.recording and self._schedule(self._step) == "none":
            self._npu.recording = self._npu.paths.is_prof_inited = False
            self._ready(self)

    def stop(self) -> None:
        self._npu.log.append("stop")
        if self._npu.recording:
            print("[WARNING] Incorrect schedule")


def install(npu: FakeNpu, patch: pytest.MonkeyPatch, bin_folder: Path) -> NpuProfiler:
    """A ``NpuProfiler`` on ``npu``, with a program msprof on PATH."""

    def handler(folder: str, analyse_flag: bool) -> Callable[[Any], None]:
        assert analyse_flag is False
        npu.paths._dir_path = folder
        return lambda session: None

    profiler = types.ModuleType("torch_npu.profiler")
    members = {
        "profile": lambda activities, schedule, on_trace_ready, experimental_config: _Session(
            npu, schedule, on_trace_ready
        ),
        "tensorboard_trace_handler": handler,
        "ProfilerAction": SimpleNamespace(NONE="none", RECORD_AND_SAVE="save"),
        "ProfilerActivity": SimpleNamespace(NPU="npu"),
        "ProfilerLevel": SimpleNamespace(Level1="Level1"),
        "AiCMetrics": SimpleNamespace(PipeUtilization="PipeUtilization"),
        "_ExperimentalConfig": lambda **options: options,
    }
    for name, member in members.items():
        setattr(profiler, name, member)
    path, pool = "torch_npu.profiler._profiler_path_creator", "torch_npu.profiler.analysis.prof_common_func"
    modules = {
        "torch_npu": types.ModuleType("torch_npu"),
        "torch_npu.profiler": profiler,
        "torch_npu.profiler.profiler": SimpleNamespace(analyse=npu.analyse),
        path: SimpleNamespace(ProfPathCreator=lambda: npu.paths),
        "torch_npu.profiler.analysis": types.ModuleType("analysis"),
        pool: types.ModuleType("prof_common_func"),
        pool + "._multi_process_pool": SimpleNamespace(MultiProcessPool=lambda: npu.pool),
    }
    modules["torch_npu"].profiler = profiler  # type: ignore[attr-defined]
    for name, module in modules.items():
        patch.setitem(sys.modules, name, module)  # type: ignore[arg-type]
    program = bin_folder / "msprof"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    patch.setenv("PATH", str(bin_folder))
    patch.setattr("os.cpu_count", lambda: 2)
    torch = SimpleNamespace(
        npu=SimpleNamespace(current_device=lambda: 0, synchronize=lambda: None),
        float32="float32",
        empty=lambda *_, **__: None,
        sum=lambda *_, **__: npu.launch(FLUSH, 400.0),
    )
    patch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    return NpuProfiler()


class FakeProfiler(Profiler):
    """Writes down launches without any files. ``error``: what ``record`` raises once its body has run."""

    device = "fake0"

    def __init__(self) -> None:
        self.rows: list[KernelRow] = []
        self.sessions = 0
        self.refuses: str | None = None
        self.error: Exception | None = None
        self.folders: list[Path] = []

    def refusal(self) -> str | None:
        return self.refuses

    def make_flush(self, nbytes: int) -> Callable[[], object]:
        return lambda: self.launch(FLUSH, 400.0)

    def synchronize(self) -> None:
        return None

    def launch(self, name: str, us: float) -> None:
        self.rows.append(KernelRow(name, name, us, (str(len(self.rows)),)))

    def record(self, folder: Path, body: Callable[[], None]) -> list[KernelRow]:
        self.sessions += 1
        self.folders.append(folder)
        self.rows = []
        body()
        if self.error is not None:
            raise self.error
        return self.rows
