"""One tuner used by many threads at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tuning_fakes import World, add, add_kernel, blocks, torch, tuner, vectors


def test_sixteen_threads_on_one_cold_kernel(world: World) -> None:
    """FR-64, W-49: each key is tuned once, everybody launches its winner, and nobody's arguments are lost."""
    benched: list[int] = []
    barrier = threading.Barrier(16)

    def bench(call: Any, quantiles: Any) -> float:
        call()
        time.sleep(0.01)
        benched.append(threading.current_thread().tuned_block)  # type: ignore[attr-defined]
        return float(benched[-1])

    world_run = world.check

    def check(errors: Any, settings: Any) -> None:
        threading.current_thread().tuned_block = settings["BLOCK"]  # type: ignore[attr-defined]
        world_run(errors, settings)

    world.check = check  # type: ignore[method-assign]
    tuned = tuner(world, add_kernel, blocks(32, 16, 64), do_bench=bench)

    def work(index: int) -> tuple[int, Any]:
        n = 64 if index % 2 else 128
        barrier.wait(timeout=30)
        return n, add(tuned, n=n).settings["BLOCK"]

    with ThreadPoolExecutor(16) as executor:
        results = list(executor.map(work, range(16)))
    assert {block for _, block in results} == {16}
    assert len(tuned.cache) == 2
    assert sorted(benched) == [16, 16, 32, 32, 64, 64]
    assert tuned.nargs is None


def test_a_thread_that_finishes_does_not_disturb_one_that_tunes(world: World) -> None:
    """FR-64."""
    inside, finished = threading.Event(), threading.Event()

    def early(configs: Any, named: Any, **_: Any) -> Any:
        if named["n"] == 128:
            inside.set()
            assert finished.wait(30)
        return [config for config in configs if named["n"] == 128] or configs[:1]

    world.times = {16: 2.0, 32: 1.0}
    seen: list[Any] = []
    tuned = tuner(
        world,
        add_kernel,
        blocks(16, 32),
        prune_configs_by={"early_config_prune": early},
        pre_hook=lambda arguments, reset_only=False: reset_only or seen.append(arguments["n"]),
    )
    with ThreadPoolExecutor(1) as executor:
        slow = executor.submit(add, tuned, 128)
        assert inside.wait(30)
        add(tuned, 64)  # tunes, launches and forgets its arguments meanwhile
        finished.set()
        assert slow.result(30).settings["BLOCK"] == 32
    assert set(seen) == {128}


def test_restored_tensors_of_two_tunings_are_kept_apart(world: World) -> None:
    barrier = threading.Barrier(2)
    lock = threading.Lock()
    world.times = {16: 2.0, 32: 1.0}

    def bench(call: Any, quantiles: Any) -> float:
        barrier.wait(30)
        with lock:
            call()
            return world.time()

    world.effect = lambda tensors: tensors[0].mul_(2)
    tuned = tuner(world, add_kernel, blocks(16, 32), do_bench=bench, restore_value=["x_ptr"])

    def work(value: float) -> torch.Tensor:
        x, y, out = vectors()
        x.fill_(value)
        tuned[(4,)](x, y, out, int(value))
        return x

    with ThreadPoolExecutor(2) as executor:
        one, two = executor.map(work, (64.0, 128.0))
    assert torch.equal(one, torch.full((64,), 128.0))
    assert torch.equal(two, torch.full((64,), 256.0))
