"""The method "profiler" of a tuning: one profiler session over all candidates, or events where there can be none.

A few rounds between events come first. They set aside candidates that fail, so that none fails inside of the session,
pay for what a first run alone pays, and give each candidate a second time to compare its records with.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from triton_ascend_tune.measure.profile_error import ProfileError
from triton_ascend_tune.measure.profiler import Profiler, Session, profile
from triton_ascend_tune.measure.trial import Failure, Measurement, Trial
from triton_ascend_tune.values import Conditions, Protocol, Samples

#: Rounds between events ahead of a session.
EVENT_ROUNDS = 5
EVENT_WARMUP_ROUNDS = 1

_log = logging.getLogger("triton_ascend_tune")


class ProfilerMethod:
    """Measures by the profiler, or by events where that cannot be."""

    def __init__(
        self,
        by_events: Callable[..., Measurement],
        open_profiler: Callable[[], Profiler],
        names: Callable[[], Sequence[str | None]],
        kernel: str = "",
    ) -> None:
        """``by_events``: ``measure.event.measure``. ``names``: of the kernels of all trials, known once each has run;
        ``kernel``: of the tuned one, for messages.
        """
        self._by_events = by_events
        self._open_profiler = open_profiler
        self._names = names
        self._kernel = kernel

    def measure(
        self,
        trials: Sequence[Trial],
        protocol: Protocol,
        device: Any,
        tolerated: tuple[type[BaseException], ...] = (),
    ) -> Measurement:
        """As ``measure.event.measure``, for a ``protocol`` whose method is "profiler".

        ``Measurement.protocol`` is the one used; its method is "event" where events had to do.
        """
        if len(trials) < 2:
            return self._events(trials, protocol, device, tolerated)
        try:
            profiler = self._open_profiler()
            if (reason := profiler.refusal()) is not None:
                return self._instead(reason, trials, protocol, device, tolerated)
            return self._profiled(profiler, trials, protocol, device, tolerated)
        except ProfileError as error:
            return self._instead(str(error), trials, protocol, device, tolerated)

    def _profiled(
        self,
        profiler: Profiler,
        trials: Sequence[Trial],
        protocol: Protocol,
        device: Any,
        tolerated: tuple[type[BaseException], ...],
    ) -> Measurement:
        brief = replace(by_events(protocol), plan="fixed", rounds=EVENT_ROUNDS, warmup_rounds=EVENT_WARMUP_ROUNDS)
        first = self._by_events(trials, brief, device, tolerated)
        sound = [place for place, result in enumerate(first.results) if isinstance(result, Samples)]
        if len(sound) < 2:
            return self._events(trials, protocol, device, tolerated)
        used = by_profiler(protocol)
        session = Session(used.warmup_rounds, used.rounds, used.flush_bytes)
        names = [name for place, name in enumerate(self._names()) if place in sound]
        taken = profile(profiler, [trials[place] for place in sound], lambda: names, session, tolerated)
        gate = f"gate: {first.conditions.gate}" if first.conditions.gate else ""
        results: list[Samples | Failure] = list(first.results)
        for place, samples in zip(sound, taken):
            event_samples = first.results[place]
            assert isinstance(event_samples, Samples)
            results[place] = replace(samples, events=replace(event_samples, note=gate))
        return Measurement(tuple(results), conditions=Conditions(flush_bytes=used.flush_bytes), protocol=used)

    def _instead(self, reason: str, trials: Sequence[Trial], protocol: Protocol, *rest: Any) -> Measurement:
        which = f"kernel {self._kernel}" if self._kernel else "a tuning"
        _log.warning("%s is measured between device events, not by the profiler: %s", which, reason)
        return self._events(trials, protocol, *rest)

    def _events(self, trials: Sequence[Trial], protocol: Protocol, *rest: Any) -> Measurement:
        used = by_events(protocol)
        return replace(self._by_events(trials, used, *rest), protocol=used)


def by_events(protocol: Protocol) -> Protocol:
    """``protocol`` with events in place of the profiler."""
    return replace(protocol, method="event", statistic="p50")


def by_profiler(protocol: Protocol) -> Protocol:
    """What of ``protocol`` holds for a session: a fixed number of runs, caches displaced by reading, no gate."""
    flush = "none" if protocol.flush == "none" or not protocol.flush_bytes else "read"
    flush_bytes = protocol.flush_bytes if flush == "read" else 0
    return replace(
        protocol, method="profiler", plan="fixed", flush=flush, flush_bytes=flush_bytes, gate=False, statistic="mean"
    )
