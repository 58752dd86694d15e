"""What programs rely on, on a real device: stock kernels, stock decorators, our tuner."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics

import triton_ascend_tune
from triton_ascend_tune.failures import NoCandidateError
from triton_ascend_tune.measure.capture import CaptureError

N = 100_003
#: More shared memory than any GPU of today has.
TOO_LARGE = {"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 256}


def blocks(*sizes: int, **options: Any) -> list[triton.Config]:
    return [triton.Config({"BLOCK": size}, **options) for size in sizes]


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(N, meta["BLOCK"]),)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def double_kernel(x, total, spare, n, BLOCK: tl.constexpr):
    # In place, and adding to a sum: wrong after more than one effective launch.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * 2
    tl.store(x + i, v, mask=i < n)
    tl.store(total + i, tl.load(total + i, mask=i < n) + v, mask=i < n)


@triton.jit
def even_kernel(x, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i))
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        sum += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], sum.to(tl.float16))


def tuned(kernel: Any, configs: Any, **options: Any) -> Any:
    options.setdefault("key", ["n"])
    return triton.autotune(configs=configs, **options)(triton.jit(kernel.fn))


def vectors() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x, y = torch.rand(N, device="cuda"), torch.rand(N, device="cuda")
    return x, y, torch.empty_like(x)


def test_installed_is_in_place() -> None:
    made = tuned(add_kernel, blocks(256, 512))
    assert isinstance(made, Autotuner) and type(made).__module__ == "triton_ascend_tune.autotuner"


def test_result_kernel_and_attributes() -> None:
    made = tuned(add_kernel, blocks(128, 1024, 4096))
    x, y, out = vectors()
    kernel = made[grid](x, y, out, N)
    assert torch.equal(out, x + y)
    assert type(kernel).__name__ == "CompiledKernel" and kernel.asm["ptx"]
    assert any(made.best_config is config for config in made.configs) and made.nargs is None
    assert list(made.configs_timings) == made.configs and made.bench_time > 0
    assert all(0 < time < 10 for timings in made.configs_timings.values() for time in timings)
    times = {config: timings[0] for config, timings in made.configs_timings.items()}
    assert times[made.best_config] <= min(times.values()) * 1.02
    before = dict(made.cache)
    out.zero_()
    assert made[grid](x, y, out, N).hash == kernel.hash and torch.equal(out, x + y) and made.cache == before


def test_a_matmul_of_which_some_candidates_do_not_fit() -> None:
    sizes = [(64, 64, 32), (128, 64, 32), (64, 128, 64)]
    configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_stages=3) for m, n, k in sizes]
    configs.insert(1, triton.Config(TOO_LARGE, num_stages=4))
    made = tuned(matmul_kernel, configs, key=["M", "N", "K"])
    a = torch.randn(512, 256, device="cuda", dtype=torch.float16)
    b = torch.randn(256, 1024, device="cuda", dtype=torch.float16)
    c = torch.empty(512, 1024, device="cuda", dtype=torch.float16)
    made[lambda meta: (triton.cdiv(512, meta["BLOCK_M"]), triton.cdiv(1024, meta["BLOCK_N"]))](a, b, c, 512, 1024, 256)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)
    assert made.configs_timings[configs[1]] == [math.inf] * 3
    (failed,) = [outcome for outcome in made.verdict.outcomes if outcome.status.value == "failed"]
    assert failed.candidate.config is configs[1] and "out of resource" in failed.reason


def test_all_too_large_is_one_error_with_the_list() -> None:
    configs = [triton.Config(TOO_LARGE, num_stages=stages) for stages in (4, 5)]
    made = tuned(matmul_kernel, configs, key=["M"])
    a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
    with pytest.raises(NoCandidateError, match="out of resource") as caught:
        made[(2, 2)](a, a, torch.empty_like(a), 512, 512, 512)
    assert len(caught.value.outcomes) == 2 and made.cache == {}


def test_an_in_place_kernel_is_applied_once_and_none_is_no_tensor() -> None:
    made = tuned(double_kernel, blocks(256, 1024), restore_value=["x", "spare"], reset_to_zero=["total"])
    x = torch.rand(N, device="cuda")
    z, total = x.clone(), torch.full((N,), 7.0, device="cuda")
    made[grid](z, total, None, N)
    assert torch.equal(z, x * 2) and torch.equal(total, x * 2)


def test_hooks_in_stocks_order() -> None:
    seen: list[Any] = []
    made = tuned(
        add_kernel,
        blocks(256, 1024),
        pre_hook=lambda arguments, reset_only=False: seen.append(("pre", arguments["BLOCK"], reset_only)),
        post_hook=lambda arguments, exception: seen.append(("post", arguments["BLOCK"], exception)),
    )
    made[grid](*vectors(), N)
    best = made.best_config.kwargs["BLOCK"]
    assert seen.pop() == ("pre", best, True)
    assert {block for _, block, _ in seen} == {256, 1024}
    assert all(a == ("pre", b[1], False) and b[0] == "post" and b[2] is None for a, b in zip(seen[::2], seen[1::2]))


@pytest.mark.parametrize("above", [True, False])
def test_heuristics(above: bool) -> None:
    heuristics = triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments.get("BLOCK", 4096) == 0})
    tune = triton.autotune(configs=blocks(256, 1024), key=["n"])
    kernel = triton.jit(even_kernel.fn)
    made = heuristics(tune(kernel)) if above else tune(heuristics(kernel))
    assert isinstance(made, Heuristics if above else Autotuner)
    for n in (4096, N):
        x, out = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
        made[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        assert torch.equal(out, x)


def test_dtype_value_and_device_are_in_the_key() -> None:
    made = tuned(add_kernel, blocks(256, 1024))
    x, y, out = vectors()
    made[grid](x, y, out, N)
    made[grid](x.half(), y.half(), out.half(), N)
    made[grid](x, y, out, n=N - 1)
    made[grid](out=out, n=N, y=y, x=x)
    assert len(made.cache) == 3


def test_pruning() -> None:
    made = tuned(
        add_kernel,
        blocks(128, 256, 512, 1024),
        prune_configs_by={
            "early_config_prune": lambda configs, named, **_: [c for c in configs if c.kwargs["BLOCK"] > 128],
            "perf_model": lambda BLOCK, **_: BLOCK,
            "top_k": 2,
        },
    )
    made[grid](*vectors(), N)
    assert [config.kwargs["BLOCK"] for config in made.configs_timings] == [256, 512]


def test_a_users_timer() -> None:
    calls = []

    def bench(call: Any, quantiles: Any) -> float:
        call()
        calls.append(quantiles)
        return float(len(calls))

    made = tuned(add_kernel, blocks(256, 1024), do_bench=bench)
    made[grid](*vectors(), N)
    assert calls == [(0.5, 0.2, 0.8)] * 2 and made.best_config.kwargs == {"BLOCK": 256}


@pytest.mark.parametrize("options", [{"warmup": 1, "rep": 5}, {"use_cuda_graph": True}])
def test_deprecated_arguments(options: dict[str, Any]) -> None:
    with pytest.warns(DeprecationWarning):
        made = tuned(add_kernel, blocks(256, 1024), **options)
    x, y, out = vectors()
    made[grid](x, y, out, N)
    assert torch.equal(out, x + y) and made.best_config in made.configs


def test_warmup_compiles_everything_and_chooses_nothing() -> None:
    made = tuned(add_kernel, blocks(256, 1024))
    x, y, out = vectors()
    kernels = made.warmup(x, y, out, N, grid=(1,))
    assert len(kernels) == 2 and made.cache == {} and not hasattr(made, "best_config")


def test_profiler_records() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_BENCH_METHOD", "npu")
        made = tuned(add_kernel, blocks(128, 4096))
        x, y, out = vectors()
        made[grid](x, y, out, N)
    assert torch.equal(out, x + y)
    assert {outcome.samples.method for outcome in made.verdict.outcomes} == {"profiler"}


def test_on_the_callers_stream() -> None:
    made = tuned(add_kernel, blocks(256, 1024))
    x, y, out = vectors()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        made[grid](x, y, out, N)
    stream.synchronize()
    assert torch.equal(out, x + y)


def test_a_graph_captures_a_hit_and_no_tuning() -> None:
    made = tuned(add_kernel, blocks(256, 1024))
    x, y, out = vectors()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(CaptureError, match="add_kernel"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        made[grid](x, y, out, N)
    torch.cuda.synchronize()
    made[grid](x, y, out, N)
    with torch.cuda.graph(graph):
        made[grid](x, y, out, N)
    x.fill_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def test_during_a_capture_the_config_named_is_launched() -> None:
    made = tuned(add_kernel, blocks(256, 1024))
    x, y, out = vectors()
    made.fn.warmup(x, y, out, N, grid=(1,), BLOCK=512)
    graph = torch.cuda.CUDAGraph()
    with triton_ascend_tune.options(fallback=triton.Config({"BLOCK": 512})), torch.cuda.graph(graph):
        made[grid](x, y, out, N)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y) and made.cache == {}


def test_torch_compile() -> None:
    made = tuned(add_kernel, blocks(256, 1024))

    @torch.compile(fullgraph=True)
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        made[grid](x, y, out, N)
        return out * 2

    x, y, _ = vectors()
    torch.testing.assert_close(program(x, y), (x + y) * 2)


def test_sixteen_threads_tune_once() -> None:
    tunings = []
    made = tuned(add_kernel, blocks(256, 512, 1024))
    tune = made._tune
    made._tune = lambda *args: tunings.append(1) or tune(*args)
    x, y, _ = vectors()
    outs = [torch.empty_like(x) for _ in range(16)]
    torch.cuda.synchronize()

    def launch(out: torch.Tensor) -> None:
        made[grid](x, y, out, N)
        torch.cuda.synchronize()

    threads = [threading.Thread(target=launch, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tunings) == 1 and all(torch.equal(out, x + y) for out in outs)


def run(program: str, tmp_path: Path, **env: str) -> Any:
    """Runs ``program``, which prints JSON on its last line, behind this module's kernels, in a process of its own."""
    path = tmp_path / "program.py"
    path.write_text(f"from test_conformance import *\n{textwrap.dedent(program)}")
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_second_process_measures_nothing(tmp_path: Path) -> None:
    program = """
    made = tuned(add_kernel, blocks(256, 512, 1024), cache_results=True)
    x, y, out = vectors()
    made[grid](x, y, out, N)
    assert torch.equal(out, x + y)
    print(json.dumps([made.best_config.kwargs, hasattr(made, "bench_time"), list(made.configs_timings.values())]))
    """
    first, second = run(program, tmp_path), run(program, tmp_path)
    assert first[0] == second[0] and first[2] == second[2]
    assert (first[1], second[1]) == (True, False)


def test_a_candidate_that_breaks_the_device_is_named(tmp_path: Path) -> None:
    program = """
    @triton.autotune(configs=blocks(256, 512), key=["n"])
    @triton.jit
    def wild(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        far = i.to(tl.int64) + (1 << 46 if BLOCK == 512 else 0)
        tl.store(out + i, tl.load(x + far, mask=i < n), mask=i < n)

    x, _, out = vectors()
    try:
        wild[grid](x, out, N)
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error), wild.cache == {}]))
    """
    name, text, forgotten = run(program, tmp_path)
    assert "BLOCK=512" in text and "illegal" in text.lower() and forgotten, (name, text)
