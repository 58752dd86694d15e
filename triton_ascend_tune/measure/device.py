"""The active device, as far as measuring needs it: a timer on the caller's current stream, and a wait.

torch and Triton are imported when a device is asked for, never before.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton_ascend_tune import settings
from triton_ascend_tune.measure.calibration import Calibration, calibrate
from triton_ascend_tune.measure.faults import DeviceLostError, defect, first_line
from triton_ascend_tune.measure.flush import make_flush
from triton_ascend_tune.measure.timer import Timer
from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import Conditions, Protocol

if TYPE_CHECKING:
    from triton_ascend_tune import _native

#: int32 items that a calibration writes: 1 MiB, some microseconds on any device.
_WORK_ITEMS = 1 << 18
#: Small launches behind the last sample of a piece on NVIDIA GPUs. On an H200 a kernel of 7 us reads 0.5 us longer as
#: long as eight or more launches are queued behind it; with sixteen every sample has them. See docs/measurement.md.
_CUDA_TRAILING_LAUNCHES = 16

#: (type of the runtime, number of the device, whether with a gate) -> what was found out about it once.
_calibrations: dict[tuple[str, int, bool], Calibration] = {}


class Device(ABC):
    """One device that can be measured on."""

    #: True where the runtime library says that it is the simulated CANN. Reports of times must say so.
    simulated: bool = False
    #: The device's name on this machine, under which processes take turns; None if no other process can be on it.
    physical: str | None = None

    @abstractmethod
    def timer(self, protocol: Protocol) -> AbstractContextManager[Timer]:
        """A timer with the flush and the gate of ``protocol``. The flush buffer exists once, until the context ends.

        ``calibration.UnusableClockError`` if events give no times on this device, ``faults.DeviceLostError`` if it does
        not work (any more).
        """

    @abstractmethod
    def synchronize(self) -> None:
        """Waits until the device has nothing left to do. RuntimeError if work that was queued has failed."""


class DeviceTimer:
    """The native timer, and under which conditions it measures.

    ``defect``: tells after a failure why the device is lost, "" if it is not. If it is, ``run`` raises DeviceLostError,
    and ``interruption`` blames no trial: whatever is launched from then on fails too, or worse, seems not to.
    """

    def __init__(self, native: _native.EventTimer, conditions: Conditions, defect: Callable[[], str]) -> None:
        self._native = native
        self._conditions = conditions
        self._defect = defect
        self._lost = False

    def run(self, trials: Sequence[Trial], order: Sequence[int], gated: bool = True) -> _native.Run:
        try:
            return self._native.run(trials, order, gated)
        except Exception as error:
            if not (found := self._defect()):
                raise
            self._lost = True
            index = self._native.interruption[0] if self._native.interruption else order[0]
            raise DeviceLostError(
                f"the device is lost ({found}) since {trials[index].name or 'a candidate'} was launched: "
                f"{first_line(error)}. Nothing that was measured just now is kept; start a new process."
            ) from (error.__cause__ or error)

    @property
    def interruption(self) -> tuple[int, str] | None:
        return None if self._lost else self._native.interruption

    @property
    def conditions(self) -> Conditions:
        if not self._native.gate_expired:
            return self._conditions
        reason = "a launch waited for the device behind the closed gate"
        return replace(self._conditions, gate="", ungated_because=reason)


class TorchDevice(Device):
    """A device of torch; what differs between vendors is given to the constructor.

    ``module``: ``torch.npu`` or ``torch.cuda``. ``stream``: returns the raw handle of the current stream when all that
    was queued so far has been handed to the device. ``driver``: Triton's, asked for its flush buffer; None to allocate.
    """

    def __init__(
        self, name: str, module: Any, stream: Callable[[], int], runtime: _native.DeviceRuntime, driver: Any
    ) -> None:
        self._name = name
        self._module = module
        self._stream = stream
        self._runtime = runtime
        self._driver = driver

    def trail(self) -> Callable[[], object] | None:
        """What follows the last sample of a piece behind the gate; None: a flush or a launch will do."""
        return None

    @contextmanager
    def timer(self, protocol: Protocol) -> Iterator[Timer]:
        from triton_ascend_tune import _native

        if reason := defect(self._allocate):
            raise DeviceLostError(f"nothing can be measured: the device is lost ({reason}); start a new process")
        known = self._calibration(protocol.gate)
        flush = make_flush(self._driver, protocol.flush, protocol.flush_bytes, self._allocate)
        prime = protocol.flush == "none"
        native = _native.EventTimer(
            self._runtime, flush.call, self._stream, gate=known.gate, prime=prime, trail=self.trail()
        )
        conditions = Conditions(known.gate, known.problem, flush.nbytes, known.event_overhead_ms)
        yield DeviceTimer(native, conditions, functools.partial(defect, self._allocate))

    def synchronize(self) -> None:
        self._module.synchronize()

    def _calibration(self, use_gate: bool) -> Calibration:
        key = type(self._runtime).__name__, self._module.current_device(), use_gate
        if key not in _calibrations:
            work = self._allocate(_WORK_ITEMS).zero_
            _calibrations[key] = calibrate(self._runtime, self._stream, work, use_gate)
        return _calibrations[key]

    def _allocate(self, items: int) -> Any:
        import torch

        return torch.empty(items, dtype=torch.int32, device=self._name)


class NpuDevice(TorchDevice):
    """The current Ascend NPU, through torch_npu and the ACL library that it has loaded.

    Raises ``_native.LibraryError`` where that library is missing.
    """

    def __init__(self, driver: Any) -> None:
        """``driver``: Triton's active driver."""
        import torch
        import torch_npu

        from triton_ascend_tune import _native

        # Fetching the stream this way first waits until torch_npu's task queue has handed everything to the device.
        # Its NoWait sibling does not, and a handle that was fetched earlier cannot: with either, events that are
        # recorded directly overtake launches that are still in that queue.
        stream = functools.partial(torch_npu._C._npu_getCurrentRawStream, torch.npu.current_device())
        runtime = _native.AclRuntime()
        super().__init__("npu", torch.npu, stream, runtime, driver)
        self.simulated = runtime.simulator_version is not None
        if not self.simulated:  # every process simulates devices of its own
            self.physical = settings.physical_npu(torch.npu.current_device())


class CudaDevice(TorchDevice):
    """The current NVIDIA GPU, through torch and the CUDA driver that it has loaded.

    Raises ``_native.LibraryError`` where that driver is missing.
    """

    def __init__(self) -> None:
        import torch

        from triton_ascend_tune import _native

        torch.cuda.init()
        device = torch.cuda.current_device()
        # Makes the device's primary context the thread's current one, in which the driver's functions work.
        torch.cuda.set_device(device)
        stream = functools.partial(torch._C._cuda_getCurrentRawStream, device)
        # Triton's own buffer is larger than the L2 cache of any GPU needs, and has another size than ours.
        super().__init__("cuda", torch.cuda, stream, _native.CudaRuntime(), driver=None)
        self.physical = f"cuda-{getattr(torch.cuda.get_device_properties(device), 'uuid', device)}"

    def trail(self) -> Callable[[], object]:
        small = self._allocate(1)

        def launch() -> None:
            for _ in range(_CUDA_TRAILING_LAUNCHES):
                small.zero_()

        return launch


def active_device() -> Device:
    """The device of Triton's active driver. ValueError names a target on which nothing can be measured."""
    from triton.runtime.driver import driver

    target = driver.active.get_current_target().backend
    if target == "npu":
        return NpuDevice(driver.active)
    if target == "cuda":
        return CudaDevice()
    raise ValueError(f"no event timing on target {target!r}; allowed: 'npu', 'cuda'")
