"""Times between device events, by whichever plan the protocol names.

Two times are kept apart throughout. Kernel time is what is reported and decides. The time of a whole iteration (flush,
hooks, launch and the host's work included) sizes and bounds the loop: sized by kernel time alone, a kernel of 5 us
would be run twenty thousand times behind as many flushes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triton_ascend_tune.measure.checkpoints import Checkpoints, Resumable, failed_in, replay
from triton_ascend_tune.measure.device import Device
from triton_ascend_tune.measure.loop import PlanLoop
from triton_ascend_tune.measure.racing import Fixed, Race
from triton_ascend_tune.measure.stop_rule import Classic, Decision, StopRule
from triton_ascend_tune.measure.trial import Failure, Measurement, Trial
from triton_ascend_tune.values import Conditions, Progress, Protocol, Samples, Stage


def measure(
    trials: Sequence[Trial],
    protocol: Protocol,
    device: Device,
    tolerated: tuple[type[BaseException], ...] = (),
    checkpoints: Checkpoints | None = None,
) -> Measurement:
    """The samples of each trial, or why it has none, and what the plan chose.

    ``tolerated``: exception types that fail a trial alone, see ``loop.PlanLoop``. ``checkpoints``: where the rounds of
    this race are kept and from where it goes on. ValueError: no trials, or a protocol that is not one of events.
    """
    if protocol.method != "event":
        raise ValueError(f"protocol.method is {protocol.method!r}; measure by events allows: 'event'")
    plan = make_plan(protocol, len(trials))
    with device.timer(protocol) as timer:
        loop = PlanLoop(timer, trials, tolerated)
        if checkpoints is not None:
            taken = checkpoints.taken
            # What failed may have failed by chance, or by a device in trouble: if it works now, nothing that was taken
            # beside it counts.
            if not loop.all_fail(failed_in(taken)) or not replay(plan, taken):
                taken = Progress()
                plan = make_plan(protocol, len(trials))
            loop.gated = taken.gated
            plan = Resumable(plan, taken, checkpoints.keep, lambda: loop.gated and bool(timer.conditions.gate))
        loop.run(plan)
        conditions = timer.conditions
    if not loop.gated and conditions.gate:
        conditions = replace(conditions, gate="", ungated_because="a round was taken without it")
    return _measurement(plan.verdict(), loop, conditions)


def make_plan(protocol: Protocol, candidates: int) -> StopRule:
    """The plan that ``protocol`` names, over so many candidates."""
    if protocol.plan == "race":
        return Race(
            candidates,
            tolerance=protocol.tolerance,
            warmup_ms=protocol.warmup_ms,
            repeat_ms=protocol.repeat_ms,
            max_samples=protocol.max_samples,
            seed=protocol.seed,
        )
    if protocol.plan == "classic":
        return Classic(
            candidates,
            estimate_runs=protocol.estimate_runs,
            warmup_ms=protocol.warmup_ms,
            repeat_ms=protocol.repeat_ms,
            min_samples=protocol.min_samples,
            max_samples=protocol.max_samples,
        )
    if protocol.plan == "fixed":
        return Fixed(
            candidates,
            rounds=protocol.rounds,
            warmup_rounds=protocol.warmup_rounds,
            tolerance=protocol.tolerance,
            seed=protocol.seed,
        )
    raise ValueError(f"protocol.plan is {protocol.plan!r}; allowed: 'race', 'classic', 'fixed'")


def _measurement(decision: Decision, loop: PlanLoop, conditions: Conditions) -> Measurement:
    results: list[Samples | Failure] = []
    for lane in decision.lanes:
        if lane.index in loop.failures:
            results.append(loop.failures[lane.index])
        elif lane.times_ms:
            results.append(Samples(lane.times_ms))
        else:
            results.append(Failure(Stage.MEASURE, lane.reason or "no usable time between events"))
    return Measurement(tuple(results), decision, conditions)
