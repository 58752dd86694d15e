"""The import hook on packages made for the purpose; no Triton is involved."""

from __future__ import annotations

import importlib
import logging
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from triton_ascend_tune import import_hook


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test sees a hook that waits for nothing, and leaves the process's own hook as it was."""
    monkeypatch.setattr(import_hook, "_waiting", {})
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if f is not import_hook._Finder])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package ``hooked`` with a submodule ``inner`` that defines Late after ``hooked.other``."""
    folder = tmp_path / "hooked"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text("import hooked.other\nclass Late: pass\n")
    (folder / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_calls_back_once_the_modules_code_has_run(package: Path) -> None:
    seen: list[bool] = []
    import_hook.when_imported("hooked.inner", lambda module: seen.append(hasattr(module, "Late")))
    importlib.import_module("hooked.other")
    assert seen == []
    importlib.import_module("hooked.inner")
    assert seen == [True]


def test_calls_back_at_once_if_the_module_is_there(package: Path) -> None:
    inner = importlib.import_module("hooked.inner")
    seen: list[ModuleType] = []
    import_hook.when_imported("hooked.inner", seen.append)
    assert seen == [inner]
    assert import_hook.waiting() == ()


def test_the_finder_leaves_when_nothing_is_waited_for(package: Path) -> None:
    import_hook.when_imported("hooked.inner", lambda module: None)
    assert import_hook._Finder in sys.meta_path
    importlib.import_module("hooked.inner")
    assert import_hook._Finder not in sys.meta_path


def test_forget_drops_the_callback_and_the_finder(package: Path) -> None:
    seen: list[ModuleType] = []
    import_hook.when_imported("hooked.inner", seen.append)
    import_hook.forget("hooked.inner")
    assert import_hook._Finder not in sys.meta_path
    importlib.import_module("hooked.inner")
    assert seen == []


def test_the_module_never_sees_our_loader(package: Path) -> None:
    (package / "inner.py").write_text("during = (__loader__, __spec__.loader)\n")
    import_hook.when_imported("hooked.inner", lambda module: None)
    inner = importlib.import_module("hooked.inner")
    plain = type(importlib.import_module("hooked.other").__loader__)
    assert [type(loader) for loader in (*inner.during, inner.__loader__, inner.__spec__.loader)] == [plain] * 4


def test_a_spec_that_is_only_looked_at_keeps_its_loaders_abilities(package: Path) -> None:
    import_hook.when_imported("hooked.inner", lambda module: None)
    spec = importlib.util.find_spec("hooked.inner")
    assert spec is not None and spec.loader is not None
    assert "class Late" in spec.loader.get_source("hooked.inner")  # type: ignore[attr-defined]
    assert import_hook.waiting() == ("hooked.inner",)


def test_a_half_executed_module_is_waited_for(package: Path) -> None:
    """What Triton's backend discovery does to us: the callback is registered from below the module's own import."""
    (package / "other.py").write_text(
        "import sys\n"
        "from triton_ascend_tune import import_hook\n"
        "seen = []\n"
        "assert not hasattr(sys.modules['hooked.inner'], 'Late')\n"
        "import_hook.when_imported('hooked.inner', lambda module: seen.append(hasattr(module, 'Late')))\n"
        "assert seen == []\n"
    )
    importlib.import_module("hooked.inner")
    assert sys.modules["hooked.other"].seen == [True]
    assert type(sys.modules["hooked"]) is ModuleType
    assert import_hook.waiting() == ()


def test_two_half_executed_children_of_one_package(package: Path) -> None:
    (package / "inner.py").write_text("import hooked.second\nclass Late: pass\n")
    (package / "second.py").write_text("import hooked.other\nclass Late: pass\n")
    (package / "other.py").write_text(
        "from triton_ascend_tune import import_hook\n"
        "seen = []\n"
        "for name in ('hooked.inner', 'hooked.second'):\n"
        "    import_hook.when_imported(name, lambda module: seen.append((module.__name__, hasattr(module, 'Late'))))\n"
    )
    importlib.import_module("hooked.inner")
    assert sys.modules["hooked.other"].seen == [("hooked.second", True), ("hooked.inner", True)]
    assert type(sys.modules["hooked"]) is ModuleType


def test_a_callback_added_while_our_loader_runs_the_module(package: Path) -> None:
    """Both automatic ways in at once: the start-up hook loads the module, the entry point arrives in the middle."""
    (package / "other.py").write_text(
        "from triton_ascend_tune import import_hook\n"
        "seen = []\n"
        "import_hook.when_imported('hooked.inner', lambda module: seen.append(hasattr(module, 'Late')))\n"
    )
    first: list[bool] = []
    import_hook.when_imported("hooked.inner", lambda module: first.append(hasattr(module, "Late")))
    importlib.import_module("hooked.inner")
    assert (first, sys.modules["hooked.other"].seen) == ([True], [True])


def test_a_callback_may_add_another_for_the_same_module(package: Path) -> None:
    seen: list[str] = []

    def first(module: ModuleType) -> None:
        seen.append("first")
        import_hook.when_imported("hooked.inner", lambda module: seen.append("second"))

    import_hook.when_imported("hooked.inner", first)
    importlib.import_module("hooked.inner")
    assert seen == ["first", "second"]


def test_an_error_in_a_callback_is_logged_and_the_import_goes_on(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(module: ModuleType) -> None:
        raise RuntimeError("no")

    import_hook.when_imported("hooked.inner", broken)
    with caplog.at_level(logging.ERROR, "triton_ascend_tune"):
        assert importlib.import_module("hooked.inner").Late
    assert "hooked.inner" in caplog.text and "RuntimeError: no" in caplog.text


def test_an_import_that_fails_can_be_repeated(package: Path) -> None:
    (package / "inner.py").write_text("raise ValueError('first time')\n")
    seen: list[ModuleType] = []
    import_hook.when_imported("hooked.inner", seen.append)
    with pytest.raises(ValueError, match="first time"):
        importlib.import_module("hooked.inner")
    assert seen == []
    (package / "inner.py").write_text("repaired = 'by the second time'\n")
    importlib.invalidate_caches()
    importlib.import_module("hooked.inner")
    assert [module.repaired for module in seen] == ["by the second time"]


def test_a_module_that_does_not_exist_is_still_missing(package: Path) -> None:
    import_hook.when_imported("hooked.absent", lambda module: None)
    with pytest.raises(ModuleNotFoundError, match=r"hooked\.absent"):
        importlib.import_module("hooked.absent")


def test_modules_in_a_zip_share_a_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("zipped_one.py", "import zipped_two\nLate = 1\n")
        archive.writestr("zipped_two.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "zipped.zip"))
    seen: list[str] = []
    import_hook.when_imported("zipped_one", lambda module: seen.append(module.__name__))
    importlib.import_module("zipped_one")
    assert seen == ["zipped_one"]


def test_start_twice_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some interpreters process the ``.pth`` files of a virtual environment twice."""
    monkeypatch.delitem(sys.modules, import_hook.STOCK_MODULE, raising=False)
    import_hook.start()
    import_hook.start()
    assert import_hook._waiting == {import_hook.STOCK_MODULE: [import_hook._activate]}
