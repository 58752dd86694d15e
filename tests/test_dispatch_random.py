"""Random calls on the hit path against the general path, the reference: the same winners, the same launches."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tuning_fakes import World, add_kernel, blocks, torch, tuner, world  # noqa: F401

from triton_ascend_tune import key_map, options

DTYPES = {dtype: torch.ones(4, dtype=dtype) for dtype in (torch.float16, torch.float32)}
NAMES = add_kernel.arg_names
KEYS = ("n", "MODE", "bias")
SIZES = (16, 32, 64)


class Launches:
    """Stands in for a JIT function's ``run``: notes each launch of its thread, and makes times depend on arguments."""

    def __init__(self, made: World) -> None:
        self._world = made
        self._threads = threading.local()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        named = {"MODE": 0, **dict(zip(NAMES, args)), **keywords}
        # What is equal in a key is equal here, so that it does not matter which of two equal calls comes first.
        numbers = [float(each) if isinstance(each, int) else each for each in map(named.get, KEYS)]
        text = f"{named['x_ptr'].dtype} {numbers} {named['BLOCK']}"
        self._threads.time = float(random.Random(text).randrange(1, 1000))
        self._threads.last = (args, {name: value for name, value in keywords.items() if name != "warmup"})
        if keywords["warmup"]:
            return None
        return ("launched", named["n"], named["BLOCK"])

    def bench(self, call: Callable[[], Any], quantiles: Any = None) -> float:
        call()
        return float(self._threads.time)

    @property
    def last(self) -> Any:
        return self._threads.last


def recorded(made: World, **options: Any) -> tuple[Any, Launches, list[None]]:
    """A tuner whose launches are noted, and a list that grows by one with each call of its general path."""
    launches, general = Launches(made), []
    tuned = tuner(made, add_kernel, blocks(*SIZES), key=KEYS, do_bench=launches.bench, **options)
    tuned.fn.run = launches
    run = tuned._general

    def counted(*args: Any, **keywords: Any) -> Any:
        general.append(None)
        return run(*args, **keywords)

    tuned._general = counted
    return tuned, launches, general


def without_hits(tuned: Any) -> Any:
    """``tuned``, from now on without a hit path. It has one only after a first call."""
    prepare = tuned._prepare

    def prepared(*args: Any) -> Any:
        plan = prepare(*args)
        plan.can_hit = False
        return plan

    tuned._prepare = prepared
    return tuned


def a_call(draw: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of ``add_kernel``: mostly in one of a few ways of calling, as programs have them, with any values."""
    way = random.Random(draw.randrange(10) if draw.random() < 0.9 else draw.random())
    tensor = DTYPES[draw.choice(list(DTYPES))]
    values: dict[str, Any] = {"x_ptr": tensor, "y_ptr": tensor, "out_ptr": tensor}
    values["n"] = draw.choice([1, 2, 3, True, 2.0])
    if way.random() < 0.5:
        values["bias"] = draw.choice([None, 4, "text", tensor, [1, 2], torch.ones(2), 1.5])
    count = way.randrange(len(values) + 1)
    if way.random() < 0.5:
        values["MODE"] = draw.choice([0, 1, True, None, (1, 2), torch.float16])
    if way.random() < 0.3:
        option = way.choice(["num_warps", "multibuffer", "stream", "debug"])
        values[option] = draw.choice([1, True, 8, None, 2.5, (1,)])
    names = list(values)
    args = tuple(values[name] for name in names[:count])
    return args, {name: values[name] for name in way.sample(names[count:], len(names) - count)}


def outcome(tuned: Any, launches: Launches, call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """All that a caller, or the JIT function below, sees of a call."""
    try:
        returned = tuned[(4,)](*call[0], **call[1])
    except Exception as error:
        return type(error), str(error)
    args, keywords = launches.last
    order = sorted(keywords)
    settings = tuned.best_config.all_kwargs() if threading.active_count() == 1 else None
    return returned, [*map(id, args)], order, [_same(keywords[name]) for name in order], settings


def _same(value: Any) -> Any:
    return (type(value), value) if isinstance(value, (int, float, str, tuple)) else id(value)


def change(tuned: Any, draw: random.Random, number: int) -> None:
    """What a program may do to a tuner between two calls; the same to each tuner for the same ``draw``."""
    what = draw.randrange(8)
    keys = sorted(tuned.cache, key=str)
    if what == 0:
        tuned.cache.clear()
    elif what == 1:
        tuned.keys = list(draw.choice([("n",), KEYS, ("MODE", "n")]))
    elif what == 2 and keys:
        tuned.cache[draw.choice(keys)] = tuned.configs[draw.randrange(len(tuned.configs))]
    elif what == 3:
        tuned.configs = blocks(*draw.sample(SIZES, draw.randrange(1, 4)))
    elif what == 4:
        tuned.configs[0].kwargs["BLOCK"] = draw.choice(SIZES)
    elif what == 5:
        tuned.configs[0].num_warps = draw.choice([1, 2, 4])
    elif what == 6:
        tuned.configs[-1].pre_hook = draw.choice([None, lambda arguments: None])
    else:
        tuned.cache = dict(tuned.cache)


@pytest.mark.parametrize("mapped", [{}, {"n": 2}, {"MODE": lambda value: str(value)}])
def test_thousands_of_calls_end_as_on_the_general_path(world: World, mapped: Any) -> None:  # noqa: F811
    one, launched, general = recorded(world)
    other, reference, _ = recorded(world)
    for tuned in (one, without_hits(other)):
        key_map(**mapped)(tuned)
    calls, changes = random.Random(1), (random.Random(2), random.Random(2))
    total = 3000
    for number in range(total):
        if number % 100 == 99:
            assert list(map(str, one.cache)) == list(map(str, other.cache))
            for tuned, draw in zip((one, other), changes):
                change(tuned, draw, number)
        call = a_call(calls)
        assert outcome(one, launched, call) == outcome(other, reference, call), (number, call)
    if mapped.keys() == {"MODE"}:
        assert one._plan.hits is None  # a user's own function
    else:
        assert len(general) < 0.8 * total  # so that the other fifth, at least, were hits


def test_the_same_from_eight_threads(world: World) -> None:  # noqa: F811
    tuned, launched, general = recorded(world)
    expected, reference, _ = recorded(world)
    without_hits(expected)
    draw = random.Random(3)
    calls = [a_call(draw) for _ in range(300)]
    outcomes = [outcome(expected, reference, call)[:4] for call in calls]
    wrong: list[Any] = []

    def work(seed: int) -> None:
        order = random.Random(seed)
        for place in (order.randrange(len(calls)) for _ in range(1000)):
            got = outcome(tuned, launched, calls[place])[:4]
            if got != outcomes[place]:
                wrong.append((calls[place], got, outcomes[place]))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(general) < 0.8 * 8000


def test_threads_while_choices_are_dropped_and_settings_edited(world: World) -> None:  # noqa: F811
    """Hits are forgotten and learnt again all the time, by several threads; every launch is still one that fits."""
    tuned, launched, _ = recorded(world)
    options(winners=3)(tuned)
    tensor, stop, wrong = DTYPES[torch.float32], threading.Event(), []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(400):
            n = draw.randrange(8)
            _, called, block = tuned[(4,)](tensor, tensor, tensor, n, MODE=draw.randrange(2))
            args, keywords = launched.last
            if called != n or args[3] != n or keywords["BLOCK"] != block or block not in SIZES:
                wrong.append((n, called, args, keywords))

    def disturb() -> None:
        draw = random.Random(0)
        while not stop.wait(0.001):
            tuned.cache.clear()
            tuned.configs[draw.randrange(3)].num_warps = draw.choice([1, 2, 4])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    disturber = threading.Thread(target=disturb)
    for thread in (*threads, disturber):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    disturber.join()
    assert wrong == [] and len(tuned.cache) <= 3
