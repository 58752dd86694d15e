"""Which rows of a profile belong to which run of which candidate.

A session launches, in this order: ``lead`` flushes alone, then for each candidate ``warmup + active`` runs, each of
them a flush and a call. Rows are attributed by the exact name of a candidate's kernel. Nothing is ever left out because
of the type of its operator: a user's kernel may be called ``zeros_like``, and a call may contain a reduction like that
of the flush. Flushes are known by their place: the first row of a session is a flush, because one was launched first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.profile_error import NoRowError, Problem, ProfileError
from triton_ascend_tune.values import Samples

#: Ascend's launcher reports this many characters of a kernel's name, its last.
NAME_LENGTH = 49
BY_ORDER = "attributed by the order of rows: the kernel's name is not known"
_US_PER_MS = 1000.0
_T = TypeVar("_T")
_SHOWN_NAMES = 4


@dataclass(frozen=True)
class Layout:
    """What a session launched. ``lead``: flushes before the first run; 0 where runs have no flush either."""

    candidates: int
    warmup: int
    active: int
    lead: int = 0

    @property
    def runs_each(self) -> int:
        return self.warmup + self.active

    @property
    def runs(self) -> int:
        return self.candidates * self.runs_each

    @property
    def expected(self) -> str:
        return f"expected {self.runs} rows ({self.candidates} x ({self.warmup} + {self.active}) runs)"


def attribute(rows: Sequence[KernelRow], layout: Layout, names: Sequence[str | None]) -> list[Samples]:
    """The times of the last ``active`` runs of each candidate. ``names``: of the candidates' kernels, in order.

    Without all the names: rows in order, if their number fits exactly; ``Samples.note`` then says so. Several launches
    of a kernel in one run are added up if every run of the candidate has as many. ProfileError says what was expected
    and found.
    """
    _refuse_repeated(rows)
    if any(name is None for name in names):
        return _in_order(rows, layout)
    groups: dict[str, list[int]] = {}
    for candidate, name in enumerate(names):
        groups.setdefault(str(name), []).append(candidate)
    bodies = _bodies(rows, layout)
    found: dict[int, Samples] = {}
    for name, members in groups.items():
        for candidate, samples in zip(members, _by_name(rows, layout, name, members, bodies)):
            found[candidate] = samples
    return [found[candidate] for candidate in range(layout.candidates)]


def _by_name(
    rows: Sequence[KernelRow],
    layout: Layout,
    name: str,
    members: Sequence[int],
    bodies: Sequence[Sequence[KernelRow]] | None,
) -> list[Samples]:
    """The times of the candidates ``members``, all those whose kernel is called ``name``."""
    names = (name, name[-NAME_LENGTH:])
    places = [member * layout.runs_each + run for member in members for run in range(layout.runs_each)]
    scope = rows if bodies is None else [row for place in places for row in bodies[place]]
    mine = [row for row in scope if row.name in names]
    expected = (
        f"expected {len(places)} rows of kernel {name!r} ({len(members)} x ({layout.warmup} + {layout.active}) runs)"
    )
    if not mine:
        found = f"{expected}, found none among {len(rows)} rows ({_shown(rows)})"
        raise NoRowError(name, tuple(_names(scope)), found)
    if len(mine) < len(places):
        raise ProfileError(Problem.TOO_FEW, f"{expected}, found {len(mine)}")
    if bodies is None:
        per_run, rest = divmod(len(mine), len(places))
        if rest:
            raise ProfileError(Problem.TOO_MANY, f"{expected}, found {len(mine)}, which is no multiple")
        runs = _chunks(mine, per_run)
    else:
        runs = [[row for row in bodies[place] if row.name in names] for place in places]
    taken = _chunks(runs, layout.runs_each)
    for each in taken:
        counts = [len(run) for run in each]
        if min(counts) != max(counts) or not counts[0]:
            found = f"found {len(mine)}: from {min(counts)} to {max(counts)} in a run"
            raise ProfileError(Problem.TOO_MANY, f"{expected}, {found}")
    return [_samples(each, layout, "", expected) for each in taken]


def _bodies(rows: Sequence[KernelRow], layout: Layout) -> list[list[KernelRow]] | None:
    """The rows of each run behind its flush's first; None where that cannot be told.

    A run may launch an operator of the flush's name itself; the first rows of a session may be missing. Then the
    number of rows of that name is another, and the count of the kernel's own rows must do.
    """
    if not layout.lead:
        return None
    flush = rows[0].name
    bodies: list[list[KernelRow]] = []
    for row in rows:
        if row.name == flush:
            bodies.append([])
        else:
            bodies[-1].append(row)
    return bodies[layout.lead :] if len(bodies) == layout.lead + layout.runs else None


def _in_order(rows: Sequence[KernelRow], layout: Layout) -> list[Samples]:
    flush = _flush_names(rows) if layout.lead else []
    flushes = len(flush) * (layout.lead + layout.runs)
    expected = (
        f"expected a multiple of {layout.runs} rows ({layout.candidates} x ({layout.warmup} + {layout.active}) runs)"
        + (f" and {flushes} rows of flushes" if flush else "")
    )
    per_run, rest = divmod(len(rows) - flushes, layout.runs)
    if per_run < 1:
        raise ProfileError(Problem.TOO_FEW, f"{expected}, found {len(rows)} in all")
    if rest:
        raise ProfileError(Problem.TOO_MANY, f"{expected}, found {len(rows)} in all")
    start = len(flush) * layout.lead
    runs = []
    for body in _chunks(rows[start:], len(flush) + per_run):
        if [row.name for row in body[: len(flush)]] != flush:
            raise ProfileError(Problem.TOO_MANY, f"{expected}, found {len(rows)}, not as many in each run")
        runs.append(body[len(flush) :])
    return [_samples(each, layout, BY_ORDER, expected) for each in _chunks(runs, layout.runs_each)]


def _flush_names(rows: Sequence[KernelRow]) -> list[str]:
    """The names of the rows that one flush makes: up to where the first comes again, for another one follows."""
    names = [row.name for row in rows]
    return names[: names.index(names[0], 1)] if names.count(names[0]) > 1 else names[:1]


def _samples(runs: Sequence[Sequence[KernelRow]], layout: Layout, note: str, expected: str) -> Samples:
    active = runs[-layout.active :]
    unusable = [row for run in active for row in run if not row.usable]
    if unusable:
        raise ProfileError(
            Problem.TOO_FEW, f"{expected}, found {len(unusable)} whose duration is zero, negative or no number"
        )
    return Samples(tuple(sum(row.duration_us for row in run) / _US_PER_MS for run in active), "profiler", note)


def _refuse_repeated(rows: Sequence[KernelRow]) -> None:
    """A table that holds an execution twice would pass for two launches in each run."""
    counts = Counter(row.identity for row in rows if row.identity)
    repeated = sum(count - 1 for count in counts.values())
    if repeated:
        raise ProfileError(
            Problem.TOO_MANY, f"expected each execution once, found {repeated} of {len(rows)} rows repeated"
        )


def _chunks(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _names(rows: Sequence[KernelRow]) -> list[str]:
    return list(dict.fromkeys(row.name for row in rows))


def _shown(rows: Sequence[KernelRow]) -> str:
    names = _names(rows)
    return ", ".join(names[:_SHOWN_NAMES]) + (", ..." if len(names) > _SHOWN_NAMES else "")
