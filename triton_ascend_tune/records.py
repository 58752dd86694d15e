"""What is stored of a tuning: one record for each candidate, in an own, versioned JSON form, and how records are named.

Besides there is one of the winner among all, and one of a race that is not over.

A record names itself by a digest over everything that its result depends on, and repeats that digest inside. So a file
that was put in its place by accident, by another version or by a broken disk is recognised and is a miss.
"""

from __future__ import annotations

import enum
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune.values import Candidate, Outcome, Progress, Sample, Samples, Stage, Status

#: Goes into every digest: records of another form are never even opened.
FORMAT = 1
#: What the default ``repr`` of an object contains: equal only within one process, and not even there for good.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_FIELDS = {"format", "identity", "kernel", "config", "status", "stage", "reason", "samples", "timings"}
_RACE_FIELDS = {"format", "identity", "kernel", "racers", "gated", "over", "rounds"}
#: In place of a time in a race's record, besides null for a reading that could not be used.
_FAILED = "failed"


class NotStorableError(ValueError):
    """A value has no text that is the same in every process."""


class BadRecordError(ValueError):
    """What was read is no record of this version, or not the one that was asked for."""


@dataclass(frozen=True)
class Record:
    """One candidate's result. ``kernel`` and ``config`` are there for people who look into the file.

    TIMED: ``samples``, or ``timings``, which is what a user's ``do_bench`` returned. FAILED: ``stage`` and
    ``reason``.
    """

    identity: str
    kernel: str
    config: str
    status: Status
    stage: Stage | None = None
    reason: str = ""
    samples: Samples | None = None
    timings: Any = None

    def outcome(self, candidate: Candidate) -> Outcome:
        if self.status is Status.FAILED:
            return Outcome(candidate, Status.FAILED, self.stage, self.reason)
        if self.samples is not None:
            return Outcome(candidate, Status.TIMED, samples=self.samples, timings=self.samples.triple)
        return Outcome(candidate, Status.TIMED, timings=self.timings)


@dataclass(frozen=True)
class Race:
    """A race that is not over.

    ``racers``: for each trial, in order, the places of the candidates that it stands for: several where their launches
    are the same. A place is that in the list of all candidates of the tuning.
    """

    racers: tuple[tuple[int, ...], ...]
    progress: Progress


def of_outcome(outcome: Outcome, identity: str, kernel: str) -> Record:
    """The record of ``outcome``. NotStorableError: pruned, or timings that are no finite numbers."""
    config = str(outcome.candidate.config)
    if outcome.status is Status.FAILED:
        return Record(identity, kernel, config, Status.FAILED, outcome.stage, outcome.reason)
    if outcome.status is not Status.TIMED:
        raise NotStorableError(f"a candidate that was {outcome.status.value} has no result")
    if outcome.samples is not None:
        return Record(identity, kernel, config, Status.TIMED, samples=outcome.samples)
    timings = list(outcome.timings) if isinstance(outcome.timings, (list, tuple)) else outcome.timings
    if not _are_times(timings):
        raise NotStorableError(f"do_bench returned {outcome.timings!r}; stored are finite numbers and lists of such")
    return Record(identity, kernel, config, Status.TIMED, timings=timings)


def encode(record: Record) -> str:
    """The record as JSON. Numbers keep every bit; there are no infinities and no NaN."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "identity": record.identity,
        "kernel": record.kernel,
        "config": record.config,
        "status": record.status.value,
    }
    if record.status is Status.FAILED:
        content |= {"stage": record.stage.value if record.stage else None, "reason": record.reason}
    elif record.samples is not None:
        content["samples"] = _encode_samples(record.samples)
    else:
        content["timings"] = record.timings
    return json.dumps(content, allow_nan=False)


def decode(text: str, identity: str) -> Record:
    """The record in ``text``. BadRecordError says in what it is not the one named ``identity``."""
    content = _content(text, identity)
    if unknown := set(content) - _FIELDS:
        raise BadRecordError(f"unknown fields {', '.join(sorted(map(str, unknown)))}")
    try:
        kernel, config, status = str(content["kernel"]), str(content["config"]), Status(content["status"])
        if status is Status.FAILED:
            stage = Stage(content["stage"]) if content["stage"] is not None else None
            return Record(identity, kernel, config, status, stage, str(content["reason"]))
        samples, timings = content.get("samples"), content.get("timings")
        if status is not Status.TIMED or (samples is None) == (timings is None):
            raise BadRecordError("neither a time nor a failure")
        if samples is not None:
            return Record(identity, kernel, config, status, samples=_decode_samples(samples))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise (
            error if isinstance(error, BadRecordError) else BadRecordError(f"{type(error).__name__}: {error}")
        ) from None
    if not _are_times(timings):
        raise BadRecordError("its timings are no finite numbers")
    return Record(identity, kernel, config, status, timings=timings)


def encode_winner(identity: str, winner: str) -> str:
    """``winner``: the identity of the candidate that was chosen."""
    return json.dumps({"format": FORMAT, "identity": identity, "winner": winner})


def decode_winner(text: str, identity: str) -> str:
    """The identity in ``text``. BadRecordError as for ``decode``."""
    content = _content(text, identity)
    if set(content) != {"format", "identity", "winner"}:
        raise BadRecordError(f"unknown fields {', '.join(sorted(map(str, content)))}")
    return str(content["winner"])


def encode_race(identity: str, kernel: str, race: Race) -> str:
    """``race`` as JSON. Numbers keep every bit."""
    rounds = [[[index, _encode_reading(ms), whole_ms] for index, ms, whole_ms in each] for each in race.progress.rounds]
    content: dict[str, Any] = {"format": FORMAT, "identity": identity, "kernel": kernel, "racers": race.racers}
    content |= {"gated": race.progress.gated, "over": race.progress.over, "rounds": rounds}
    return json.dumps(content, allow_nan=False)


def decode_race(text: str, identity: str, candidates: int) -> Race:
    """The race in ``text``, over some of so many candidates. BadRecordError as for ``decode``."""
    content = _content(text, identity)
    if set(content) != _RACE_FIELDS:
        raise BadRecordError(f"unknown or missing fields {', '.join(sorted(set(content) ^ _RACE_FIELDS))}")
    try:
        racers = tuple(tuple(group) for group in content["racers"])
        rounds = tuple(tuple(_decode_sample(sample, len(racers)) for sample in each) for each in content["rounds"])
    except (TypeError, ValueError) as error:
        raise BadRecordError(f"{type(error).__name__}: {error}") from None
    places = [place for group in racers for place in group]
    sound = all(isinstance(place, int) and 0 <= place < candidates for place in places)
    if not (all(racers) and sound and len(set(places)) == len(places)):
        raise BadRecordError("its racers are not candidates")
    gated, over = content["gated"], content["over"]
    if not (all(rounds) and isinstance(gated, bool) and isinstance(over, bool)):
        raise BadRecordError("its rounds are none")
    return Race(racers, Progress(rounds, gated, over))


def digest(*parts: str) -> str:
    """A name of 64 hexadecimal digits for ``parts``; no two different sequences of parts share one."""
    return hashlib.sha256(json.dumps([FORMAT, *parts]).encode()).hexdigest()


def canonical(value: Any) -> str:
    """A text that is the same in every process, and different for different values.

    The order of mappings and sets does not count, nor whether a sequence is a list or a tuple.

    NotStorableError names the value if there is no such text.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        if _ADDRESS.search(value):
            raise NotStorableError(f"{value[:80]!r} shows the address of an object")
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(canonical, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{','.join(sorted(f'{canonical(k)}:{canonical(v)}' for k, v in value.items()))}}}"
    if type(value).__name__ == "dtype":  # Triton's, torch's, numpy's: each prints as its name
        return f"{type(value).__module__}.dtype({value})"
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return canonical(value.value)
    if isinstance(getattr(value, "cache_key", None), str):  # a JIT function, handed to another one
        return f"jit({value.cache_key})"
    raise NotStorableError(f"a {type(value).__name__} has no text that is the same in every process")


def _content(text: str, identity: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise BadRecordError(f"not JSON: {error}") from None
    if not isinstance(content, dict):
        raise BadRecordError("not an object")
    if content.get("format") != FORMAT:
        raise BadRecordError(f"its format is {content.get('format')!r}, this version reads {FORMAT}")
    if content.get("identity") != identity:
        raise BadRecordError("it belongs to another candidate")
    return content


def _encode_samples(samples: Samples) -> dict[str, Any]:
    content: dict[str, Any] = {"method": samples.method, "times_ms": list(samples.times_ms), "note": samples.note}
    if samples.events is not None:
        content["events"] = _encode_samples(samples.events)
    return content


def _decode_samples(content: dict[str, Any]) -> Samples:
    if unknown := set(content) - {"method", "times_ms", "note", "events"}:
        raise BadRecordError(f"unknown fields {', '.join(sorted(map(str, unknown)))}")
    times = content["times_ms"]
    if not (isinstance(times, list) and _are_times(times) and min(times) > 0):
        raise BadRecordError("its samples are not finite and positive")
    events = _decode_samples(content["events"]) if "events" in content else None
    return Samples(tuple(map(float, times)), str(content["method"]), str(content["note"]), events)


def _encode_reading(kernel_ms: float) -> float | str | None:
    if kernel_ms == math.inf:
        return _FAILED
    return kernel_ms if math.isfinite(kernel_ms) else None


def _decode_sample(sample: Any, trials: int) -> Sample:
    index, reading, whole_ms = sample
    kernel_ms = {_FAILED: math.inf, None: math.nan}.get(reading, reading)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < trials:
        raise ValueError(f"no trial {index!r}")
    if not _are_times(whole_ms) or not (_are_times(reading) or reading in (_FAILED, None)):
        raise ValueError(f"no sample {sample!r}")
    return index, kernel_ms, whole_ms


def _are_times(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(
        isinstance(each, (int, float)) and not isinstance(each, bool) and math.isfinite(each) for each in values
    )


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")
