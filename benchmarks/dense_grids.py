"""The tuned kernels of the examples, each with the dense grid that ``candidates.py`` puts beside what we propose.

A grid is tiles times multi-buffering on and off. Vector kernels have one parameter, of which every size counts: all up
to 32, then four per doubling. Of matrix products the tiles are powers of two whose sum fits into L0C; of the attention,
whose blocks are rows and not only products, also sizes between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

CORES = 40  # vector cores of an Ascend910B3; half as many for products
UB_BYTES = 192 * 1024
L0C_FLOATS = 128 * 1024 // 4

Settings = dict[str, Any]


def _main(module: ModuleType) -> None:
    module.main()


@dataclass(frozen=True)
class Case:
    """One tuned kernel. ``tiles``: of the dense grid. ``call``: launches it and checks what it computes.

    ``told``: hints that our side gets, because its analysis asks for them: what is loaded from memory, or cuts no axis.
    ``axes``: keys for the wheel's tuner, whose axes are its keys in order; None: the example's. ``keys``: for a kernel
    that its example does not tune.
    """

    kernel: str
    tiles: Sequence[Settings]
    call: Callable[[ModuleType], None] = _main
    told: Mapping[str, Any] = field(default_factory=dict)
    axes: Sequence[str] | None = None
    keys: Sequence[str] = ()

    @property
    def settings(self) -> list[Settings]:
        return [{**tile, "multibuffer": double} for tile in self.tiles for double in (True, False)]


def sizes_of(length: int) -> list[int]:
    """Every size up to 32, then four per doubling, and the even shares of the cores, in multiples of 8."""
    sizes = set(range(1, 33))
    size = 32.0
    while size < min(length, 65536):
        size *= 2**0.25
        sizes.add(round(size / 8) * 8)
    shares = [*(CORES * rounds for rounds in range(1, 9)), *range(1, 9)]
    sizes |= {math.ceil(length / share / 8) * 8 for share in shares}
    return sorted(each for each in sizes if each * 4 <= UB_BYTES)


def _sizes(name: str, length: int) -> list[Settings]:
    return [{name: size} for size in sizes_of(length)]


def _products(rows: Sequence[int], depths: Sequence[int], **fixed: int) -> list[Settings]:
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, **fixed}
        for m, n, k in itertools.product(rows, rows, depths)
        if m * n <= L0C_FLOATS
    ]


def _target_alone(module: ModuleType) -> None:
    """The kernel that the example measures, by itself; the grid follows the block."""
    x, y, out = (module.vector(440, 2048) for _ in range(3))
    n = out.numel()
    module.target[lambda meta: (-(-n // meta["BLOCK"]),)](x, y, out, n)
    if not bool((out == 2).all()):
        raise AssertionError("target: a sum of ones is not two everywhere")


POWERS = [16, 32, 64, 128, 256, 512]
BLOCKS = [16, 32, 64, 104, 128, 208, 256]  # 104 and 208: half of the attention's 200 rows, and all of them
GROUPED = _products([32, 64, 128, 256], [64, 128, 256, 512], PROGRAMS=20)
GROUPED += [{**tile, "PROGRAMS": 10} for tile in GROUPED]

CASES = {
    "01_vector_add": Case("add_kernel", _sizes("BLOCK", 1_000_003)),
    "02_softmax": Case("softmax_kernel", _sizes("ROWS", 1024)),
    "03_layer_norm": Case("layer_norm_kernel", _sizes("BLOCK", 3000)),
    "04_matmul": Case("matmul_kernel", _products(POWERS, POWERS, GROUP_M=1), told={"GROUP_M": [1, 4]}),
    "05_attention": Case(
        "attention_kernel",
        [{"BLOCK_M": m, "BLOCK_N": n} for m, n in itertools.product(BLOCKS, BLOCKS)],
        axes=["N_CTX"],
    ),
    "06_layer_norm_backward/dx": Case("dx_kernel", _sizes("ROWS", 300)),
    "06_layer_norm_backward/sum": Case("sum_kernel", _sizes("COLUMNS", 1000)),
    "07_grouped_matmul": Case(
        "grouped_matmul_kernel",
        GROUPED,
        # The sizes of the products are loaded: the largest of each.
        told={"axes": {"x": 320, "y": 384, "z": 320}, "PROGRAMS": [10, 20]},
    ),
    "08_one_kernel_of_several": Case("target", _sizes("BLOCK", 440 * 2048), call=_target_alone, keys=["n"]),
}
