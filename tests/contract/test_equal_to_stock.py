"""For programs that the stock tuner runs without an error, ours leaves the same behind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from triton.runtime.errors import OutOfResources
from tuning_fakes import StockTuner, World, add, add_kernel, blocks, torch, tuner

from triton_ascend_tune import store

SIZES = (16, 32, 64, 128)
KEYS = st.lists(st.sampled_from(["n", "MODE", "BLOCK"]), unique=True).map(tuple)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"n": st.sampled_from([32, 64]), "dtype": st.sampled_from([torch.float16, torch.float32])},
        optional={"bias": st.just(torch.ones(4)), "MODE": st.sampled_from([0, 1])},
    ),
    min_size=1,
    max_size=4,
)
PRUNERS: dict[str, Any] = {
    "none": {},
    "early": {"early_config_prune": lambda configs, named, **_: [c for c in configs if c.kwargs["BLOCK"] > 16]},
    "model": {"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": 2},
    "model, fraction": {"perf_model": lambda BLOCK, **_: BLOCK, "top_k": 0.75},
    "ignored entry": {"configs_top_k": 1},
}


def _private(tuned: Any) -> set[str]:
    return {name for name in vars(tuned) if name.startswith("_")}


def left_behind(cls: Any, world: World, program: Any) -> dict[str, Any]:
    """What a program can see after its calls; kernels and configs by their settings."""
    times, misfits, key, calls, pruner, hooks = program
    store.failures.forget()  # the same candidate fails in one program and not in the next
    world.log.clear()
    world.times = times
    world.launch_errors = {size: OutOfResources(2, 1, "shared memory") for size in misfits}
    seen: list[Any] = []
    options: dict[str, Any] = {"prune_configs_by": PRUNERS[pruner], "do_bench": world.bench}
    if hooks:
        options["pre_hook"] = lambda a, reset_only=False: seen.append(("pre", a["BLOCK"], reset_only, sorted(a)))
        options["post_hook"] = lambda a, exception: seen.append(("post", a["BLOCK"], type(exception), sorted(a)))
    tuned = tuner(world, add_kernel, blocks(*times), key=key, cls=cls, **options)
    launched = [add(tuned, **call).settings["BLOCK"] for call in calls]
    return {
        "launched": launched,
        "best": str(tuned.best_config),
        "is one of the given": any(tuned.best_config is config for config in tuned.configs),
        "timings": [(str(config), timings) for config, timings in getattr(tuned, "configs_timings", {}).items()],
        "nargs": tuned.nargs,
        "winners": sorted(str(config) for config in tuned.cache.values()),
        "hooks": seen,
        "launches": world.logged("launch"),
        "attributes": sorted(set(vars(tuned)) - {"measurer", "open_device", "verdict", "do_bench", *_private(tuned)}),
    }


@st.composite
def programs(draw: Any) -> Any:
    times = {size: draw(st.sampled_from([1.0, 2.0, 3.0])) for size in draw(st.permutations(SIZES))[:3]}
    # At least one that fits in whatever pruning leaves, or stock raises.
    misfits = draw(st.sets(st.sampled_from(sorted(times)), max_size=1))
    return times, misfits, draw(KEYS), draw(CALLS), draw(st.sampled_from(sorted(PRUNERS))), draw(st.booleans())


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs())
def test_same_winner_timings_hooks_launches_and_attributes(world: World, program: Any) -> None:
    stock = left_behind(StockTuner, world, program)
    ours = left_behind(None, world, program)
    # Ours fills in defaults, so it never tunes more often than stock for a call and its spelled-out form.
    explicit = all("bias" not in call and ("MODE" in call) == ("MODE" in program[3][0]) for call in program[3])
    if not explicit:
        for each in (stock, ours):
            for name in ("winners", "hooks", "launches"):
                del each[name]
    assert ours == stock


@pytest.mark.parametrize("hook", [None, lambda a, reset_only=False: None])
def test_reset_and_restore_leave_the_same_tensors(world: World, hook: Any) -> None:
    world.times = {16: 2.0, 32: 1.0}
    world.effect = lambda tensors: (tensors[0].mul_(2), tensors[2].add_(1))
    after = []
    for cls in (StockTuner, None):
        tuned = tuner(
            world,
            add_kernel,
            blocks(16, 32),
            cls=cls,
            do_bench=world.bench,
            restore_value=["x_ptr"] if hook is None else None,
            reset_to_zero=["out_ptr"],
            pre_hook=hook,
        )
        x, y, out = torch.ones(64), torch.ones(64), torch.full((64,), 9.0)
        tuned[(4,)](x, y, out, 64)
        after.append((x, y, out))
    for ours, stock in zip(*after):
        assert torch.equal(ours, stock)
