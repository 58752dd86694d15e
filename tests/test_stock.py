"""Reading a stock tuner."""

from __future__ import annotations

from typing import Any

import pytest
from tuning_fakes import StockTuner, World, add_kernel, blocks, driver, fresh, triton, tuner, world  # noqa: F401

from triton_ascend_tune import stock


def test_default_hooks_are_told_from_the_users(world: World) -> None:  # noqa: F811
    plain = tuner(world, add_kernel, blocks(16))
    restoring = tuner(world, add_kernel, blocks(16), restore_value=["x_ptr"])
    for made in (plain, restoring):
        assert stock.is_default(made.pre_hook) and stock.is_default(made.post_hook)
    hook = lambda arguments, reset_only=False: None  # noqa: E731
    assert not stock.is_default(tuner(world, add_kernel, blocks(16), pre_hook=hook).pre_hook)


@pytest.mark.parametrize("ours", [True, False])
def test_only_a_timer_that_the_user_gave_is_the_users(world: World, ours: bool) -> None:  # noqa: F811
    cls = None if ours else StockTuner
    own = lambda call, quantiles: 1.0  # noqa: E731

    def made(**options: Any) -> Any:
        return tuner(world, add_kernel, blocks(16), cls=cls, **options)

    assert stock.user_bench(made()) is None
    assert stock.user_bench(made(do_bench=own)) is own
    assigned = made()
    assigned.do_bench = own
    assert stock.user_bench(assigned) is own
    looked_at = made()
    assert looked_at.do_bench == driver.active.get_benchmarker()
    assert stock.user_bench(looked_at) is None
    with pytest.warns(DeprecationWarning):
        assert stock.user_bench(made(warmup=5, do_bench=own)) is None


def test_tritons_own_timer_given_explicitly_is_the_users(world: World) -> None:  # noqa: F811
    given = tuner(world, add_kernel, blocks(16), do_bench=triton.testing.do_bench)
    assert stock.user_bench(given) is triton.testing.do_bench


def test_through_wrappers_to_the_kernel() -> None:
    kernel = fresh(add_kernel)
    wrapped = triton.heuristics({"MODE": lambda _: 0})(triton.heuristics({"BLOCK": lambda _: 4})(kernel))
    assert stock.jit_function(wrapped) is kernel
    assert stock.heuristics_below(wrapped) == {"MODE", "BLOCK"}
    assert stock.heuristics_below(kernel) == set()
