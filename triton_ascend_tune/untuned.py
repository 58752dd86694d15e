"""A config without measuring, where a program does not let a tuning run: a server's first request, a minor kernel.

In this order: what earlier tunings have stored for the same thing; the config that the program names; the first
candidate that compiles. Nothing is measured, and at most what is launched is compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from triton_ascend_tune import choose, contest, program_options
from triton_ascend_tune.candidates import rounds
from triton_ascend_tune.compile import Compiled
from triton_ascend_tune.key import Key
from triton_ascend_tune.launch import Call, merge
from triton_ascend_tune.memory import open_memory
from triton_ascend_tune.plan import Place, Plan
from triton_ascend_tune.prune import Pruned
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.stock import user_bench
from triton_ascend_tune.tuning import candidates_of, first_that_works
from triton_ascend_tune.values import Candidate, Status

_log = logging.getLogger("triton_ascend_tune")


def config(tuner: Any, pruned: Pruned, call: Call, key: Key, plan: Plan, place: Place, stages: Stages) -> Any:
    """The config to launch ``call`` with. Raises what stands in the way of launching the last resort."""
    source, chosen = "stored", _stored(tuner, pruned, call, key, plan, place, stages)
    if chosen is None:
        source, chosen = "named by the program", program_options.of(tuner).get(program_options.FALLBACK)
    if chosen is None:
        source, chosen = "the first that compiles", first_that_works(tuner, pruned.survivors, call)
    _log.info("kernel %s: nothing is measured; launched with %s (%s)", plan.kernel, chosen, source)
    return chosen


def _stored(tuner: Any, pruned: Pruned, call: Call, key: Key, plan: Plan, place: Place, stages: Stages) -> Any:
    """What a tuning would choose that finds all its results on disk; None if it would find none."""
    hooks, protocol = tuner._hooks(), tuner._protocol()
    method = user_bench(tuner) or protocol

    def arguments(candidate: Candidate) -> dict[str, Any]:
        return {**call.named, **merge(call.keywords, candidate.kwargs, tuner.arg_names)}

    def refuse(chosen: Sequence[Candidate], _: Any) -> list[Compiled]:
        return [Compiled(candidate, error=LookupError("nothing is stored")) for candidate in chosen]

    with stages.of("store"):
        memory = open_memory(tuner, plan, place, key, arguments, method, not hooks.change_arguments)
    if not memory.keeps_times:
        return None
    steps = contest.Steps(lambda _: None, lambda _: "", refuse, _never, one_by_one=False, resumable=False)
    candidates = candidates_of(tuner, pruned.survivors)
    settled = contest.settle(candidates, memory, steps, stages)
    if pruned.proposal is not None:
        settled = rounds.go_on(settled, pruned.proposal, memory, steps, stages)
        candidates = [outcome.candidate for outcome in settled.outcomes]
    if not any(outcome.status is Status.TIMED for outcome in settled.outcomes):
        return None
    verdict = choose.choose(settled.outcomes, protocol, plan.kernel)
    return choose.preferred(verdict, memory.winner(candidates)).winner.candidate.config


def _never(chosen: Sequence[Candidate], _: Any) -> Any:
    raise AssertionError(f"{len(chosen)} candidates were compiled where none is")
