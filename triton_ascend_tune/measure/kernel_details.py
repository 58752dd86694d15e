"""Reads ``kernel_details.csv``, the table of kernels that torch_npu's profiler writes.

What varies: the profiling level and the version of msprof decide which columns there are ("Block Dim" was once the name
of "Block Num"), a schedule adds "Step Id" in front, line ends are CRLF, and times end with a TAB. Only the name and the
duration of a kernel are needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ascend_tune.measure.profile_error import Problem, ProfileError

FILE_NAME = "kernel_details.csv"
NAME = "Name"
TYPE = "Type"
DURATION = "Duration(us)"
START = "Start Time(us)"
#: Columns that tell one execution of a kernel from every other, with its start.
_PLACE = ("Device_id", "Stream ID")


@dataclass(frozen=True)
class KernelRow:
    """One execution of one kernel.

    ``type``: the operator's type, for Triton's kernels the name again; empty where the table has none.
    ``duration_us``: NaN where the table has no number. ``identity``: device, stream and start as they are written,
    which no two executions share; empty where the table has no starts.
    """

    name: str
    type: str
    duration_us: float
    identity: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return math.isfinite(self.duration_us) and self.duration_us > 0


def find(folder: Path) -> Path:
    """The table below ``folder``, which holds one profile. ProfileError if there is none."""
    tables = sorted(folder.rglob(FILE_NAME))
    if not tables:
        raise ProfileError(Problem.NO_FILE, "the profile holds raw data only")
    return tables[-1]


def read(path: Path) -> list[KernelRow]:
    """All rows in the order in which the kernels started.

    ProfileError: an empty table (a header without rows included), one without the columns needed, or no table at all.
    """
    import pandas

    try:
        table = pandas.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig", skipinitialspace=True)
    except pandas.errors.EmptyDataError:
        raise ProfileError(Problem.EMPTY, f"{path.name} has not even a header") from None
    except (OSError, ValueError, pandas.errors.ParserError) as error:
        raise ProfileError(Problem.FAILED, f"{path.name} cannot be read: {error}") from None
    table.columns = [str(column).strip() for column in table.columns]
    missing = [column for column in (NAME, DURATION) if column not in table.columns]
    if missing:
        lacks, has = " and no ".join(missing), ", ".join(table.columns)
        raise ProfileError(Problem.FAILED, f"{path.name} has no {lacks} among its columns: {has}")
    if table.empty:
        raise ProfileError(Problem.EMPTY, f"{path.name} has a header and no rows")
    table = table.apply(lambda column: column.str.strip())
    durations = pandas.to_numeric(table[DURATION], errors="coerce")
    types = table[TYPE] if TYPE in table.columns else [""] * len(table)
    rows = [
        KernelRow(name, kind, float(duration), identity)
        for name, kind, duration, identity in zip(table[NAME], types, durations, _identities(table))
    ]
    return [rows[place] for place in _order(table)]


def _identities(table: Any) -> list[tuple[str, ...]]:
    if START not in table.columns:
        return [()] * len(table)
    columns = [table[column] for column in (*_PLACE, START) if column in table.columns]
    return list(zip(*columns))


def _order(table: Any) -> list[int]:
    """Places of the rows by start: the table is sorted by device first. As written if there are no starts."""
    import pandas

    if START not in table.columns:
        return list(range(len(table)))
    starts = pandas.to_numeric(table[START], errors="coerce")
    # Stable: rows whose starts are equal, as far as a double can tell, stay in the order of the table.
    return [int(place) for place in starts.argsort(kind="stable")] if starts.notna().all() else list(range(len(table)))
