"""The interval maps of the simulated runtime against tables with one entry for each byte, over random operations."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "third_party" / "cann_sim" / "src"


def test_interval_maps_agree_with_tables(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = tmp_path / "interval_maps"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover",
            f"-I{SOURCES}",
            str(HERE / "native" / "interval_maps.cpp"),
            *(str(SOURCES / "runtime" / name) for name in ("content.cpp", "l2_cache.cpp", "arena.cpp")),
            "-o",
            str(program),
        ],
        check=True,
        timeout=300,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
