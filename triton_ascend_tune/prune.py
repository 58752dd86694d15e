"""Which candidates are worth compiling: the user's ``early_config_prune``, then the best ``top_k`` of ``perf_model``.

The rules are those of Triton 3.9 on every version: a fraction is one of what the early pruning left, and keeps at least
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune.failures import NothingLeftError
from triton_ascend_tune.launch import merge
from triton_ascend_tune.values import Outcome, Stage, Status


@dataclass(frozen=True)
class Rules:
    """The three entries of ``prune_configs_by`` that count."""

    early_config_prune: Callable[..., Any] | None = None
    perf_model: Callable[..., Any] | None = None
    top_k: Any = 1.0


@dataclass(frozen=True)
class Pruned:
    """``survivors`` in the order in which they are measured; ``dropped``: config and what dropped it.

    ``proposal``: gives further configs once the outcomes of all before are known (``candidates.proposal.Proposal``);
    None if the survivors are all there are.
    """

    survivors: list[Any]
    dropped: list[tuple[Any, str]]
    proposal: Any = None


def prune(
    configs: Sequence[Any], rules: Rules, named: Mapping[str, Any], call: Mapping[str, Any], arg_names: Sequence[str]
) -> Pruned:
    """Applies ``rules`` to ``configs`` for one call.

    ``named``: the positional arguments by name; ``call``: the caller's keywords, grid and warmup included; both
    callables get them as stock Triton passes them. NothingLeftError if no config is left, TypeError for a bad
    ``top_k``.
    """
    left = list(configs)
    dropped: list[tuple[Any, str]] = []
    if rules.early_config_prune is not None:
        left = list(rules.early_config_prune(configs, named, **call) or ())
        dropped += _missing(configs, left, "early_config_prune")
        if not left:
            raise NothingLeftError(_message("`early_config_prune` returned no config", configs, named, call))
    if rules.perf_model is not None:
        top_k = _count(rules.top_k, len(left))
        if top_k < 1:
            raise NothingLeftError(_message(f"top_k={rules.top_k!r} keeps no config", configs, named, call))
        if len(left) > top_k:
            estimates = [
                rules.perf_model(**{**named, **merge(call, config.all_kwargs(), arg_names)}) for config in left
            ]
            order = sorted(range(len(left)), key=lambda index: _rank(estimates[index]))
            dropped += [(left[index], f"perf_model, top_k={rules.top_k!r}") for index in sorted(order[top_k:])]
            left = [left[index] for index in order[:top_k]]
    return Pruned(left, dropped)


def as_outcomes(pruned: Pruned, candidate_of: Callable[[Any], Any]) -> list[Outcome]:
    """One outcome for each dropped config."""
    return [
        Outcome(candidate_of(config), Status.PRUNED, Stage.PRUNE, f"by {what}", timings=None)
        for config, what in pruned.dropped
    ]


def _count(top_k: Any, total: int) -> int:
    if isinstance(top_k, float) and top_k <= 1.0:
        return max(1, int(total * top_k))
    if isinstance(top_k, int):
        return top_k
    raise TypeError(f"top_k is {top_k!r}; allowed: a float of at most 1.0, a fraction, or an int, a number of configs")


def _rank(estimate: Any) -> Any:
    """An estimate that is no number must not disturb the order of the others."""
    return math.inf if isinstance(estimate, float) and math.isnan(estimate) else estimate


def _missing(configs: Sequence[Any], left: Sequence[Any], what: str) -> list[tuple[Any, str]]:
    kept = {id(config) for config in left}
    return [(config, what) for config in configs if id(config) not in kept]


def _message(what: str, configs: Sequence[Any], named: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    values = {k: v for k, v in {**named, **call}.items() if isinstance(v, (int, float, str, bool))}
    shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return (
        f"No valid autotuner configs after pruning: {what}, of {len(configs)} given; at least one must be left. "
        f"Call: {shown}"
    )
