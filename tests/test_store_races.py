"""Races that are killed: what another process takes up, and what it does not."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_fakes import another_process, records
from tuning_fakes import Stopwatch, World, add, blocks, with_engine, world  # noqa: F401

from triton_ascend_tune import identity, store
from triton_ascend_tune.measure import checkpoints
from triton_ascend_tune.values import Status


class Killed(BaseException):
    """Stands for the end of the process: nothing of this package takes notice of it."""


#: 64 ties with the fastest and comes first, so that the lowest stored time would be another choice.
CLOSE = {16: 3.0, 64: 1.009, 32: 1.0, 128: 1.3}
ANOTHER = 256


def racing(world: World, *sizes: int, rounds: int | None = None, configs: Any = None, **options: Any) -> Any:  # noqa: F811
    """A tuner in another process that races with the real engine; killed when ``rounds`` rounds have been taken."""
    world.times = {**CLOSE, ANOTHER: 2.0}
    world.rounds = []

    def done(blocks: list[int]) -> None:
        if len(world.rounds) == rounds:
            raise Killed
        world.rounds.append(blocks)

    return with_engine(
        another_process(world, configs=configs or blocks(*(sizes or CLOSE)), **options), Stopwatch(world, done)
    )


def killed(world: World, rounds: int, *sizes: int, **options: Any) -> None:  # noqa: F811
    with pytest.raises(Killed):
        add(racing(world, *sizes, rounds=rounds, **options))


def races(tmp_path: Path) -> list[Path]:
    return [path for path in records(tmp_path) if "rounds" in json.loads(path.read_text())]


@pytest.fixture
def raced(timed: World, monkeypatch: Any) -> Any:
    """What a race in one piece finds, in a folder of its own; every round is kept from now on."""
    monkeypatch.setattr(checkpoints, "SHARE", 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", os.environ["TRITON_CACHE_DIR"] + "-in-one-piece")
        tuned = racing(timed)
        add(tuned)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    return tuned.verdict


def test_a_race_goes_on_where_it_was_killed(timed: World, raced: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """FR-17: the choice and the samples are those of a race in one piece, whenever it is killed."""
    for rounds in range(raced.choice.rounds):
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton" / str(rounds)))
        killed(timed, rounds)
        tuned = racing(timed)
        add(tuned)
        again = 1 if rounds else 0  # the round that is thrown away
        assert len(timed.rounds) == raced.choice.rounds - rounds + again
        assert tuned.best_config.kwargs == {"BLOCK": 64}
        assert [outcome.samples for outcome in tuned.verdict.outcomes] == [o.samples for o in raced.outcomes]
        assert (tuned.verdict.choice.rounds, tuned.verdict.choice.stop) == (raced.choice.rounds, raced.choice.stop)
        assert not races(tmp_path)


def test_who_has_dropped_out_is_not_launched_again(timed: World, raced: Any) -> None:
    killed(timed, raced.choice.rounds - 1)
    add(racing(timed))
    assert set(timed.logged("launch")) == {64, 32}


@pytest.mark.parametrize("written", range(6))
def test_killed_while_the_results_are_written(
    timed: World, raced: Any, tmp_path: Path, monkeypatch: Any, written: int
) -> None:
    """Some candidates have their records, others do not: only the whole race makes the choice, and nothing is run."""
    original, count = store.Folder.write, [0]

    def write(folder: Any, name: str, text: str) -> None:
        if "rounds" not in json.loads(text):
            if count[0] == written:
                raise Killed
            count[0] += 1
        original(folder, name, text)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(store.Folder, "write", write)
        add(racing(timed))
        raise Killed  # all was written: four candidates and the winner
    assert len(records(tmp_path)) == (written + 1 if written < 5 else 5)
    tuned = racing(timed)
    add(tuned)
    assert timed.rounds == [] and timed.logged("launch") == [64]
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    assert [outcome.samples for outcome in tuned.verdict.outcomes] == [o.samples for o in raced.outcomes]
    assert len(records(tmp_path)) == 5 and not races(tmp_path)


def test_equal_binaries_take_up_their_race_together(timed: World, raced: Any, tmp_path: Path, monkeypatch: Any) -> None:
    timed.binary = lambda settings: str(settings["BLOCK"]).encode()
    configs = [c for size in CLOSE for stages in (1, 2) for c in blocks(size, num_stages=stages)]
    original, count = store.Folder.write, [0]

    def write(folder: Any, name: str, text: str) -> None:
        count[0] += "samples" in json.loads(text)
        if count[0] == 4:
            raise Killed
        original(folder, name, text)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(store.Folder, "write", write)
        add(racing(timed, configs=configs))
    tuned = racing(timed, configs=configs)
    add(tuned)
    assert timed.rounds == [] and tuned.best_config is configs[2]
    assert tuned.verdict.choice.stop == raced.choice.stop


class OneMore:
    """Proposes one more candidate when the others are known."""

    def __init__(self) -> None:
        self.configs = blocks(ANOTHER)

    def more(self, outcomes: Any) -> list[Any]:
        configs, self.configs = self.configs, []
        return configs

    def origin(self, config: Any) -> str:
        return "one more"

    def instead(self, failure: Any) -> list[Any]:
        return []

    def hopeless(self, config: Any) -> str:
        return ""


def proposing(world: World, **options: Any) -> Any:  # noqa: F811
    tuned = racing(world, **options)
    proposed = tuned._propose
    tuned._propose = lambda *args: replace(proposed(*args), proposal=OneMore())
    return tuned


def test_a_tuning_of_several_races_goes_on_where_it_was_killed(
    timed: World, raced: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """What is proposed in the light of a race is so again when that race is only told once more."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton" / "in one piece"))
    whole = proposing(timed)
    add(whole)
    rounds = len(timed.rounds)
    assert rounds > raced.choice.rounds and timed.rounds[-1] == [ANOTHER]
    for killed_at in range(1, rounds):
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton" / str(killed_at)))
        with pytest.raises(Killed):
            add(proposing(timed, rounds=killed_at))
        tuned = proposing(timed)
        add(tuned)
        # None is thrown away where the kill was between the races.
        assert len(timed.rounds) == rounds - killed_at + (killed_at != raced.choice.rounds)
        assert [o.samples for o in tuned.verdict.outcomes] == [o.samples for o in whole.verdict.outcomes]
        assert tuned.best_config.kwargs == whole.best_config.kwargs
        assert not races(tmp_path)


@pytest.mark.parametrize("change", ["candidates", "order", "protocol", "key", "toolchain"])
def test_another_race_begins_anew(timed: World, raced: Any, monkeypatch: Any, change: str) -> None:
    """FR-10, FR-14: and the one that was cut off can still be taken up."""
    killed(timed, 6)
    sizes, n = list(CLOSE), 64
    with monkeypatch.context() as patch:
        if change == "candidates":
            sizes.append(ANOTHER)
        elif change == "order":
            sizes.reverse()
        elif change == "protocol":
            patch.setenv("TRITON_ASCEND_TUNE_TOLERANCE", "0.02")
        elif change == "key":
            n = 128
        else:
            patch.setattr(identity, "_torch_npu", lambda: "another")
        tuned = racing(timed, *sizes)
        add(tuned, n=n)
        assert tuned.verdict.choice.rounds == len(timed.rounds)
        assert set(timed.rounds[0]) == set(sizes)
    add(racing(timed))
    known = change in ("candidates", "order")  # then every candidate has its result by now
    assert len(timed.rounds) == (0 if known else raced.choice.rounds - 6 + 1)


def test_an_added_candidate_is_measured_alone_after_a_race(timed: World, raced: Any) -> None:
    """FR-13."""
    killed(timed, 5, 16, 64)
    add(racing(timed, 16, 64))
    tuned = racing(timed, 16, 64, 32)
    add(tuned)
    assert {block for round_ in timed.rounds for block in round_} == {32}


@pytest.mark.parametrize("damage", ["cut", "field", "rounds", "foreign"])
def test_a_damaged_race_begins_anew_with_one_warning(
    timed: World, raced: Any, tmp_path: Path, caplog: Any, damage: str
) -> None:
    """FR-04, FR-16."""
    killed(timed, 6)
    [path] = races(tmp_path)
    content = json.loads(path.read_text())
    if damage == "cut":
        path.write_text(path.read_text()[:-9])
    elif damage == "field":
        path.write_text(json.dumps({**content, "more": 1}))
    elif damage == "foreign":
        path.write_text(json.dumps({**content, "identity": "0" * 64}))
    else:  # well formed, but no race would have gone like that: nothing to warn of
        path.write_text(json.dumps({**content, "rounds": content["rounds"][:1] + content["rounds"][-1:]}))
    caplog.clear()
    tuned = racing(timed)
    add(tuned)
    assert len(timed.rounds) == raced.choice.rounds and tuned.best_config.kwargs == {"BLOCK": 64}
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == (damage != "rounds")


def test_a_race_that_others_have_finished_meanwhile_is_not_taken_up(timed: World, raced: Any, tmp_path: Path) -> None:
    killed(timed, 6)
    [path] = races(tmp_path)
    left = path.read_text()
    add(racing(timed))
    path.write_text(left)  # as a slower process would
    tuned = racing(timed)
    add(tuned)
    assert timed.rounds == [] and not hasattr(tuned, "bench_time")
    assert tuned.best_config.kwargs == {"BLOCK": 64}


def test_a_launch_that_failed_in_the_race_is_tried_again(timed: World, raced: Any) -> None:
    timed.launch_errors[128] = RuntimeError("fault")
    killed(timed, 6)
    tuned = racing(timed)
    add(tuned)
    assert len(timed.rounds) < raced.choice.rounds
    assert tuned.verdict.outcomes[3].reason == "RuntimeError: fault"


def test_if_that_launch_works_now_the_race_begins_anew(timed: World, raced: Any) -> None:
    timed.launch_errors[128] = RuntimeError("fault")
    killed(timed, 6)
    timed.launch_errors.clear()
    tuned = racing(timed)
    add(tuned)
    assert [outcome.status for outcome in tuned.verdict.outcomes] == [Status.TIMED] * 4
    assert len(timed.rounds) == raced.choice.rounds


def test_a_config_with_a_pre_hook_keeps_no_rounds(timed: World, raced: Any, tmp_path: Path) -> None:
    """FR-15."""
    configs = [*blocks(16, pre_hook=lambda arguments: None), *blocks(32, 64)]
    killed(timed, 6, configs=configs)
    assert not races(tmp_path)
    add(racing(timed, configs=configs))
    assert len(records(tmp_path)) == 2


@pytest.mark.parametrize("plan", ["classic", "fixed"])
def test_other_plans_keep_no_rounds(timed: World, raced: Any, tmp_path: Path, monkeypatch: Any, plan: str) -> None:
    """FR-61: ranks that launch the same whatever they take cannot do so from different rounds on."""
    monkeypatch.setenv("TRITON_ASCEND_TUNE_PLAN", plan)
    killed(timed, 2)
    assert not races(tmp_path)


def test_rounds_are_kept_only_where_results_are(timed: World, raced: Any, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        tuned = racing(timed, rounds=6)
        tuned.cache_results = False
        add(tuned)
    assert not races(tmp_path)
