"""What is known of a device: what it says of itself first, then the tables; a part that nobody knows is refused."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from triton_ascend_tune.candidates import hardware, platform_info


def test_the_driver_and_the_platform_win_over_the_tables() -> None:
    table = hardware.known("Ascend910B3")
    assert (table.cube_cores, table.vector_cores, table.ub, table.l0c) == (20, 40, 192 << 10, 128 << 10)
    asked = hardware.known(
        "Ascend910B3",
        {"num_aicore": 7, "num_vectorcore": 14},
        {"ub": 1000, "l1": 2000, "l0a": 30, "l0b": 40, "l0c": 50},
    )
    assert (asked.cube_cores, asked.vector_cores) == (7, 14)
    assert (asked.ub, asked.l1, asked.l0a, asked.l0b, asked.l0c) == (1000, 2000, 30, 40, 50)


def test_a_part_that_no_table_has_is_known_if_it_says_enough_of_itself() -> None:
    sizes = {"ub": 1000, "l1": 2000, "l0a": 30, "l0b": 40, "l0c": 50}
    assert hardware.known("Ascend1234", {"num_aicore": 4}, sizes).vector_cores == 8
    for properties, memories in (({}, {}), ({"num_aicore": 4}, {}), ({}, sizes)):
        with pytest.raises(ValueError, match="known for 'Ascend1234'; known are Ascend910B, "):
            hardware.known("Ascend1234", properties, memories)


def answering(answers: dict[int, str], error: int = 0) -> Any:
    def get(item: int, text: Any, size: int) -> int:
        if item not in answers or len(answers[item]) >= size:
            return 100_000
        ctypes.memmove(text, answers[item].encode() + b"\0", len(answers[item]) + 1)
        return error

    return get


def test_the_platform_is_believed_only_if_it_answers_all() -> None:
    whole = {1: "196608", 9: "65536", 10: "65536", 11: "131072", 12: "524288"}
    found = platform_info.asked(answering(whole))
    assert found == {"ub": 196608, "l0a": 65536, "l0b": 65536, "l0c": 131072, "l1": 524288}
    assert platform_info.asked(answering({**whole, 11: ""})) == {}
    assert platform_info.asked(answering({**whole, 1: "0"})) == {}
    assert platform_info.asked(answering({**whole, 1: "much"})) == {}
    assert platform_info.asked(answering({1: "196608"})) == {}
    assert platform_info.asked(answering(whole, error=507_000)) == {}


def test_without_the_platforms_library_nothing_is_known() -> None:
    """Neither environment of these tests has it: the simulated CANN does not play it."""
    platform_info.memories.cache_clear()
    assert platform_info.memories() == {}
