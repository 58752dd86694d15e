"""Kernel records of torch's own profiler. The profiler itself runs on a GPU only (``benchmarks/profiler_h200.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from triton_ascend_tune.measure.attribution import Layout, attribute
from triton_ascend_tune.measure.cuda_profiler import CudaProfiler, rows_of
from triton_ascend_tune.measure.profile_error import Problem, ProfileError


@dataclass
class Event:
    """One of Kineto's: all in methods."""

    text: str
    start: int
    duration: int = 1000
    correlation: int = 0
    where: str = "CUDA"
    place: int = 0

    def name(self) -> str:
        return self.text

    def start_ns(self) -> int:
        return self.start

    def duration_ns(self) -> int:
        return self.duration

    def correlation_id(self) -> int:
        return self.correlation or self.start

    def device_type(self) -> Any:
        return SimpleNamespace(name=self.where)

    def device_index(self) -> int:
        return self.place


def test_kernels_of_one_device_in_order_of_their_starts() -> None:
    events = [
        Event("late", 30, 2500),
        Event("early", 10),
        Event("cudaLaunchKernel", 5, where="CPU"),
        Event("Memset (Device)", 15),
        Event("Memcpy DtoD (Device -> Device)", 16),
        Event("elsewhere", 20, place=1),
    ]
    rows = rows_of(events, 0)
    assert [(row.name, row.duration_us) for row in rows] == [("early", 1.0), ("late", 2.5)]


def test_a_record_that_is_there_twice_is_refused() -> None:
    rows = rows_of([Event("k", 10), Event("k", 10), Event("k", 20), Event("k", 20)], 0)
    with pytest.raises(ProfileError) as caught:
        attribute(rows, Layout(candidates=1, warmup=0, active=2), ["k"])
    assert caught.value.problem is Problem.TOO_MANY


def profiler(enabled: bool = False, activities: tuple[str, ...] = ("CPU", "CUDA")) -> CudaProfiler:
    made = CudaProfiler.__new__(CudaProfiler)
    made._torch = SimpleNamespace(
        autograd=SimpleNamespace(_profiler_enabled=lambda: enabled),
        profiler=SimpleNamespace(
            ProfilerActivity=SimpleNamespace(CUDA="CUDA"), supported_activities=lambda: set(activities)
        ),
    )
    return made


def test_when_no_session_is_opened() -> None:
    assert profiler().refusal() is None
    assert "a profiler session of the program is running" in str(profiler(enabled=True).refusal())
    assert "records no CUDA kernels" in str(profiler(activities=("CPU",)).refusal())
    broken = CudaProfiler.__new__(CudaProfiler)
    broken._torch = SimpleNamespace()
    assert "cannot be asked: AttributeError" in str(broken.refusal())
