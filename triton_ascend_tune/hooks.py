"""What runs around a launch while candidates are compared: the user's hooks, or resetting and restoring of tensors.

Stock Triton keeps the copies of ``restore_value`` on the tuner, where two threads overwrite each other's; here they
belong to one tuning. They are taken once, before its first launch: every launch is followed by putting them back, so
that each one finds the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

Arguments = Mapping[str, Any]


class Hooks:
    """The hooks of one tuning.

    ``before`` and ``after`` enclose each measured launch, never its timed interval; ``failed`` takes the place of
    ``after`` if the launch raised; ``reset`` runs once, when the winner is known. All take the arguments by name,
    including the caller's keywords (grid, warmup) and the candidate's settings.
    """

    def __init__(
        self,
        pre_hook: Callable[..., Any] | None,
        post_hook: Callable[..., Any] | None,
        reset_to_zero: Sequence[str],
        restore_value: Sequence[str],
        kernel_arguments: Collection[str],
    ) -> None:
        """``pre_hook`` and ``post_hook`` are the user's and each replaces its default; None for the default.

        KeyError, as in stock Triton, if a tensor that a default hook needs is no argument of the kernel.
        """
        needed = (
            ("reset_to_zero", () if pre_hook else reset_to_zero),
            ("restore_value", () if pre_hook else restore_value),
        )
        for option, names in needed:
            if unknown := [name for name in names if name not in kernel_arguments]:
                raise KeyError(
                    f"{option} names no kernel argument: {', '.join(unknown)}; has {', '.join(kernel_arguments)}"
                )
        self._pre_hook = pre_hook
        self._post_hook = post_hook
        self._reset_to_zero = tuple(reset_to_zero)
        self._restore_value = tuple(restore_value)
        self._copies: dict[str, Any] | None = None

    @property
    def active(self) -> bool:
        """Whether there is anything to do around a launch."""
        return bool(self._pre_hook or self._post_hook or self._reset_to_zero or self._restore_value)

    @property
    def change_arguments(self) -> bool:
        """Whether a user's hook may change what is compiled, so that compiling ahead of it would be wrong."""
        return self._pre_hook is not None

    def before(self, arguments: Arguments) -> None:
        if self._pre_hook is not None:
            self._pre_hook(arguments)
            return
        self._zero(arguments)
        if self._copies is None:
            self._copies = {name: tensor.clone() for name, tensor in _tensors(self._restore_value, arguments)}

    def after(self, arguments: Arguments, exception: BaseException | None = None) -> None:
        if self._post_hook is not None:
            self._post_hook(arguments, exception=exception)
            return
        for name, copy in (self._copies or {}).items():
            arguments[name].copy_(copy)

    def reset(self, arguments: Arguments) -> None:
        """What stock Triton's ``pre_hook(arguments, reset_only=True)`` does before the winner's first real launch."""
        if self._pre_hook is not None:
            self._pre_hook(arguments, reset_only=True)
        else:
            self._zero(arguments)

    def _zero(self, arguments: Arguments) -> None:
        for _, tensor in _tensors(self._reset_to_zero, arguments):
            tensor.zero_()


def _tensors(names: Sequence[str], arguments: Arguments) -> list[tuple[str, Any]]:
    """The named arguments that are there: an optional tensor may be None or left to its default."""
    return [(name, arguments[name]) for name in names if arguments.get(name) is not None]
