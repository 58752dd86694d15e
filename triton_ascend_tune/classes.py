"""The classes of our tuners, each made of the installed Triton's or of a library's."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from triton_ascend_tune import generate, parsing
from triton_ascend_tune.autotuner import Tuner


@functools.cache
def make_tuner_class(base: Any) -> type:
    """Our subclass of ``base``, the installed Triton's ``Autotuner`` or one of its subclasses; always the same one.

    Its constructor has the signature of ``base``'s. It may be assigned to ``__class__`` of an instance of ``base``.
    """
    parsing.one_at_a_time()
    constructor = base.__init__
    signature = inspect.signature(constructor)
    #: Before Triton 3.5 the constructor asks the driver for its timer, so that decorating would need a device.
    asks_driver = not hasattr(base, "do_bench")

    @functools.wraps(constructor)
    def __init__(self: Tuner, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **kwargs)
        given = bound.arguments.get("do_bench")
        if asks_driver and given is None:
            bound.arguments["do_bench"] = _ask_later
        constructor(*bound.args, **bound.kwargs)
        generate.note_given(self, bound.arguments.get("configs"))
        if asks_driver:
            if self.__dict__.get("do_bench") is _ask_later:
                del self.__dict__["do_bench"]
            self._do_bench = self.__dict__.get("do_bench")

    return type(
        base.__name__,
        (base,),
        {
            **{name: member for name, member in vars(Tuner).items() if not name.startswith("__")},
            "__getitem__": Tuner.__getitem__,
            "__init__": __init__,
            "__doc__": base.__doc__,
            "__module__": Tuner.__module__,
            "_triton_ascend_tune": base,
            "stock": base,
            "generates": generate.generates(base),
        },
    )


@functools.cache
def make_joined_class(subclass: Any, base: Any) -> type:
    """``subclass``, which a library has made of ``base``, with our tuner between the two; always the same class.

    What ``subclass`` overrides stays its own, and its ``super()`` finds us before ``base``. Launches go through its
    ``run``, as in stock Triton. May be assigned to ``__class__`` of an instance of ``subclass``. TypeError if
    ``subclass`` would not work that way.
    """
    ours = make_tuner_class(base)
    if subclass._bench is not base._bench:
        raise TypeError("it has a _bench of its own, which ours would not call")
    members_of_ours = {name for name in vars(ours) if not name.startswith("__") and not hasattr(base, name)}
    # A timer of the subclass's own is asked for by Triton's name, as it should be.
    if taken := sorted(name for name in members_of_ours - {"do_bench"} if hasattr(subclass, name)):
        raise TypeError(f"it has attributes of its own with names of ours: {', '.join(taken)}")
    members = {"__doc__": subclass.__doc__, "__module__": subclass.__module__, "__qualname__": subclass.__qualname__}
    if subclass.__getitem__ is base.__getitem__:
        members["__getitem__"] = base.__getitem__  # ours would not ask the subclass's ``run``
    made: type = type(subclass)(subclass.__name__, (subclass, ours), members)
    return made


def _ask_later(*_: Any, **__: Any) -> Any:
    """Placeholder for the driver's timer; never called."""
