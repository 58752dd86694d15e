"""What a tuning tells: a table of all candidates, and the lines stock Triton prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from triton_ascend_tune import choose
from triton_ascend_tune.labels import config_names
from triton_ascend_tune.values import Choice, Outcome, Protocol, Samples, Status, Verdict

_US_PER_MS = 1000.0
#: Times between events over profiler records: from here on the time between events is mostly not the kernel's.
HOST_BOUND = 1.5


def table(verdict: Verdict) -> str:
    """One line for each candidate in the user's order: its P50 with P20 and P80, or where and why it has none.

    Of profiler records the mean, which decides, and what events say about the same candidate.
    """
    rows = [(name, *_result(outcome)) for name, outcome in zip(config_names(verdict.outcomes), verdict.outcomes)]
    width, result_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = []
    for outcome, (config, result, note) in zip(verdict.outcomes, rows):
        mark = "  <- winner" if outcome is verdict.winner else "  (tied)" if _tied(outcome, verdict) else ""
        lines.append(f"  {config:{width}}  {result:>{result_width}}  {note}{mark}".rstrip())
    return "\n".join(lines)


def describe(verdict: Verdict, kernel: str, seconds: float, where: str = "") -> str:
    """The table with a headline: kernel, ``where`` (device, "simulated"), protocol, duration, and how clear the
    choice was.
    """
    counts = {status: sum(outcome.status is status for outcome in verdict.outcomes) for status in Status}
    by_user = verdict.winner.samples is None
    how = "user's do_bench" if by_user else _how(verdict.protocol)
    ahead = "" if verdict.margin is None else _ahead(verdict.margin)
    found = _findings(verdict.choice) if verdict.choice is not None else ""
    place = f" on {where}" if where else ""
    return (
        f"{kernel}{place}: {len(verdict.outcomes)} configs, {counts[Status.TIMED]} timed ({how}), "
        f"{counts[Status.FAILED]} failed, {counts[Status.PRUNED]} pruned, {seconds:.2f} s{ahead}{found}\n"
        f"{table(verdict)}"
    )


def _how(protocol: Protocol) -> str:
    if protocol.method == "profiler":
        return f"profiler, {protocol.warmup_rounds} + {protocol.rounds} runs"
    return f"{protocol.method}, {protocol.plan} plan"


def where(target: str, simulated: bool | None) -> str:
    """``target``, marked where it is the simulated CANN: its times must never pass for a device's.

    None: find out, if the device can be opened.
    """
    if simulated is None:
        from triton_ascend_tune.measure.device import active_device

        try:
            simulated = active_device().simulated
        except Exception:  # nothing that this package measures on, and so nothing that could be the simulated CANN
            simulated = False
    return f"{target}, simulated" if simulated else target


class StockLines:
    """The lines that the installed Triton prints under ``TRITON_PRINT_AUTOTUNING``.

    Triton's text changed twice between 3.2 and 3.9; which one is installed is read off the stock class's own code, so
    that no version has to be listed here.
    """

    def __init__(self, stock: type) -> None:
        self._each_config = _mentions(getattr(stock, "_bench", None), "Autotuning kernel ")
        self._with_key = _mentions(getattr(stock, "run", None), "with key as ")

    def candidates(self, kernel: str, outcomes: Sequence[Outcome]) -> None:
        """One line for each measured candidate and one for each failure, in the order of the contest."""
        if not self._each_config:
            return
        for outcome in outcomes:
            print(f"Autotuning kernel {kernel} with config {outcome.candidate.config}")
            if outcome.status is Status.FAILED:
                print(f"Autotuning failed with {outcome.error or outcome.reason}")

    def finished(self, kernel: str, key: tuple[Any, ...], seconds: float, best: Any) -> None:
        parts = [f"Triton autotuning for function {kernel}", f"with key as {key}", f"finished after {seconds:.2f}s"]
        if self._with_key:
            print(",\n".join(parts) + f",\nbest config selected: {best};")
        else:
            print(f"{parts[0]} {parts[2]}; best config selected: {best};")


def _tied(outcome: Outcome, verdict: Verdict) -> bool:
    return verdict.choice is not None and any(outcome is tied for tied in verdict.choice.ties)


def _ahead(margin: float) -> str:
    if margin >= 0:
        return f"; winner ahead by {margin:.1%}"
    return f"; winner behind by {-margin:.1%}, tied and first in order"


def _findings(choice: Choice) -> str:
    """How the plan came to its choice, and what a reader must know about the times."""
    conditions = choice.conditions
    gate = f"gate: {conditions.gate}" if conditions.gate else f"UNGATED ({conditions.ungated_because})"
    overhead = f"event overhead {conditions.event_overhead_ms * _US_PER_MS:.2f} us"
    return f"; {choice.rounds} rounds, {choice.stop}, {len(choice.ties)} tied; {gate}; {overhead}"


def _result(outcome: Outcome) -> tuple[str, str]:
    if outcome.status is not Status.TIMED:
        where = f" in {outcome.stage.value}" if outcome.stage and outcome.status is Status.FAILED else ""
        return outcome.status.value + where, outcome.reason
    if outcome.samples is None:
        time = choose.time_of(outcome)
        return (f"{time * _US_PER_MS:.2f} us" if time is not None else "timed"), f"do_bench returned {outcome.timings}"
    return _taken(outcome.samples)


def _taken(samples: Samples) -> tuple[str, str]:
    score, p20, p80 = (time * _US_PER_MS for time in samples.triple)
    median = f"mean; P50 {samples.p50 * _US_PER_MS:.2f}, " if samples.method == "profiler" else ""
    parts = [f"{median}P20 {p20:.2f}, P80 {p80:.2f}, {len(samples.times_ms)} samples"]
    if samples.events is not None:
        parts.append(_beside(samples, samples.events))
    if samples.note:
        parts.append(samples.note)
    return f"{score:.2f} us", "; ".join(parts)


def _beside(samples: Samples, events: Samples) -> str:
    """How the times between events compare with the profiler's records of the same candidate."""
    ratio = events.score / samples.score
    verdict = ""
    if ratio >= HOST_BOUND:
        # Behind a gate the host is not in the interval; what is left over is the events' own time and the launch's.
        verdict = ": mostly overhead of launch and events" if events.note else ": host-bound"
    return f"events {events.score * _US_PER_MS:.2f} us, {ratio - 1.0:+.0%}{verdict}"


def _mentions(function: Callable[..., Any] | None, text: str) -> bool:
    """Whether a string constant of ``function``, nested functions included, contains ``text``.

    Of the function that is wrapped, if one is: ours stands before the ``run`` of the stock class.
    """
    stack: list[Any] = [getattr(inspect.unwrap(function), "__code__", None)] if function is not None else []
    while stack:
        item = stack.pop()
        if isinstance(item, str) and text in item:
            return True
        if isinstance(item, (tuple, CodeType)):
            stack += item.co_consts if isinstance(item, CodeType) else item
    return False
