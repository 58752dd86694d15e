"""How many compilers run at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from triton_ascend_tune import settings, workers


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (settings.WORKERS, *settings._RANKS):
        monkeypatch.delenv(variable, raising=False)


def pinned(monkeypatch: pytest.MonkeyPatch, count: int, quota: float | None = None) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)))
    monkeypatch.setattr(workers, "cgroup_quota", lambda *_: quota)


@pytest.mark.parametrize(
    ("count", "quota", "expected"),
    [(8, None, 8), (1, None, 1), (8, 2.5, 3), (8, 0.1, 1), (2, 16.0, 2), (200, None, 32)],
)
def test_affinity_and_quota(monkeypatch: Any, count: int, quota: float | None, expected: int) -> None:
    """FR-52, W-14: never zero, never more than the process may use."""
    pinned(monkeypatch, count, quota)
    assert workers.worker_count(1000) == expected


@pytest.mark.parametrize("reported", [None, 1])
def test_an_unknown_number_of_processors(monkeypatch: Any, reported: int | None) -> None:
    """FR-52: hosts that report nothing, and systems without affinity."""
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: reported)
    monkeypatch.setattr(workers, "cgroup_quota", lambda *_: None)
    assert workers.worker_count(4) == 1


def test_ranks_share_a_host(monkeypatch: Any) -> None:
    """FR-52: eight ranks on sixteen processors."""
    pinned(monkeypatch, 16)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert workers.worker_count(100) == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "64")
    assert workers.worker_count(100) == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "zero")
    assert workers.worker_count(100) == 16


def test_no_more_workers_than_jobs_and_at_least_one(monkeypatch: Any) -> None:
    pinned(monkeypatch, 16)
    assert [workers.worker_count(jobs) for jobs in (0, 1, 3)] == [1, 1, 3]


def test_the_environment_decides(monkeypatch: Any) -> None:
    pinned(monkeypatch, 2)
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "5")
    assert workers.worker_count(100) == 5
    for illegal in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", illegal)
        with pytest.raises(ValueError, match="TRITON_ASCEND_TUNE_WORKERS"):
            workers.worker_count(100)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tightest_group_of_version_two_counts(tmp_path: Path) -> None:
    write(tmp_path / "own", "0::/outer/inner\n")
    write(tmp_path / "cpu.max", "max 100000\n")
    write(tmp_path / "outer/cpu.max", "150000 100000\n")
    write(tmp_path / "outer/inner/cpu.max", "400000 100000\n")
    assert workers.cgroup_quota(tmp_path, tmp_path / "own") == 1.5


def test_version_one(tmp_path: Path) -> None:
    write(tmp_path / "own", "5:memory:/a\n4:cpu,cpuacct:/a\n")
    write(tmp_path / "cpu/cpu.cfs_quota_us", "-1\n")
    write(tmp_path / "cpu/cpu.cfs_period_us", "100000\n")
    assert workers.cgroup_quota(tmp_path, tmp_path / "own") is None
    write(tmp_path / "cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n")
    write(tmp_path / "cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
    assert workers.cgroup_quota(tmp_path, tmp_path / "own") == 2.0


@pytest.mark.parametrize("text", ["", "garbage", "0 0", "1 2 3", "x 100000"])
def test_what_cannot_be_read_is_no_limit(tmp_path: Path, text: str) -> None:
    write(tmp_path / "cpu.max", text)
    assert workers.cgroup_quota(tmp_path, tmp_path / "missing") is None


def test_this_process_may_use_something() -> None:
    assert 1 <= workers.processors() <= (os.cpu_count() or 1)
