"""Records: the JSON form, what is refused, and texts that mean the same in every process."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from typing import Any

import pytest
from tuning_fakes import add_kernel, blocks, fresh, tl, torch

from triton_ascend_tune.records import (
    BadRecordError,
    NotStorableError,
    Race,
    canonical,
    decode,
    decode_race,
    decode_winner,
    digest,
    encode,
    encode_race,
    encode_winner,
    of_outcome,
)
from triton_ascend_tune.values import Candidate, Outcome, Progress, Samples, Stage, Status

NAME = digest("name")


def candidate() -> Candidate:
    (config,) = blocks(16)
    return Candidate(0, config, config.all_kwargs())


def timed(**fields: Any) -> Outcome:
    return Outcome(candidate(), Status.TIMED, **fields)


EVENTS = Samples((0.1, 1 / 3, 5e-324))
OUTCOMES = [
    timed(samples=EVENTS, timings=EVENTS.triple),
    timed(samples=Samples((0.5,), "profiler", "by order", EVENTS)),
    timed(timings=0.25),
    timed(timings=[3, 0.5, 0.75]),
    Outcome(candidate(), Status.FAILED, Stage.COMPILE, 'says "no"\nüöä'),
    Outcome(candidate(), Status.FAILED, None, ""),
]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_record_comes_back_bit_by_bit(outcome: Outcome) -> None:
    record = of_outcome(outcome, NAME, "kernel")
    back = decode(encode(record), NAME)
    assert back == record
    restored = back.outcome(outcome.candidate)
    assert (restored.status, restored.stage, restored.reason) == (outcome.status, outcome.stage, outcome.reason)
    assert restored.samples == outcome.samples
    if outcome.samples is not None:
        assert restored.timings == outcome.samples.triple


@pytest.mark.parametrize("timings", [math.inf, math.nan, [1.0, math.inf], [], "fast", None, [[1.0]], True])
def test_nothing_without_a_finite_time_becomes_a_record(timings: Any) -> None:
    with pytest.raises(NotStorableError):
        of_outcome(timed(timings=timings), NAME, "kernel")


def test_pruned_is_no_result() -> None:
    with pytest.raises(NotStorableError, match="pruned"):
        of_outcome(Outcome(candidate(), Status.PRUNED, Stage.PRUNE, "by x"), NAME, "kernel")


GOOD = encode(of_outcome(OUTCOMES[0], NAME, "kernel"))


def changed(**fields: Any) -> str:
    content = {**json.loads(GOOD), **fields}
    return json.dumps({name: value for name, value in content.items() if value is not ...})


def test_a_truncated_record_is_refused_wherever_it_ends() -> None:
    for cut in range(len(GOOD)):
        with pytest.raises(BadRecordError):
            decode(GOOD[:cut], NAME)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        changed(format=2),
        changed(format=...),
        changed(identity=digest("other")),
        changed(status="pruned"),
        changed(status="lucky"),
        changed(kernel=...),
        changed(added=1),
        changed(samples=...),
        changed(samples=[1.0]),
        changed(timings=1.0),
        changed(samples={"method": "event", "times_ms": [], "note": ""}),
        changed(samples={"method": "event", "times_ms": [0.0], "note": ""}),
        changed(samples={"method": "event", "times_ms": [-1.0], "note": ""}),
        changed(samples={"method": "event", "times_ms": ["1"], "note": ""}),
        changed(samples={"method": "event", "times_ms": [1.0], "note": "", "more": 1}),
        changed(samples={"times_ms": [1.0], "note": ""}),
        GOOD.replace("0.1", "Infinity"),
        GOOD.replace("0.1", "NaN"),
        GOOD.replace("0.1", "1e999"),
        changed(status="failed"),
        changed(status="failed", samples=..., stage="nowhere", reason=""),
    ],
)
def test_what_is_no_record_of_this_version_is_refused(text: str) -> None:
    with pytest.raises(BadRecordError):
        decode(text, NAME)


def test_a_winner_comes_back_and_is_no_candidates_record() -> None:
    text = encode_winner(NAME, "abc")
    assert decode_winner(text, NAME) == "abc"
    for name, read in ((digest("other"), decode_winner), (NAME, decode)):
        with pytest.raises(BadRecordError):
            read(text, name)
    with pytest.raises(BadRecordError):
        decode_winner(GOOD, NAME)


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2]}, {"b": (2,), "a": 1}),
        ({3, 1, 2}, {2, 3, 1}),
        (tl.float16, tl.float16),
        (tl.constexpr(4), 4),
        (fresh(add_kernel), fresh(add_kernel)),
    ],
)
def test_equal_values_have_one_text(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


def test_different_values_have_different_texts() -> None:
    values = [None, "None", 1, "1", 1.5, True, [1], ["1"], [[1]], [1, 1], {1}, {"1": 1}, {1: 1}, "", [], {}]
    values += [Colour.RED, tl.float16, tl.float32, torch.float16, "['1']", "a,b", ["a", "b"], add_kernel]
    assert len({canonical(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    "value", [object(), f"x={object()!r}", [lambda: 0], {"f": print}], ids=["object", "text", "list", "dict"]
)
def test_what_differs_between_processes_is_refused(value: Any) -> None:
    with pytest.raises(NotStorableError):
        canonical(value)


def test_digests_keep_parts_apart() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("ab", "c", "")}) == 4
    assert len(NAME) == 64 and bytes.fromhex(NAME)


def test_every_field_of_samples_is_stored() -> None:
    assert {field.name for field in dataclasses.fields(Samples)} == {"times_ms", "method", "note", "events"}


RACE = Race(
    racers=((0, 2), (3,)),
    progress=Progress(
        (((0, 0.1, 1 / 3), (1, 5e-324, 0.0)), ((1, math.inf, 0.0), (0, math.nan, 0.25))), gated=False, over=True
    ),
)
RACE_TEXT = encode_race(NAME, "kernel", RACE)


def test_a_race_comes_back_bit_by_bit() -> None:
    assert decode_race(RACE_TEXT, NAME, 4) == RACE


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"identity": digest("another")},
        {"more": 1},
        {"kernel": None, "rounds": None},
        {"racers": [[0], [4]]},  # there are four candidates
        {"racers": [[0], [-1]]},
        {"racers": [[0], [0]]},
        {"racers": [[0], []]},
        {"racers": [[0], ["1"]]},
        {"racers": 2},
        {"gated": 1},
        {"over": 0},
        {"rounds": [[]]},
        {"rounds": [[[2, 0.1, 0.1]]]},  # there are two trials
        {"rounds": [[[True, 0.1, 0.1]]]},
        {"rounds": [[[0, 0.1]]]},
        {"rounds": [[[0, "fast", 0.1]]]},
        {"rounds": [[[0, [0.1], 0.1]]]},
        {"rounds": [[[0, 0.1, None]]]},
        {"rounds": [0]},
    ],
)
def test_what_is_no_race_is_refused(changes: dict[str, Any]) -> None:
    """FR-04, FR-16."""
    with pytest.raises(BadRecordError):
        decode_race(json.dumps({**json.loads(RACE_TEXT), **changes}), NAME, 4)


@pytest.mark.parametrize("missing", ["racers", "rounds", "gated", "over", "kernel"])
def test_a_race_without_all_of_its_fields_is_refused(missing: str) -> None:
    content = json.loads(RACE_TEXT)
    del content[missing]
    with pytest.raises(BadRecordError, match=missing):
        decode_race(json.dumps(content), NAME, 4)


@pytest.mark.parametrize("text", [RACE_TEXT[:-20], "", "[]", "null", RACE_TEXT.replace("0.1", "NaN")])
def test_a_damaged_race_is_refused(text: str) -> None:
    with pytest.raises(BadRecordError):
        decode_race(text, NAME, 4)
