"""Builds the package: CMake makes the native module, and the simulator's sources travel along as package data.

Needs a C++17 compiler and CMake. Neither CANN, CUDA, torch nor triton: their libraries are looked up at run time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
SIMULATOR_SOURCE = Path("third_party/cann_sim")
#: Goes to the root of site-packages, where the interpreter runs it at its start (triton_ascend_tune/import_hook.py).
START_UP_HOOK = Path("triton_ascend_tune_hook.pth")
SIMULATOR_PACKAGE_DATA = Path("triton_ascend_tune/_cann_sim")
#: Folders of the simulator without which it is built and run.
NOT_INSTALLED = {"build", "fuzz", "__pycache__"}


class CMakeExtension(Extension):
    """An extension module whose sources CMake knows: ``name`` is also the CMake target's output."""

    def __init__(self, name: str, target: str) -> None:
        super().__init__(name, sources=[])
        self.target = target


class CMakeBuild(build_ext):
    """Configures and builds each CMakeExtension into the place where setuptools expects it."""

    def build_extension(self, ext: Extension) -> None:
        if not isinstance(ext, CMakeExtension):
            super().build_extension(ext)
            return
        import nanobind

        output = Path(self.get_ext_fullpath(ext.name)).resolve().parent
        work = Path(self.build_temp).resolve() / ext.name
        work.mkdir(parents=True, exist_ok=True)
        configure = [
            "cmake",
            f"-S{ROOT}",
            f"-B{work}",
            f"-DCMAKE_BUILD_TYPE={'Debug' if self.debug else 'Release'}",
            f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={output}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-Dnanobind_DIR={nanobind.cmake_dir()}",
        ]
        # A build folder keeps the generator of its first configuration, so it is chosen only then.
        if not (work / "CMakeCache.txt").exists() and "CMAKE_GENERATOR" not in os.environ and shutil.which("ninja"):
            configure.append("-GNinja")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(self.parallel or os.cpu_count() or 1)
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(work), "--target", ext.target, f"-j{jobs}"], check=True)


class BuildPy(build_py):
    """Adds the start-up hook and the sources of the simulated CANN, which a wheel can then build without a checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:  # an editable install finds them in the checkout
            for source, target in self._added_files():
                target.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(source), str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        outputs = super().get_outputs(include_bytecode)
        if not self.editable_mode:
            outputs += [str(target) for _, target in self._added_files()]
        return outputs

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *(str(source) for source, _ in self._added_files())]

    def _added_files(self) -> list[tuple[Path, Path]]:
        """(source relative to the root, place in the build folder) of the hook and of each file of the simulator."""
        files = [(START_UP_HOOK, Path(self.build_lib) / START_UP_HOOK)]
        for path in sorted((ROOT / SIMULATOR_SOURCE).rglob("*")):
            inner = path.relative_to(ROOT / SIMULATOR_SOURCE)
            if path.is_file() and not NOT_INSTALLED.intersection(inner.parts):
                files.append((SIMULATOR_SOURCE / inner, Path(self.build_lib) / SIMULATOR_PACKAGE_DATA / inner))
        return files


class EditableWheel(editable_wheel):
    """Puts the start-up hook into editable installs too: setuptools itself carries nothing there but the mapping."""

    def _select_strategy(self, *args: Any, **kwargs: Any) -> Any:
        return _WithStartUpHook(super()._select_strategy(*args, **kwargs))


class _WithStartUpHook:
    """An editable strategy (a context manager that fills the wheel) which adds one file after the other's."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __call__(self, wheel: Any, files: list[str], mapping: dict[str, str]) -> None:
        self._inner(wheel, files, mapping)
        wheel.write(str(ROOT / START_UP_HOOK), START_UP_HOOK.name)

    def __enter__(self) -> _WithStartUpHook:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._inner.__exit__(*error)


setup(
    ext_modules=[CMakeExtension("triton_ascend_tune._native", target="_native")],
    cmdclass={"build_ext": CMakeBuild, "build_py": BuildPy, "editable_wheel": EditableWheel},
)
