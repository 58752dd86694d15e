"""Calls back when a module has been imported, without importing it.

``start`` is what the ``.pth`` file runs at every start of the interpreter, whether the program uses Triton or not.
Hence the rules of this module: it imports nothing that a bare interpreter has not loaded already (not even
``__future__``, so annotations are quoted), does the least work possible until Triton is imported, and never raises into
somebody else's import.

Three situations have to be told apart when a callback is registered:

* the module is complete: call at once;
* it has not been imported: a finder on ``sys.meta_path`` wraps its loader, and calls once the module's code has run;
* it is being executed right now (Triton discovers its backends while ``triton.runtime.autotuner`` is half done): too
  late to wrap the loader. The import system binds a finished submodule to its parent package, so the parent is watched
  for that assignment.
"""

import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Callback = Callable[[ModuleType], None]

#: The module that defines ``Autotuner`` in every Triton.
STOCK_MODULE = "triton.runtime.autotuner"

_waiting: "dict[str, list[Callback]]" = {}
#: Modules whose code is run by our own loader wrapper at this moment.
_executing: "set[str]" = set()


def start() -> None:
    """Waits for Triton's tuner; the rest of the package is loaded when that arrives. Runs twice in some venvs."""
    if _activate not in _waiting.get(STOCK_MODULE, ()):
        when_imported(STOCK_MODULE, _activate)


def _activate(_: "ModuleType") -> None:
    from triton_ascend_tune import activation

    activation.activate(activation.IMPORT_HOOK)


def when_imported(name: str, callback: "Callback") -> None:
    """Calls ``callback(module)`` once, as soon as the module ``name`` has been executed; now if it already was.

    An exception in the callback is logged and goes no further: the import belongs to somebody else.
    """
    module = sys.modules.get(name)
    if module is not None and not _in_progress(module):
        _call(callback, module)
        return
    _waiting.setdefault(name, []).append(callback)
    if module is None:
        if _Finder not in sys.meta_path:
            sys.meta_path.insert(0, _Finder)
    elif name not in _executing:
        _watch_parent(name)
        if not _in_progress(module):  # another thread finished the import in between
            _arrived(name, module)


def forget(name: str) -> None:
    """Drops all callbacks that wait for the module ``name``."""
    _waiting.pop(name, None)
    _retire()


def waiting() -> "tuple[str, ...]":
    """The names of the modules that are being waited for."""
    return tuple(_waiting)


def _in_progress(module: "ModuleType") -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _call(callback: "Callback", module: "ModuleType") -> None:
    try:
        callback(module)
    except Exception:
        import logging

        logging.getLogger("triton_ascend_tune").exception(
            "could not take effect after the import of %s", module.__name__
        )


def _arrived(name: str, module: "ModuleType") -> None:
    """Runs what waits for ``name``, including callbacks that a callback adds."""
    while callbacks := _waiting.get(name):
        _call(callbacks.pop(0), module)
    forget(name)


def _retire() -> None:
    if not _waiting and _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)


class _Finder:
    """Finds what the other finders find, with the loader wrapped, for modules that are waited for; nothing else."""

    @staticmethod
    def find_spec(
        name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            find: Any = None if finder is _Finder else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(name, spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """Stands in for a module's loader until the module's code runs; the module itself never sees it."""

    def __init__(self, name: str, inner: "Any") -> None:
        self._name = name
        self._inner = inner

    def __getattr__(self, attribute: str) -> "Any":
        return getattr(self._inner, attribute)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        module: ModuleType | None = self._inner.create_module(spec)
        return module

    def exec_module(self, module: "ModuleType") -> None:
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        _executing.add(self._name)
        try:
            self._inner.exec_module(module)
            _arrived(self._name, module)
        finally:
            _executing.discard(self._name)


def _watch_parent(name: str) -> None:
    """Has ``_arrived`` called when the import system binds the finished module ``name`` to its parent package."""
    parent_name, _, child = name.rpartition(".")
    parent = sys.modules[parent_name]
    watched: set[str] | None = getattr(type(parent), "watched_children", None)
    if watched is not None:
        watched.add(child)
        return
    plain = type(parent)
    children = {child}

    class Watched(plain):  # type: ignore[valid-type,misc]
        watched_children = children

        def __setattr__(self, attribute: str, value: "Any") -> None:
            super().__setattr__(attribute, value)
            if attribute in children:
                children.discard(attribute)
                if not children:
                    # Not self.__class__ = plain, which would come through here again.
                    super().__setattr__("__class__", plain)
                _arrived(f"{parent_name}.{attribute}", value)

    parent.__class__ = Watched
