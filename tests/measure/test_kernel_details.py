"""Reading ``kernel_details.csv`` and attributing its rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from profiles import FLUSH, HEADER, LEVEL0_HEADER, OLD_HEADER, STEP_HEADER, Row, session, table, write

from triton_ascend_tune.measure import kernel_details
from triton_ascend_tune.measure.attribution import BY_ORDER, NAME_LENGTH, Layout, attribute
from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.profile_error import Problem, ProfileError

ROWS: list[Row] = [("add", 12.5), (FLUSH, 400.0), ("add", 13.0)]


def read(tmp_path: Path, text: str) -> list[KernelRow]:
    return kernel_details.read(write(tmp_path / "kernel_details.csv", text))


def problem_of(call: Any) -> tuple[Problem, str]:
    with pytest.raises(ProfileError) as caught:
        call()
    return caught.value.problem, caught.value.detail


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [HEADER, OLD_HEADER, LEVEL0_HEADER, STEP_HEADER, HEADER + ",a new column", "\ufeff" + HEADER, "Duration(us),Name"],
)
def test_every_header_is_read(tmp_path: Path, header: str) -> None:
    text = table(ROWS, header.lstrip("\ufeff"))
    rows = read(tmp_path, "\ufeff" + text if header.startswith("\ufeff") else text)
    assert [(row.name, row.duration_us) for row in rows] == ROWS


def test_level0_has_no_types(tmp_path: Path) -> None:
    assert [row.type for row in read(tmp_path, table(ROWS, LEVEL0_HEADER, types=False))] == ["N/A"] * 3
    assert [row.type for row in read(tmp_path, table(ROWS, "Name,Duration(us)"))] == [""] * 3


def test_unix_line_ends_and_blanks_in_the_header(tmp_path: Path) -> None:
    text = table(ROWS).replace("\r\n", "\n").replace("Name,Type", " Name , Type")
    assert [row.name for row in read(tmp_path, text)] == ["add", FLUSH, "add"]


def test_rows_come_in_the_order_of_their_starts(tmp_path: Path) -> None:
    header, first, second, third = table([("a", 1.0), ("b", 2.0), ("c", 3.0)]).splitlines()
    rows = read(tmp_path, "\r\n".join([header, third, first, second]) + "\r\n")
    assert [row.name for row in rows] == ["a", "b", "c"]


def test_names_that_look_like_numbers_or_nothing_stay_names(tmp_path: Path) -> None:
    rows = read(tmp_path, table([("nan", 1.0), ("007", 2.0), ("NA", 3.0)]))
    assert [row.name for row in rows] == ["nan", "007", "NA"]


def test_a_duration_that_is_no_number_is_no_time(tmp_path: Path) -> None:
    [row] = read(tmp_path, "Name,Duration(us)\r\nadd,N/A\r\n")
    assert math.isnan(row.duration_us) and not row.usable
    assert not KernelRow("add", "", 0.0).usable and not KernelRow("add", "", -1.0).usable


def test_no_file(tmp_path: Path) -> None:
    assert problem_of(lambda: kernel_details.find(tmp_path))[0] is Problem.NO_FILE


def test_the_file_is_found_below_the_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", "x")
    assert kernel_details.find(tmp_path) == path


@pytest.mark.parametrize("text", ["", HEADER + "\r\n"])
def test_an_empty_table(tmp_path: Path, text: str) -> None:
    assert problem_of(lambda: read(tmp_path, text))[0] is Problem.EMPTY


def test_a_table_without_the_columns_needed_names_them(tmp_path: Path) -> None:
    problem, detail = problem_of(lambda: read(tmp_path, "Device_id,Type\r\n0,x\r\n"))
    assert problem is Problem.FAILED
    assert "no Name and no Duration(us)" in detail and "Device_id, Type" in detail


def test_no_table_at_all(tmp_path: Path) -> None:
    assert problem_of(lambda: read(tmp_path, 'Name,Duration(us)\r\n"a,1\r\n'))[0] in (Problem.FAILED, Problem.EMPTY)
    assert problem_of(lambda: kernel_details.read(tmp_path / "none.csv"))[0] is Problem.FAILED


# -- attribution -------------------------------------------------------------------------------------------------------


def rows_of(rows: list[Row]) -> list[KernelRow]:
    return [KernelRow(name, name, duration, ("0", "2", str(place))) for place, (name, duration) in enumerate(rows)]


LAYOUT = Layout(candidates=2, warmup=1, active=3, lead=3)


def two(*bodies: list[Row]) -> list[KernelRow]:
    return rows_of(session(bodies, LAYOUT.runs_each, LAYOUT.lead))


def test_the_last_active_runs_of_each_candidate_count() -> None:
    rows = session([], 0, 3)
    for first in (10.0, 20.0):
        for run in range(4):
            rows += [(FLUSH, 400.0), ("k", first + run)]
    one, other = attribute(rows_of(rows), LAYOUT, ["k", "k"])
    assert one.times_ms == pytest.approx((0.011, 0.012, 0.013)) and one.mean == pytest.approx(0.012)
    assert other.times_ms == pytest.approx((0.021, 0.022, 0.023)) and other.p50 == pytest.approx(0.022)
    assert (one.method, one.note) == ("profiler", "")


def test_candidates_may_have_names_of_their_own() -> None:
    one, other = attribute(two([("a", 1.0)], [("b", 2.0)]), LAYOUT, ["a", "b"])
    assert (one.mean, other.mean) == pytest.approx((0.001, 0.002))


def test_long_names_are_compared_by_their_last_characters() -> None:
    name = "x" * 30 + "y" * NAME_LENGTH
    rows = two([(name[-NAME_LENGTH:], 1.0)], [(name[-NAME_LENGTH:], 2.0)])
    assert [samples.mean for samples in attribute(rows, LAYOUT, [name, name])] == pytest.approx([0.001, 0.002])


def test_a_name_within_another_name_is_another_name() -> None:
    rows = two([("add", 1.0), ("add_kernel", 50.0)], [("add", 2.0), ("add_kernel", 50.0)])
    assert [samples.mean for samples in attribute(rows, LAYOUT, ["add", "add"])] == pytest.approx([0.001, 0.002])


@pytest.mark.parametrize("name", ["zeros_like", "ReduceSum", FLUSH])
def test_a_users_kernel_that_is_called_like_a_flush_is_not_lost(name: str) -> None:
    """FR-35: as target, and as part of an unnamed call. One of the flush's own name only if it can be told apart."""
    rows = two([(name, 1.0)], [(name, 2.0)])
    if name == FLUSH:
        assert problem_of(lambda: attribute(rows, LAYOUT, [name, name]))[0] is Problem.TOO_MANY
    else:
        assert [s.mean for s in attribute(rows, LAYOUT, [name, name])] == pytest.approx([0.001, 0.002])
    assert [s.mean for s in attribute(rows, LAYOUT, [None, None])] == pytest.approx([0.001, 0.002])


def test_hooks_before_and_after_do_not_count() -> None:
    body = [("pre", 5.0), ("k", 20.0), ("post", 3.0)]
    rows = two(body, body)
    assert [s.mean for s in attribute(rows, LAYOUT, ["k", "k"])] == pytest.approx([0.020, 0.020])
    assert [s.mean for s in attribute(rows, LAYOUT, [None, None])] == pytest.approx([0.028, 0.028])


def test_several_launches_in_each_run_are_added_up() -> None:
    rows = two([("k", 1.0), ("k", 2.0)], [("k", 3.0)])
    assert [s.mean for s in attribute(rows, LAYOUT, ["k", "k"])] == pytest.approx([0.003, 0.003])
    layout = Layout(candidates=2, warmup=1, active=3)
    rows = rows_of(session([[("k", 1.0), ("k", 2.0)], [("k", 3.0), ("k", 4.0)]], layout.runs_each, 0, ()))
    assert [s.mean for s in attribute(rows, layout, ["k", "k"])] == pytest.approx([0.003, 0.007])


def test_a_kernel_counts_where_it_is_the_one_asked_for() -> None:
    body = [("a", 1.0), ("b", 2.0)]
    assert [s.mean for s in attribute(two(body, body), LAYOUT, ["a", "b"])] == pytest.approx([0.001, 0.002])


def test_a_multiple_that_is_not_the_same_in_each_run_is_refused() -> None:
    """FR-42."""
    rows = session([], 0, LAYOUT.lead)
    for launches in (1, 1, 1, 3, 2, 1, 1, 1):
        rows += [(FLUSH, 400.0), *[("k", 1.0)] * launches]
    problem, detail = problem_of(lambda: attribute(rows_of(rows), LAYOUT, ["k", "k"]))
    assert problem is Problem.TOO_MANY and "expected 8 rows" in detail and "found 11: from 1 to 3 in a run" in detail


def test_a_candidate_without_its_kernel_gets_no_rows_of_another() -> None:
    uneven = two([], [("k", 3.0), ("k", 3.0)])
    assert "from 0 to 0 in a run" in problem_of(lambda: attribute(uneven, LAYOUT, ["k", "k"]))[1]


def test_no_row_of_the_name_says_what_is_there() -> None:
    problem, detail = problem_of(lambda: attribute(two([("a", 1.0)], [("b", 1.0)]), LAYOUT, ["k", "k"]))
    assert problem is Problem.NO_ROW
    assert "expected 8 rows of kernel 'k' (2 x (1 + 3) runs), found none among 19 rows" in detail
    assert FLUSH in detail and "a, b" in detail


def test_too_few_rows() -> None:
    """FR-42."""
    rows = [*two([("k", 1.0)], [("k", 2.0)])][:-2]
    problem, detail = problem_of(lambda: attribute(rows, LAYOUT, ["k", "k"]))
    assert (problem, "expected 8 rows" in detail, "found 7" in detail) == (Problem.TOO_FEW, True, True)


def test_too_many_rows_that_are_no_multiple() -> None:
    """Here without the flushes ahead, so that runs cannot be told apart."""
    rows = [*two([("k", 1.0)], [("k", 2.0)])[LAYOUT.lead :], KernelRow("k", "k", 1.0, ("0", "2", "last"))]
    problem, detail = problem_of(lambda: attribute(rows, LAYOUT, ["k", "k"]))
    assert (problem, "found 9, which is no multiple" in detail) == (Problem.TOO_MANY, True)


def test_an_execution_that_is_there_twice_is_not_two_launches() -> None:
    rows = [row for row in two([("k", 1.0)], [("k", 2.0)]) for _ in range(2)]
    problem, detail = problem_of(lambda: attribute(rows, LAYOUT, ["k", "k"]))
    assert (problem, "found 19 of 38 rows repeated" in detail) == (Problem.TOO_MANY, True)


def test_lost_flushes_ahead_of_the_first_run_do_no_harm() -> None:
    """They are spare: what a profile loses is its first rows."""
    rows = two([("k", 1.0)], [("k", 2.0)])
    for lost in range(LAYOUT.lead + 2):
        assert [s.mean for s in attribute(rows[lost:], LAYOUT, ["k", "k"])] == pytest.approx([0.001, 0.002])
    assert problem_of(lambda: attribute(rows[LAYOUT.lead + 2 :], LAYOUT, ["k", "k"]))[0] is Problem.TOO_FEW


def test_a_row_without_a_time_is_no_sample() -> None:
    rows = two([("k", 1.0)], [("k", math.nan)])
    problem, detail = problem_of(lambda: attribute(rows, LAYOUT, ["k", "k"]))
    assert problem is Problem.TOO_FEW and "found 3 whose duration is zero, negative or no number" in detail


def test_without_a_name_rows_in_order_are_marked() -> None:
    one, other = attribute(two([("a", 1.0)], [("b", 2.0)]), LAYOUT, ["a", None])
    assert (one.mean, other.mean) == pytest.approx((0.001, 0.002))
    assert one.note == other.note == BY_ORDER


def test_a_flush_of_several_operators_is_known_by_its_place() -> None:
    flush = ["Cast", FLUSH]
    body = [("Cast", 1.0), ("k", 2.0)]
    rows = rows_of(session([body, body], LAYOUT.runs_each, LAYOUT.lead, flush))
    assert [s.mean for s in attribute(rows, LAYOUT, [None, None])] == pytest.approx([0.003, 0.003])


def test_without_a_name_the_count_must_fit_exactly() -> None:
    rows = two([("a", 1.0)], [("b", 2.0)])
    names = [None, None]
    assert problem_of(lambda: attribute(rows[:-1], LAYOUT, names))[0] is Problem.TOO_FEW
    assert problem_of(lambda: attribute(rows[1:], LAYOUT, names))[0] is Problem.TOO_FEW
    more = [*rows, KernelRow("b", "b", 1.0, ("0", "2", "last"))]
    problem, detail = problem_of(lambda: attribute(more, LAYOUT, names))
    assert problem is Problem.TOO_MANY
    assert "expected a multiple of 8 rows (2 x (1 + 3) runs) and 11 rows of flushes, found 20 in all" in detail


def test_without_a_name_each_run_must_have_as_many_rows() -> None:
    rows = two([("a", 1.0)], [("b", 2.0), ("b", 2.0), ("b", 2.0)])
    problem, detail = problem_of(lambda: attribute(rows, LAYOUT, [None, None]))
    assert problem is Problem.TOO_MANY and "not as many in each run" in detail


def test_without_a_flush_the_count_decides() -> None:
    layout = Layout(candidates=2, warmup=1, active=3)
    rows = rows_of([("a", 1.0)] * 4 + [("b", 2.0)] * 4)
    assert [s.mean for s in attribute(rows, layout, [None, None])] == pytest.approx([0.001, 0.002])
    assert [s.mean for s in attribute(rows, layout, ["a", "b"])] == pytest.approx([0.001, 0.002])
