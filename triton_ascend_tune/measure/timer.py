"""The clock behind every plan: takes samples in a given order and says nothing about how many.

``device.DeviceTimer`` is one; tests have another whose clock is a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from triton_ascend_tune.measure.trial import Trial
from triton_ascend_tune.values import Conditions

#: Steps of a sample, as ``Timer.interruption`` names them, that say something about the trial itself. The others
#: (before, after, flush) run code of the user or of this package.
TRIAL_STEPS = frozenset({"launch", "record", "synchronize"})


class Run(Protocol):
    """The samples of one call, column by column, in the order they were taken. Milliseconds.

    ``places`` are their places in the order that was asked for. ``kernel_ms`` is what a kernel took; ``iteration_ms``
    is from the end of the sample before to the end of this one (flush, hooks and the host's work included), also on the
    device's clock; what a gate, a first or a last launch costs is shared by the samples behind it. ``rejected`` holds
    the trial of each sample whose times were zero, negative or not finite; those are in no other column. ``gated``:
    whether all samples were taken behind a gate. ``host_ms`` is wall time, for information only.
    """

    @property
    def trials(self) -> Sequence[int]: ...
    @property
    def places(self) -> Sequence[int]: ...
    @property
    def kernel_ms(self) -> Sequence[float]: ...
    @property
    def iteration_ms(self) -> Sequence[float]: ...
    @property
    def rejected(self) -> Sequence[int]: ...
    @property
    def gated(self) -> bool: ...
    @property
    def host_ms(self) -> float: ...


class Timer(Protocol):
    """Takes one sample of ``trials[i]`` for each ``i`` in ``order``; what a callable raises comes out unchanged.

    ``gated=False`` leaves the gate open, for launches that may wait for the device.
    """

    def run(self, trials: Sequence[Trial], order: Sequence[int], gated: bool = True) -> Run: ...

    @property
    def interruption(self) -> tuple[int, str] | None:
        """Where the last run ended early: the trial and the step. None after a whole run."""

    @property
    def conditions(self) -> Conditions:
        """Gate, flush and event overhead as they are on this device by now."""
