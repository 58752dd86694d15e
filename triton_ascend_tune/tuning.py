"""One tuning from its candidates to its winner, with everything about the call as local values.

Loaded at the first tuning: it brings the measuring parts with it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triton_ascend_tune import (
    choose,
    contest,
    flights,
    grid,
    isolation,
    losers,
    pool,
    prune,
    report,
    same_binary,
    settings,
    trials,
)
from triton_ascend_tune.candidates import rounds
from triton_ascend_tune.compile import Compiled, Revise, compile_candidates, compiles_ahead
from triton_ascend_tune.hooks import Hooks
from triton_ascend_tune.key import Key
from triton_ascend_tune.launch import Call, merge
from triton_ascend_tune.measure.checkpoints import Checkpoints
from triton_ascend_tune.memory import open_memory
from triton_ascend_tune.plan import Place, Plan
from triton_ascend_tune.prune import Pruned
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.stock import jit_function, user_bench
from triton_ascend_tune.values import Candidate, Verdict
from triton_ascend_tune.workers import worker_count


@dataclass(frozen=True)
class Tuning:
    """What a tuning found out.

    ``cache_hit``: everything was known already, nothing was compiled or measured. ``simulated``: whether it was
    measured on the simulated CANN; None if nothing was measured, or by a user's timer.
    """

    winner: Any
    timings: dict[Any, Any]
    seconds: float
    verdict: Verdict
    cache_hit: bool
    simulated: bool | None = None


@isolation.compilers()
def tune(tuner: Any, pruned: Pruned, call: Call, key: Key, plan: Plan, place: Place, stages: Stages) -> Tuning:
    """Finds out what is not known of the survivors, chooses, and runs the hooks that belong to a tuning."""
    start, begun = time.perf_counter(), time.time()
    protocol, do_bench, hooks = tuner._protocol(), user_bench(tuner), tuner._hooks()
    candidates = candidates_of(tuner, pruned.survivors)
    simulated, used = None, protocol

    def keywords(candidate: Candidate) -> dict[str, Any]:
        return merge(call.keywords, candidate.kwargs, tuner.arg_names)

    def arguments(candidate: Candidate) -> dict[str, Any]:
        return {**call.named, **keywords(candidate)}

    def entry(candidate: Candidate) -> trials.Entry:
        launched = keywords(candidate)
        run = functools.partial(tuner._launch, call.args, launched)
        made = trials.Entry(candidate, run, arguments(candidate), hooks)
        if callable(launched.get("grid")):
            launched["grid"] = made.watched(launched["grid"])
        return made

    def measure(chosen: Sequence[Candidate], checkpoints: Checkpoints | None) -> trials.Measured:
        nonlocal simulated, used
        entries = [entry(each) for each in chosen]
        if do_bench is not None:
            return trials.measure_candidates(entries, protocol, None, tuner.measurer, do_bench)
        device = tuner.open_device()
        simulated = getattr(device, "simulated", None)
        with flights.device(place.label, getattr(device, "physical", None)):
            measurer = tuner._measurer_of(protocol, entries)
            measured = trials.measure_candidates(entries, protocol, device, measurer, checkpoints=checkpoints)
        used = measured.protocol or protocol
        return measured

    def compile_all(chosen: Sequence[Candidate], revise: Revise | None) -> list[Compiled]:
        done = _compile(tuner, chosen, call, hooks, revise)
        kernels.update({id(each.candidate.config): each.kernel for each in done})
        return done

    def compilation(candidate: Candidate) -> Hashable | None:
        hooked = candidate.config.pre_hook is not None or hooks.change_arguments
        if hooked or place.backend != "npu" or jit_function(tuner.fn) is not tuner.fn:
            return None  # heuristics may read any option
        return same_binary.compilation(candidate.kwargs, call.keywords, tuner.arg_names)

    kernels: dict[int, Any] = {}
    keeps_all = settings.keep() == settings.ALL
    compiles_first = not hooks.change_arguments
    with stages.of("store"):
        memory = open_memory(tuner, plan, place, key, arguments, do_bench or protocol, compiles_first)
    steps = contest.Steps(
        grid=lambda each: grid.grid_of(call.keywords.get("grid"), plan.bound(arguments(each))),
        refused=lambda value: grid.refused(value, place.target, settings.spreads_blocks()),
        compile=compile_all,
        measure=measure,
        one_by_one=do_bench is not None or (protocol.plan, protocol.method) == ("classic", settings.EVENT),
        compilation=compilation,
        resumable=do_bench is None and (protocol.plan, protocol.method) == ("race", settings.EVENT),
    )
    with memory.turn(protocol.plan, candidates):
        settled = contest.settle(candidates, memory, steps, stages, pruned.proposal)
        if pruned.proposal is not None:
            settled = rounds.go_on(settled, pruned.proposal, memory, steps, stages)
            candidates = [outcome.candidate for outcome in settled.outcomes]
        with stages.of("choose"):
            if not settled.all_known and settings.print_autotuning():
                report.StockLines(tuner.stock).candidates(plan.kernel, settled.outcomes)
            dropped = prune.as_outcomes(pruned, lambda config: candidates_of(tuner, [config])[0])
            verdict = choose.choose(settled.outcomes, used, plan.kernel, dropped, settled.choice)
            if settled.all_known:
                verdict = choose.preferred(verdict, memory.winner(candidates))
        if not settled.all_known and used == protocol:
            with stages.of("store"):
                memory.set_winner(verdict.winner, candidates)
                memory.end_races()
    if not settled.all_known:
        hooks.reset(arguments(verdict.winner.candidate))
        if not keeps_all:
            losers.remove(kernels.values(), [kernels.get(id(verdict.winner.candidate.config))], begun)
    return Tuning(
        winner=verdict.winner.candidate.config,
        timings=trials.timings_of(settled.outcomes),
        seconds=time.perf_counter() - start,
        verdict=_without_errors(verdict),
        cache_hit=settled.all_known,
        simulated=simulated,
    )


@isolation.compilers()
def first_that_works(tuner: Any, survivors: Sequence[Any], call: Call) -> Any:
    """The first of ``survivors`` that can be compiled for ``call``; nothing is measured and nothing remembered."""
    for candidate in candidates_of(tuner, survivors):
        (compiled,) = _compile(tuner, [candidate], call, tuner._hooks())
        if compiled.error is None:
            return candidate.config
    return survivors[0]  # launching it says what is wrong


def candidates_of(tuner: Any, configs: Sequence[Any]) -> list[Candidate]:
    """``configs`` as candidates, with their places in the tuner's list; those that are not in it come last."""
    place_of = {id(config): index for index, config in reversed(list(enumerate(tuner.configs)))}
    extra = len(place_of)
    return [Candidate(place_of.get(id(config), extra), config, config.all_kwargs()) for config in configs]


def _compile(
    tuner: Any, candidates: Sequence[Candidate], call: Call, hooks: Hooks, revise: Revise | None = None
) -> list[Compiled]:
    """Compiles ahead what can be. Hooks that may change the arguments must run first, so those compile later."""
    ahead = compiles_ahead(tuner.fn) and not hooks.change_arguments

    def compile_one(candidate: Candidate) -> Any:
        if not ahead or candidate.config.pre_hook is not None:
            return None
        return tuner._run(call.args, merge({**call.keywords, "warmup": True}, candidate.kwargs, tuner.arg_names))

    workers = worker_count(len(candidates)) if ahead else 1
    jit = jit_function(tuner.fn)
    in_threads = ahead and (workers > 1 or settings.compile_timeout() is not None)
    at_once = pool.promised(jit, workers) if in_threads and pool.can_promise(jit) else None
    # Two for each compiler, so that none waits for the one whose turn it is.
    return compile_candidates(candidates, compile_one, at_once, revise, ahead=2 * workers if at_once else 0)


def _without_errors(verdict: Verdict) -> Verdict:
    """``verdict`` without exceptions, whose tracebacks would keep the frames of the tuning alive with its tensors."""
    cleared = {id(outcome): replace(outcome, error=None) for outcome in verdict.outcomes}
    choice = verdict.choice
    if choice is not None:
        ties = tuple(cleared[id(outcome)] for outcome in choice.ties)
        choice = replace(choice, winner=cleared[id(choice.winner)], ties=ties)
    outcomes = [cleared[id(outcome)] for outcome in verdict.outcomes]
    return replace(verdict, winner=cleared[id(verdict.winner)], outcomes=outcomes, choice=choice)
