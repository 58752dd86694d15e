"""Tuner classes that libraries derive from Triton's: what ours takes over, and what stays theirs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tuning_fakes import TIMES, Autotuner, World, add, add_kernel, blocks, torch, triton, tuner, world  # noqa: F401

from triton_ascend_tune import activation
from triton_ascend_tune.classes import make_tuner_class


class Prefaced(Autotuner):
    """Does something of its own before each launch, and leaves the rest to Triton."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.launches = 0

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.launches += 1
        return super().run(*args, **kwargs)


class TwiceRemoved(Prefaced):
    def prune_configs(self, keywords: Any) -> Any:
        return [config for config in super().prune_configs(keywords) if config.kwargs["BLOCK"] != 32]


class Inheriting(Autotuner):
    """Overrides nothing that a launch uses."""


class OnItsOwn(Autotuner):
    """Takes its first config always."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn.run(*args, **kwargs, **self.configs[0].all_kwargs())


@pytest.mark.parametrize("cls", [Prefaced, TwiceRemoved, Inheriting])
def test_a_run_that_ends_in_tritons_is_tuned_by_ours(cls: Any, timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), cls=cls)
    for _ in range(3):
        add(tuned)
    assert isinstance(tuned, cls) and isinstance(tuned, make_tuner_class(Autotuner))
    assert tuned.best_config.kwargs == {"BLOCK": 64 if cls is TwiceRemoved else 32}
    assert len(tuned.verdict.outcomes) == (2 if cls is TwiceRemoved else 3)
    assert len(timed.protocols) == 1, "tuned once, by our engine"


def test_every_launch_goes_through_the_librarys_run(timed: World) -> None:
    """Also those that would be hits."""
    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Prefaced)
    for _ in range(5):
        add(tuned)
    assert tuned.launches == 5


def test_a_run_of_its_own_is_left_alone(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=OnItsOwn)
    add(tuned)
    assert type(tuned) is OnItsOwn and timed.protocols == []
    assert timed.logged("launch") == [16]


def test_where_we_do_not_tune_a_subclass_behaves_as_stock(timed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ASCEND_TUNE", "0")
    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Prefaced)
    add(tuned)
    assert tuned.verdict is None and timed.protocols == []
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_a_subclass_that_cannot_be_joined_tunes_as_stock_and_says_so(timed: World, caplog: Any) -> None:
    asked = []

    class Closed(Prefaced):
        def __init_subclass__(cls) -> None:
            asked.append(cls)
            raise TypeError("no more of us")

    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Closed)
    for _ in range(3):
        add(tuned)
    assert type(tuned) is Closed and tuned.best_config.kwargs == {"BLOCK": 32}
    assert len(asked) == 1, "not at every launch"
    [said] = [record.getMessage() for record in caplog.records if "Closed" in record.getMessage()]
    assert "tunes as stock Triton" in said and "no more of us" in said


class NamedAlike(Prefaced):
    def _prune(self, configs: Any) -> Any:
        return configs


class Timing(Prefaced):
    def _bench(self, *args: Any, config: Any, **meta: Any) -> Any:
        return [float(config.kwargs["BLOCK"])] * 3


@pytest.mark.parametrize(("cls", "block", "why"), [(NamedAlike, 32, "_prune"), (Timing, 16, "_bench")])
def test_a_subclass_that_ours_would_break_stays_as_it_is(
    cls: Any, block: int, why: str, timed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activation, "_problems", [])
    tuned = tuner(timed, add_kernel, blocks(32, 16, 64), cls=cls)
    add(tuned)
    assert type(tuned) is cls and timed.protocols == []
    assert tuned.best_config.kwargs == {"BLOCK": block}
    [said] = activation.state().problems
    assert f"{cls.__qualname__} tunes as stock Triton" in said and why in said


def test_a_class_of_tritons_whose_run_ends_in_its_bases_behaves_as_stock_where_we_do_not_tune(
    timed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activation, "_originals", dict(activation._originals))
    monkeypatch.setattr(activation, "_runs", dict(activation._runs))

    class Generating(Prefaced):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)

        def run(self, *args: Any, **kwargs: Any) -> Any:
            return super().run(*args, **kwargs)

    activation._replace(Generating)
    monkeypatch.setenv("TRITON_ASCEND_TUNE", "0")
    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Generating)
    assert type(tuned) is make_tuner_class(Generating)
    add(tuned)
    assert type(tuned) is make_tuner_class(Generating) and timed.protocols == []
    assert tuned.best_config.kwargs == {"BLOCK": 32} and tuned.launches == 1


def test_threads_that_launch_first_at_once_tune_once(timed: World) -> None:
    together, met = threading.Barrier(2), []

    class Meeting(Prefaced):
        def __init_subclass__(cls) -> None:
            met.append(cls)

        def run(self, *args: Any, **kwargs: Any) -> Any:
            together.wait()
            return super().run(*args, **kwargs)

    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Meeting)
    threads = [threading.Thread(target=add, args=(tuned,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [type(tuned)] and len(timed.protocols) == 1


def test_hooks_that_a_subclass_puts_in_place_of_tritons_run_as_in_stock(timed: World) -> None:
    """Optional tensors, for instance, that Triton's own would trip over."""
    seen: list[Any] = []

    class Hooked(Prefaced):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.pre_hook = lambda arguments, reset_only=False: seen.append(("pre", arguments["bias"], reset_only))
            self.post_hook = lambda arguments, exception: seen.append(("post", exception))

    tuned = tuner(timed, add_kernel, blocks(16, 32), cls=Hooked, restore_value=["bias"])
    add(tuned, bias=None)
    assert seen[0] == ("pre", None, False) and seen[-1] == ("pre", None, True)
    assert seen.count(("post", None)) == sum(entry == ("pre", None, False) for entry in seen)


@pytest.mark.parametrize(("cls", "names"), [(None, ["n"]), (None, {"n": "n", "y": "n"}), (Prefaced, ["n"])])
def test_a_choice_that_the_program_brings_along_is_used(cls: Any, names: Any, timed: World) -> None:
    """Under the key that stock Triton has for the call; it holds until the program puts another one there."""
    tuned = tuner(timed, add_kernel, blocks(16, 32, 64), cls=cls)
    tuned.keys = names  # axes with their names, as the tuners of triton-ascend have them
    key = (*[64] * len(names), *(str(torch.float32) for _ in range(3)))
    for block in (64, 16):
        tuned.cache[key] = triton.Config({"BLOCK": block})
        timed.log.clear()
        for _ in range(3):
            add(tuned)
        assert timed.logged("launch") == [block] * 3
    assert timed.protocols == [] and list(tuned.cache) == [key]
