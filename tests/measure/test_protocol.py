"""The options of a protocol: what is allowed, how it is read from text, and what it sets."""

from __future__ import annotations

from typing import Any

import pytest

from triton_ascend_tune.measure.protocol import OPTIONS, with_options
from triton_ascend_tune.values import MIB, Protocol


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("plan", "Classic", "classic"),
        ("flush", "none", "none"),
        ("flush_mib", "64", 64),
        ("gate", "off", False),
        ("gate", "1", True),
        ("tolerance", "0.02", 0.02),
        ("tolerance", "0", 0.0),
        ("seed", "7", 7),
        ("warmup_ms", "0", 0.0),
        ("budget_ms", "12.5", 12.5),
        ("min_samples", "3", 3),
        ("max_samples", "30", 30),
        ("rounds", "5", 5),
        ("warmup_rounds", "0", 0),
        ("statistic", "p50", "p50"),
    ],
)
def test_text_is_read(name: str, text: str, value: Any) -> None:
    read = OPTIONS[name].parsed(text, name)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("plan", "guess", "one of race, classic, fixed"),
        ("flush", "zero", "one of write, read, none"),
        ("flush_mib", "0", "a whole number of MiB from 1 to 65536"),
        ("flush_mib", "1.5", "a whole number of MiB from 1 to 65536"),
        ("gate", "perhaps", r"True or False \(1 or 0\)"),
        ("tolerance", "1.0", "0.0 up to, not including, 1.0"),
        ("tolerance", "nan", "0.0 up to, not including, 1.0"),
        ("seed", "-1", "a whole number of at least 0"),
        ("budget_ms", "inf", "a finite number of milliseconds, 0 or more"),
        ("budget_ms", "ten", "a finite number of milliseconds, 0 or more"),
        ("rounds", "0", "a whole number of at least 1"),
        ("statistic", "mean", "one of p50"),
    ],
)
def test_an_illegal_text_names_the_option_the_value_and_what_is_allowed(name: str, text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"^LABEL is '{text}'; allowed: unset, or {allowed}$"):
        OPTIONS[name].parsed(text, "LABEL")


@pytest.mark.parametrize(
    ("name", "value"),
    [("gate", 1), ("seed", True), ("seed", 1.0), ("tolerance", "0.1"), ("plan", None), ("rounds", False)],
)
def test_a_value_of_another_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"LABEL is {value!r}; allowed: "):
        OPTIONS[name].checked(value, "LABEL")


def test_a_whole_number_will_do_for_one_that_may_have_a_fraction() -> None:
    assert OPTIONS["budget_ms"].checked(50, "budget_ms") == 50.0


def test_every_option_sets_a_field_of_its_own() -> None:
    fields = [rule.field for rule in OPTIONS.values()]
    assert len(set(fields)) == len(fields)
    assert set(fields) <= set(Protocol.__dataclass_fields__)


def test_options_make_a_protocol() -> None:
    made = with_options(Protocol(), {"flush_mib": 64, "budget_ms": 5.0, "plan": "fixed", "fallback": object()})
    assert made == Protocol(flush_bytes=64 * MIB, repeat_ms=5.0, plan="fixed")


def test_each_field_is_in_the_identity_under_which_results_are_stored() -> None:
    base = Protocol()
    changed = [with_options(base, {name: _other(name)}) for name in OPTIONS if name != "statistic"]
    assert len({protocol.identity for protocol in [base, *changed]}) == len(changed) + 1


def _other(name: str) -> Any:
    rule = OPTIONS[name]
    if rule.type is str:
        return {"plan": "fixed", "flush": "read"}[name]
    return False if rule.type is bool else rule.type(1) if name != "tolerance" else 0.5
