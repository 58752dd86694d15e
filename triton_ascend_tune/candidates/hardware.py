"""What candidates must know of a device: cores, on-chip memories, alignment, grid limits.

Core counts are asked from the driver, memories from CANN's platform configuration. What these do not say comes from the
tables below. Their numbers are those of the Ascend compiler itself, which decides what fits: the target specification
that ``bishengir-opt --hacc-append-device-spec`` of ascendnpu-ir 1.2.0 attaches to a module for each of its targets
(``tests/simulator/test_hardware.py`` compares all of them). Parts that it has no target for are not known: the Triton
backend does not compile for them either. Alignment is its UB_ALIGN_SIZE; the limit of a grid is that of
``grid.MAX_BLOCKS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_ascend_tune.candidates import platform_info
from triton_ascend_tune.grid import MAX_BLOCKS

KIB = 1024


@dataclass(frozen=True)
class Hardware:
    """One device. ``vector_cores``, ``cube_cores``: programs of each kind that run at once.

    Bytes per core: ``ub`` unified buffer, ``l1``, ``l0a``, ``l0b``, ``l0c``; 0 where there is none. ``align``: bytes on
    which rows of a tile begin. ``max_programs``: of one launch. ``any_tile``: whether tiles may have sizes that are no
    powers of two.
    """

    arch: str
    vector_cores: int
    cube_cores: int
    ub: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    align: int = 32
    max_programs: int = MAX_BLOCKS
    any_tile: bool = True
    backend: str = "npu"
    #: The model of time that orders tiles, in nanoseconds: what starting a program, and an iteration, costs a core at
    #: the least; bytes and multiply-adds of one core per nanosecond. Orders of magnitude: 1.6 TB/s over 40 vector
    #: cores, and 16^3 products per cycle. Nothing else is concluded from them.
    program_ns: float = 2000.0
    iteration_ns: float = 600.0
    bytes_per_ns: float = 40.0
    products_per_ns: float = 7000.0

    def cores(self, cube: bool) -> int:
        """How many programs of a cube (or mixed) or of a vector kernel run at once."""
        return self.cube_cores if cube else self.vector_cores


#: Family -> memories in KiB: UB, L1, L0A, L0B, L0C; two vector cores share a cube core in all of them.
MEMORIES: dict[str, tuple[int, int, int, int, int]] = {
    "Ascend910B": (192, 512, 64, 64, 128),
    "Ascend910_93": (192, 512, 64, 64, 128),
    "Ascend910_95": (248, 512, 64, 64, 256),
    "Ascend950": (248, 512, 64, 64, 256),
}
#: How the part's name begins, behind an underscore if it has one -> AI cores. Longer beginnings win.
AI_CORES = {
    **{"Ascend910B": 24, "Ascend910B3": 20, "Ascend910B4": 20},
    **{"93": 24, "9362": 20, "9372": 20},
    **{"950": 8, "950z": 4, "957": 28, "958": 32, "959": 36, "95A": 36},
}
VECTORS_PER_CUBE = 2


def known(
    arch: str, properties: Mapping[str, Any] | None = None, memories: Mapping[str, int] | None = None
) -> Hardware:
    """The Ascend part ``arch``. ``properties`` of the driver and ``memories`` of the platform win over the tables.

    ValueError names an architecture of which neither says enough.
    """
    given = properties or {}
    family = max((each for each in MEMORIES if arch.startswith(each)), key=len, default=None)
    part = arch.rpartition("_")[2]
    begins = max((each for each in AI_CORES if part.startswith(each)), key=len, default=None)
    cubes = int(given.get("num_aicore") or (AI_CORES[begins] if begins is not None and family is not None else 0))
    names = ("ub", "l1", "l0a", "l0b", "l0c")
    sizes = dict(memories or {})
    if family is not None and not sizes:
        sizes = {name: size * KIB for name, size in zip(names, MEMORIES[family])}
    if not sizes or not cubes:
        raise ValueError(
            f"no on-chip memory sizes are known for {arch!r}; known are {', '.join(MEMORIES)} and their parts"
        )
    vectors = int(given.get("num_vectorcore") or cubes * VECTORS_PER_CUBE)
    ub, l1, l0a, l0b, l0c = (sizes[name] for name in names)
    return Hardware(arch, vectors, cubes, ub, l1, l0a, l0b, l0c)


def cuda(arch: str, properties: dict[str, Any]) -> Hardware:
    """A CUDA device: shared memory stands for all on-chip memories, and tiles are powers of two, as Triton demands."""
    sms = int(properties.get("multiprocessor_count") or 1)
    shared = int(properties.get("max_shared_mem") or 48 * KIB)
    # Vector tiles live in registers there: 64 Ki of 4 bytes on every multiprocessor (CUDA programming guide, technical
    # specifications by compute capability, 5.0 to 12.x), of which a tile may use half.
    registers = 128 * KIB
    return Hardware(
        arch,
        sms,
        sms,
        registers,
        shared,
        shared,
        shared,
        registers,
        align=16,
        max_programs=2**31 - 1,
        any_tile=False,
        backend="cuda",
        # A multiprocessor runs many programs at once, so that each costs it little.
        program_ns=100.0,
        iteration_ns=30.0,
        bytes_per_ns=30.0,
        products_per_ns=3000.0,
    )


def current() -> Hardware:
    """The device that launches go to. ValueError for an Ascend part, RuntimeError for a backend, that is not known."""
    from triton.runtime.driver import driver

    active: Any = driver.active
    target = active.get_current_target()
    utils = getattr(active, "utils", None)  # without it the table alone says what there is
    properties = utils.get_device_properties(active.get_current_device()) if utils is not None else {}
    if target.backend == "npu":
        return known(str(target.arch), properties, platform_info.memories())
    if target.backend == "cuda":
        return cuda(str(target.arch), properties)
    raise RuntimeError(f"candidates are proposed for npu and cuda, not for {target.backend!r}")
