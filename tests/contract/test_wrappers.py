"""What libraries put around and below a tuner: heuristics, FlagGems' LibEntry and LibTuner, what torch.compile does."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from tuning_fakes import (
    SAMPLES,
    TIMES,
    Autotuner,
    World,
    add_kernel,
    blocks,
    copy_kernel,
    fresh,
    torch,
    triton,
    tuner,
    vectors,
)

from triton_ascend_tune.classes import make_tuner_class


class LibEntry(triton.runtime.KernelInterface):
    """As much of FlagGems' launcher as touches a tuner: it keeps the kernel and launches it without the tuner."""

    def __init__(self, fn: Any) -> None:
        self.fn, self.arg_names, self.kernels = fn, fn.arg_names, {}

    def run(self, *args: Any, **kwargs: Any) -> Any:
        key = tuple(arg for arg in args if isinstance(arg, int))
        if key not in self.kernels:
            kernel = self.fn.run(*args, **kwargs)
            constexprs, fn = {}, self.fn
            while not isinstance(fn, triton.runtime.JITFunction):
                if isinstance(fn, triton.runtime.Autotuner):
                    constexprs.update(num_warps=fn.best_config.num_warps, **fn.best_config.kwargs)
                elif not isinstance(fn, triton.runtime.autotuner.Heuristics):
                    raise RuntimeError("Invalid Runtime Function")
                fn = fn.fn
            self.kernels[key] = (kernel, constexprs)
        return self.kernels[key]


def test_heuristics_below_see_each_candidates_values(timed: World) -> None:
    seen: list[Any] = []

    def mode(arguments: dict[str, Any]) -> int:
        seen.append(arguments["BLOCK"])
        return 0

    fn = triton.heuristics({"MODE": mode})(fresh(add_kernel))
    tuned = tuner(timed, fn, blocks(16, 32), jit=False)
    kernel = tuned[(4,)](*vectors(), 64)
    assert kernel.settings["BLOCK"] == 32
    assert set(seen) == {16, 32}
    assert timed.log[:2] == [("compile", 16), ("compile", 32)]  # ahead, through the heuristics


def test_heuristics_above_give_arguments_to_the_tuner(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32), key=["n", "MODE"])
    wrapped = triton.heuristics({"MODE": lambda arguments: arguments["n"] % 2})(tuned)
    x, y, out = vectors()
    for n in (64, 63, 64):
        wrapped[(4,)](x, y, out, n)
    assert len(tuned.cache) == 2


def test_lib_entry_above(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    kernel, constexprs = LibEntry(tuned)[(4,)](*vectors(), 64)
    assert kernel.settings["BLOCK"] == 32 and constexprs["BLOCK"] == 32


def test_lib_entry_below_is_not_compiled_ahead_and_its_pair_is_passed_on(timed: World) -> None:
    entry = LibEntry(fresh(add_kernel))
    entry.kernels = type("Never", (dict,), {"__contains__": lambda self, key: False})()
    tuned = tuner(timed, entry, blocks(16, 32), jit=False)
    kernel, _ = tuned[(4,)](*vectors(), 64)
    assert kernel.settings["BLOCK"] == 32
    assert timed.log[:2] == [("compile", 16), ("launch", 16)]


class LibTuner(make_tuner_class(Autotuner)):  # type: ignore[misc]
    """As FlagGems does it: its own run and a cache that is a database; base methods do the rest."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args))
        key = tuple(self.nargs[name] for name in self.keys)
        if key not in self.cache:
            pruned = self.prune_configs(kwargs)
            start = time.time()
            timings = {config: self._bench(*args, config=config, **kwargs) for config in pruned}
            self.bench_time = time.time() - start
            self.cache[key] = min(timings, key=timings.get)
            self.pre_hook({**self.nargs, **kwargs, **self.cache[key].all_kwargs()}, reset_only=True)
        self.best_config = self.cache[key]
        return self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())


def test_a_library_tuner_on_top_of_our_class(timed: World) -> None:
    fn = fresh(add_kernel)
    library = LibTuner(
        fn, fn.arg_names, blocks(16, 32), ["n"], None, None, pre_hook=None, post_hook=None, prune_configs_by=None,
        do_bench=timed.bench,
    )  # fmt: skip
    assert library[(4,)](*vectors(), 64).settings["BLOCK"] == 32
    assert library.base_fn is add_kernel.fn
    assert "BLOCK: 32" in str(library.best_config)


def test_a_library_tuner_that_only_persists_the_cache(timed: World) -> None:
    fn = fresh(add_kernel)
    with pytest.warns(DeprecationWarning):  # it passes the deprecated warmup and rep by position
        library = make_tuner_class(Autotuner)(
            fn, fn.arg_names, blocks(16, 32), ["n"], None, None, None, None, None, 25, 100, False
        )
    library.measurer, library.open_device = timed.measure, lambda: None
    library[(4,)](*vectors(), 64)
    stored = [str(key) for key in library.cache]
    import ast

    # As wheel 3.2.0's LibTuner reads its rows back: split at commas, each part a literal.
    assert [tuple(ast.literal_eval(part) for part in key[1:-1].split(", ")) for key in stored] == list(library.cache)
    library.cache = dict.fromkeys(library.cache, library.configs[0])
    timed.log.clear()
    library[(4,)](*vectors(), 64)
    assert timed.log == [("launch", 16)]


def test_what_torch_compile_does_to_a_tuner(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    rebuilt = make_tuner_class(Autotuner)(
        tuned.fn, tuned.arg_names, copy.deepcopy(tuned.configs), [], None, None, prune_configs_by={"configs_top_k": 1.0}
    )
    rebuilt.measurer, rebuilt.open_device = timed.measure, lambda: None
    for config in rebuilt.configs:
        config.__dict__["kwargs"] = {**config.kwargs, "MODE": 1}
    assert rebuilt[(4,)](*vectors(), 64).settings["MODE"] == 1


def test_editing_a_chosen_config_reaches_the_next_launch(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(16, 32))
    x, y, out = vectors()
    tuned[(4,)](x, y, out, 64)
    tuned.best_config.__dict__["kwargs"] = {"BLOCK": 64}
    assert tuned[(4,)](x, y, out, 64).settings["BLOCK"] == 64


def test_a_single_tile_of_dtypes_can_be_warmed_up_through_heuristics(timed: World) -> None:
    fn = triton.heuristics({"BLOCK": lambda arguments: 16})(fresh(copy_kernel))
    tuned = tuner(timed, fn, [triton.Config({}, num_warps=1), triton.Config({}, num_warps=2)], jit=False)
    assert len(tuned.warmup(torch.float32, torch.float32, 64, grid=(1,))) == 2
    assert timed.logged("launch") == []


def test_every_candidate_is_sampled_the_same_number_of_times(timed: World) -> None:
    tuned = tuner(timed, add_kernel, blocks(*TIMES))
    tuned[(4,)](*vectors(), 64)
    launches = timed.logged("launch")[:-1]
    assert {size: launches.count(size) for size in TIMES} == dict.fromkeys(TIMES, SAMPLES)
