"""What a tuning tells: log and report, stock Triton's listener and printed lines, the profile that a user asked for."""

from __future__ import annotations

import functools
import logging
import sys
from typing import Any

from triton_ascend_tune import report, settings, trials
from triton_ascend_tune.key import stock_key
from triton_ascend_tune.launch import Call, merge
from triton_ascend_tune.measure.bench_npu import keep_profile
from triton_ascend_tune.plan import Place, Plan
from triton_ascend_tune.stages import Stages
from triton_ascend_tune.stock import jit_function
from triton_ascend_tune.tuning import Tuning, candidates_of

_log = logging.getLogger("triton_ascend_tune")

#: So many tunings of one kernel in one process look like lengths that should share a choice.
MANY_TUNINGS = 32


def tell(tuner: Any, tuning: Tuning, call: Call, plan: Plan, place: Place, stages: Stages) -> None:
    """Called once for each tuning, when everything that programs read from ``tuner`` has been written."""
    kernel, measured = plan.kernel, not tuning.cache_hit
    key = stock_key(tuner.arg_names, plan.names, call.args, call.keywords)
    if measured and tuner._tunings == MANY_TUNINGS:
        _suggest_mapping(plan, tuner.cache)
    if measured and (settings.report() or _log.isEnabledFor(logging.INFO)):
        where = report.where(place.target, tuning.simulated)
        text = report.describe(tuning.verdict, kernel, tuning.seconds, where)
        _log.info("%s", text)
        if settings.report():
            print(f"{text}\n  {stages.line()}", flush=True)
    _log.debug("%s", stages)
    knobs = sys.modules.get("triton.knobs")
    listener = getattr(getattr(knobs, "autotuning", None), "listener", None)
    if listener is not None:
        listener(
            fn=jit_function(tuner.fn),
            key=key,
            best_config=tuning.winner,
            configs_timings=tuning.timings,
            duration=tuning.seconds if measured else None,
            cache_hit=tuning.cache_hit,
        )
    if measured and settings.print_autotuning():
        report.StockLines(tuner.stock).finished(kernel, key, tuning.seconds, tuning.winner)
    if measured and getattr(tuner, "auto_profile_dir", None) is not None:
        _leave_profile(tuner, tuning.winner, call)


def _suggest_mapping(plan: Plan, cache: dict[Any, Any]) -> None:
    """One warning for a kernel whose arguments keep changing, so that it is tuned again and again."""
    varying = ", ".join(f"{label} ({count} values)" for label, count in plan.varying(cache)[:3])
    _log.warning(
        "kernel %s has been tuned %d times in this process; its key differs in %s. If near values can share a "
        "choice, map them: triton_ascend_tune.key_map(%s='power_of_two')",
        plan.kernel,
        MANY_TUNINGS,
        varying or "nothing",
        varying.partition(" ")[0].partition(".")[0] or "name",
    )


def _leave_profile(tuner: Any, config: Any, call: Call) -> None:
    """Leaves a profile of ``config`` in the user's ``auto_profile_dir``, as triton-ascend's tuner does."""
    [candidate] = candidates_of(tuner, [config])
    launched = merge(call.keywords, candidate.kwargs, tuner.arg_names)
    run = functools.partial(tuner._launch, call.args, launched)
    entry = trials.Entry(candidate, run, {**call.named, **launched}, tuner._hooks())
    keep_profile(entry, tuner.auto_profile_dir)
