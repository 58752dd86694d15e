"""What earlier tunings, of this process and of others, know about the candidates of a new one."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune import identity, settings, turns
from triton_ascend_tune.failures import lasts
from triton_ascend_tune.key import Key
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.once import tell_once
from triton_ascend_tune.records import NotStorableError, Race, canonical
from triton_ascend_tune.store import Store, failures
from triton_ascend_tune.values import Candidate, Outcome, Progress, Protocol, Stage, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.plan import Place, Plan

_log = logging.getLogger("triton_ascend_tune")


@dataclass
class Memory:
    """The memory of one tuning.

    ``store``: the times on disk; None if nothing is kept there. ``compiled_as``: names what is compiled for a
    candidate, None where that cannot be told. ``toolchain``: that of the stored failures; None for this process alone.
    """

    kernel: str
    store: Store | None
    compiled_as: Callable[[Candidate], str | None]
    toolchain: str | None
    method: str | None = None
    _races: set[str] = field(default_factory=set)

    @property
    def keeps_times(self) -> bool:
        return self.store is not None

    def turn(self, plan: str, candidates: Sequence[Candidate]) -> AbstractContextManager[None]:
        """Keeps other processes from tuning the same thing meanwhile; waits for them first, and knows their results.

        There is nothing to wait for where the choice among ``candidates`` is stored. Not with the fixed ``plan``: its
        kernels may wait for the very process that would wait for the turn.
        """
        waits = self.store is not None and plan != "fixed" and self.winner(candidates) is None
        path = self.store.lock() if self.store is not None and waits else None
        return turns.if_possible(path, turns.TUNING_PATIENCE_S, f"tuning kernel {self.kernel}")

    def times(self, candidates: Sequence[Candidate]) -> dict[int, Outcome]:
        """Place in ``candidates`` -> the stored time."""
        if self.store is None:
            return {}
        found = ((place, self.store.find(candidate)) for place, candidate in enumerate(candidates))
        return {place: outcome for place, outcome in found if outcome is not None}

    def failed_before(self, candidate: Candidate) -> Outcome | None:
        """The failure of ``candidate``, if compiling the same thing is known to fail."""
        if self.toolchain is None and not failures.any:
            return None
        name = self.compiled_as(candidate)
        reason = failures.find(name, self.toolchain, self.kernel) if name is not None else None
        return Outcome(candidate, Status.FAILED, Stage.COMPILE, reason) if reason is not None else None

    def remember(self, outcome: Outcome) -> None:
        """Called as soon as ``outcome`` is known."""
        if outcome.status is Status.TIMED and self.store is not None:
            # Where events took the place of a profiler, the time belongs to another protocol than the one asked for.
            if outcome.samples is None or outcome.samples.method == self.method:
                self.store.add(outcome)
        elif outcome.status is Status.FAILED and outcome.error is not None and lasts(outcome.error):
            name = self.compiled_as(outcome.candidate)
            if name is not None:
                failures.add(name, outcome, self.toolchain, self.kernel)

    def unfinished(self, candidates: Sequence[Candidate], times: Collection[int]) -> Race | None:
        """What is kept of a race among exactly these ``candidates`` whose results are not all stored.

        ``times``: the places of the stored ones. Results come after the end of a race; if there are some of one that is
        not over, another tuning has settled its candidates, and they are not measured again.
        """
        name = self.store.race_name(candidates) if self.store is not None else None
        if self.store is None or name is None or self.store.winner(candidates) is not None:
            return None
        self._races.add(name)
        race = self.store.race(name, len(candidates))
        if race is None or race.progress.over:
            return race
        return None if any(place in times for group in race.racers for place in group) else race

    def checkpoints(
        self, candidates: Sequence[Candidate], racers: tuple[tuple[int, ...], ...], before: Race | None
    ) -> Checkpoints | None:
        """Where the rounds of a race go; None if they are not kept.

        ``racers``: as in ``Race``. ``before``: what is kept of an earlier race, taken up if it is among the same.
        """
        store, name = self.store, self.store.race_name(candidates) if self.store is not None else None
        if store is None or name is None:
            return None
        self._races.add(name)
        taken = before.progress if before is not None and before.racers == racers else Progress()
        return Checkpoints(taken, lambda progress: store.set_race(name, Race(racers, progress)))

    def end_races(self) -> None:
        """Removes what was kept of races whose results are all stored."""
        if self.store is not None:
            for name in self._races:
                self.store.remove_race(name)

    def winner(self, candidates: Sequence[Candidate]) -> Candidate | None:
        return self.store.winner(candidates) if self.store is not None else None

    def set_winner(self, winner: Outcome, candidates: Sequence[Candidate]) -> None:
        if self.store is not None:
            self.store.set_winner(winner, candidates)


def open_memory(
    tuner: Any,
    plan: Plan,
    place: Place,
    key: Key,
    arguments: Callable[[Candidate], Mapping[str, Any]],
    method: Protocol | Callable[..., Any],
    compiles_first: bool,
) -> Memory:
    """The memory of one tuning.

    ``arguments``: all arguments and keywords of a candidate's launch by name. ``method``: the protocol, or a user's
    own timer. ``compiles_first``: False where a hook may change what is compiled, so that failures cannot be named.
    """
    from triton_ascend_tune.stock import jit_function

    jit = jit_function(tuner.fn)

    def compiled_as(candidate: Candidate) -> str | None:
        if not compiles_first or candidate.config.pre_hook is not None:
            return None
        try:
            call = _with_heuristics(tuner.fn, arguments(candidate))
            return identity.compile_identity(identity.source_of(jit), plan.parameters, call, candidate, place.target)
        except NotStorableError:
            return None

    if not (getattr(tuner, "cache_results", False) or settings.cache_autotuning()):
        return Memory(plan.kernel, None, compiled_as, None)
    try:
        toolchain = _toolchain()
        how = canonical(dataclasses.asdict(method)) if isinstance(method, Protocol) else identity.bench_text(method)
        store = Store(
            identity.source_of(jit), plan.kernel, identity.key_text(key, place.label, place.target), toolchain, how
        )
    except NotStorableError as problem:
        tell_once(f"kernel {plan.kernel}: not stored on disk: {problem}")
        return Memory(plan.kernel, None, compiled_as, None)
    return Memory(plan.kernel, store, compiled_as, toolchain, getattr(method, "method", None))


def _with_heuristics(fn: Any, call: Mapping[str, Any]) -> dict[str, Any]:
    """``call`` with the values that heuristics below the tuner add. NotStorableError if one of them cannot."""
    merged = dict(call)
    while hasattr(fn, "fn"):
        for name, heuristic in (getattr(fn, "values", None) or {}).items():
            try:
                merged[name] = heuristic(merged)
            except Exception as error:
                raise NotStorableError(f"the heuristic for {name} fails: {error}") from None
        fn = fn.fn
    return merged


def _toolchain() -> str:
    from triton.runtime.driver import driver

    target = driver.active.get_current_target()
    return identity.toolchain(target, _simulator() if target.backend == "npu" else None)


def _simulator() -> str | None:
    """The version of the simulated CANN; None on a device, and where there is no CANN at all."""
    try:
        from triton_ascend_tune import _native

        return _native.AclRuntime().simulator_version
    except Exception as error:
        _log.debug("no CANN: %s", error)
        return None
