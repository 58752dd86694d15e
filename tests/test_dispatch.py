"""What makes a call a hit, and that a hit does all that a launch must."""

from __future__ import annotations

import copy
import gc
import logging
import random
import sys
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tuning_fakes import (
    World,
    add,
    add_kernel,
    blocks,
    copy_kernel,
    fresh,
    torch,
    triton,
    tuner,
    vectors,
    world,  # noqa: F401
)

from triton_ascend_tune import dispatch
from triton_ascend_tune.launch import ConflictError


def is_hit(tuned: Any, call: Callable[[], Any]) -> bool:
    """Whether ``call`` is answered without the general path."""
    seen: list[None] = []
    original = tuned._general
    tuned._general = lambda *args, **keywords: (seen.append(None), original(*args, **keywords))[1]
    try:
        call()
    finally:
        del tuned._general
    return not seen


@pytest.fixture
def tuned(world: World) -> Any:  # noqa: F811
    world.times = {16: 3.0, 32: 1.0, 64: 2.0}
    return tuner(world, add_kernel, blocks(16, 32, 64))


@pytest.mark.parametrize(
    "keywords",
    [{}, {"bias": None}, {"MODE": 1}, {"num_warps": 8}, {"MODE": (1, 2), "bias": 3.5}, {"n": 1}],
    ids=str,
)
@pytest.mark.parametrize("count", [1, 2])
def test_the_second_call_is_a_hit(world: World, count: int, keywords: Any) -> None:  # noqa: F811
    world.times = {16: 3.0, 32: 1.0}
    tuned = tuner(world, add_kernel, blocks(16, 32)[:count])
    assert [is_hit(tuned, lambda: add(tuned, **keywords)) for _ in range(2)] == [False, True]
    assert is_hit(tuned, lambda: add(tuned, **keywords, num_ctas=1)) is False  # another way of calling


def test_heuristics_around_the_tuner_reach_the_hit_path(world: World, tuned: Any) -> None:  # noqa: F811
    outer = triton.heuristics({"MODE": lambda arguments: arguments["n"] % 2})(tuned)
    add(outer)
    assert is_hit(tuned, lambda: add(outer))
    assert add(outer, n=3).settings["MODE"] == 1


def test_a_hit_sets_best_config_and_nothing_else(tuned: Any) -> None:
    add(tuned)
    add(tuned, n=65)
    before = {**vars(tuned)}
    tuned.best_config = None
    assert is_hit(tuned, lambda: add(tuned))
    assert vars(tuned) == before


def test_a_hit_is_silent(tuned: Any, monkeypatch: Any, capsys: Any, caplog: Any) -> None:
    """Neither the listener of Triton 3.9 nor a printed line nor the log hears of it."""
    heard: list[Any] = []
    knobs = SimpleNamespace(autotuning=SimpleNamespace(listener=lambda **said: heard.append(said["cache_hit"])))
    monkeypatch.setitem(sys.modules, "triton.knobs", knobs)
    monkeypatch.setenv("TRITON_ASCEND_TUNE_REPORT", "1")
    add(tuned)
    assert heard == [False] and "add_kernel" in capsys.readouterr().out
    with caplog.at_level(logging.DEBUG, "triton_ascend_tune"):
        assert is_hit(tuned, lambda: add(tuned))
    assert heard == [False] and capsys.readouterr().out == "" and caplog.records == []


def test_a_hit_takes_no_part_in_the_capturing_of_a_graph(tuned: Any, monkeypatch: Any) -> None:
    """What a hit launches may be captured; only a tuning may not."""
    add(tuned)
    monkeypatch.setattr("triton_ascend_tune.measure.capture.in_progress", lambda backend: True)
    assert add(tuned).settings["BLOCK"] == 32
    with pytest.raises(RuntimeError, match="captured"):
        add(tuned, n=65)


@pytest.mark.parametrize("attribute", ["cache", "configs", "keys", "fn", "winner", "edit", "hook", "run"])
def test_what_a_program_changes_is_noticed_by_the_next_call(world: World, tuned: Any, attribute: str) -> None:  # noqa: F811
    add(tuned)
    assert is_hit(tuned, lambda: add(tuned))
    world.log.clear()
    block = 32
    if attribute == "cache":
        tuned.cache.clear()
        world.times = {16: 1.0, 32: 2.0, 64: 3.0}
        block = 16
    elif attribute == "configs":
        tuned.configs = blocks(64)
        block = 64
    elif attribute == "keys":
        tuned.keys = ["n", "MODE"]
    elif attribute == "fn":
        tuned.fn = fresh(add_kernel)
    elif attribute == "winner":
        tuned.cache[next(iter(tuned.cache))] = tuned.configs[0]
        block = 16
    elif attribute == "edit":
        tuned.best_config.kwargs["BLOCK"] = block = 64
    elif attribute == "hook":
        tuned.best_config.pre_hook = lambda arguments: world.log.append(("hook", arguments["BLOCK"]))
    else:
        tuned.run = lambda *args, grid, warmup: ("replaced", grid, warmup)
        assert tuned[(4,)](*vectors(), 64) == ("replaced", (4,), False)
        return
    assert add(tuned).settings["BLOCK"] == block
    assert ("compile", block) in world.log or attribute != "fn"
    assert [each for each in world.log if each[0] == "hook"] == ([("hook", 32)] if attribute == "hook" else [])


def test_another_device_or_driver_is_not_answered_for_the_first(world: World, tuned: Any) -> None:  # noqa: F811
    add(tuned)
    world.device = 1
    assert not is_hit(tuned, lambda: add(tuned))
    assert is_hit(tuned, lambda: add(tuned))
    world.device = 0
    assert not is_hit(tuned, lambda: add(tuned)) and is_hit(tuned, lambda: add(tuned))
    assert len(tuned.cache) == 2


def test_an_error_of_the_launch_comes_through_and_changes_nothing(world: World, tuned: Any) -> None:  # noqa: F811
    add(tuned)
    world.launch_errors[32] = ZeroDivisionError("device")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="device"):
            add(tuned)
    world.launch_errors.clear()
    assert is_hit(tuned, lambda: add(tuned))


def test_an_interrupt_while_a_key_is_built_is_not_swallowed(tuned: Any) -> None:
    class Argument:
        raised: Any = None

        @property
        def dtype(self) -> Any:
            if self.raised is not None:
                raise self.raised
            return torch.float32

    add(tuned)
    _, y, out = vectors()
    odd = Argument()
    odd.raised = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        tuned[(4,)](odd, y, out, 64)


@pytest.mark.parametrize("hits", [False, True])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tuned: tuned[(4,)](*vectors(), 64, None, 16, 0, 1, 2), r"add_kernel\(\) takes from 4 to 7 .* 9 were"),
        (lambda tuned: tuned[(4,)](*vectors(), 64, n=64), r"add_kernel\(\) .*multiple values for argument 'n'"),
        (lambda tuned: tuned[(4,)](*vectors(), 64, grid=(1,)), "multiple values for keyword argument 'grid'"),
        (lambda tuned: tuned[(4,)](*vectors(), 64, warmup=True), "multiple values for keyword argument 'warmup'"),
    ],
)
def test_wrong_calls_get_pythons_own_words(tuned: Any, hits: bool, call: Any, message: str) -> None:
    if hits:
        add(tuned)
    with pytest.raises(TypeError, match=message):
        call(tuned)


def test_an_argument_that_call_and_winner_set_stays_a_conflict(tuned: Any) -> None:
    add(tuned)
    for _ in range(2):
        with pytest.raises(ConflictError):
            add(tuned, BLOCK=64)


def test_a_call_that_sets_what_another_left_to_be_proposed(world: World) -> None:  # noqa: F811
    world.times = lambda settings: 1.0 / settings["BLOCK"]
    tuned = tuner(world, copy_kernel, [])
    x, y, _ = vectors()
    for _ in range(3):
        assert tuned[(4,)](x, y, 64).settings["BLOCK"] == 64
        assert tuned[(4,)](x, y, 64, BLOCK=16).settings["BLOCK"] == 16
    assert is_hit(tuned, lambda: tuned[(4,)](x, y, 64, BLOCK=16))


def test_a_promise_is_kept_on_a_hit(tuned: Any) -> None:
    add(tuned)

    class FutureKernel:
        def result(self) -> str:
            return "kernel"

    tuned.fn.run = lambda *args, **keywords: FutureKernel()
    assert is_hit(tuned, lambda: add(tuned))
    assert add(tuned) == "kernel"


def test_keywords_that_are_made_up_at_run_time(tuned: Any) -> None:
    """Their strings are not the ones that the interpreter keeps; ``json.loads`` gives such."""
    add(tuned)
    x, y, out = vectors()
    names = ["".join(["x", "_ptr"]), "".join(["y", "_ptr"]), "".join(["out", "_ptr"]), "n"]
    for _ in range(2):
        assert tuned[(4,)](**dict(zip(names, (x, y, out, 64)))).settings["BLOCK"] == 32
    assert len(tuned.cache) == 1


def test_more_ways_of_calling_than_are_kept_are_still_right(tuned: Any) -> None:
    draw = random.Random(0)
    values = dict(zip(add_kernel.arg_names, (*vectors(), 64, None)))
    for _ in range(60):
        order = draw.sample(list(values), len(values))
        assert tuned[(4,)](**{name: values[name] for name in order}).settings["BLOCK"] == 32
    assert len(tuned.cache) == 1


def test_without_the_native_module_everything_is_the_same_but_slower(tuned: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "triton_ascend_tune._native", None)
    assert [add(tuned).settings["BLOCK"] for _ in range(3)] == [32] * 3
    assert not is_hit(tuned, lambda: add(tuned))


def test_without_the_gil_there_is_no_native_hit_path(tuned: Any, monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    with caplog.at_level(logging.INFO, "triton_ascend_tune"):
        add(tuned)
    assert not is_hit(tuned, lambda: add(tuned))
    assert "needs the GIL, which PYTHON_GIL=0 keeps off" in caplog.text


#: Reports what another interpreter said, before and after the main one loaded the module.
IN_ANOTHER_INTERPRETER = """
import contextlib, tempfile
try:
    import _interpreters as interpreters  # Python 3.13
except ImportError:
    import _xxsubinterpreters as interpreters

PATH = os.path.join(tempfile.mkdtemp(), "said")
PROGRAM = '''
import triton_ascend_tune
triton_ascend_tune.install()
import triton_ascend_tune.autotuner, triton_ascend_tune.dispatch
try:
    from triton_ascend_tune import _native
    said = "imported"
except ImportError as error:
    said = str(error)
open(%r, "w").write(said)
''' % PATH

def another():
    made = interpreters.create()
    interpreters.run_string(made, PROGRAM)
    interpreters.destroy(made)
    return open(PATH).read()

first = another()
from triton_ascend_tune import _native
works = _native.Hits(None, None, lambda: 0, None, None, None).count() == 0
report([first, another(), works])
"""


def test_another_interpreter_gets_the_package_and_a_clear_refusal_of_the_native_module(run_program: Any) -> None:
    """And the main interpreter is none the worse for it, whichever of them came first."""
    first, second, works = run_program(IN_ANOTHER_INTERPRETER)
    for said in (first, second):
        assert "main interpreter only" in said or "does not support loading in subinterpreters" in said
    assert works


def test_a_copied_tuner_has_hits_of_its_own(tuned: Any) -> None:
    add(tuned)
    twin = copy.copy(tuned)
    twin.cache = dict.fromkeys(tuned.cache, tuned.configs[0])
    assert (add(tuned).settings["BLOCK"], add(twin).settings["BLOCK"]) == (32, 16)
    assert copy.deepcopy(tuned._plan) is None


def test_hits_keep_neither_arguments_nor_the_tuner_alive(world: World) -> None:  # noqa: F811
    world.times = {16: 1.0, 32: 2.0}
    tuned = tuner(world, add_kernel, blocks(16, 32))
    x, y, out = vectors()
    for _ in range(3):
        tuned[lambda meta: (4,)](x, y, out, 64)
    tuned.bound = tuned[lambda meta, configs=tuned.configs: (len(configs),)]  # a cycle
    tuned.bound(x, y, out, 64)
    gone = [weakref.ref(each) for each in (x, tuned)]
    del x, y, out, tuned
    world.log.clear()
    world.last = {}
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_hits_cannot_be_taught_nonsense(tuned: Any) -> None:
    from triton_ascend_tune._native import Hits

    hits = Hits(None, None, lambda: 0, None, None, None)
    for parts, hit in (((1,), None), (((0, 9),), None), (((5, 0),), None), ((), (1, 2)), ((), "hit")):
        with pytest.raises((TypeError, ValueError)):
            hits.learn((1,), {"grid": 1, "warmup": False}, 0, 10, lambda parts=parts: parts, lambda hit=hit: hit)
    with pytest.raises(TypeError):
        hits()
    add(tuned)
    with pytest.raises(TypeError):
        type(tuned[(1,)])()


def test_torch_is_asked_for_the_device_without_what_initialises_it(monkeypatch: Any) -> None:
    class Driver:
        get_current_device = staticmethod(torch.cuda.current_device)

    class NPUDriver:  # triton-ascend's
        def get_current_device(self) -> int:
            raise AssertionError("asked, though torch_npu is there")

    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 7, raising=False)
    torch_npu = SimpleNamespace(_C=SimpleNamespace(_npu_getDevice=lambda: 5))
    monkeypatch.setitem(sys.modules, "torch_npu", torch_npu)
    assert dispatch.current_device(Driver())() == 7
    assert dispatch.current_device(NPUDriver())() == 5
    Driver.get_current_device = staticmethod(lambda: 3)
    assert dispatch.current_device(Driver())() == 3
