"""What an error of the device means: short memory, one failed launch, or a lost device."""

from __future__ import annotations

from typing import Any

import pytest

from triton_ascend_tune.measure.device import DeviceTimer
from triton_ascend_tune.measure.faults import DeviceLostError, defect, is_out_of_memory
from triton_ascend_tune.measure.flush import make_flush
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import Conditions


class Cell:
    """A device that gives every tensor the same place. ``deaf``: nothing is written there."""

    def __init__(self, deaf: bool = False, error: RuntimeError | None = None) -> None:
        self.deaf, self.error, self.value = deaf, error, 0

    def allocate(self, items: int) -> Cell:
        if self.error is not None:
            raise self.error
        return self

    def fill_(self, value: int) -> Cell:
        self.value = self.value if self.deaf else value
        return self

    def item(self) -> int:
        return self.value


class OutOfMemoryError(RuntimeError):
    pass


def test_a_device_that_works_has_no_defect_however_often_it_is_asked() -> None:
    cell = Cell()
    assert [defect(cell.allocate) for _ in range(3)] == ["", "", ""]


def test_a_device_that_drops_its_work_in_silence_is_found_though_the_last_number_still_stands_there() -> None:
    cell = Cell()
    assert defect(cell.allocate) == ""
    cell.deaf = True
    assert defect(cell.allocate) == defect(cell.allocate) == "what is written to it does not come back"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("error code is 507035.\nmore"), "error code is 507035"),
        (OutOfMemoryError("NPU out of memory"), ""),
        (RuntimeError("CUDA out of memory. Tried"), ""),
    ],
)
def test_an_error_is_a_defect_unless_memory_is_short(error: RuntimeError, reason: str) -> None:
    assert defect(Cell(error=error).allocate) == reason
    assert is_out_of_memory(error) == (not reason)


def test_what_is_wrong_with_the_device_is_not_taken_for_short_memory() -> None:
    with pytest.raises(RuntimeError, match="error code is 507035"):
        make_flush(None, "write", 4096, Cell(error=RuntimeError("error code is 507035")).allocate)


class Native:
    """A native timer whose second trial fails."""

    interruption: Any = (1, "launch")
    gate_expired = False

    def run(self, trials: Any, order: Any, gated: bool) -> Any:
        raise RuntimeError("code 507035\nmore")


@pytest.mark.parametrize("found", ["", "it is deaf"])
def test_a_timer_blames_a_trial_unless_the_device_is_lost(found: str) -> None:
    timer = DeviceTimer(Native(), Conditions(), lambda: found)  # type: ignore[arg-type]
    trials = [Trial(print, name="BLOCK=1"), Trial(print, name="BLOCK=2")]
    with pytest.raises(RuntimeError) as raised:
        timer.run(trials, [0, 1])
    if found:
        assert isinstance(raised.value, DeviceLostError)
        assert "the device is lost (it is deaf) since BLOCK=2 was launched: code 507035. " in str(raised.value)
        assert str(raised.value.__cause__) == "code 507035\nmore"
        assert timer.interruption is None
    else:
        assert str(raised.value) == "code 507035\nmore"
        assert timer.interruption == (1, "launch")
