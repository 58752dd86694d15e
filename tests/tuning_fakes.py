"""A device that exists only as a table of times, under the real ``triton.jit`` of whichever Triton is installed.

Binding, specialisation, caching and launching are Triton's own; only the driver, the compiler's back end and the clock
are made up. Both a stock tuner and ours run on it, so that their behaviour can be compared.
"""

from __future__ import annotations

import collections
import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

# There need be no CANN for these tests, and torch would load torch_npu, which needs it.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch

del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
import triton
import triton.backends
import triton.compiler
import triton.language as tl
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver

from triton_ascend_tune import once, store
from triton_ascend_tune.classes import make_tuner_class
from triton_ascend_tune.measure import event
from triton_ascend_tune.measure.device import Device
from triton_ascend_tune.measure.stop_rule import Decision, Stop
from triton_ascend_tune.measure.trial import Failure, Measurement
from triton_ascend_tune.values import Conditions, Protocol, Samples, Stage

#: Whether the installed Triton has ``triton.knobs`` (3.4 and newer).
HAS_KNOBS = hasattr(triton, "knobs")
SAMPLES = 5
#: What blocks take in many tests, in ms.
TIMES = {16: 3.0, 32: 1.0, 64: 2.0}


class StockTuner(Autotuner):
    """The installed Triton's tuner as it is: a subclass with a ``run`` that does not call ``super()`` stays so."""

    run = inspect.unwrap(Autotuner.run)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, bias=None, BLOCK: tl.constexpr = 16, MODE: tl.constexpr = 0):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def copy_kernel(src, dst, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + offsets, tl.load(src + offsets, mask=offsets < n), mask=offsets < n)


class Kernel:
    """What the made-up compiler returns; ``settings``: constexprs and compile options by name."""

    def __init__(self, world: World, settings: dict[str, Any], options: dict[str, Any]) -> None:
        self.world, self.settings = world, settings
        self.function, self.packed_metadata = 1, ()
        self.kernel = world.binary(settings) if world.binary is not None else None
        self.metadata = collections.namedtuple("KernelMetadata", options)(**options)

    def launch_metadata(self, *_: Any) -> None:
        return None

    def _init_handles(self) -> None:
        self.world.check(self.world.launch_errors, self.settings)

    def run(self, grid_0: int, grid_1: int, grid_2: int, *rest: Any) -> None:
        self._init_handles()
        self.world.log.append(("launch", self.settings["BLOCK"]))
        self.world.last = self.settings
        if self.world.effect is not None:
            self.world.effect([value for value in rest if isinstance(value, torch.Tensor)])


def measurement(results: Sequence[Any]) -> Measurement:
    """``results`` (Samples or Failure) as a plan would hand them over: the lowest P50 wins, the first of equals."""
    timed = {index: result.p50 for index, result in enumerate(results) if isinstance(result, Samples)}
    winner = min(timed, key=lambda index: timed[index], default=None)
    others = [time for index, time in timed.items() if index != winner]
    decision = Decision(
        winner=winner,
        ties=tuple(index for index, time in timed.items() if winner is not None and time == timed[winner]),
        margin=min(others) / timed[winner] - 1.0 if winner is not None and others else None,
        stop=Stop.COUNT,
        rounds=SAMPLES,
        whole_ms=0.0,
        lanes=(),
    )
    return Measurement(tuple(results), decision)


class World:
    """One made-up device.

    ``times``: BLOCK -> P50 in ms, or a function of a kernel's settings. ``compile_errors``, ``launch_errors``: BLOCK
    -> exception. ``binary``: of a kernel's settings, if equal ones shall be told.
    ``log``: ("compile" | "launch", BLOCK) and whatever hooks of a test append. ``effect``: what a launch
    does to its tensors.
    """

    def __init__(self) -> None:
        self.times: Mapping[Any, float] | Callable[[dict[str, Any]], float] = {}
        self.compile_errors: dict[Any, BaseException] = {}
        self.launch_errors: dict[Any, BaseException] = {}
        self.binary: Callable[[dict[str, Any]], bytes] | None = None
        self.log: list[Any] = []
        self.last: dict[str, Any] = {}
        self.effect: Callable[[list[torch.Tensor]], None] | None = None
        self.device = 0
        self.target = "npu"
        self.arch = "Ascend910B3"
        self.protocols: list[Protocol] = []

    @staticmethod
    def check(errors: Mapping[Any, BaseException], settings: Mapping[str, Any]) -> None:
        if settings["BLOCK"] in errors:
            raise errors[settings["BLOCK"]]

    def compile(self, src: Any, target: Any = None, options: Any = None, **_: Any) -> Kernel:
        constants = {}
        for where, value in src.constants.items():
            constants[src.fn.arg_names[where[0]] if isinstance(where, tuple) else where] = value
        settings = {**(options or {}), **constants}
        self.log.append(("compile", settings["BLOCK"]))
        self.check(self.compile_errors, settings)
        return Kernel(self, settings, {"target": target, **(options or {})})

    def time(self) -> float:
        """What the kernel that was launched last takes, in ms."""
        return self.times(self.last) if callable(self.times) else self.times[self.last["BLOCK"]]

    def measure(
        self, trials: Sequence[Any], protocol: Protocol, device: Any, tolerated: Any, checkpoints: Any = None
    ) -> Measurement:
        """Stands in for the measuring engine."""
        self.protocols.append(protocol)
        return measurement([self._measure_one(trial, tolerated) for trial in trials])

    def _measure_one(self, trial: Any, tolerated: Any) -> Any:
        for _ in range(SAMPLES):
            if trial.before is not None:
                trial.before()
            try:
                trial.launch()
            except tolerated as error:
                return Failure(Stage.LAUNCH, f"{type(error).__name__}: {error}", error)
            if trial.after is not None:
                trial.after()
        return Samples((self.time(),) * SAMPLES)

    def bench(self, call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
        """A user's ``do_bench``, and what the made-up driver offers as benchmarker."""
        call()
        return [self.time()] * len(quantiles)

    def logged(self, what: str) -> list[Any]:
        return [block for kind, block in self.log if kind == what]


@dataclass
class Run:
    """The samples of one call of a ``Stopwatch``; see ``measure.timer.Run``."""

    places: list[int] = field(default_factory=list)
    kernel_ms: list[float] = field(default_factory=list)
    iteration_ms: list[float] = field(default_factory=list)
    gated: bool = True


class Stopwatch(Device):
    """For the real engine in place of ``World.measure``: reads a launch as ``world.time()``, without a clock.

    ``done``: called with the blocks of each round when all of it has been launched.
    """

    conditions = Conditions("fake", "", 1024, 0.0)

    def __init__(self, world: World, done: Callable[[list[Any]], None] = lambda blocks: None) -> None:
        self._world, self._done = world, done
        self.interruption: tuple[int, str] | None = None

    @contextmanager
    def timer(self, protocol: Protocol) -> Iterator[Stopwatch]:
        self._world.protocols.append(protocol)
        yield self

    def run(self, trials: Sequence[Any], order: Sequence[int], gated: bool = True) -> Run:
        run, blocks = Run(gated=gated), []
        for place, index in enumerate(order):
            self.interruption = (index, "launch")
            trials[index].launch()
            blocks.append(self._world.last["BLOCK"])
            run.places.append(place)
            run.kernel_ms.append(self._world.time())
            run.iteration_ms.append(run.kernel_ms[-1])
        if gated:
            self._done(blocks)
        return run

    def synchronize(self) -> None:
        return None


def with_engine(tuned: Any, device: Stopwatch) -> Any:
    """``tuned``, measuring with the real engine on ``device``."""
    tuned.measurer, tuned.open_device = event.measure, lambda: device
    return tuned


class FakeDriver:
    """As much of a driver as a launch asks for."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get_current_device(self) -> int:
        return self._world.device

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget(self._world.target, self._world.arch, 0)

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return self._world.bench


def _fake_backend() -> Any:
    """A back end that accepts the usual options; the triton-ascend wheel has a real one that needs no device."""
    from triton.backends.compiler import BaseBackend

    class Options:
        def __init__(self, given: Mapping[str, Any]) -> None:
            self.num_warps, self.num_ctas, self.num_stages, self.debug, self.multibuffer = 4, 1, 3, False, None
            self.instrumentation_mode, self.fpsan_homomorphic_casts = "", False
            self.num_buffers_warp_spec = self.num_consumer_groups = 0
            self.reg_dec_producer = self.reg_inc_consumer = 0
            self.__dict__.update({k: v for k, v in given.items() if k in self.__dict__})

        def hash(self) -> str:
            return repr(sorted(self.__dict__.items(), key=lambda item: item[0]))

    members: dict[str, Any] = {name: lambda *_: None for name in BaseBackend.__abstractmethods__}
    members["parse_options"] = lambda self, given: Options(given)
    members["hash"] = lambda self: "fake"
    members["supports_target"] = staticmethod(lambda target: True)
    return type("FakeBackend", (BaseBackend,), members)(None)


@contextmanager
def active(made: World) -> Iterator[None]:
    """Makes ``made`` the active device of this process, seen by tuners of ``tuner()`` and by ``StockTuner``."""
    replaced = []
    if "ascend" not in triton.backends.backends:
        replaced += [(module, "make_backend", lambda target: _fake_backend()) for module in _COMPILERS]
    replaced.append((triton.compiler, "compile", made.compile))
    originals = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    for module, name, value in replaced:
        setattr(module, name, value)
    before = driver.active if getattr(driver, "_active", None) is not None else None
    driver.set_active(FakeDriver(made))
    try:
        yield
    finally:
        # From Triton 3.5 on a driver may be asked for at any time; before, a default is made when it is used.
        driver.set_active(before) if hasattr(driver, "_active") else driver.reset_active()
        for module, name, value in originals:
            setattr(module, name, value)


_COMPILERS = (triton.compiler, triton.compiler.compiler)
_VARIABLES = (
    "TRITON_ASCEND_TUNE",
    "TRITON_ASCEND_TUNE_TARGETS",
    "TRITON_ASCEND_TUNE_WINNERS",
    "TRITON_BENCH_METHOD",
    "TRITON_PRINT_AUTOTUNING",
    "TRITON_CACHE_AUTOTUNING",
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[World]:
    """A made-up device as the active one, with an empty cache folder of its own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "1")  # compilations in the order of the candidates
    store.failures.forget()
    monkeypatch.setattr(once, "_told", set())
    made = World()
    with active(made):
        yield made


_names = itertools.count()


def fresh(kernel: Any) -> Any:
    """A JIT function of its own for the same source: the originals keep what they compiled, and on what, for good."""
    made = triton.jit(kernel.fn)
    made.number = next(_names)
    return made


def tuner(
    world: World, kernel: Any, configs: Any, key: Any = ("n",), cls: Any = None, jit: bool = True, **options: Any
) -> Any:
    """Our tuner over a fresh copy of ``kernel``, or one of class ``cls``. ``options``: of the constructor, by name."""
    cls = make_tuner_class(Autotuner) if cls is None else cls
    fn = fresh(kernel) if jit else kernel
    arguments = {"reset_to_zero": None, "restore_value": None, **options}
    made = cls(fn, fn.arg_names, configs, key, **arguments)
    made.measurer, made.open_device = world.measure, lambda: None
    return made


def blocks(*sizes: int, **options: Any) -> list[Any]:
    return [triton.Config({"BLOCK": size}, **options) for size in sizes]


def vectors(n: int = 64, dtype: Any = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.ones(n, dtype=dtype), torch.ones(n, dtype=dtype), torch.zeros(n, dtype=dtype)


def add(tuned: Any, n: int = 64, dtype: Any = torch.float32, **keywords: Any) -> Any:
    """Calls a tuned ``add_kernel``."""
    x, y, out = vectors(n, dtype)
    return tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, **keywords)
