"""Kernels that several threads parse at once."""

from __future__ import annotations

import ast
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tuning_fakes import triton

from triton_ascend_tune import parsing


class Garbage:
    """Runs Python when it is collected, so that another thread may get its turn in the middle of a parse."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    lines = (f"    a{i} = (x + {i}) * tl.load(x, mask=x < {i}) if x else tl.sum(x, axis={i})" for i in range(60))
    (tmp_path / "long_kernel.py").write_text(
        "import triton.language as tl\n\ndef long_kernel(x):\n" + "\n".join(lines) + "\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "long_kernel", raising=False)
    import long_kernel  # type: ignore[import-not-found,unused-ignore]

    parsing.one_at_a_time()
    return triton.jit(long_kernel.long_kernel)


@pytest.fixture
def many_collections() -> Iterator[None]:
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-5)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def test_threads_do_not_disturb_each_other(kernel: Any, many_collections: None) -> None:
    """About one parse in ten fails in CPython 3.11 if they do."""

    def parsed(_: int) -> str:
        for _ in range(5):
            Garbage()
        return ast.dump(kernel.parse())

    with ThreadPoolExecutor(4) as executor:
        trees = set(executor.map(parsed, range(300)))
    assert len(trees) == 1


def test_a_process_forked_during_a_parse_can_parse(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real, begun, end = ast.parse, threading.Event(), threading.Event()

    def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        end.wait()
        return real(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", slow)
    thread = threading.Thread(target=kernel.parse)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        try:
            ast.parse = real
            kernel.parse()
            os._exit(0)
        finally:
            os._exit(1)  # whatever is raised must not go on with the tests here
    end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
