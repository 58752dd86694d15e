"""What a candidate is called in a report and in an error: only what tells it from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from triton_ascend_tune.values import Candidate


class OfCandidate(Protocol):
    """An outcome, an entry of a contest: what belongs to one candidate."""

    @property
    def candidate(self) -> Candidate: ...


def config_names(outcomes: Sequence[OfCandidate]) -> list[str]:
    """What tells the candidates apart: each config's kwargs, and the compile options in which they differ."""
    settings = [outcome.candidate.kwargs for outcome in outcomes]
    differing = {name for some in settings for name in some if any(_differs(some, name, other) for other in settings)}
    names = []
    for outcome, options in zip(outcomes, settings):
        shown = {
            name: options[name] for name in options if name in outcome.candidate.config.kwargs or name in differing
        }
        names.append(", ".join(f"{name}={value}" for name, value in shown.items()) or str(outcome.candidate.config))
    return names


def _differs(some: Mapping[str, Any], name: str, other: Mapping[str, Any]) -> bool:
    return name not in other or (some[name] is not other[name] and some[name] != other[name])
