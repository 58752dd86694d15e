"""Types of the native module (csrc/bindings.cpp). All times are milliseconds."""

from collections.abc import Callable, Sequence
from typing import Protocol

class _Trial(Protocol):
    """What is timed: only ``launch`` lies between START and END. ``before`` and ``after`` may be None."""

    @property
    def launch(self) -> Callable[[], object]: ...
    @property
    def before(self) -> Callable[[], object] | None: ...
    @property
    def after(self) -> Callable[[], object] | None: ...

class DeviceError(RuntimeError):
    """A call into the device's library that failed: its name, its code and the library's own message."""

    call: str
    code: int
    detail: str

class LibraryError(RuntimeError):
    """The runtime library is missing or lacks a function."""

class DeviceRuntime:
    """What the measuring loop needs of a device."""

class AclRuntime(DeviceRuntime):
    """The Ascend runtime library. Constructing it loads the library, or finds the one torch_npu has loaded."""

    def __init__(self, library: str = "libascendcl.so") -> None: ...
    @property
    def library_path(self) -> str: ...
    @property
    def simulator_version(self) -> str | None:
        """Version of the simulated CANN, or None on a real one."""

class CudaRuntime(DeviceRuntime):
    """The CUDA driver. Constructing it loads the library, or finds the one torch has loaded."""

    def __init__(self, library: str = "libcuda.so.1") -> None: ...

def choose_gate(runtime: DeviceRuntime) -> tuple[str, str]:
    """The kind of the first gate that holds and releases a stream (empty if none does), and what is wrong with those
    before it. Takes a few milliseconds, a few seconds where a gate does not release."""

class Run:
    """The samples of one call, column by column, in the order they were taken."""

    @property
    def trials(self) -> list[int]: ...
    @property
    def kernel_ms(self) -> list[float]: ...
    @property
    def iteration_ms(self) -> list[float]: ...
    @property
    def places(self) -> list[int]:
        """The place of each sample in the order that was asked for."""
    @property
    def gated(self) -> bool:
        """Whether all samples were taken behind a gate."""
    @property
    def rejected(self) -> list[int]:
        """The trial of each sample whose times were zero, negative or not finite."""
    @property
    def host_ms(self) -> float:
        """Wall time of the whole call; for information, never for a decision."""

class EventTimer:
    """Takes samples of trials between events on the caller's stream.

    ``flush`` queues the work that empties the caches, or is None. ``stream`` returns the raw handle of the caller's
    current stream after draining the framework's own queue; it is called before every record. ``in_flight`` samples
    are queued before the device is waited for. ``gate``: kind of the gate behind which they are, empty for none. A gate
    that is held for ``gate_limit_ms`` (1 to 1999) is opened and not used again; what was queued is taken once more.
    ``prime``: each piece begins with a launch that is not timed. ``trail`` queues what follows the last sample of a
    piece behind the gate; without it that is a flush, or a launch where ``prime`` is set.
    """

    def __init__(
        self,
        runtime: DeviceRuntime,
        flush: Callable[[], object] | None,
        stream: Callable[[], int],
        in_flight: int = 64,
        gate: str = "",
        prime: bool = False,
        gate_limit_ms: int = 500,
        trail: Callable[[], object] | None = None,
    ) -> None: ...
    def run(self, trials: Sequence[_Trial], order: Sequence[int], gated: bool = True) -> Run:
        """One sample of ``trials[i]`` for each ``i`` in ``order``. What a callable raises comes out unchanged."""
    @property
    def gate_expired(self) -> bool:
        """Whether the gate has been held past its limit."""
    @property
    def interruption(self) -> tuple[int, str] | None:
        """Where the last run ended early: the trial, and one of before, flush, launch, after, record, synchronize."""
    @property
    def events_created(self) -> int: ...
    @property
    def events_idle(self) -> int: ...

class Hits:
    """The calls of one tuner that are launched without its general path; see triton_ascend_tune/dispatch.py.

    ``hits(tuner, *args, grid=..., warmup=..., **keywords)`` does what the tuner's ``run`` does.
    """

    touch: Callable[[tuple[object, ...]], object] | None
    """Called with the key of each winner that is used."""

    def __init__(
        self,
        driver: object,
        active: object,
        current_device: Callable[[], int],
        keys: object,
        run: Callable[..., object],
        subscript: Callable[..., object],
    ) -> None:
        """The hits hold while ``driver.active`` is ``active`` and the tuner's ``keys`` are ``keys``.

        ``run``: what the tuner's ``run`` must be for ``tuner[grid](...)`` to come here; otherwise that goes the way of
        ``subscript``, the stock ``__getitem__``.
        """

    @property
    def active(self) -> object: ...
    def __call__(self, tuner: object, *args: object, **keywords: object) -> object: ...
    def launcher(self, tuner: object, grid: object) -> Callable[..., object]:
        """What ``tuner[grid]`` returns."""

    def learn(
        self,
        args: tuple[object, ...],
        keywords: dict[str, object],
        device: int,
        limit: int,
        parts: Callable[[], tuple[tuple[int, int], ...]],
        hit: Callable[[], tuple[object, ...] | None],
    ) -> bool:
        """Makes a call a hit; False if it cannot be one.

        ``limit``: so many hits of one way of calling make room for new ones. ``parts``: called for a new way of
        calling. ``hit``: called if the call's key can be told; None for no hit.
        """

    def forget(self, key: tuple[object, ...]) -> None:
        """Drops all hits on the winner with this key."""

    def count(self) -> int:
        """How many calls are hits."""
