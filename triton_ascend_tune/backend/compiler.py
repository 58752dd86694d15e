"""The compiler half of the backend: supports no target, so the device's own backend stays the only candidate.

Triton imports this module while it discovers backends, and that import is what activates the tuner. At that moment
``triton.runtime.autotuner`` is half executed; ``activation`` waits for it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from triton.backends.compiler import BaseBackend, GPUTarget

from triton_ascend_tune import activation


class AscendTuneBackend(BaseBackend):  # type: ignore[misc]
    """Never instantiated by Triton: no target is supported. Each method says so if it is called all the same."""

    binary_ext = ""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False

    def hash(self) -> NoReturn:
        self._refuse()

    def parse_options(self, options: dict[str, Any]) -> NoReturn:
        self._refuse()

    def add_stages(self, stages: dict[str, Any], options: object, language: object = None) -> NoReturn:
        self._refuse()

    def load_dialects(self, context: object) -> NoReturn:
        self._refuse()

    def get_module_map(self) -> NoReturn:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise NotImplementedError("the backend ascend_tune only tunes; it compiles for no target")


activation.activate(activation.ENTRY_POINT)
