"""Every order of imports on the real wheels over the simulated CANN: the kernel is tuned by us and computes right."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.ascend

IMPORTS = {
    "autotune before anything": "from triton import autotune\nimport torch, triton",
    "the class before anything": (
        "from triton.runtime.autotuner import Autotuner\nfrom triton import autotune\nimport torch, triton"
    ),
    "torch first": "import torch\nimport triton\nautotune = triton.autotune",
    "torch last": "import triton\nautotune = triton.autotune\nimport torch",
}
TUNE = """
import triton.language as tl

@autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 2048})], key=["n"])
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)

def tune():
    x = torch.arange(5000, dtype=torch.float32)
    y = torch.empty_like(x).npu()
    double[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](x.npu(), y, 5000)
    verdict = getattr(double, "verdict", None)  # what only our tuner has
    timed = [outcome.status.value for outcome in verdict.outcomes] if verdict else None
    is_tuner = isinstance(double, triton.runtime.Autotuner)
    return [timed, len(double.configs_timings), is_tuner, torch.equal(y.cpu(), x * 2)]
"""
TUNED = [["timed", "timed"], 2, True, True]
STOCK = [None, 2, True, True]


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_every_import_order_is_tuned_by_us(imports: str, run_on_sim: Any) -> None:
    assert run_on_sim(imports + TUNE + "report(tune())") == TUNED


def test_switched_off_the_wheel_tunes_by_itself(run_on_sim: Any) -> None:
    assert run_on_sim(IMPORTS["torch first"] + TUNE + "report(tune())", env={"TRITON_ASCEND_TUNE": "0"}) == STOCK


def test_a_spawned_process_is_tuned_by_us(run_on_sim: Any) -> None:
    program = (
        IMPORTS["torch last"]
        + TUNE
        + """
def child(queue):
    queue.put(tune())

if __name__ == "__main__":
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    report(queue.get(timeout=100))
    process.join()
"""
    )
    assert run_on_sim(program) == TUNED


def test_the_drivers_benchmarker_times_by_events(run_on_sim: Any) -> None:
    result = run_on_sim(
        """
        import torch, triton
        from triton_ascend_tune.backend.driver import AscendTuneDriver
        driver = AscendTuneDriver()
        cache = driver.get_empty_cache_for_benchmark()
        x = torch.zeros(1 << 20).npu()
        times = driver.get_benchmarker()(lambda: x.add_(1), quantiles=(0.5, 0.2, 0.8), warmup=1, rep=5)
        driver.clear_cache(cache)
        report([str(cache.device), cache.numel() * 4, times, driver.get_device_interface() is torch.npu])
        """
    )
    device, size, (p50, p20, p80), interface = result
    assert (device, size, interface) == ("npu:0", 192 * 1024 * 1024, True)
    assert 0 < p20 <= p50 <= p80


def test_the_doctor_is_content(run_on_sim: Any) -> None:
    report = run_on_sim("from triton_ascend_tune.doctor import examine\nreport(examine().as_dict())")
    assert report["problems"] == []
    assert report["target"].startswith("npu Ascend910B")
    assert report["runtime"].endswith("lib64/libascendcl.so")
    assert report["simulated"]
