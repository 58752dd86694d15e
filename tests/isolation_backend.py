"""A Triton backend that a compiler's own process can load, which misbehaves as the environment says."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from triton.backends.compiler import BaseBackend
from triton.runtime.cache import FileCacheManager

#: "16=abort,32=hang": what happens to which block size. ``STAND_IN_LOG`` names a file that each compilation adds to.
FAULTS = "STAND_IN_FAULTS"
LOG = "STAND_IN_LOG"


class UnfitError(Exception):
    """An error that pickling does not bring back."""

    def __init__(self, block: int, why: str) -> None:
        super().__init__(f"{why} {block}")


def garbage(block: int) -> None:
    for descriptor in (1, 2):
        os.write(descriptor, bytes(range(256)) * 200)


def hang_in_native_code(block: int) -> None:
    """As libtriton does: with the interpreter locked, so that no other thread runs."""
    ctypes.PyDLL(None).sleep(1000)


def refuse(block: int) -> None:
    raise RuntimeError(f"error: no block of {block}")


def break_connections(block: int) -> None:
    for descriptor in range(3, 30):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue


def unfit(block: int) -> None:
    raise UnfitError(block, "no block of")


def garbage_and_exit(block: int) -> None:
    garbage(block)
    os._exit(3)


FAULT: dict[str, Any] = {
    "abort": lambda block: os.abort(),
    "segfault": lambda block: ctypes.string_at(0),
    "hang": hang_in_native_code,
    "hang_in_program": lambda block: subprocess.run(["sleep", "1000"], check=True),
    "exit": lambda block: os._exit(0),
    "garbage_and_exit": garbage_and_exit,
    "garbage": garbage,
    "break_connections": break_connections,
    "close_connections": lambda block: (os.closerange(3, 30), hang_in_native_code(block)),
    "refuse": refuse,
    "unfit": unfit,
    "say": lambda block: print(f"remark: block {block}"),
}


def wish(block: int) -> str:
    wishes = dict(each.split("=") for each in os.environ.get(FAULTS, "").split(",") if each)
    return wishes.get(str(block), "")


class Remembering(FileCacheManager):
    """A cache manager of the user's. ``names``: of all files put into it by this process."""

    names: ClassVar[list[str]] = []

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        self.names.append(filename)
        return super().put(data, filename, binary)


class Options(SimpleNamespace):
    def hash(self) -> str:
        return repr(sorted(vars(self).items()))


class StandIn(BaseBackend):
    """Takes a module as text for its binary. Its second stage is the one that misbehaves."""

    binary_ext = "bin"

    @staticmethod
    def supports_target(target: Any) -> bool:
        return True

    def parse_options(self, given: dict[str, Any]) -> Options:
        options = {"num_warps": 4, "num_ctas": 1, "num_stages": 3, "debug": False, "multibuffer": None}
        more = {"instrumentation_mode": "", "fpsan_homomorphic_casts": False, "ir_override": None, "arch": "stand-in"}
        options |= {"cluster_dims": (1, 1, 1), "sanitize_overflow": False, "enable_fp_fusion": True} | more
        options |= {"allow_fp8e4nv": False, "supported_fp8_dtypes": (), "deprecated_fp8_dot_operand_dtypes": ()}
        options |= {"allowed_dot_input_precisions": ("ieee",), "default_dot_input_precision": "ieee"}
        options |= {"num_buffers_warp_spec": 0, "num_consumer_groups": 0, "reg_dec_producer": 0, "reg_inc_consumer": 0}
        return Options(**(options | {name: value for name, value in given.items() if name in options}))

    def add_stages(self, stages: dict[str, Any], options: Any, *language: Any) -> None:
        stages["ttir"] = lambda module, metadata: module
        stages["bin"] = self._compile

    @staticmethod
    def _compile(module: Any, metadata: dict[str, Any]) -> bytes:
        text = str(module)
        found = re.search(r"tensor<(\d+)xi32>", text)
        assert found is not None
        block = int(found.group(1))
        if log := os.environ.get(LOG):
            with Path(log).open("a") as file:
                file.write(f"{block} {os.getpid()} {'triton_ascend_tune.compiler_main' in sys.modules}\n")
        if fault := wish(block):
            FAULT[fault](block)
        metadata["name"], metadata["shared"] = f"kernel_{block}", 0
        return text.encode()

    def pack_metadata(self, metadata: Any) -> tuple[()]:
        return ()

    def get_codegen_implementation(self, *options: Any) -> dict[str, Any]:
        return {}

    def load_dialects(self, context: Any) -> None:
        return None

    def get_module_map(self) -> dict[str, Any]:
        return {}

    def hash(self) -> str:
        return "stand-in"

    def get_attrs_descriptor(self, params: Any, args: Any) -> Any:  # up to Triton 3.3
        import triton.backends.compiler as module

        return module.AttrsDescriptor(params, args)
