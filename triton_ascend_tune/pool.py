"""Compiles several candidates at once: Triton binds in the caller's thread, the compilers run in others.

Triton 3.5 and newer can hand compilations to an executor (``AsyncCompileMode``). Older ones, triton-ascend 3.2.0
included, cannot; there the kernel's own ``compile`` is put aside for the time being, so that it answers with a promise
to this thread alone. In both cases the kernel's binder, its hooks and its caches are used from the caller's thread
only, which is the thread that has the device; a compilation needs neither.

When ``promised`` is left, whatever happened, all promises are kept or broken, none is in a kernel's cache, and no mode
is active.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from triton_ascend_tune import isolation, settings
from triton_ascend_tune.watchdog import WatchedExecutor

#: Where Triton 3.5 and newer keep their mode.
_ASYNC_MODULE = "triton.runtime._async_compile"


class FutureKernel:
    """A kernel that is being compiled, for Triton before 3.5; under the name of the class that newer ones have.

    Another thread that finds it in the kernel's cache can launch it: its attributes are the kernel's.
    """

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def result(self) -> Any:
        return self._future.result()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result(), name)


@contextmanager
def promised(jit: Any, workers: int) -> Iterator[None]:
    """Within, ``jit.run(warmup=True)`` of this thread returns promises (or kernels that exist), with ``result()``."""
    processes = isolation.current()
    if processes is None:
        executor = WatchedExecutor(workers, settings.compile_timeout())
    else:
        executor = WatchedExecutor(workers, begin=processes.enter)  # they mind the limit themselves
    try:
        with _triton_promises(executor) if _has_async_mode() else _own_promises(jit, executor):
            try:
                yield
            except BaseException:
                if processes is not None:
                    processes.give_up()
                raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def can_promise(jit: Any) -> bool:
    """Whether compilations of ``jit`` can be handed to other threads without anybody noticing.

    Not before Triton 3.5 if something is to be told when a kernel has been compiled.
    """
    if _has_async_mode():
        return True
    import triton

    hooks = [getattr(jit, "compiled_hook", None)]
    knobs = getattr(triton, "knobs", None)
    hooks += [getattr(getattr(knobs, "runtime", None), "jit_post_compile_hook", None)]
    return not any(hooks) and hasattr(jit, "create_binder")


def _has_async_mode() -> bool:
    try:
        import importlib

        return hasattr(importlib.import_module(_ASYNC_MODULE), "AsyncCompileMode")
    except ImportError:
        return False


@contextmanager
def _triton_promises(executor: Executor) -> Iterator[None]:
    from triton.runtime._async_compile import AsyncCompileMode, active_mode

    if active_mode.get() is not None:  # the caller's own mode: its executor, and its business to leave it
        yield
        return
    mode = AsyncCompileMode(executor)
    # Not by `with`: before 3.9 leaving the mode with a failed compilation raises and leaves it active for good.
    token = active_mode.set(mode)
    try:
        yield
    finally:
        active_mode.reset(token)
        for kernel in list(mode.future_kernels.values()):
            # What nobody asked for the result of must not stay in the kernel's cache either.
            if getattr(kernel, "future", None) is not None:
                kernel.future.cancel()
                _settle(kernel)
        mode.raw_futures, mode.future_kernels = [], {}


def _settle(kernel: Any) -> None:
    try:
        kernel.result()
    except BaseException:  # cancelled, failed or interrupted: nobody waits for it any more
        # Triton does this itself, but not after what is no Exception. Read off the instance, whose missing attributes
        # are looked for on the kernel that never came.
        clean_up = vars(kernel).get("cleanup_compile")
        if clean_up is not None:
            clean_up(kernel)


@contextmanager
def _own_promises(jit: Any, executor: Executor) -> Iterator[None]:
    _prepare(jit)
    original, owner = jit.compile, threading.get_ident()
    promises: list[FutureKernel] = []

    def compile_later(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != owner:
            return original(*args, **kwargs)
        promises.append(FutureKernel(executor.submit(original, *args, **kwargs)))
        return promises[-1]

    jit.compile = compile_later
    try:
        yield
    finally:
        # Another thread's tuning may have put its own over ours; it then restores ours, which by then only passes on.
        if jit.compile is compile_later:
            jit.compile = original
        owner = 0
        for promise in promises:
            promise._future.cancel()
        _replace_promises(jit, promises)


def _prepare(jit: Any) -> None:
    """What is made at a first launch, and in no safe order if several threads come to it first."""
    _ = jit.cache_key
    from triton.compiler.compiler import make_backend
    from triton.runtime.driver import driver

    if hasattr(jit, "device_caches"):
        _ = jit.device_caches[driver.active.get_current_device()]
    elif getattr(jit, "binder", None) is None:
        jit.create_binder(make_backend(driver.active.get_current_target()))


def _replace_promises(jit: Any, promises: list[FutureKernel]) -> None:
    """Puts kernels where their promises are in the kernel's caches; takes out what has failed."""
    ours = {id(promise) for promise in promises}
    entries = jit.device_caches.values() if hasattr(jit, "device_caches") else jit.cache.values()
    for entry in list(entries):
        cache = entry[0] if isinstance(entry, tuple) else entry
        for key, value in list(cache.items()):
            if id(value) not in ours:
                continue
            try:
                cache[key] = value.result()
            except BaseException:
                cache.pop(key, None)
