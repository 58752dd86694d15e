"""On what a result depends: the texts that records are named by.

*A time* depends on the kernel's source, the candidate, the tuning key, target and toolchain, and on how it was taken.

*A failure to compile* depends on less: not on the tuning key but on what the compiler is given (``compile_identity``).
It is described by our own account of Triton's specialisation, which tells apart at least what Triton does: taking two
equal compilations for different ones costs a compilation, the opposite would lose a candidate.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triton_ascend_tune import __version__, settings
from triton_ascend_tune.key import NOT_GIVEN, Key, Parameter
from triton_ascend_tune.launch import LAUNCH_ONLY
from triton_ascend_tune.records import NotStorableError, canonical, digest
from triton_ascend_tune.values import Candidate

#: Text files in CANN's folder that say which one it is.
_CANN_FILES = ("version.cfg", "version.info", "*/ascend_*_install.info")
#: Triton passes pointers and integers that are multiples of this as such.
_ALIGNMENT = 16
_INT32 = range(-(1 << 31), 1 << 31)


def timing_group(source: str, key: str, toolchain: str, protocol: str) -> str:
    """Names the place where the times of one kernel, tuning key and protocol lie, one record for each candidate."""
    return digest("timings", source, key, toolchain, protocol)


def candidate_text(candidate: Candidate) -> str:
    """All settings of a candidate, constexprs and compile options, in any order. NotStorableError: no text for one."""
    return canonical(dict(candidate.kwargs))


def key_text(key: Key, label: str, target: str) -> str:
    """A tuning key without the number of the device: what holds on one device of a target holds on all."""
    return canonical([target if part == label else part for part in key])


def compile_identity(
    source: str, parameters: Sequence[Parameter], call: Mapping[str, Any], candidate: Candidate, target: str
) -> str:
    """Names one compilation: kernel source, specialised arguments, compile options, target, environment.

    ``call``: all arguments and keywords of the launch by name, the candidate's among them. NotStorableError: an
    argument of a kind that is not known here, so that there is no telling.
    """
    arguments = {p.name: call.get(p.name, p.default) for p in parameters}
    described = [
        f"{p.name}={canonical(arguments[p.name]) if p.constexpr else _specialised(arguments[p.name])}"
        for p in parameters
    ]
    options = {k: v for k, v in call.items() if k not in arguments and k not in LAUNCH_ONLY}
    return digest("compile", source, *described, canonical(options), candidate_text(candidate), target, environment())


def source_of(jit: Any) -> str:
    """Triton's digest of a kernel's source and of all that it calls. NotStorableError: what is no JIT function."""
    source = getattr(jit, "cache_key", None)
    if not isinstance(source, str):
        raise NotStorableError("the kernel is no JIT function of Triton")
    return source


def environment() -> str:
    """The variables that change what is compiled, as they are now."""
    try:
        from triton._C.libtriton import get_cache_invalidating_env_vars

        listed = dict(get_cache_invalidating_env_vars())
    except ImportError:
        listed = {}
    return canonical({**listed, **settings.compiler_variables()})


def toolchain(target: Any, simulated: str | None) -> str:
    """Triton and its backend, torch_npu, CANN, this package; ``simulated``: the version of the simulated CANN, or None.

    A simulated time is never taken for a device's, nor the other way round. ``target`` is Triton's.
    """
    from triton.compiler.compiler import make_backend

    try:
        backend = str(make_backend(target).hash())
    except Exception as error:  # a backend that cannot say which compiler it has, for example because it is missing
        backend = f"unknown: {type(error).__name__}"
    cann = _cann_version(settings.cann_folders())
    return digest(
        "toolchain", _triton(), backend, _torch_npu(), cann, simulated or "device", __version__, environment()
    )


def bench_text(bench: Callable[..., Any]) -> str:
    """A user's timer, in place of a protocol: by its name and its compiled body, so that editing it is noticed."""
    function = getattr(bench, "__func__", bench)
    code = getattr(function, "__code__", None)
    body = hashlib.sha256(code.co_code + repr(code.co_names).encode()).hexdigest() if code is not None else ""
    name = getattr(function, "__qualname__", type(bench).__qualname__)
    return canonical(["do_bench", f"{getattr(function, '__module__', '')}.{name}", body])


def _specialised(value: Any) -> str:
    """What a compiler is told of one argument."""
    if value is None or value is NOT_GIVEN:
        return "none"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        width = "i32" if value in _INT32 else ("i64" if value < 1 << 63 else "u64")
        return f"{width}:{'1' if value == 1 else value % _ALIGNMENT == 0}"
    if isinstance(value, float):
        return "float"
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return f"*{value.dtype}:{value.data_ptr() % _ALIGNMENT == 0}"
    raise NotStorableError(f"an argument is a {type(value).__name__}, whose specialisation is not known")


@functools.lru_cache
def _triton() -> str:
    try:
        from triton.runtime.cache import triton_key
    except ImportError:  # before 3.5
        from triton.compiler.compiler import triton_key
    return str(triton_key())


@functools.lru_cache
def _torch_npu() -> str:
    try:
        return importlib.metadata.version("torch_npu")
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.lru_cache
def _cann_version(folders: tuple[str, ...]) -> str:
    """The text of the first file that says so; "" if there is none."""
    for folder in folders:
        for pattern in _CANN_FILES:
            for path in sorted(Path(folder).glob(pattern)):
                try:
                    return path.read_text(errors="replace")
                except OSError:
                    continue
    return ""
