"""Stock Triton 3.9: discovery through the entry point, and nothing changed where the package does not act."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.stock

OFF = {"TRITON_ASCEND_TUNE": "0"}

#: Removes what the start-up hook left waiting, so that the entry point is the only way in.
ENTRY_POINT_ONLY = """
from triton_ascend_tune import import_hook
import_hook.forget(import_hook.STOCK_MODULE)
"""


def test_the_backend_is_registered_beside_the_devices_own(run_program: Any) -> None:
    result = run_program(
        """
        from triton.backends import backends
        report({name: [backend.compiler.__name__, backend.driver.__name__] for name, backend in backends.items()})
        """
    )
    assert result["ascend_tune"] == ["AscendTuneBackend", "AscendTuneDriver"]
    assert {"nvidia", "amd"} < set(result)


def test_it_is_registered_but_does_nothing_when_switched_off(run_program: Any) -> None:
    result = run_program(
        """
        import triton
        from triton.backends import backends
        from triton_ascend_tune import activation
        report(["ascend_tune" in backends, activation.state().replaced])
        """,
        env=OFF,
    )
    assert result == [True, []]


@pytest.mark.parametrize("prepare", [ENTRY_POINT_ONLY, ""], ids=["entry point only", "both ways in"])
def test_the_entry_point_waits_until_the_class_exists(prepare: str, run_program: Any) -> None:
    result = run_program(
        prepare
        + """
import triton, types
from triton_ascend_tune import activation
tuner = triton.autotune(configs=[triton.Config({})], key=["n"], do_bench=bench)(FakeKernel(lambda x, n: None))
state = activation.state()
report([is_ours(tuner), "entry point" in state.ways, "import hook" in state.ways, state.problems,
        type(triton.runtime) is types.ModuleType])
"""
    )
    assert result == [True, True, not prepare, [], True]


def _can_skip_entry_points() -> bool:
    spec = importlib.util.find_spec("triton")
    assert spec is not None and spec.submodule_search_locations
    discovery = Path(spec.submodule_search_locations[0]) / "backends" / "__init__.py"
    return "TRITON_BACKENDS_IN_TREE" in discovery.read_text()


@pytest.mark.skipif(not _can_skip_entry_points(), reason="this Triton cannot be told to skip entry points")
def test_the_import_hook_works_where_entry_points_are_skipped(run_program: Any) -> None:
    result = run_program(
        """
        import triton
        from triton.backends import backends
        from triton_ascend_tune import activation
        report(["ascend_tune" in backends, activation.state().ways, activation.state().replaced])
        """,
        env={"TRITON_BACKENDS_IN_TREE": "1"},
    )
    assert result == [False, ["import hook"], ["triton.runtime.autotuner.Autotuner"]]


INTERPRETED = """
import torch, triton, triton.language as tl

log = []
def user_bench(call, quantiles):
    call()
    log.append(["bench", list(quantiles)])
    return [float(len(log) % 2), 0.0, 1.0]

@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=2) for b in (16, 32, 64)], key=["n"],
                 do_bench=user_bench, restore_value=["y"],
                 prune_configs_by={"early_config_prune": lambda configs, args, **kw: configs[1:]})
@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask) + 1, mask=mask)

seen = []
for n in (100, 100, 50):
    x, y = torch.arange(n, dtype=torch.float32), torch.ones(n)
    result = add_one[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    seen.append([torch.equal(y, x + 2), str(result), str(add_one.best_config), add_one.nargs])
report([seen, log, [str(k) for k in add_one.cache], [[str(c), t] for c, t in add_one.configs_timings.items()],
        sorted(k for k in vars(add_one) if not k.startswith("_")), [str(c) for c in add_one.configs]])
"""


def test_the_interpreter_is_unchanged(run_program: Any) -> None:
    ours = run_program(INTERPRETED, env={"TRITON_INTERPRET": "1"})
    stock = run_program(INTERPRETED, env={"TRITON_INTERPRET": "1", **OFF})
    assert ours == stock
    assert all(correct for correct, *_ in ours[0])
    assert len(ours[1]) == 4  # two keys, two candidates left by the pruning


OTHER_TARGET = """
import triton
from types import SimpleNamespace

log = []
class Driver:
    def get_current_target(self): return SimpleNamespace(backend="BACKEND", arch="x", warp_size=32)
    def get_current_device(self): return 0
    def get_benchmarker(self):
        def bench(call, quantiles):
            call()
            log.append(["driver's bench", list(quantiles)])
            return [float(len(log) % 3), 0.0, 1.0]
        return bench
triton.runtime.driver.set_active(Driver())

kernel = FakeKernel(lambda x, n, BLOCK: None, log)
def config_hook(args):
    log.append(["config hook", args["BLOCK"]])
tuner = triton.autotune(
    configs=[triton.Config({"BLOCK": b}, pre_hook=config_hook) for b in (1, 2, 3)],
    key=["n"], pre_hook=lambda args, reset_only=False: log.append(["pre", args["BLOCK"], reset_only]),
    post_hook=lambda args, exception: log.append(["post", args["BLOCK"]]),
    prune_configs_by={"perf_model": lambda **kw: -kw["BLOCK"], "top_k": 2})(kernel)
returned = [tuner[(1,)]("x", 7), tuner[(1,)]("x", 7), tuner.run("x", n=8, grid=(1,), warmup=False)]
failures = []
for call in (lambda: tuner[(1,)]("x", 7, BLOCK=3), lambda: tuner[(1,)]("x", [])):
    try:
        call()
    except Exception as error:
        failures.append([type(error).__name__, str(error)])
report([log, returned, failures, sorted(map(str, tuner.cache)), str(tuner.best_config), len(tuner.configs_timings),
        sorted(k for k in vars(tuner) if not k.startswith("_"))])
"""


@pytest.mark.parametrize("backend", ["cuda", "hip", "xpu"])
def test_other_targets_are_unchanged(backend: str, run_program: Any) -> None:
    program = OTHER_TARGET.replace("BACKEND", backend)
    ours, stock = run_program(program), run_program(program, env=OFF)
    assert ours == stock
    assert ["driver's bench", [0.5, 0.2, 0.8]] in ours[0]


def test_without_a_driver_the_errors_are_the_same(run_program: Any) -> None:
    program = """
        import triton, triton.language as tl
        @triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (1, 2)], key=["n"])
        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            pass
        try:
            kernel[(1,)](None, 1)
        except Exception as error:
            report([type(error).__name__, str(error)])
        """
    ours, stock = run_program(program), run_program(program, env=OFF)
    assert ours == stock
    assert ours[0] == "RuntimeError"


#: Plays the triton-ascend builds that are based on 3.5: importing their runtime replaces the attribute triton.autotune.
STAND_IN = """
import pathlib, tempfile, triton.backends
root = pathlib.Path(tempfile.mkdtemp())
(root / "ascend" / "runtime").mkdir(parents=True)
(root / "ascend" / "__init__.py").write_text("")
(root / "ascend" / "runtime" / "__init__.py").write_text(
    "from .autotuner import autotune, max_autotune\\nimport triton\\ntriton.autotune = autotune\\n")
(root / "ascend" / "runtime" / "autotuner.py").write_text('''
from triton.runtime.autotuner import Autotuner
class AutoTilingTuner(Autotuner):
    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, hints=None, **kwargs):
        super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, **kwargs)
        self.hints = hints or {}
def autotune(configs, key, *, hints=None, do_bench=None):
    return lambda fn: AutoTilingTuner(fn, fn.arg_names, configs, key, None, None, hints=hints, do_bench=do_bench)
def max_autotune(configs, key, kernel_type="mixcv", **tuning_params):
    raise ValueError("theirs")
''')
triton.backends.__path__.append(str(root))
"""
MAKE = """
import triton
decorate = triton.autotune(configs=[triton.Config({})], key=["n"], hints={"axes": 1}, do_bench=bench)
tuner = decorate(FakeKernel(lambda x, n: None))
report([is_ours(tuner), tuner.hints, isinstance(tuner, triton.runtime.Autotuner), type(tuner).__mro__[1].__name__])
"""


@pytest.mark.parametrize(
    "order",
    [
        "import triton.backends.ascend.runtime, triton_ascend_tune; triton_ascend_tune.install()",
        "import triton_ascend_tune; triton_ascend_tune.install(); import triton.backends.ascend.runtime",
        "import triton_ascend_tune; triton_ascend_tune.uninstall(); import triton.backends.ascend.runtime\n"
        "triton_ascend_tune.install()",
    ],
)
def test_the_tuner_of_a_later_triton_ascend_is_replaced_in_both_orders(order: str, run_program: Any) -> None:
    assert run_program(STAND_IN + order + MAKE) == [True, {"axes": 1}, True, "AutoTilingTuner"]


@pytest.mark.parametrize("install_first", [True, False])
def test_max_autotune_of_a_later_triton_ascend_is_ours_until_uninstalled(install_first: bool, run_program: Any) -> None:
    """By both names under which programs import it; ``uninstall`` gives theirs back."""
    install = "import triton_ascend_tune; triton_ascend_tune.install(); "
    order = "import triton.backends.ascend.runtime\n"
    order = install + order if install_first else order + install
    program = """
    import triton
    from triton.backends.ascend.runtime import max_autotune
    from triton.backends.ascend.runtime.autotuner import max_autotune as same
    def call(function):
        try:
            return function(configs=[], key=["n"])
        except ValueError as error:
            return str(error)[:30]
    before = [call(max_autotune), call(same)]
    triton_ascend_tune.uninstall()
    import triton.backends.ascend.runtime as runtime
    report([*before, call(runtime.max_autotune), call(runtime.autotuner.max_autotune)])
    """
    ours = "max_autotune: configs is empty"
    assert run_program(STAND_IN + order + textwrap.dedent(program)) == [ours, ours, "theirs", "theirs"]


def test_torch_still_sees_a_tuner_it_can_trace(run_program: Any) -> None:
    """What torch.compile reads of a user's tuner before it traces it."""
    result = run_program(
        """
        import triton, triton.language as tl
        @triton.autotune(configs=[triton.Config({"BLOCK": 1})], key=[])
        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr):
            pass
        from torch.utils._triton import has_triton_package
        report([has_triton_package(), is_ours(kernel), isinstance(kernel, triton.runtime.autotuner.Autotuner),
                kernel.user_defined_pre_hook, kernel.user_defined_post_hook, kernel.use_cuda_graph,
                kernel.base_fn.__name__])
        """
    )
    assert result == [True, True, True, False, False, False, "kernel"]
