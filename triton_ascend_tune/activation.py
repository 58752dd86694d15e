"""Puts our tuner in the place of Triton's, at the class.

Programs reach the tuner by many names (``triton.autotune``, ``triton.runtime.Autotuner``, a name imported before this
package was loaded), but all of them end in the constructor of one class object. So that constructor is replaced and no
name is: constructing exactly ``Autotuner`` yields an instance of our subclass of it. Hence

* every import path gives our tuner, whenever it was imported, and ``isinstance(x, triton.runtime.Autotuner)`` holds;
* signatures are the installed version's own, because its own ``autotune`` function still runs;
* subclasses written by other libraries construct themselves; one whose ``run`` calls Triton's, or is Triton's, tunes
  with ours from its first launch, and keeps what it overrides; one with a ``run`` or ``_bench`` all its own, or with
  attributes of its own that have names of ours, stays as it is;
* triton-ascend's subclasses that its ``autotune`` returns are replaced in the same way, each by our subclass of it;
* direct instances made before the replacement stay stock, and instances of ours stay ours after ``uninstall``.

Why ``__init__`` and not ``__new__``: a ``__new__`` that was set on a class and removed again leaves CPython's slot
behind, after which the class rejects all constructor arguments; ``__init__`` can be put back exactly. It is also not
run by copy and pickle, which must not turn a stock instance into one of ours.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from triton_ascend_tune import import_hook, settings

#: The three ways in, in the words that the doctor prints.
ENTRY_POINT = "entry point"
IMPORT_HOOK = "import hook"
EXPLICIT = "install()"

#: Module -> class whose direct instances become ours. The second is triton-ascend 3.2, the third its 3.5-based builds.
_REPLACED = {
    import_hook.STOCK_MODULE: "Autotuner",
    "triton.runtime.autotiling_tuner": "AutoTilingTuner",
    "triton.backends.ascend.runtime.autotuner": "AutoTilingTuner",
}

#: The module of 3.5-based triton-ascend builds that defines these functions, and the package that hands them on.
_PRESETS_IN = ("triton.backends.ascend.runtime.autotuner", "triton.backends.ascend.runtime")
_PRESETS = (
    "max_autotune",
    "get_max_configs",
    "get_autotune_vector_config",
    "get_autotune_cube_config",
    "get_autotune_cv_config",
)

_log = logging.getLogger("triton_ascend_tune")
_originals: dict[Any, Callable[..., None]] = {}
_runs: dict[Any, Any] = {}
_ways: list[str] = []
_problems: list[str] = []
#: Subclasses that cannot be ours, so that not every launch tries it.
_refused: weakref.WeakSet[type] = weakref.WeakSet()
#: Held while a class is made and given to an instance: two threads must not make two of them.
_making = threading.RLock()


@dataclass(frozen=True)
class State:
    """What has happened so far in this process.

    ``ways``: the ways in that were taken, the first one took effect. ``replaced``: full names of the classes whose
    constructor is ours. ``problems``: what kept the replacement from working, one line each.
    """

    ways: tuple[str, ...]
    replaced: tuple[str, ...]
    problems: tuple[str, ...]


def install() -> bool:
    """Makes every ``@triton.autotune`` from now on give our tuner. Does not import Triton: it may come later.

    Returns False, and does nothing, if ``TRITON_ASCEND_TUNE=0``. Calling it twice is the same as calling it once.
    """
    if not settings.enabled():
        _log.info("%s is off: not installed", settings.ENABLED)
        return False
    _enter(EXPLICIT)
    return True


def uninstall() -> None:
    """Puts Triton's own constructors back. Tuners that exist keep their class; ones made from now on are stock."""
    for awaited in (*_REPLACED, *_PRESETS_IN):
        import_hook.forget(awaited)
    for cls, original in _originals.items():
        # Where somebody else has wrapped our constructor since, ours stays inside as a plain pass-through.
        if getattr(cls.__dict__["__init__"], "_triton_ascend_tune", None) is cls:
            cls.__init__ = original  # type: ignore[misc,unused-ignore]
    for base, stock_run in _runs.items():
        if getattr(base.__dict__["run"], "_triton_ascend_tune", None) is base:
            base.run = stock_run  # type: ignore[union-attr,unused-ignore]
    for module in filter(None, map(sys.modules.get, _PRESETS_IN)):
        for name in _PRESETS:
            ours: Any = getattr(module, name, None)
            if hasattr(ours, "_triton_ascend_tune"):
                setattr(module, name, ours.__wrapped__)
    _originals.clear()
    _runs.clear()
    _refused.clear()
    _ways.clear()
    _problems.clear()


def activate(way: str) -> None:
    """``install`` for the two automatic ways in, which must never break the import that they happen in."""
    try:
        if not settings.enabled():
            return
    except ValueError as error:
        _report(f"not active: {error}")
        return
    _enter(way)


def state() -> State:
    """What has happened so far; see ``State``."""
    return State(tuple(_ways), tuple(f"{cls.__module__}.{cls.__qualname__}" for cls in _originals), tuple(_problems))


def check() -> None:
    """Tries whether our tuners can be made for the classes that are replaced; what cannot is added to the problems."""
    for cls in _originals:
        _adopt(cls.__new__(cls), cls)


def acts_on(target_backend: str) -> bool:
    """Whether tuners tune by themselves on Triton's target ``target_backend`` ("npu", "cuda", "hip", ...).

    If not, they behave exactly as the installed Triton's. Reads the environment; ValueError on an illegal value.
    """
    return settings.enabled() and not settings.interpreting() and target_backend in settings.targets()


def acts_now() -> bool:
    """``acts_on`` the active target; False if there is none. Asks no driver when interpreting or switched off."""
    if not settings.enabled() or settings.interpreting():
        return False
    try:
        from triton.runtime.driver import driver

        target = driver.active.get_current_target()
    except Exception as error:
        # Without a driver the stock path raises its own error, or needs none (a user's own launcher and do_bench).
        _log.debug("no active target, so the stock tuner's behaviour: %s", error)
        return False
    return acts_on(target.backend)


def _enter(way: str) -> None:
    if way not in _ways:
        _ways.append(way)
    for module in _REPLACED:
        import_hook.when_imported(module, _replace_in)
    for module in _PRESETS_IN:
        import_hook.when_imported(module, _replace_presets_in)


def _replace_presets_in(module: ModuleType) -> None:
    """Puts our ``max_autotune`` and what belongs to it in the place of triton-ascend's, if it has them."""
    for name in _PRESETS:
        function = getattr(module, name, None)
        if function is not None and not hasattr(function, "_triton_ascend_tune"):
            setattr(module, name, _our_preset(name, function))


def _our_preset(name: str, function: Any) -> Any:
    @functools.wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        from triton_ascend_tune.candidates import presets

        return getattr(presets, name)(*args, **kwargs)

    ours._triton_ascend_tune = True  # type: ignore[attr-defined]
    return ours


def _replace_in(module: ModuleType) -> None:
    cls = getattr(module, _REPLACED[module.__name__])
    if cls not in _originals:
        _replace(cls)


def _replace(cls: type) -> None:
    """Makes the construction of exactly ``cls`` give an instance of our subclass of it."""
    original: Callable[..., None] = cls.__dict__["__init__"]

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if type(self) is cls and cls in _originals and _adopt(self, cls):
            type(self).__init__(self, *args, **kwargs)
        else:
            original(self, *args, **kwargs)

    __init__._triton_ascend_tune = cls  # type: ignore[attr-defined]
    _originals[cls] = original
    cls.__init__ = __init__  # type: ignore[misc]
    if "run" in vars(cls):
        _replace_run(cls)


def _replace_run(cls: Any) -> None:
    """Makes a ``super().run()`` that a library's subclass of ``cls`` calls reach our tuner."""
    stock_run: Callable[..., Any] = cls.run

    @functools.wraps(stock_run)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Where it is our tuner that calls, stock behaviour is wanted. Asked first and inline: it is so at every launch
        # on a device that is not tuned for.
        if hasattr(self, "_triton_ascend_tune"):
            return stock_run(self, *args, **kwargs)
        kind = type(self)
        if cls not in _originals or kind in _originals or kind in _refused:
            return stock_run(self, *args, **kwargs)
        ours = _join(self, cls)
        return (stock_run if ours is None else ours.run)(self, *args, **kwargs)

    run._triton_ascend_tune = cls  # type: ignore[attr-defined]
    _runs[cls] = stock_run
    cls.run = run


def _adopt(instance: Any, cls: type) -> bool:
    """Makes a bare ``instance`` of ``cls`` one of our subclass of it.

    False, with one error in the log, if that cannot be: a decorator must not fail because of us.
    """
    try:
        from triton_ascend_tune.classes import make_tuner_class

        with _making:
            instance.__class__ = make_tuner_class(cls)
    except Exception as error:
        _report(f"the tuner for {cls.__module__}.{cls.__qualname__} cannot be made: {type(error).__name__}: {error}")
        return False
    return True


def _join(instance: Any, cls: Any) -> Any:
    """Puts our tuner between ``cls`` and a library's subclass of it, of which ``instance`` is one, and returns it.

    None if it cannot be put there.
    """
    try:
        from triton_ascend_tune.classes import make_joined_class, make_tuner_class

        with _making:
            ours = make_tuner_class(cls)
            kind: Any = type(instance)
            if not _is_ours(kind):  # another thread may have been at it
                instance.__class__ = make_joined_class(kind, cls)
    except Exception as error:
        name = f"{type(instance).__module__}.{type(instance).__qualname__}"
        _report(f"{name} tunes as stock Triton: {type(error).__name__}: {error}")
        _refused.add(type(instance))
        return None
    return ours


def _is_ours(kind: type) -> bool:
    return hasattr(kind, "_triton_ascend_tune")


def _report(problem: str) -> None:
    if problem not in _problems:
        _problems.append(problem)
        _log.error("%s", problem)
