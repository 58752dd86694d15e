"""The library of micro-kernels: its table of names, and every family against NumPy.

``micro_cases_values`` and ``micro_cases_shapes`` call the kernels on images of the unified buffer; all programs run
in one process. Half precision is compared bit for bit too: NumPy, like the vector unit, rounds after each operation.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import micro_cases_shapes  # noqa: F401  (fills PROGRAMS)
import micro_cases_values  # noqa: F401
import numpy as np
import pytest
from hivm_fixtures import modules
from micro_calls import Program, Result, Scalar, run_programs
from micro_group import EXPECTED, PROGRAMS, from_bfloat16
from micro_table import expand


@pytest.fixture(scope="module")
def results(sim_env: dict[str, str]) -> dict[str, Result]:
    return run_programs(list(PROGRAMS.values()), sim_env)


def last_places(result: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Differences of floats of one type in units of the last place; equal values and two NaN are 0 apart."""
    signed = f"int{expected.dtype.itemsize * 8}"

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = x.view(signed).astype(np.float64)
        return np.where(bits < 0, -(bits - float(np.iinfo(signed).min)), bits)

    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    return np.where(
        same, 0.0, np.where(np.isnan(result) | np.isnan(expected), np.inf, np.abs(ordered(result) - ordered(expected)))
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_family_against_numpy(name: str, results: dict[str, Result]) -> None:
    result, program = results[name], PROGRAMS[name]
    assert not result.error
    assert EXPECTED[name]
    for target, expected, ulps in EXPECTED[name]:
        got = target.read(result.images[target.space])
        where = [call for call, operands in program.calls if target in operands]
        if expected.dtype.kind == "f":
            assert last_places(got, expected.astype(got.dtype)).max() <= ulps, (where, got, expected)
        elif target.type == "bfloat16_t":
            assert last_places(from_bfloat16(got), from_bfloat16(expected)).max() == 0, (where, got, expected)
        else:
            np.testing.assert_array_equal(got, expected, err_msg=str(where))


@pytest.fixture(scope="module")
def table(sim_env: dict[str, str]) -> list[str]:
    """All names of the library, from the table that hivmc prints."""
    done = subprocess.run(["hivmc", "--micro-kernels"], env=sim_env, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [name for pattern, _, types, ranks in rows for name in expand(pattern, types, ranks)]


def compile_calls(names: list[str], env: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    program = Program("names", calls=[(name, ()) for name in names])
    source = folder / "names.mlir"
    source.write_text(program.text())
    return subprocess.run(
        ["hivmc", str(source), "-o", str(folder / "names")], env=env, capture_output=True, text=True, check=False
    )


def test_every_name_of_the_table_resolves(table: list[str], sim_env: dict[str, str], tmp_path: Path) -> None:
    assert len(table) == len(set(table)) > 1000
    assert not [name for name in table if "{" in name or "(" in name]
    done = compile_calls(table, sim_env, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_table_has_what_the_modules_call(table: list[str]) -> None:
    called = {name for text in modules().values() for name in re.findall(r"call @(\w+)", text.decode())}
    assert len(called) > 100
    assert called <= set(table)


def test_every_family_is_compared_with_numpy(table: list[str]) -> None:
    """Whatever the table promises was called above, apart from what needs several blocks or computes nothing.

    The cube core's are in test_cube_kernels.py.
    """
    called = {name for program in PROGRAMS.values() for name, _ in program.calls}
    elsewhere = r"sync_block_|print_|_mlir_ciface_|nd2nz_|set_l1_|load_gm_to_cbuf_|mma_tile_|fixpipe_"
    left = {name for name in set(table) - called if not re.match(elsewhere, name)}
    assert not left


@pytest.mark.parametrize(
    "name",
    [
        "vadd_4d_float",
        "vadd_1d_int64_t",
        "vexp_1d_int32_t",
        "vcmp_lt_1d_int32_t",
        "vcast_bfloat16_t_to_half_1d_with_mode",
        "reduce_sum_rr_float",
        "load_gm_to_ubuf_1d_bool",
        "vadd_1d",
        "vadd_1d_float_",
        "vfrobnicate_1d_float",
    ],
)
def test_unknown_names_are_refused_by_name(name: str, sim_env: dict[str, str], tmp_path: Path) -> None:
    done = compile_calls([name], sim_env, tmp_path)
    assert done.returncode == 1
    assert name in done.stderr
    assert not (tmp_path / "names.o").exists()


def wrong_calls() -> dict[str, tuple[Program, str]]:
    """Programs that fail at run time, and a part of the message."""
    cases: dict[str, tuple[Program, str]] = {}

    def case(key: str, message: str) -> Program:
        cases[key] = Program(key), message
        return cases[key][0]

    p = case("type", "argument 0 is a i32 view of rank 1, a float view of rank 1 is expected")
    p.call("vabs_1d_float", p.place(np.zeros(8, np.int32), "int32_t"), p.place(None, "float", (8,)), Scalar(0, "i32"))
    p = case("count", "takes 3 to 4 arguments, 2 given")
    p.call("vadd_1d_float", p.place(None, "float", (8,)), p.place(None, "float", (8,)))
    p = case("shape", "a view of [5] does not fit a view of [8]")
    p.call("vabs_1d_float", p.place(None, "float", (5,)), p.place(None, "float", (8,)))
    p = case("mode", "cast mode 6 is not supported")
    p.call(
        "vcast_float_to_half_1d_with_mode", p.place(None, "float", (8,)), p.place(None, "half", (8,)), Scalar(6, "i32")
    )
    p = case("index", "index 9 at 1 lies outside the 8 elements")
    index = p.place(np.array([1, 9], np.int32), "int32_t")
    p.call("gather_1d_float", p.place(None, "float", (8,)), index, p.place(None, "float", (2,)))
    p = case("padding", "left padding of 2 before a target at element 0")
    source, to = p.place(None, "float", (8,), space="gm"), p.place(None, "float", (8,))
    p.call("load_gm_to_ubuf_1d_float", source, to, Scalar(0, "i32"), Scalar(0, "float"), Scalar(2, "index"))
    p = case("atomic", "atomic kind 7")
    p.call(
        "store_ubuf_to_gm_1d_float",
        p.place(None, "float", (8,)),
        p.place(None, "float", (8,), space="gm"),
        Scalar(7, "i32"),
    )
    return cases


@pytest.mark.parametrize("case", wrong_calls())
def test_wrong_calls_name_the_kernel_and_the_fault(case: str, sim_env: dict[str, str]) -> None:
    program, message = wrong_calls()[case]
    result = run_programs([program], sim_env)[case]
    assert program.calls[0][0] in result.error
    assert message in result.error


def duration_cases() -> list[Program]:
    """The same operands, 1024 floats each, under different calls."""
    cases = []
    for name, calls, offset, kernel in (
        ("nothing", 0, 0, ""),
        ("add", 1, 0, "vadd_1d_float"),
        ("two adds", 2, 0, "vadd_1d_float"),
        ("divide", 1, 0, "vdiv_1d_float"),
        ("add off a block", 1, 1, "vadd_1d_float"),
    ):
        program = Program(name)
        a, b, to = (program.place(np.ones(1024, np.float32), "float", offset=offset) for _ in range(3))
        for _ in range(calls):
            program.call(kernel, a, b, to)
        cases.append(program)
    return cases


def test_durations_tell_the_instructions_apart(sim_env: dict[str, str]) -> None:
    """More work takes longer: a second instruction, division, and by far the scalar loop over unaligned views."""
    results = run_programs(duration_cases(), sim_env)
    assert not [r.error for r in results.values() if r.error]
    base = results["nothing"].nanoseconds
    own = {name: result.nanoseconds - base for name, result in results.items()}
    assert 0 < own["add"] < own["divide"]
    assert own["two adds"] == pytest.approx(2 * own["add"], rel=0.1)
    assert own["add off a block"] > 20 * own["add"]
