"""The driver half of the backend: never active, so the device's own driver stays the single active one.

What it does offer is what a driver owes to benchmarking, for the device that *is* active: the buffer that is cleared
before each launch, the clearing, and the timing function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from triton.backends.driver import DriverBase

#: Triton's name of a target -> torch's name of its device type, where they differ.
_TORCH_DEVICE = {"hip": "cuda"}


class AscendTuneDriver(DriverBase):  # type: ignore[misc]
    """Launches nothing; see the module's text for what it is good for."""

    @classmethod
    def is_active(cls) -> bool:
        return False

    def get_current_target(self) -> NoReturn:
        self._refuse("has no target")

    def map_python_to_cpp_type(self, ty: str) -> NoReturn:
        self._refuse(f"generates no launchers (asked for the C++ type of {ty!r})")

    def get_active_torch_device(self) -> Any:
        """The torch device that the active driver launches on. RuntimeError if no driver is active."""
        import torch
        from triton.runtime.driver import driver

        if hasattr(driver.active, "get_active_torch_device"):
            return driver.active.get_active_torch_device()
        backend = driver.active.get_current_target().backend  # Triton 3.2
        return torch.device(_TORCH_DEVICE.get(backend, backend), driver.active.get_current_device())

    def get_device_interface(self) -> Any:
        """The torch module of the active device's type: ``torch.npu`` or ``torch.cuda``."""
        import torch

        return getattr(torch, self.get_active_torch_device().type)

    def get_empty_cache_for_benchmark(self) -> Any:
        """An int32 tensor of 192 MiB on the active device: writing it displaces the L2 cache of an Ascend NPU."""
        import torch

        from triton_ascend_tune.values import FLUSH_BYTES

        return torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        """Displaces what the device's L2 cache holds by overwriting ``cache``."""
        cache.zero_()

    def get_benchmarker(self) -> Callable[..., Any]:
        """The timing function in the form that Triton's autotuner asks its drivers for."""
        from triton_ascend_tune.measure.bench import do_bench

        return do_bench

    @staticmethod
    def _refuse(what: str) -> NoReturn:
        raise NotImplementedError(f"the driver of the backend ascend_tune {what}; it is never the active driver")
