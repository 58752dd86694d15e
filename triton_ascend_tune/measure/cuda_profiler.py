"""``torch.profiler`` as a ``Profiler``, for NVIDIA GPUs: kernel records of CUPTI, without any files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from triton_ascend_tune.measure.kernel_details import KernelRow
from triton_ascend_tune.measure.profile_error import Problem, ProfileError
from triton_ascend_tune.measure.profiler import Profiler

_FLOAT_BYTES = 4
_NS_PER_US = 1000.0
#: What CUPTI records on the device besides kernels.
_COPIES = ("Memcpy", "Memset")


class CudaProfiler(Profiler):
    """The profiler of the current GPU."""

    def __init__(self) -> None:
        import torch

        self._torch = torch

    @property
    def device(self) -> str:
        properties = self._torch.cuda.get_device_properties(self._torch.cuda.current_device())
        return f"cuda-{getattr(properties, 'uuid', self._torch.cuda.current_device())}"

    def refusal(self) -> str | None:
        try:
            if self._torch.autograd._profiler_enabled():
                return "a profiler session of the program is running, which another one would end"
            if self._torch.profiler.ProfilerActivity.CUDA not in self._torch.profiler.supported_activities():
                return "this build of torch records no CUDA kernels"
        except Exception as error:
            return f"torch's profiler cannot be asked: {type(error).__name__}: {error}"
        return None

    def make_flush(self, nbytes: int) -> Callable[[], object]:
        # Zeros: a sum over whatever was in memory may meet numbers that are slow to add.
        buffer = self._torch.zeros(nbytes // _FLOAT_BYTES, dtype=self._torch.float32, device="cuda")
        flush: Callable[[], object] = buffer.sum
        return flush

    def _quietly(self) -> dict[str, Any]:
        """Newer torch warns that a further session forgets the events of this one, unless told to keep them."""
        known = inspect.signature(self._torch.profiler.profile.__init__).parameters
        return {"acc_events": True} if "acc_events" in known else {}

    def synchronize(self) -> None:
        self._torch.cuda.synchronize()

    def record(self, folder: Path, body: Callable[[], None]) -> list[KernelRow]:
        profiler = self._torch.profiler
        try:
            session = profiler.profile(activities=[profiler.ProfilerActivity.CUDA], **self._quietly())
            session.start()
        except RuntimeError as error:
            raise ProfileError(Problem.FAILED, f"{type(error).__name__}: {error}") from None
        try:
            body()
        finally:
            session.stop()
        return rows_of(session.profiler.kineto_results.events(), self._torch.cuda.current_device())


def rows_of(events: Iterable[Any], device: int) -> list[KernelRow]:
    """The kernels among Kineto's ``events`` on ``device``, by start. Each execution has a correlation of its own."""
    kernels = [event for event in events if _is_kernel(event) and event.device_index() == device]
    kernels.sort(key=lambda event: event.start_ns())
    return [
        KernelRow(
            event.name(),
            "",
            event.duration_ns() / _NS_PER_US,
            (str(event.correlation_id()), str(event.start_ns())),
        )
        for event in kernels
    ]


def _is_kernel(event: Any) -> bool:
    return event.device_type().name == "CUDA" and not event.name().startswith(_COPIES)
