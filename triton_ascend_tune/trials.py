"""Measures compiled candidates: each becomes a trial of the measuring engine, or a call of the user's ``do_bench``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from triton_ascend_tune import choose
from triton_ascend_tune.compile import Compiled
from triton_ascend_tune.failures import MAX_REASON, is_about_candidate, reason, stage_of
from triton_ascend_tune.hooks import Hooks
from triton_ascend_tune.labels import config_names
from triton_ascend_tune.launch import kernel_name
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.measure.faults import DeviceLostError
from triton_ascend_tune.values import Candidate, Choice, Outcome, Protocol, Samples, Stage, Status

#: ``measure.event.measure`` or the like: ``(trials, protocol, device, tolerated)`` gives a
#: ``measure.trial.Measurement``.
Measurer = Callable[..., Any]
#: A user's own timer: ``do_bench(call, quantiles=(0.5, 0.2, 0.8))`` returns a time or a sequence that starts with one.
DoBench = Callable[..., Any]

QUANTILES = (0.5, 0.2, 0.8)
FAILED_TIMINGS = float("inf")


class RefusedLaunch(Exception):  # noqa: N818 - it carries an error, and is none to report
    """Carries a candidate's own failure (its cause) through the measuring engine, apart from all other exceptions."""


#: What the engine may hold against a trial. RuntimeError is what devices report when they are waited for.
TOLERATED = (RefusedLaunch, RuntimeError)


@dataclass
class Entry:
    """One candidate in the contest: how it is launched, and what runs around the launch.

    ``arguments``: all arguments by name, as hooks get them. ``broken``: what a hook or the grid has raised.
    ``refused``: whether a launch has failed for the candidate's own sake. ``kernel_name``: the device's name of what
    was launched last, None as long as that is not known.
    """

    candidate: Candidate
    run: Callable[[], Any]
    arguments: dict[str, Any]
    hooks: Hooks
    broken: BaseException | None = None
    refused: bool = False
    kernel_name: str | None = None
    _pending: bool = field(default=False, repr=False)

    @property
    def has_hooks(self) -> bool:
        """Whether anything runs around the launch; if not, the engine need not leave its loop for it."""
        return self.hooks.active or self.candidate.config.pre_hook is not None

    def before(self) -> None:
        with self._user_code():
            if self.candidate.config.pre_hook is not None:
                self.candidate.config.pre_hook(self.arguments)
            self.hooks.before(self.arguments)
        self._pending = True

    def launch(self) -> Any:
        try:
            kernel = self.run()
        except Exception as error:
            self._pending = False
            with self._user_code():
                self.hooks.after(self.arguments, exception=error)
            if self.broken is None and is_about_candidate(error):
                self.refused = True
                raise RefusedLaunch from error
            raise
        if self.kernel_name is None:
            self.kernel_name = kernel_name(kernel)
        return kernel

    def after(self) -> None:
        self._pending = False
        with self._user_code():
            self.hooks.after(self.arguments)

    def watched(self, grid: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``grid`` for this entry's launches, whose errors are the caller's."""

        def ask(meta: Any) -> Any:
            with self._user_code():
                return grid(meta)

        return ask

    def abandon(self, error: BaseException) -> None:
        """Puts the tensors back if ``error`` ended the measuring between ``before`` and ``after``."""
        if self._pending:
            self._pending = False
            self.hooks.after(self.arguments, exception=error)

    def __call__(self) -> None:
        """The whole of it, as stock Triton hands it to ``do_bench``."""
        self.before()
        try:
            self.launch()
        except RefusedLaunch as refused:
            assert refused.__cause__ is not None
            raise refused.__cause__ from None
        self.after()

    @contextmanager
    def _user_code(self) -> Iterator[None]:
        """What hooks and grids raise is a bug in them, whatever its class, and no candidate's failure."""
        try:
            yield
        except BaseException as error:
            self.broken = self.broken or error
            raise


@dataclass(frozen=True)
class Measured:
    """One outcome for each entry, in order.

    ``choice``: the plan's; None if there is no plan (a user's timer, a profiler) or nothing was timed. ``protocol``:
    the one used, where it is another than the one asked for.
    """

    outcomes: list[Outcome]
    choice: Choice | None = None
    protocol: Protocol | None = None


def measure_candidates(
    entries: Sequence[Entry],
    protocol: Protocol,
    device: Any,
    measurer: Measurer,
    do_bench: DoBench | None = None,
    checkpoints: Checkpoints | None = None,
) -> Measured:
    """Measures ``entries``. With ``do_bench`` the user's own timer measures, one entry after the other.
    ``checkpoints``: those of a plan that can be taken up; only then does ``measurer`` get a fifth argument.

    Raised as they are: what a hook raised, and what a launch raised that is not about the candidate.
    """
    try:
        if do_bench is not None:
            return Measured([_by_user(entry, do_bench) for entry in entries])
        measured = _by_engine(entries, protocol, device, measurer, checkpoints)
    except DeviceLostError:
        raise  # and nothing can be put back there
    except BaseException as error:
        for entry in entries:
            entry.abandon(error)
        raise
    for entry in entries:
        # A post_hook that raises while a launch has failed: to the engine it looks like the launch's own error.
        if entry.broken is not None:
            raise entry.broken
    return measured


def failed(compiled: Compiled) -> Outcome:
    """The outcome of a candidate that did not compile."""
    assert compiled.error is not None
    return _failure(compiled.candidate, compiled.error, Stage.COMPILE)


def timings_of(outcomes: Sequence[Outcome]) -> dict[Any, Any]:
    """``configs_timings``: config -> [P50, P20, P80], three infinities for a failure, or what the user's timer
    returned.

    A config that cannot be hashed (Triton 3.5 and newer hash its contents) has no place in it.
    """
    timings: dict[Any, Any] = {}
    for outcome in outcomes:
        if outcome.status is Status.PRUNED:
            continue
        value = outcome.timings if outcome.status is Status.TIMED else [FAILED_TIMINGS] * len(QUANTILES)
        try:
            timings[outcome.candidate.config] = value
        except TypeError:
            continue
    return timings


def _by_engine(
    entries: Sequence[Entry], protocol: Protocol, device: Any, measurer: Measurer, checkpoints: Checkpoints | None
) -> Measured:
    from triton_ascend_tune.measure.trial import Trial

    if not entries:
        return Measured([])
    trials = [
        Trial(
            launch=entry.launch,
            before=entry.before if entry.has_hooks else None,
            after=entry.after if entry.has_hooks else None,
            name=name,
        )
        for entry, name in zip(entries, config_names(entries))
    ]
    more = () if checkpoints is None else (checkpoints,)
    measurement = measurer(trials, protocol, device, TOLERATED, *more)
    outcomes = [_outcome(entry.candidate, result) for entry, result in zip(entries, measurement.results)]
    return Measured(outcomes, _choice(measurement, outcomes), measurement.protocol)


def _choice(measurement: Any, outcomes: Sequence[Outcome]) -> Choice | None:
    decision = measurement.decision
    if decision is None or decision.winner is None:
        return None
    return Choice(
        winner=outcomes[decision.winner],
        ties=tuple(outcomes[index] for index in decision.ties),
        margin=decision.margin,
        stop=decision.stop.value,
        rounds=decision.rounds,
        whole_ms=decision.whole_ms,
        conditions=measurement.conditions,
    )


def _outcome(candidate: Candidate, result: Any) -> Outcome:
    if isinstance(result, Samples):
        return Outcome(candidate, Status.TIMED, samples=result, timings=result.triple)
    error = result.error
    if isinstance(error, RefusedLaunch) and error.__cause__ is not None:
        return _failure(candidate, error.__cause__, result.stage)
    return Outcome(candidate, Status.FAILED, result.stage, result.reason[:MAX_REASON], error=error)


def _by_user(entry: Entry, do_bench: DoBench) -> Outcome:
    try:
        timings = do_bench(entry, quantiles=QUANTILES)
    except Exception as error:
        # What devices report when they are waited for is a RuntimeError; whatever else a timer raises is a bug in it.
        about_candidate = is_about_candidate(error) and (entry.refused or isinstance(error, RuntimeError))
        if entry.broken is not None or not about_candidate:
            raise
        return _failure(entry.candidate, error, Stage.LAUNCH)
    if not choose.usable(timings):
        return Outcome(entry.candidate, Status.FAILED, Stage.MEASURE, f"do_bench returned {timings!r}: no finite time")
    return Outcome(entry.candidate, Status.TIMED, timings=timings)


def _failure(candidate: Candidate, error: BaseException, stage: Stage) -> Outcome:
    return Outcome(candidate, Status.FAILED, stage_of(error, stage), reason(error), error=error)
