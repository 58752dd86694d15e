"""What candidates must know of a device: cores, on-chip memories, alignment, grid limits.

Core counts are asked from the driver. Memory sizes are not to be asked there; they come from the table below, whose
numbers are those of the target specification that the Ascend compiler attaches to its modules (Ascend910B3) and of the
vendor's own tuner (the other families).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    max_programs: int = 65535
    any_tile: bool = True
    #: Vector cores that share one cube core, and so the work of a mixed kernel.
    vectors_per_cube: int = 2
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


#: Prefix of the architecture -> AI cores, vector units per AI core, and memories in KiB: UB, L1, L0A, L0B, L0C.
#: Longer prefixes win. AI cores count only where the driver does not say them.
PARTS: dict[str, tuple[int, int, tuple[int, int, int, int, int]]] = {
    "Ascend310P": (8, 1, (256, 1024, 64, 64, 256)),
    "Ascend910": (32, 1, (256, 1024, 64, 64, 256)),
    "Ascend910B": (24, 2, (192, 512, 64, 64, 128)),
    "Ascend910B1": (24, 2, (192, 512, 64, 64, 128)),
    "Ascend910B2": (24, 2, (192, 512, 64, 64, 128)),
    "Ascend910B3": (20, 2, (192, 512, 64, 64, 128)),
    "Ascend910B4": (20, 2, (192, 512, 64, 64, 128)),
    "Ascend910_93": (24, 2, (192, 512, 64, 64, 128)),
    "Ascend910_95": (32, 2, (248, 512, 64, 64, 256)),
    "Ascend950": (32, 2, (248, 512, 64, 64, 256)),
}


def known(arch: str, properties: dict[str, Any] | None = None) -> Hardware:
    """The Ascend part ``arch``; ``properties``: the driver's, whose core counts win over the table's.

    ValueError names an architecture that no entry begins.
    """
    prefix = max((each for each in PARTS if arch.startswith(each)), key=len, default=None)
    if prefix is None:
        raise ValueError(
            f"no on-chip memory sizes are known for {arch!r}; known are {', '.join(PARTS)} and their parts"
        )
    cubes, per_cube, (ub, l1, l0a, l0b, l0c) = PARTS[prefix]
    given = properties or {}
    cubes = int(given.get("num_aicore") or cubes)
    vectors = int(given.get("num_vectorcore") or cubes * per_cube)
    return Hardware(
        arch, vectors, cubes, ub * KIB, l1 * KIB, l0a * KIB, l0b * KIB, l0c * KIB, vectors_per_cube=per_cube
    )


def cuda(arch: str, properties: dict[str, Any]) -> Hardware:
    """A CUDA device: shared memory stands for all on-chip memories, and tiles are powers of two, as Triton demands."""
    sms = int(properties.get("multiprocessor_count") or 1)
    shared = int(properties.get("max_shared_mem") or 48 * KIB)
    # Vector tiles live in registers there: 64 Ki of 4 bytes on every SM since Kepler, of which a tile may use half.
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
        return known(str(target.arch), properties)
    if target.backend == "cuda":
        return cuda(str(target.arch), properties)
    raise RuntimeError(f"candidates are proposed for npu and cuda, not for {target.backend!r}")
