"""The method "profiler" of a tuning, and ``do_bench_npu``: when the profiler measures, and when events do instead."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fake_npu import FakeProfiler

from triton_ascend_tune import turns
from triton_ascend_tune.measure import bench_npu, device, event
from triton_ascend_tune.measure.attribution import BY_ORDER
from triton_ascend_tune.measure.bench import MeasurementError
from triton_ascend_tune.measure.bench_npu import do_bench_npu, keep_profile
from triton_ascend_tune.measure.profile_error import Problem, ProfileError
from triton_ascend_tune.measure.profiled import EVENT_ROUNDS, ProfilerMethod, by_profiler
from triton_ascend_tune.measure.trial import Failure, Measurement, Trial
from triton_ascend_tune.values import Conditions, Protocol, Samples, Stage

PROTOCOL = Protocol(method="profiler", rounds=4, warmup_rounds=1)


@dataclass
class Events:
    """Stands in for ``measure.event.measure``: 25 us each, unless a trial's name says that it fails."""

    protocols: list[Protocol] = field(default_factory=list)
    gate: str = ""

    def __call__(self, trials: Sequence[Trial], protocol: Protocol, *_: Any) -> Measurement:
        self.protocols.append(protocol)
        return Measurement(tuple(self._one(trial) for trial in trials), conditions=Conditions(self.gate))

    def _one(self, trial: Trial) -> Samples | Failure:
        return Failure(Stage.LAUNCH, "refused") if "fails" in trial.name else Samples((0.025,))


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(turns, "_SHARED", tmp_path)


@pytest.fixture
def profiler() -> FakeProfiler:
    return FakeProfiler()


@pytest.fixture
def events() -> Events:
    return Events()


class Bench:
    """A contest of kernels that take as many microseconds as asked for."""

    def __init__(self, profiler: FakeProfiler, events: Events, *us: float, names: Sequence[str | None] = ()) -> None:
        self.profiler = profiler
        self.trials = [Trial(self._launch("k", each), name=f"candidate {each}") for each in us]
        self.method = ProfilerMethod(events, lambda: profiler, lambda: list(names or ["k"] * len(us)), "softmax")

    def _launch(self, name: str, us: float) -> Callable[[], None]:
        return lambda: self.profiler.launch(name, us)

    def measure(self) -> Measurement:
        return self.method.measure(self.trials, PROTOCOL, None, (RuntimeError,))


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_one_session_whose_times_stand_beside_those_of_events(
    profiler: FakeProfiler, events: Events, caplog: pytest.LogCaptureFixture
) -> None:
    found = Bench(profiler, events, 10.0, 20.0).measure()
    first, second = found.results
    assert isinstance(first, Samples) and isinstance(second, Samples)
    assert (first.mean, second.mean, len(first.times_ms)) == pytest.approx((0.010, 0.020, 4))
    assert first.method == "profiler" and first.events == Samples((0.025,)) and first.score == pytest.approx(0.010)
    assert profiler.sessions == 1 and warnings_of(caplog) == []
    assert [(p.method, p.plan, p.rounds, p.statistic) for p in events.protocols] == [
        ("event", "fixed", EVENT_ROUNDS, "p50")
    ]
    assert found.protocol == by_profiler(PROTOCOL) and found.conditions.flush_bytes == PROTOCOL.flush_bytes


def test_events_say_behind_which_gate_they_were_taken(profiler: FakeProfiler, events: Events) -> None:
    events.gate = "value"
    for result in Bench(profiler, events, 10.0, 20.0).measure().results:
        assert isinstance(result, Samples) and result.events == Samples((0.025,), note="gate: value")


def test_what_a_session_keeps_of_a_protocol() -> None:
    used = by_profiler(PROTOCOL)
    assert (used.method, used.plan, used.flush, used.gate, used.statistic) == (
        "profiler",
        "fixed",
        "read",
        False,
        "mean",
    )
    none = by_profiler(replace(PROTOCOL, flush="none"))
    assert (none.flush, none.flush_bytes) == ("none", 0)


def test_a_candidate_that_fails_takes_no_part_in_the_session(profiler: FakeProfiler, events: Events) -> None:
    bench = Bench(profiler, events, 10.0, 20.0, 30.0, names=["k", None, "k"])
    bench.trials[1] = replace(bench.trials[1], name="fails")
    first, failure, third = bench.measure().results
    assert isinstance(failure, Failure) and failure.reason == "refused"
    assert isinstance(first, Samples) and isinstance(third, Samples)
    assert (first.mean, third.mean) == pytest.approx((0.010, 0.030)) and first.note == ""


def test_no_session_for_a_single_candidate(profiler: FakeProfiler, events: Events) -> None:
    bench = Bench(profiler, events, 10.0, 20.0)
    bench.trials[1] = replace(bench.trials[1], name="fails")
    for trials in (bench.trials, bench.trials[:1]):
        found = bench.method.measure(trials, PROTOCOL, None, ())
        assert found.results[0] == Samples((0.025,)) and profiler.sessions == 0
        assert found.protocol is not None and found.protocol.method == "event"
    assert events.protocols[-1] == replace(PROTOCOL, method="event")


def test_without_a_name_the_rows_in_order_are_marked(profiler: FakeProfiler, events: Events) -> None:
    found = Bench(profiler, events, 10.0, 20.0, names=[None, None]).measure()
    assert [result.note for result in found.results if isinstance(result, Samples)] == [BY_ORDER] * 2


@pytest.mark.parametrize("problem", list(Problem))
def test_events_instead_with_one_warning(
    profiler: FakeProfiler, events: Events, caplog: pytest.LogCaptureFixture, problem: Problem
) -> None:
    if problem is Problem.REFUSED:
        profiler.refuses = "expected 1, found 2"
    profiler.error = ProfileError(problem, "expected 1, found 2")
    found = Bench(profiler, events, 10.0, 20.0).measure()
    assert list(found.results) == [Samples((0.025,))] * 2
    assert found.protocol == replace(PROTOCOL, method="event") == events.protocols[-1]
    assert profiler.sessions == (0 if problem is Problem.REFUSED else 1)
    [warning] = warnings_of(caplog)
    assert warning.startswith("kernel softmax is measured between device events, not by the profiler: ")
    assert "expected 1, found 2" in warning
    assert problem is Problem.REFUSED or problem.value in warning


def test_the_wordings_differ() -> None:
    assert len({problem.value for problem in Problem}) == len(Problem) == 7


# -- do_bench_npu ------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_hand(profiler: FakeProfiler, events: Events, monkeypatch: pytest.MonkeyPatch) -> FakeProfiler:
    monkeypatch.setattr(bench_npu, "active_profiler", lambda: profiler)
    monkeypatch.setattr(device, "active_device", lambda: profiler)
    monkeypatch.setattr(event, "measure", events)
    return profiler


def test_one_callable_gives_a_number_and_several_a_list(at_hand: FakeProfiler) -> None:
    def call(us: float) -> Callable[[], None]:
        return lambda: at_hand.launch("k", us)

    assert do_bench_npu(call(10.0)) == pytest.approx(0.010)
    assert do_bench_npu([call(10.0)]) == pytest.approx([0.010])
    assert do_bench_npu((call(10.0), call(20.0)), warmup=0, active=2) == pytest.approx([0.010, 0.020])
    assert do_bench_npu([]) == [] and at_hand.sessions == 3


def test_a_name_picks_one_kernel_of_several(at_hand: FakeProfiler) -> None:
    def call() -> None:
        for name, us in (("pre", 5.0), ("target", 20.0), ("post", 3.0)):
            at_hand.launch(name, us)

    assert do_bench_npu(call) == pytest.approx(0.028)
    assert do_bench_npu(call, target_kernel_name="target") == pytest.approx(0.020)
    assert do_bench_npu([call, call], target_kernel_name=["pre", "post"]) == pytest.approx([0.005, 0.003])
    assert do_bench_npu(call, target_kernel_name="post", clear_l2_cache=False) == pytest.approx(0.003)


@pytest.mark.parametrize("flushes", [True, False])
def test_a_name_that_no_kernel_has_is_an_error_with_the_names_there_are(
    at_hand: FakeProfiler, events: Events, caplog: pytest.LogCaptureFixture, flushes: bool
) -> None:
    def call() -> None:
        for name in ("pre", "a", "b", "c", "d", "post"):
            at_hand.launch(name, 5.0)

    message = "^target_kernel_name is 'tagret'; kernels in the profile: pre, a, b, c, d, post$"
    with pytest.raises(ValueError, match=message):
        do_bench_npu([call, call], target_kernel_name=["post", "tagret"], clear_l2_cache=flushes)
    with pytest.raises(ValueError, match="target_kernel_name is 'k'; kernels in the profile: none"):
        do_bench_npu(lambda: None, target_kernel_name="k")
    assert events.protocols == [] and warnings_of(caplog) == []
    assert not any(folder.exists() for folder in at_hand.folders)


def test_a_call_without_any_row_is_timed_between_events(
    at_hand: FakeProfiler, events: Events, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as a view: it launches nothing."""
    assert do_bench_npu(lambda: None, warmup=2, active=7) == 0.025
    [warning] = warnings_of(caplog)
    assert "do_bench_npu measures between device events" in warning and "expected a multiple of 9 rows" in warning
    assert (events.protocols[0].rounds, events.protocols[0].warmup_rounds) == (7, 2)


def test_arguments_that_are_wrong_name_what_is_allowed(at_hand: FakeProfiler) -> None:
    with pytest.raises(ValueError, match="target_kernel_name has 1 names for 2 callables; allowed: one for each"):
        do_bench_npu([lambda: None] * 2, target_kernel_name=["k"])
    with pytest.raises(ValueError, match="active is 0; allowed are 1 and more runs"):
        do_bench_npu(lambda: None, active=0)
    assert at_hand.sessions == 0


def test_what_a_callable_raises_comes_out(at_hand: FakeProfiler) -> None:
    def bug() -> None:
        raise ValueError("bug")

    with pytest.raises(ValueError, match="bug"):
        do_bench_npu(bug)
    assert at_hand.sessions == 0


def test_no_time_by_either_method(at_hand: FakeProfiler, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand.refuses = "no"
    failure = Measurement((Failure(Stage.MEASURE, "no usable time"),))
    monkeypatch.setattr(event, "measure", lambda *_: failure)
    with pytest.raises(MeasurementError, match="no usable time"):
        do_bench_npu(lambda: None)


def test_where_a_profile_is_kept(at_hand: FakeProfiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")

    def call() -> None:
        at_hand.launch("k", 1.0)

    do_bench_npu(call, keep_res=True)
    do_bench_npu(call, prof_dir=tmp_path / "mine", keep_res=True)
    do_bench_npu(call, prof_dir=tmp_path / "removed")
    default, mine, removed = at_hand.folders
    assert default.parent == tmp_path / "home" / ".triton" / "profile_results" and default.is_dir()
    assert mine.parent == tmp_path / "mine" and mine.is_dir()
    assert removed.parent == tmp_path / "removed" and not removed.exists()


def test_a_profile_of_the_winner(at_hand: FakeProfiler, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    keep_profile(lambda: at_hand.launch("k", 1.0), tmp_path / "auto")
    assert at_hand.folders[0].parent == tmp_path / "auto" and at_hand.folders[0].is_dir() and not caplog.records
    at_hand.refuses = "no msprof"
    keep_profile(lambda: at_hand.launch("k", 1.0), tmp_path / "auto")
    [warning] = warnings_of(caplog)
    assert "no profile of the winner" in warning and "no msprof" in warning
