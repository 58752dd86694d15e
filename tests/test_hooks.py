"""Hooks and the tensors they reset and restore."""

from __future__ import annotations

from typing import Any

import pytest

from triton_ascend_tune.hooks import Hooks


class Tensor:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def zero_(self) -> None:
        self.log.append(f"zero {self.name}")

    def clone(self) -> Tensor:
        self.log.append(f"clone {self.name}")
        return Tensor(f"{self.name}'", self.log)

    def copy_(self, other: Tensor) -> None:
        self.log.append(f"{other.name} -> {self.name}")


def hooks(pre: Any = None, post: Any = None, reset: Any = (), restore: Any = ()) -> Hooks:
    return Hooks(pre, post, reset, restore, ["x", "y"])


def test_defaults_zero_then_clone_once_and_copy_back_after_every_launch() -> None:
    """FR-23."""
    log: list[str] = []
    arguments = {"x": Tensor("x", log)}
    default = hooks(reset=["x"], restore=["x"])
    for _ in range(2):
        default.before(arguments)
        default.after(arguments)
    default.reset(arguments)
    assert log == ["zero x", "clone x", "x' -> x", "zero x", "x' -> x", "zero x"]


def test_a_failed_launch_is_restored_too() -> None:
    log: list[str] = []
    default = hooks(restore=["x"])
    arguments = {"x": Tensor("x", log)}
    default.before(arguments)
    default.after(arguments, exception=RuntimeError())
    assert log == ["clone x", "x' -> x"]


def test_none_and_omitted_tensors_are_left_out() -> None:
    default = hooks(reset=["x", "y"], restore=["x", "y"])
    default.before({"x": None})
    default.after({"x": None})
    default.reset({"x": None})


def test_user_hooks_replace_the_defaults_and_get_their_documented_arguments() -> None:
    seen: list[Any] = []
    arguments = {"x": Tensor("x", seen)}
    error = RuntimeError()
    user = hooks(
        lambda kwargs, reset_only=False: seen.append(("pre", reset_only, kwargs is arguments)),
        lambda kwargs, exception: seen.append(("post", exception, kwargs is arguments)),
        reset=["x"],
        restore=["x"],
    )
    user.before(arguments)
    user.after(arguments)
    user.after(arguments, exception=error)
    user.reset(arguments)
    assert seen == [("pre", False, True), ("post", None, True), ("post", error, True), ("pre", True, True)]
    assert user.change_arguments


def test_a_user_pre_hook_without_post_hook_restores_nothing() -> None:
    log: list[str] = []
    mixed = hooks(lambda kwargs: None, restore=["x"])
    mixed.before({"x": Tensor("x", log)})
    mixed.after({"x": Tensor("x", log)})
    assert log == []


def test_nothing_to_do_is_known() -> None:
    assert not hooks().active
    assert hooks(reset=["x"]).active
    assert not hooks(restore=["x"]).change_arguments


@pytest.mark.parametrize("option", ["reset", "restore"])
def test_a_name_that_is_no_argument_is_refused(option: str) -> None:
    with pytest.raises(KeyError, match=r"names no kernel argument: typo; has x, y"):
        hooks(**{option: ["x", "typo"]})
    hooks(lambda kwargs: None, **{option: ["typo"]})  # the user's own hook knows what it does
