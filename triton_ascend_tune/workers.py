"""How many compilers may run at once: what this process may use of the machine, not what the machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

from triton_ascend_tune import settings

#: More compilers at once than this only wait for memory and disk.
MAX_WORKERS = 32

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def worker_count(jobs: int) -> int:
    """Workers for ``jobs`` compilations, at least 1: ``TRITON_ASCEND_TUNE_WORKERS`` or what affinity and cgroups allow.

    The processors of a host are shared out among its ranks.
    """
    wanted = settings.workers()
    if wanted is None:
        wanted = min(MAX_WORKERS, max(1, processors() // settings.ranks()))
    return max(1, min(jobs, wanted))


def processors() -> int:
    """Processors that this process may use: its affinity, cut down to the quota of its control groups."""
    try:
        available = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not Linux
        available = os.cpu_count() or 1
    quota = cgroup_quota(_CGROUPS, _OWN_CGROUP)
    return max(1, available if quota is None else min(available, math.ceil(quota)))


def cgroup_quota(root: Path, own: Path) -> float | None:
    """The tightest limit of the process's control groups (v2, then v1) in processors; None without one.

    ``root``: where they are mounted; ``own``: the file that names the process's groups. In a container the process's
    group often is the root that it sees, so the root is looked at in any case.
    """
    quotas = []
    for folder in _folders(root, own):
        quota = _v2(folder / "cpu.max")
        if quota is None:
            quota = _v1(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")
        if quota is not None:
            quotas.append(quota)
    return min(quotas, default=None)


def _folders(root: Path, own: Path) -> list[Path]:
    folders = [root, root / "cpu", root / "cpu,cpuacct"]
    for line in _read(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for base in [root] if not controllers else [root / "cpu", root / "cpu,cpuacct"]:
            folders += [base.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    return folders


def _v2(path: Path) -> float | None:
    words = _read(path).split()
    return _quotient(*words) if len(words) == 2 else None  # "max 100000", or "150000 100000"


def _v1(quota: Path, period: Path) -> float | None:
    return _quotient(_read(quota).strip(), _read(period).strip())  # "-1" means no limit


def _quotient(quota: str, period: str) -> float | None:
    try:
        numbers = float(quota), float(period)
    except ValueError:
        return None
    return numbers[0] / numbers[1] if min(numbers) > 0 and math.isfinite(numbers[0]) else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
