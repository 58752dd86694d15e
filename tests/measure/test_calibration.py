"""What is found out about a device once, on the fake runtime library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from native_fakes import GatedAcl, compile_library

from triton_ascend_tune import _native
from triton_ascend_tune.measure.calibration import UnusableClockError, calibrate


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> GatedAcl:
    return GatedAcl(compile_library(tmp_path_factory.mktemp("fake") / "libascendcl_fake_calibration.so"))


@pytest.fixture
def acl(library: GatedAcl) -> Iterator[GatedAcl]:
    library.reset()
    yield library


def calibrated(acl: GatedAcl, work_ms: float, use_gate: bool = True) -> Any:
    return calibrate(_native.AclRuntime(acl.path), acl.stream, acl.step("work", work_ms), use_gate)


def test_gate_and_overhead(acl: GatedAcl) -> None:
    found = calibrated(acl, 0.01)
    assert (found.gate, found.problem) == ("notify", "")
    assert found.event_overhead_ms == 0.0  # the fake's clock stands still between START and END


def test_the_overhead_is_the_median_of_empty_intervals(acl: GatedAcl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triton_ascend_tune.measure.calibration._nothing", lambda: acl.advance(0.002))
    assert calibrated(acl, 0.01).event_overhead_ms == pytest.approx(0.002, rel=1e-3)


def test_a_gate_that_is_not_wanted_is_not_probed(acl: GatedAcl) -> None:
    found = calibrated(acl, 0.01, use_gate=False)
    assert (found.gate, found.problem) == ("", "switched off")
    assert "close" not in acl.steps


def test_a_broken_gate_is_named_and_not_used(acl: GatedAcl) -> None:
    acl.gate(holds=False)
    found = calibrated(acl, 0.01)
    assert found.gate == ""
    assert found.problem == "notify: does not hold a stream; value: does not hold a stream"


@pytest.mark.parametrize("work_ms", [0.0, -1.0])
def test_events_that_give_no_times_are_an_error(acl: GatedAcl, work_ms: float) -> None:
    with pytest.raises(UnusableClockError, match="8 of 8 times between events around work on the device were zero"):
        calibrated(acl, work_ms)
