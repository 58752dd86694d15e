"""The replacement at the class, in whichever Triton is installed. Every test is a program in a fresh interpreter."""

from __future__ import annotations

from typing import Any

import pytest

PREPARE = """
def kernel(x, n, BLOCK): pass
def configs():
    import triton
    return [triton.Config({"BLOCK": 1}), triton.Config({"BLOCK": 2})]
"""
DECORATE = "tuner = autotune(configs=configs(), key=['n'], do_bench=bench)(FakeKernel(kernel))\n"
REPORT = """
import triton
report([is_ours(tuner), isinstance(tuner, triton.runtime.Autotuner), [c.kwargs["BLOCK"] for c in tuner.configs]])
"""
OURS = [True, True, [1, 2]]

IMPORTS = {
    "triton": "import triton; autotune = triton.autotune",
    "from triton": "from triton import autotune",
    "from triton.runtime": "from triton.runtime import autotune",
    "from triton.runtime.autotuner": "from triton.runtime.autotuner import autotune",
    "class first": "from triton.runtime.autotuner import Autotuner; from triton import autotune",
    "torch first": "import torch; from triton import autotune",
    "torch last": "from triton import autotune; import torch",
    "testing first": "import triton.testing; from triton import autotune",
    "language first": "import triton.language as tl; from triton import autotune",
    "ours first": "import triton_ascend_tune; from triton import autotune",
    "backend first": "from triton.backends import backends; from triton import autotune",
}
CONSTRUCT = """
tuner = Autotuner(FakeKernel(kernel), ["x", "n", "BLOCK"], configs(), ["n"], None, None, do_bench=bench)
"""


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_every_import_order_gives_our_tuner(imports: str, run_program: Any) -> None:
    """FR-63."""
    assert run_program(imports + PREPARE + DECORATE + REPORT) == OURS


@pytest.mark.parametrize(
    "imports",
    [
        "from triton.runtime.autotuner import Autotuner",
        "from triton.runtime import Autotuner",
        "import triton; Autotuner = triton.runtime.Autotuner",
    ],
)
def test_the_class_itself_gives_our_tuner(imports: str, run_program: Any) -> None:
    assert run_program(imports + PREPARE + CONSTRUCT + REPORT) == OURS


def test_python_dash_m(run_program: Any) -> None:
    assert run_program("from triton import autotune" + PREPARE + DECORATE + REPORT, command=["-m", "program"]) == OURS


def test_a_spawned_process(run_program: Any) -> None:
    result = run_program(
        """
        import multiprocessing

        def kernel(x, n, BLOCK): pass

        def child(queue):
            from triton import Config, autotune
            tuner = autotune(configs=[Config({"BLOCK": 1})], key=["n"], do_bench=bench)(FakeKernel(kernel))
            queue.put(is_ours(tuner))

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            report(queue.get(timeout=60))
            process.join()
        """
    )
    assert result is True


@pytest.mark.parametrize("value", ["0", "off", "nonsense"])
def test_switched_off(value: str, run_program: Any) -> None:
    done = run_program(
        "from triton import autotune"
        + PREPARE
        + DECORATE
        + "from triton_ascend_tune import activation\n"
        + "assert type(tuner).__name__ == 'Autotuner'\n"
        + "assert activation.state().replaced == () and activation.state().ways == ()\n",
        env={"TRITON_ASCEND_TUNE": value},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # A value that is neither on nor off does not activate anything, and does not break the import either.
    assert ("TRITON_ASCEND_TUNE is 'nonsense'; allowed" in done.stderr) == (value == "nonsense")


def test_uninstall_puts_the_constructor_back_exactly_and_install_takes_it_again(run_program: Any) -> None:
    result = run_program(
        """
        import triton_ascend_tune as package
        package.uninstall()  # before Triton: nothing may be left waiting for it
        import triton
        from triton import autotune
        from triton_ascend_tune import activation, import_hook
        """
        + PREPARE.replace("\n", "\n        ")
        + """
        Autotuner = triton.runtime.Autotuner
        def make():
            return autotune(configs=configs(), key=["n"], do_bench=bench)(FakeKernel(kernel))
        def names():
            return sorted(vars(Autotuner)), Autotuner.__dict__["__init__"]

        package.uninstall()  # the entry point, where there is one, has installed again
        stock = names()
        seen = [is_ours(make())]
        assert package.install() and package.install()
        seen.append(is_ours(make()))
        assert names() != stock
        kept = make()
        package.uninstall()
        assert names() == stock
        seen += [is_ours(make()), is_ours(kept), isinstance(kept, Autotuner)]
        assert import_hook.waiting() == () and import_hook._Finder not in sys.meta_path
        assert activation.state() == activation.State((), (), ())
        package.uninstall()
        report(seen)
        """
    )
    assert result == [False, True, False, True, True]


def test_install_says_when_it_is_switched_off(run_program: Any) -> None:
    result = run_program(
        """
        import triton_ascend_tune, triton
        stock = triton.runtime.Autotuner.__init__
        report([triton_ascend_tune.install(), triton.runtime.Autotuner.__init__ is stock])
        """,
        env={"TRITON_ASCEND_TUNE": "0"},
    )
    assert result == [False, True]


def test_install_before_triton_does_not_import_it(run_program: Any) -> None:
    result = run_program(
        """
        import triton_ascend_tune
        triton_ascend_tune.install()
        report([name for name in ("triton", "torch", "numpy") if name in sys.modules])
        """
    )
    assert result == []


def test_a_program_that_never_launches_loads_nothing_heavy_because_of_us(run_program: Any) -> None:
    """Beyond what Triton itself loads, which in some builds is torch."""
    program = (
        PREPARE.strip("\n")
        + """
import triton
tuner = triton.autotune(configs=configs(), key=["n"], do_bench=bench)(FakeKernel(kernel))
report(sorted(sys.modules))
"""
    )
    without, loaded = (set(run_program(program, env={"TRITON_ASCEND_TUNE": value})) for value in ("0", "1"))
    assert "triton_ascend_tune.autotuner" in loaded - without
    ours = {name for name in loaded - without if name.startswith("triton_ascend_tune")}
    assert loaded - without - ours <= {"bisect"}  # small, and Python's own
    assert not ours & {f"triton_ascend_tune.{name}" for name in ("_native", "tuning", "values", "measure", "memory")}


def test_names_imported_before_install(run_program: Any) -> None:
    """The replacement sits at the class, so names that were bound to stock objects earlier give our tuner as well."""
    result = run_program(
        """
        import triton_ascend_tune
        from triton import autotune
        from triton.runtime.autotuner import Autotuner
        triton_ascend_tune.uninstall()
        """
        + PREPARE.replace("\n", "\n        ")
        + """
        early = autotune(configs=configs(), key=["n"], do_bench=bench)
        triton_ascend_tune.install()
        late = autotune(configs=configs(), key=["n"], do_bench=bench)
        made = [decorate(FakeKernel(kernel)) for decorate in (early, late)]
        made.append(Autotuner(FakeKernel(kernel), ["x", "n", "BLOCK"], configs(), ["n"], None, None, do_bench=bench))
        report([is_ours(tuner) for tuner in made])
        """
    )
    assert result == [True, True, True]


def test_subclasses_of_other_libraries_keep_their_own_behaviour(run_program: Any) -> None:
    """The way FlagGems' LibTuner subclasses: positional arguments, its own ``run``, the base's ``prune_configs``."""
    result = run_program(
        "from triton.runtime import Autotuner"
        + PREPARE
        + """
class LibTuner(Autotuner):
    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None,
                 prune_configs_by=None, do_bench=None):
        super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
                         prune_configs_by, do_bench=do_bench)
        self.extra = "mine"
    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        return [c.kwargs["BLOCK"] for c in self.prune_configs(kwargs)]

tuner = LibTuner(FakeKernel(kernel), ["x", "n", "BLOCK"], configs(), ["n"], None, None, do_bench=bench)
report([type(tuner) is LibTuner, is_ours(tuner), tuner.extra, tuner.run(1, 2, grid=(1,))])
"""
    )
    assert result == [True, False, "mine", [1, 2]]


def test_the_visible_signatures_are_the_installed_versions_own(run_program: Any) -> None:
    program = """
        import inspect, triton
        report([str(inspect.signature(triton.autotune)), str(inspect.signature(triton.runtime.Autotuner)),
                str(inspect.signature(triton.runtime.Autotuner.__init__)), triton.runtime.Autotuner.__init__.__doc__])
        """
    assert run_program(program) == run_program(program, env={"TRITON_ASCEND_TUNE": "0"})


def test_copies_of_stock_tuners_stay_stock(run_program: Any) -> None:
    result = run_program(
        """
        import copy, triton_ascend_tune
        from triton import autotune
        triton_ascend_tune.uninstall()
        """
        + PREPARE.replace("\n", "\n        ")
        + """
        stock = autotune(configs=configs(), key=["n"], do_bench=bench)(FakeKernel(kernel))
        triton_ascend_tune.install()
        ours = autotune(configs=configs(), key=["n"], do_bench=bench)(FakeKernel(kernel))
        report([is_ours(copy.copy(stock)), is_ours(copy.copy(ours)), copy.copy(ours).arg_names])
        """
    )
    assert result == [False, True, ["x", "n", "BLOCK"]]


def test_somebody_who_wrapped_the_constructor_after_us_survives_uninstall(run_program: Any) -> None:
    result = run_program(
        """
        import triton_ascend_tune
        from triton.runtime import Autotuner
        from triton import autotune
        """
        + PREPARE.replace("\n", "\n        ")
        + """
        inner, seen = Autotuner.__init__, []
        def wrapped(self, *args, **kwargs):
            seen.append(type(self) is Autotuner)
            inner(self, *args, **kwargs)
        Autotuner.__init__ = wrapped
        triton_ascend_tune.uninstall()
        tuner = autotune(configs=configs(), key=["n"], do_bench=bench)(FakeKernel(kernel))
        report([Autotuner.__init__ is wrapped, is_ours(tuner), seen])
        """
    )
    assert result == [True, False, [True]]


def test_a_tuner_that_cannot_be_made_leaves_the_program_stock_with_one_error(run_program: Any) -> None:
    done = run_program(
        "import triton_ascend_tune.classes as module\n"
        "def broken(base): raise RuntimeError('cannot')\n"
        "module.make_tuner_class = broken\n"
        "from triton import autotune" + PREPARE + DECORATE + DECORATE + "print(type(tuner).__name__)",
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "Autotuner"), done.stderr
    assert done.stderr.count("RuntimeError: cannot") == 1


# --- whether a tuner acts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "acting"),
    [
        ({}, ["npu"]),
        ({"TRITON_ASCEND_TUNE_TARGETS": "cuda"}, ["npu", "cuda"]),
        ({"TRITON_ASCEND_TUNE_TARGETS": "npu,cuda", "TRITON_INTERPRET": "1"}, []),
        ({"TRITON_ASCEND_TUNE": "0"}, []),
        ({"TRITON_BENCH_METHOD": "nonsense"}, ["npu"]),  # not read unless a tuning happens
    ],
)
def test_acts_on(env: dict[str, str], acting: list[str], run_program: Any) -> None:
    result = run_program(
        """
        import triton
        from triton_ascend_tune.activation import acts_on
        report([name for name in ("npu", "cuda", "hip", "cpu") if acts_on(name)])
        """,
        env=env,
    )
    assert result == acting


@pytest.mark.parametrize(
    ("driver", "env", "acts"),
    [
        ("Driver('npu')", {}, True),
        ("Driver('cuda')", {}, False),
        ("Driver('cuda')", {"TRITON_ASCEND_TUNE_TARGETS": "cuda"}, True),
        ("Driver('npu')", {"TRITON_INTERPRET": "1"}, False),
        ("Broken()", {}, False),
        ("Broken()", {"TRITON_INTERPRET": "1"}, False),
    ],
)
def test_acts_now(driver: str, env: dict[str, str], acts: bool, run_program: Any) -> None:
    result = run_program(
        f"""
        from types import SimpleNamespace
        import triton
        from triton_ascend_tune.activation import acts_now
        class Driver:
            def __init__(self, backend): self.backend = backend
            def get_current_target(self): return SimpleNamespace(backend=self.backend, arch="x", warp_size=0)
        class Broken:
            def get_current_target(self): raise RuntimeError("0 active drivers")
        triton.runtime.driver.set_active({driver})
        report(acts_now())
        """,
        env=env,
    )
    assert result is acts


# --- start of the interpreter ---------------------------------------------------------------------------------------


def test_a_bare_start_loads_next_to_nothing(run_program: Any) -> None:
    result = run_program(
        "report(sorted(name for name in sys.modules if 'triton' in name and not name.startswith('__editable')))"
    )
    assert result == ["triton_ascend_tune", "triton_ascend_tune.import_hook"]


def test_the_start_up_line_survives_the_packages_absence(run_program: Any) -> None:
    """A ``.pth`` file may outlive its package; every start of the interpreter would then print a traceback."""
    done = run_program(
        """
        import importlib.metadata, pathlib, sys
        distribution = importlib.metadata.distribution("triton-ascend-tune")
        hook, = [f for f in distribution.files if f.name == "triton_ascend_tune_hook.pth"]
        for name in [name for name in sys.modules if name.startswith("triton_ascend_tune")]:
            del sys.modules[name]
        sys.modules["triton_ascend_tune"] = None
        line, = pathlib.Path(hook.locate()).read_text().splitlines()
        assert line.startswith("import ")
        exec(line)
        """,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
