"""Every field report has a test or a reason; and the tests of those that have no better place."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tuning_fakes import World, add, add_kernel, blocks, tuner, world  # noqa: F401

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parent / "docs" / "field_reports.md"
ALL = {f"FR-{number:02}" for number in range(1, 69)}


def claimed() -> dict[str, set[str]]:
    """Report -> the files below ``tests`` that name it."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for report in re.findall(r"FR-\d\d", path.read_text()):
            found.setdefault(report, set()).add(str(path.relative_to(TESTS)))
    return found


def tables() -> tuple[dict[str, set[str]], dict[str, str]]:
    """The two tables: report -> files, and report -> why not."""
    tested, _, reasons = DOCUMENT.read_text().partition("## Not, or not in full")
    rows = re.findall(r"^\| (FR-\d\d) \|.*\| (.*) \|$", tested, re.MULTILINE)
    why = re.findall(r"^\| (FR-\d\d) \| (.*) \|$", reasons, re.MULTILINE)
    return {report: set(re.findall(r"`([\w/]+\.py)`", files)) for report, files in rows}, dict(why)


def test_every_report_has_a_test_that_names_it_or_a_reason() -> None:
    tested, reasons = tables()
    assert tested.keys() | reasons.keys() == ALL
    assert not tested.keys() & reasons.keys()
    names = claimed()
    for report, files in tested.items():
        assert files, report
        assert files <= names.get(report, set()), f"{report}: {files - names.get(report, set())} do not name it"
    assert names.keys() <= ALL


def test_files_that_a_reason_mentions_exist() -> None:
    _, reasons = tables()
    for why in reasons.values():
        for file in re.findall(r"`([\w/]+\.py)`", why):
            assert (TESTS / file).exists(), file


def test_a_hit_collects_no_garbage_and_prunes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """FR-02, W-56: also where pruning left a single config."""
    world.times = {16: 2.0, 32: 1.0}
    collected, pruned = [], []
    monkeypatch.setattr(gc, "collect", lambda *_: collected.append(1))

    def early(configs: Any, named: Any, **_: Any) -> Any:
        pruned.append(named["n"])
        return configs[: 1 if named["n"] == 64 else 2]

    tuned = tuner(world, add_kernel, blocks(16, 32), prune_configs_by={"early_config_prune": early})
    for n in (64, 64, 128, 128, 64):
        add(tuned, n=n)
    assert pruned == [64, 128] and collected == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_compiles(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """FR-53: no thread of ours outlives the tuning that compiled in it, so a fork misses none."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_WORKERS", "3")
    world.times = lambda settings: 1.0 / settings["BLOCK"]
    tuned = tuner(world, add_kernel, blocks(16, 32, 64))
    add(tuned, n=1 << 10)
    for attempt in range(5):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if add(tuned, n=attempt + 1).settings["BLOCK"] == 64 else 1
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
