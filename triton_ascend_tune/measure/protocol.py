"""The options of a protocol by name: which there are, what is allowed, and how they make a ``Protocol``.

The same names serve the environment (``settings``: ``TRITON_ASCEND_TUNE_`` and the name in capitals) and programs
(``options``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from triton_ascend_tune.values import MIB, Protocol


@dataclass(frozen=True)
class Rule:
    """One option. ``field``: what it sets in a ``Protocol``, times ``unit``. ``allowed``: in words, for messages."""

    field: str
    type: type
    allowed: str
    accepts: Callable[[Any], bool]
    unit: int = 1

    def checked(self, value: Any, label: str) -> Any:
        """``value`` as the option's type. ValueError names ``label``, the value and what is allowed."""
        number = self.type in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and self.type is float:
            value = float(value)
        if type(value) is not self.type or not self.accepts(value):
            raise ValueError(f"{label} is {value!r}; allowed: {self.allowed}")
        return value

    def parsed(self, text: str, label: str) -> Any:
        """``text`` as the option's value; ValueError as in ``checked``."""
        try:
            return self.checked(self._read(text), label)
        except ValueError:
            raise ValueError(f"{label} is {text!r}; allowed: unset, or {self.allowed}") from None

    def _read(self, text: str) -> Any:
        if self.type is bool:
            return _BOOLEANS.get(text.lower())
        return text.lower() if self.type is str else self.type(text)


_BOOLEANS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}


def _choice(field: str, *values: str) -> Rule:
    return Rule(field, str, "one of " + ", ".join(values), lambda value: value in values)


def _count(field: str, least: int) -> Rule:
    return Rule(field, int, f"a whole number of at least {least}", lambda value: value >= least)


def _milliseconds(field: str) -> Rule:
    allowed = "a finite number of milliseconds, 0 or more"
    return Rule(field, float, allowed, lambda value: value >= 0.0 and math.isfinite(value))


OPTIONS: Mapping[str, Rule] = {
    "plan": _choice("plan", "race", "classic", "fixed"),
    "flush": _choice("flush", "write", "read", "none"),
    "flush_mib": Rule("flush_bytes", int, "a whole number of MiB from 1 to 65536", lambda v: 1 <= v <= 65536, MIB),
    "gate": Rule("gate", bool, "True or False (1 or 0)", lambda value: True),
    "statistic": _choice("statistic", "p50"),
    "tolerance": Rule("tolerance", float, "0.0 up to, not including, 1.0", lambda value: 0.0 <= value < 1.0),
    "seed": _count("seed", 0),
    "warmup_ms": _milliseconds("warmup_ms"),
    "budget_ms": _milliseconds("repeat_ms"),
    "min_samples": _count("min_samples", 1),
    "max_samples": _count("max_samples", 1),
    "rounds": _count("rounds", 1),
    "warmup_rounds": _count("warmup_rounds", 0),
}


def with_options(protocol: Protocol, options: Mapping[str, Any]) -> Protocol:
    """``protocol`` with the checked ``options``, which may hold others that are not of a protocol."""
    fields = {}
    for name, value in options.items():
        if name in OPTIONS:
            rule = OPTIONS[name]
            fields[rule.field] = value * rule.unit if rule.unit != 1 else value
    return replace(protocol, **fields)
