"""Which candidates are one and the same launch: options that a backend ignores make equal binaries.

Compiling one of them is enough where the installed backend is known to read none of the options that differ. Of what
was compiled, measuring one is enough. Two kernels count as the same if binary, grid and everything that the launcher
reads are; where any of that cannot be told, they count as different.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from triton_ascend_tune.compile import Compiled

#: Fields of a kernel's metadata that say how it was compiled and that no launcher reads.
_COMPILE_ONLY = {
    "allow_fp8e4nv",
    "disable_auto_inject_block_sync",
    "enable_auto_bind_sub_block",
    "enable_fp_fusion",
    "enable_hivm_auto_cv_balance",
    "enable_linearize",
    "enable_nd2nz_on_vector",
    "enable_persistent",
    "enable_select_analysis",
    "enable_warp_specialization",
    "hash",
    "inject_barrier_all",
    "inject_block_all",
    "ir_override",
    "limit_auto_multi_buffer_of_local_buffer",
    "limit_auto_multi_buffer_only_for_local_buffer",
    "maxnreg",
    "multibuffer",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "num_stages",
    "optimize_epilogue",
    "reg_dec_producer",
    "reg_inc_consumer",
    "required_ub_bits",
    "set_workspace_multibuffer",
    "sync_solver",
    "tile_mix_cube_loop",
    "tile_mix_vector_loop",
    "unit_flag",
}
#: On an NPU these matter to code in the style of threads alone.
_THREADS_ONLY = {"num_warps", "num_ctas"}

#: Options that triton-ascend 3.2.0 takes and hands to no stage of its compiler.
_UNREAD = {
    "num_warps",
    "num_ctas",
    "num_stages",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "maxnreg",
}
#: Options of the same backend that make it read the number of warps.
_THREADS = {"compile_mode", "force_simt_only", "force_simt_template"}


def compilation(kwargs: Mapping[str, Any], call: Mapping[str, Any], arguments: Iterable[str]) -> Hashable | None:
    """What of a candidate's ``kwargs`` a compiler for an NPU reads; None where nothing is known to be ignored.

    ``call``: the keywords of the call; ``arguments``: the kernel's, which may have the name of an option.
    """
    by_threads = any(given.get(name) for given in (kwargs, call) for name in _THREADS)
    if by_threads or not _UNREAD.isdisjoint(arguments) or not _known_backend():
        return None
    read = [(name, kwargs[name]) for name in sorted(kwargs) if name not in _UNREAD]
    # Two functions may look alike, and 0.0 and -0.0 are equal.
    same = tuple((name, type(value), repr(value), value) for name, value in read)
    try:
        hash(same)
    except TypeError:
        return None
    return same


@functools.cache
def _known_backend() -> bool:
    try:
        return importlib.metadata.version("triton-ascend") == "3.2.0"
    except importlib.metadata.PackageNotFoundError:
        return False


def groups(compiled: Sequence[Compiled], grids: Iterable[tuple[int, ...] | None]) -> list[list[int]]:
    """The places in ``compiled`` of equal launches, in order; ``grids``: that of each, None if it is not known."""
    return together((_identity(each.kernel) for each in compiled), grids)


def together(same: Iterable[Hashable | None], grids: Iterable[tuple[int, ...] | None]) -> list[list[int]]:
    """The places of which both are equal, in order; a place with one that is None (not known) stays alone."""
    found: dict[Hashable, list[int]] = {}
    for place, both in enumerate(zip(same, grids)):
        found.setdefault(place if None in both else both, []).append(place)
    return list(found.values())


def _identity(kernel: Any) -> Hashable | None:
    binary = getattr(kernel, "kernel", None)
    metadata = getattr(kernel, "metadata", None)
    fields: dict[str, Any] | None = getattr(metadata, "_asdict", lambda: None)()
    if fields is None or not isinstance(binary, (bytes, str)):
        return None
    ignored = set(_COMPILE_ONLY)
    if getattr(fields.get("target"), "backend", None) == "npu" and "simt" not in str(fields.get("parallel_mode")):
        ignored |= _THREADS_ONLY
    content = binary if isinstance(binary, bytes) else binary.encode()
    read = sorted((name, repr(value)) for name, value in fields.items() if name not in ignored)
    return hashlib.sha256(content).hexdigest(), tuple(read)
