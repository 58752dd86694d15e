"""How the simulated durations of real modules behave: flags, barriers, buffers, blocks, L2.

Only relations are checked: no duration claims to be that of a device.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hivm_fixtures import modules

#: ``time_of(text, entry, blocks, arrays, scalars)`` -> [cold, warm] nanoseconds between two events around one launch.
#: The stream is kept busy by a clearing of 192 MiB before, so that the host's calls do not count; warm is the second
#: launch in a row.
SETUP = """
import json, struct, subprocess, sys, tempfile, pathlib
from acl_calls import *
acl, folder = Acl(), pathlib.Path(tempfile.mkdtemp())
flush = acl.malloc(192 * MIB)

def time_of(text, entry, blocks, arrays, scalars):
    (folder / "m.mlir").write_text(text)
    subprocess.run(["hivmc", str(folder / "m.mlir"), "-o", str(folder / "m")], check=True)
    stub = acl.register((folder / "m.o").read_bytes(), entry.encode())
    addresses = [acl.malloc(n) for n in arrays]
    packed = struct.pack("<QQQ", 0, 0, 0) + struct.pack(f"<{len(addresses)}Q", *addresses)
    packed += struct.pack(f"<{len(scalars) + 3}i", *scalars, blocks, 1, 1)
    acl.fill(flush, 0, 192 * MIB)
    events = [acl.recorded()]
    for _ in range(2):
        acl.launch(stub, blocks, packed)
        events.append(acl.recorded())
    acl.sync()
    for address in addresses:
        acl("aclrtFree", c_void_p(address))
    return [acl.elapsed_ns(a, b) for a, b in zip(events, events[1:])]
"""

ROWS = 400


def vadd_of(elements: int) -> tuple[list[int], list[int]]:
    """Bytes of the arrays and scalars of the vector add modules."""
    return [4 * elements] * 3, [elements]


def softmax_of(rows: int) -> tuple[list[int], list[int]]:
    """The same for the row softmax modules with 256 columns."""
    return [4 * 256 * rows] * 2, [256, 256, rows, 256]


@pytest.fixture(scope="module")
def durations(run_on_sim: Any) -> Any:
    """``durations({name: (text, entry, blocks, (arrays, scalars))})`` -> {name: [cold, warm]}, all in one process."""

    def measure(launches: dict[str, tuple[str, str, int, tuple[list[int], list[int]]]]) -> dict[str, list[int]]:
        given = json.dumps(
            {name: (text, entry, blocks, *sizes) for name, (text, entry, blocks, sizes) in launches.items()}
        )
        code = f"{SETUP}\nreport({{name: time_of(*given) for name, given in json.loads({given!r}).items()}})\n"
        return run_on_sim(code, env={"PYTHONPATH": str(Path(__file__).parent)})

    return measure


def text_of(name: str) -> str:
    return modules()[name].decode()


def test_double_buffering_is_faster(durations: Any) -> None:
    """The same softmax, compiled with and without multi-buffering."""
    got = durations(
        {
            "double": (text_of("softmax_loop_multibuffer"), "softmax", 4, softmax_of(ROWS)),
            "single": (text_of("vadd_option_no_multibuffer"), "softmax", 4, softmax_of(ROWS)),
        }
    )
    assert got["double"][0] < got["single"][0]
    assert got["double"][1] < got["single"][1]


def test_flags_are_cheaper_than_barriers(durations: Any) -> None:
    """A wait holds one pipe, a barrier ALL stops everything."""
    flags = text_of("softmax_loop_multibuffer")
    barriers = re.sub(r"hivm\.hir\.wait_flag\[.*\]", "hivm.hir.pipe_barrier[<PIPE_ALL>]", flags)
    barriers = re.sub(r".*hivm\.hir\.set_flag\[.*\n", "", barriers)
    assert barriers.count("pipe_barrier[<PIPE_ALL>]") > 10
    got = durations(
        {"flags": (flags, "softmax", 4, softmax_of(ROWS)), "barriers": (barriers, "softmax", 4, softmax_of(ROWS))}
    )
    assert got["flags"][0] < got["barriers"][0]
    assert got["flags"][1] < got["barriers"][1]


def test_a_barrier_waits_for_the_result(durations: Any) -> None:
    """Vector operations that no barrier separates overlap in their latency."""
    ordered = text_of("softmax_loop_multibuffer")
    loose = re.sub(r".*hivm\.hir\.pipe_barrier\[<PIPE_V>\]\n", "", ordered)
    assert loose != ordered
    got = durations(
        {"ordered": (ordered, "softmax", 4, softmax_of(ROWS)), "loose": (loose, "softmax", 4, softmax_of(ROWS))}
    )
    assert got["loose"][1] < got["ordered"][1]


def test_blocks_beyond_the_cores_come_in_steps(durations: Any) -> None:
    """40 vector cores: the 41st block starts a second round, the 81st a third."""
    text = text_of("vadd_fp32_B4096")
    counts = (1, 40, 41, 80, 81)
    warm = {
        int(name): times[1]
        for name, times in durations({str(n): (text, "vadd", n, vadd_of(4096 * n)) for n in counts}).items()
    }
    assert warm[1] == warm[40] < warm[41] == warm[80] < warm[81]
    assert warm[81] - warm[41] == pytest.approx(warm[41] - warm[1], abs=2)


def test_cold_is_slower_than_warm_and_larger_takes_longer(durations: Any) -> None:
    text = text_of("vadd_fp32_B4096")
    small, large = 4096 * 40, 4096 * 400
    got = durations({"small": (text, "vadd", 40, vadd_of(small)), "large": (text, "vadd", 400, vadd_of(large))})
    for cold, warm in got.values():
        assert cold > warm > 0
    assert got["large"][0] > 2 * got["small"][0]


def test_global_memory_limits_a_launch(durations: Any) -> None:
    """No launch moves its data faster than the HBM of the whole device (1600 GB/s), however many cores work."""
    elements = 16384 * 640
    cold, _ = durations({"": (text_of("vadd_fp32_B16384"), "vadd", 640, vadd_of(elements))})[""]
    assert 3 * 4 * elements / cold < 1600  # bytes per nanosecond


def test_a_gather_pays_for_every_element(durations: Any) -> None:
    """Scalar loads from global memory cost far more than a transfer of the same bytes."""
    got = durations(
        {
            "gather": (text_of("gather"), "gather", 1, ([4096, 4096, 4096], [1024])),
            "add": (text_of("vadd_fp32_B1024"), "vadd", 1, vadd_of(1024)),
        }
    )
    assert got["gather"][1] > 10 * got["add"][1]


def test_two_processes_give_the_same_durations(durations: Any) -> None:
    launches = {
        "softmax": (text_of("softmax_loop_multibuffer"), "softmax", 7, softmax_of(ROWS)),
        "add": (text_of("vadd_fp32_B4096"), "vadd", 13, vadd_of(50000)),
    }
    assert durations(launches) == durations(launches)
