"""What one tuner needs at each launch and can be prepared once: how its key is built, and on which devices it acts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune import activation, dispatch
from triton_ascend_tune.key import Key, hashable, kernel_parameters, key_function, key_labels, refuse_surplus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.winners import Recency


@dataclass(frozen=True)
class Place:
    """Where a launch goes: a device of a target that this package tunes on. ``label`` names both in a key."""

    device: int
    target: str  # backend and architecture
    label: str

    @property
    def backend(self) -> str:
        return self.target.partition(":")[0]


class Plan:
    """The prepared part of a tuner's launches.

    ``hits``: the calls that need no general path any more (see ``dispatch``); None until the first is known.
    ``lone``: whether they were learnt while the tuner had one config. ``can_hit``: False where there can be none.
    ``recency``: when each choice was used last; None while their number is not limited.
    """

    hits: Any = None
    lone = False
    recency: Recency | None = None

    def __init__(
        self, keys: Any, base_fn: Any, arg_names: Any, fn: Any, maps: Any = None, more: Sequence[str] = ()
    ) -> None:
        """``keys`` is what the tuner got as ``key``: names, or (triton-ascend's generator) axes with their names.

        ``maps``: what ``key_mapping`` has left on the tuner. ``more``: names that belong into the key besides.
        """
        from triton.runtime.driver import driver

        self.keys = keys
        self.given_names = named = tuple(keys.values() if isinstance(keys, Mapping) else keys or ())
        self.names = (*named, *(name for name in more if name not in named))
        self.kernel = base_fn.__name__
        self.parameters = kernel_parameters(base_fn, arg_names)
        self.maps: Mapping[str, Any] = maps or {}
        self.key = key_function(self.parameters, self.names, self.kernel, self.maps)
        self.can_hit = dispatch.can_hit(self)
        self._labels = key_labels(self.parameters, self.names)
        self.driver = driver
        self._interpreted = _is_interpreted(fn)
        self._places: dict[int, tuple[Any, Place | None]] = {}

    def place(self) -> Place | None:
        """The current device, or None where the tuner must behave as stock. Decided once for a device and driver."""
        try:
            active = self.driver.active
            device = active.get_current_device()
        except Exception:
            return None  # no driver at all: stock Triton says so in its own words, or gets along without one
        known = self._places.get(device)
        if known is None or known[0] is not active:
            known = self._places[device] = (active, self._decide(active, device))
            self.hits = None  # they ask the driver that they were made with
        return known[1]

    def hashable(self, key: Key) -> Key:
        """``key`` with unhashable values settled; TypeError names the argument where that cannot be done."""
        return hashable(key, self._labels, self.kernel)

    def refuse_surplus(self, args: Sequence[Any]) -> None:
        """TypeError, in Python's own words, for more positional arguments than the kernel has."""
        refuse_surplus(self.parameters, args, self.kernel)

    def limited(self) -> Recency:
        """``recency``, kept from now on."""
        from triton_ascend_tune.winners import Recency

        if self.recency is None:
            self.recency = Recency()
            if self.hits is not None:
                self.hits.touch = self.recency.touch
        return self.recency

    def bound(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's arguments by name, of those in ``given`` and the defaults of the others."""
        defaults = {p.name: p.default for p in self.parameters if p.default is not inspect.Parameter.empty}
        names = {p.name for p in self.parameters}
        return {**defaults, **{name: value for name, value in given.items() if name in names}}

    def varying(self, keys: Iterable[Key]) -> list[tuple[str, int]]:
        """The parts of ``keys`` that differ and how many values they have, most first."""
        columns = zip(self._labels, zip(*keys))
        counts = [(label, len(set(column))) for label, column in columns]
        return sorted(((label, count) for label, count in counts if count > 1), key=lambda each: -each[1])

    def required(self) -> list[str]:
        """The arguments that a launch must give a value to."""
        return [parameter.name for parameter in self.parameters if parameter.required]

    def _decide(self, active: Any, device: int) -> Place | None:
        if self._interpreted or not activation.acts_now():
            return None
        target = active.get_current_target()
        name = f"{target.backend}:{target.arch}"
        return Place(device, name, f"{name}:{device}")

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """A copied tuner prepares its own; drivers and generated functions are not for copying."""
        return


def _is_interpreted(fn: Any) -> bool:
    while not inspect.isfunction(getattr(fn, "fn", lambda: None)):
        fn = fn.fn
    return type(fn).__name__ == "InterpretedFunction"
