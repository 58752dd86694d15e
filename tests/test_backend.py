"""The backend that Triton discovers: legal by Triton's own rules, out of every choice, and useful for benchmarks."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

if importlib.util.find_spec("triton") is None:
    pytest.skip("needs a Triton", allow_module_level=True)

PRELUDE = """
import triton
from types import SimpleNamespace
import triton_ascend_tune.backend.compiler as compiler, triton_ascend_tune.backend.driver as driver
"""


def test_each_module_holds_the_one_concrete_class_that_discovery_wants(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + """
from triton.backends import _find_concrete_subclasses, BaseBackend, DriverBase
found = _find_concrete_subclasses(compiler, BaseBackend), _find_concrete_subclasses(driver, DriverBase)
report([cls.__name__ for cls in found])
"""
    )
    assert result == ["AscendTuneBackend", "AscendTuneDriver"]


def test_it_is_never_chosen(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + """
from triton.backends.compiler import GPUTarget
targets = [GPUTarget("npu", "Ascend910B2", 0), GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)]
report([driver.AscendTuneDriver.is_active(), [compiler.AscendTuneBackend.supports_target(t) for t in targets]])
"""
    )
    assert result == [False, [False, False, False]]


def test_using_it_for_what_it_cannot_do_says_so(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + """
backend = object.__new__(compiler.AscendTuneBackend)
calls = [lambda: driver.AscendTuneDriver().get_current_target(),
         lambda: driver.AscendTuneDriver().map_python_to_cpp_type("i32"),
         backend.hash, lambda: backend.parse_options({}), lambda: backend.add_stages({}, None),
         lambda: backend.load_dialects(None), backend.get_module_map]
messages = []
for call in calls:
    try:
        call()
    except NotImplementedError as error:
        messages.append(str(error))
report(messages)
"""
    )
    assert len(result) == 7
    assert all("ascend_tune" in message for message in result)


def test_the_flush_buffer_is_192_mib_on_the_active_device_and_is_cleared(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + """
import torch
class Active:  # a device that every machine has
    def get_active_torch_device(self): return torch.device("cpu")
triton.runtime.driver.set_active(Active())
ours = driver.AscendTuneDriver()
cache = ours.get_empty_cache_for_benchmark()
cache.fill_(1)
ours.clear_cache(cache)
report([str(cache.dtype), cache.numel() * cache.element_size(), str(cache.device), int(cache.sum()),
        ours.get_device_interface() is torch.cpu])
"""
    )
    assert result == ["torch.int32", 192 * 1024 * 1024, "cpu", 0, True]


@pytest.mark.parametrize(("backend", "device"), [("hip", "cuda:1"), ("cuda", "cuda:1")])
def test_the_torch_device_of_drivers_that_do_not_name_it(backend: str, device: str, run_program: Any) -> None:
    """Triton 3.2's drivers have no ``get_active_torch_device``."""
    result = run_program(
        PRELUDE
        + f"""
class Active:
    def get_current_target(self): return SimpleNamespace(backend={backend!r}, arch="x")
    def get_current_device(self): return 1
triton.runtime.driver.set_active(Active())
report(str(driver.AscendTuneDriver().get_active_torch_device()))
"""
    )
    assert result == device


FAKE_DEVICE = """
from contextlib import contextmanager
from triton_ascend_tune.measure import device
from triton_ascend_tune.values import Conditions
class Timer:
    interruption, conditions = None, Conditions()
    def run(self, trials, order, gated=True):
        for index in order:
            trials[index].launch()
        places = list(range(len(order))) if USABLE else []
        return SimpleNamespace(trials=[order[p] for p in places], places=places, gated=gated, host_ms=1.0,
                               kernel_ms=[1.0 + 0.25 * (p % 5) for p in places], iteration_ms=[2.0] * len(places),
                               rejected=[] if USABLE else list(order))
class Device:
    @contextmanager
    def timer(self, protocol):
        flushes.append(protocol.flush_bytes)
        yield Timer()
flushes, calls = [], []
device.active_device = Device
bench = driver.AscendTuneDriver().get_benchmarker()
"""


def test_the_benchmarker_gives_quantiles_of_kernel_time_behind_flushes(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + "USABLE = True\n"
        + FAKE_DEVICE
        + """
times = bench(lambda: calls.append(1), quantiles=(0.5, 0.2, 0.8), warmup=20, rep=100)
report([times, flushes, len(calls)])
"""
    )
    times, flushes, calls = result
    assert times == pytest.approx([1.5, 1.2, 1.8])
    assert flushes == [192 * 1024 * 1024]
    assert calls == 1 + 5 + 10 + 50  # a first run, the estimate, then 20 ms and 100 ms of iterations of 2 ms


def test_the_benchmarker_fails_in_words_when_there_is_no_time(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + "USABLE = False\n"
        + FAKE_DEVICE
        + """
from triton_ascend_tune.measure.bench import MeasurementError
try:
    bench(lambda: None, quantiles=(0.5,))
except MeasurementError as error:
    report(str(error))
"""
    )
    assert "unusable readings" in result


def test_the_benchmarker_raises_what_the_call_raises(run_program: Any) -> None:
    result = run_program(
        PRELUDE
        + "USABLE = True\n"
        + FAKE_DEVICE
        + """
def call():
    raise KeyError("mine")
try:
    bench(call, quantiles=(0.5,))
except KeyError as error:
    report(error.args[0])
"""
    )
    assert result == "mine"
