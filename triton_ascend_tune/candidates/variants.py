"""What is tried around the best tiles: other settings of the compiler, one changed at a time, never a product.

On an NPU these are the backend's compile options. On a CUDA device the number of warps belongs to a tile, so a few
numbers are tried with every tile, and their neighbours around the best; stages matter where matrix products are fed by
a loop.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from triton_ascend_tune.candidates import options
from triton_ascend_tune.candidates.symbol import next_power_of_2

#: Kind of kernel -> options that reach its code, the likeliest to help first. Not among them: ``num_stages``, which is
#: ``multibuffer`` by another name or nothing; ``num_warps``, which only code in the style of threads reads.
REACHES: dict[str, tuple[str, ...]] = {
    "vector": ("multibuffer", "enable_ubuf_saving", "sync_solver", "compile_mode"),
    "cube": ("multibuffer", "unit_flag", "limit_auto_multi_buffer_of_local_buffer", "sync_solver"),
    "mix": (
        "multibuffer",
        "limit_auto_multi_buffer_of_local_buffer",
        "unit_flag",
        "set_workspace_multibuffer",
        "tile_mix_vector_loop",
        "tile_mix_cube_loop",
        "enable_hivm_auto_cv_balance",
        "limit_auto_multi_buffer_only_for_local_buffer",
        "sync_solver",
        "enable_auto_bind_sub_block",
    ),
}
#: Warps of code in the style of threads on an NPU, as the vendor's tuner tries them.
THREAD_WARPS = (8, 16, 32, 64)

MAX_WARPS = 32
#: Elements of the largest tile that a thread of a CUDA device may hold, few to many: of the 18 to 60 settings of three
#: kernels that were timed on an H200, the best had 2 to 32; products are held in registers, 32 to 128 a thread.
PER_THREAD = {"vector": (2, 8, 32), "cube": (32, 64, 128), "mix": (32, 64, 128)}
STAGES = (2, 4, 5)


def of_npu(
    kind: str, taken: Container[str], doubles: bool, known: frozenset[str], modes: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Settings next to the compiler's defaults, one option changed in each.

    ``taken``: options that the call or a config sets, which are left alone. ``doubles``: whether multi-buffering has
    anything to double, and the memory to do so; otherwise it makes the same binary either way. ``known``: the options
    of the backend. ``modes``: see ``options.compile_modes``.
    """
    for name in REACHES[kind]:
        if name in taken or name not in known or (name == "multibuffer" and (not doubles or "num_stages" in taken)):
            continue
        if name != "compile_mode":
            yield from ({name: value} for value in options.ALLOWED[name] if value != options.DEFAULTS[name])
            continue
        for mode in modes:
            if mode == "simt_only" and "num_warps" not in taken:
                yield from ({name: mode, "num_warps": warps} for warps in THREAD_WARPS)
            else:
                yield {name: mode}


def warps_of_tile(kind: str, elements: int) -> list[int]:
    """Numbers of warps worth trying with a tile of ``elements`` on a CUDA device."""
    found = (next_power_of_2(elements // (32 * each)) for each in PER_THREAD[kind])
    return list(dict.fromkeys(min(max(warps, 1), MAX_WARPS) for warps in found))


def of_cuda(kind: str, taken: Container[str], warps: int | None, loops: bool) -> Iterator[dict[str, Any]]:
    """Settings around a good tile on a CUDA device. ``warps``: those it has; None if they are not ours to choose."""
    if warps is not None:
        yield from ({"num_warps": other} for other in (warps * 2, warps // 2) if 1 <= other <= MAX_WARPS)
    if kind != "vector" and loops and "num_stages" not in taken:
        yield from ({"num_stages": stages} for stages in STAGES)
