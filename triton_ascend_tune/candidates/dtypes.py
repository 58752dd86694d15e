"""Names of element types as kernels, tensors and compilers spell them, and their sizes."""

from __future__ import annotations

from triton_ascend_tune.candidates.trace import Known, Thing

_WIDTH = {"1": 0.125, "8": 1, "16": 2, "32": 4, "64": 8}


def width(dtype: str) -> float:
    """Bytes of one element, of a mask's a bit; of a type that is not known, those of a float32."""
    digits = "".join(char for char in dtype if char.isdigit())
    if dtype.startswith(("fp8", "float8")):
        return 1
    return _WIDTH.get(digits, 4) if dtype != "bool" else 1


def is_float(dtype: str) -> bool:
    return dtype.startswith(("fp", "bf", "float", "bfloat"))


class Type:
    """A dtype in a kernel: ``x.dtype``, and what that points to."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def element_ty(self) -> Type:
        return self

    @property
    def scalar(self) -> Type:
        return self

    def __eq__(self, other: object) -> bool:
        return str(other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


_NAMES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16", "int1": "int1"}


def dtype_of(thing: Thing | None) -> str | None:
    """The name of a dtype given to a function; None if it is none."""
    value = thing.value if isinstance(thing, Known) else None
    if value is None:
        return None
    name = getattr(value, "name", None) or str(value)
    return _NAMES.get(str(name), str(name))
