"""Builds the simulated CANN and runs commands on it.

The SDK is built with CMake from ``third_party/cann_sim`` of a checkout, or from the copy inside an installed package,
against the headers of the torch-npu wheel of this interpreter. Layout below the output folder::

    objects-<torch_npu version>-<torch version>/   CMake's build folder, reused between builds
    <digest>/sdk-<digest of its headers>/          one finished SDK, never changed afterwards
    <digest>/triton-cache/                         compiled kernels and launchers that belong to that SDK
    lock                                           held while building

``<digest>`` covers every source file and the versions of torch and torch_npu, so a stale SDK is never used; a
finished one appears by a rename, so a half-built one is never seen. The SDK's own name changes with its headers
because triton-ascend's key for its precompiled header holds nothing of the SDK but that name.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

#: Finished SDKs that stay on disk: the newest, and those that running processes may still use.
KEPT_SDKS = 3
#: Builds in a row before giving up on sources that change while they are compiled.
BUILD_ATTEMPTS = 5

_PACKAGE = Path(__file__).resolve().parent


class SimulatorError(RuntimeError):
    """The simulated CANN cannot be built or used here; the text says what is missing."""


def sources() -> Path:
    """The folder with the simulator's ``CMakeLists.txt``: of the checkout, or else inside the installed package."""
    for folder in (_PACKAGE.parent / "third_party" / "cann_sim", _PACKAGE / "_cann_sim"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise SimulatorError(
        f"the sources of the simulated CANN are neither in a checkout above {_PACKAGE} nor in {_PACKAGE / '_cann_sim'}"
    )


def default_out_dir() -> Path:
    """``build/cann_sim`` of a checkout, otherwise ``triton-ascend-tune/cann_sim`` in the user's cache folder."""
    if sources().parent == _PACKAGE.parent / "third_party":
        return _PACKAGE.parent / "build" / "cann_sim"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "triton-ascend-tune" / "cann_sim"


def build(out_dir: str | os.PathLike[str] | None = None, jobs: int | None = None) -> Path:
    """Builds the SDK unless an up-to-date one exists, and returns its folder (the value for ``ASCEND_HOME_PATH``).

    ``jobs``: compiler processes at once, by default one per CPU. Several processes may call this at the same time.
    Raises SimulatorError when a package or a program is missing, when the folder cannot be used, or when the build
    fails (with the compiler's messages).
    """
    out = Path(out_dir) if out_dir is not None else default_out_dir()
    out = Path(os.path.realpath(out))
    if "tools" in str(out):
        raise SimulatorError(
            f"torch_npu finds no msprof below a path that contains 'tools'; choose another folder than {out}"
        )
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    source = sources()
    final = _place(out, source)
    if final.is_dir():
        return final
    out.mkdir(parents=True, exist_ok=True)
    with _lock(out / "lock"):
        for _ in range(BUILD_ATTEMPTS):
            final = _place(out, source)
            if final.is_dir():  # another process has built it meanwhile
                return final
            if _build_locked(source, out, final, jobs or os.cpu_count() or 1):
                _prune(out, keep=final.parent)
                return final
    raise SimulatorError(f"the sources in {source} changed during each of {BUILD_ATTEMPTS} builds")


def environment(sdk: str | os.PathLike[str], base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables to set so that a process uses ``sdk``. ``base``: the environment to extend, by default this
    process's.

    PATH, LD_LIBRARY_PATH and PYTHONPATH are put in front of those of ``base``. ``TRITON_CACHE_DIR`` is set only where
    ``base`` has none: kernels compiled for the simulator must not mix with those of a device in the user's own cache.
    """
    base = os.environ if base is None else base
    root = Path(sdk).resolve()
    if not (root / "lib64" / "libascendcl.so").is_file():
        raise SimulatorError(f"{root} holds no simulated CANN (no lib64/libascendcl.so)")

    def in_front(variable: str, *folders: Path) -> str:
        return os.pathsep.join([*map(str, folders), *filter(None, [base.get(variable)])])

    variables = {
        "ASCEND_HOME_PATH": str(root),
        "ASCEND_OPP_PATH": str(root / "opp"),
        "LD_LIBRARY_PATH": in_front("LD_LIBRARY_PATH", root / "lib64"),
        "PYTHONPATH": in_front("PYTHONPATH", root / "python" / "site-packages"),
        "PATH": in_front("PATH", root / "bin", _package_folder("ascendnpuir") / "bin", Path(sys.executable).parent),
    }
    if not base.get("TRITON_CACHE_DIR"):
        variables["TRITON_CACHE_DIR"] = str(root.parent / "triton-cache")
    return variables


def shell_exports(variables: Mapping[str, str]) -> str:
    """The variables as lines for ``eval`` in a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def run(command: Sequence[str], sdk: str | os.PathLike[str] | None = None) -> NoReturn:
    """Replaces this process by ``command`` running on the simulated CANN; builds the SDK first unless one is given.

    The program is looked up in the new PATH, so ``python`` is this interpreter's. Raises ValueError for an empty
    command and SimulatorError when there is no such program.
    """
    if not command:
        raise ValueError("a command to run is needed, for example: python train.py")
    variables = {**os.environ, **environment(build() if sdk is None else sdk)}
    program = shutil.which(command[0], path=variables["PATH"])
    if program is None:
        raise SimulatorError(f"no program named {command[0]!r} on PATH")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(program, list(command), variables)


def _package_folder(name: str) -> Path:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SimulatorError(
            f"the simulated CANN runs the real packages, but {name} is not installed for {sys.executable}"
        )
    return Path(spec.submodule_search_locations[0])


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise SimulatorError(
            f"the simulated CANN is built against {distribution}, which is not installed for {sys.executable}"
        ) from None


def _digest_of(root: Path, texts: Sequence[str] = ()) -> str:
    """A short digest of ``texts`` and of the names, modes and bytes of all files below ``root``, documents aside."""
    digest = hashlib.sha256("\0".join(texts).encode())
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".md"):
        data = path.read_bytes()
        digest.update(f"\0{path.relative_to(root)}\0{os.access(path, os.X_OK)}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()[:12]


def _digest(source: Path) -> str:
    return _digest_of(source, ("torch", _version("torch"), "torch_npu", _version("torch_npu")))


def _header_digest(source: Path) -> str:
    return _digest_of(source / "sdk" / "include", (_version("torch_npu"),))


def _place(out: Path, source: Path) -> Path:
    """Where the SDK of the sources as they are now belongs."""
    return out / _digest(source) / f"sdk-{_header_digest(source)}"


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Holds an exclusive lock; the kernel drops it when a holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_locked(source: Path, out: Path, final: Path, jobs: int) -> bool:
    """Builds into ``final``, whose name stands for the sources; False if they have changed since."""
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if cmake is None:
        raise SimulatorError("building the simulated CANN needs cmake on PATH")
    objects = out / f"objects-{_version('torch_npu')}-{_version('torch')}"
    includes = [f"-D{name.upper()}_INCLUDE={_package_folder(name) / 'include'}" for name in ("torch", "torch_npu")]
    staging = Path(tempfile.mkdtemp(prefix="unfinished-", dir=out))
    try:
        staging.chmod(0o755)
        _call([cmake, "-S", str(source), "-B", str(objects), *includes])
        _call([cmake, "--build", str(objects), "-j", str(jobs)])
        _call([cmake, "--install", str(objects), "--prefix", str(staging / final.name)])
        if _place(out, source) != final:
            return False
        # Left over if somebody has removed the SDK inside.
        shutil.rmtree(final.parent, ignore_errors=True)
        staging.rename(final.parent)
        return True
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _call(command: Sequence[str]) -> None:
    umask = os.umask(0o022)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    finally:
        os.umask(umask)
    if done.returncode != 0:
        raise SimulatorError(
            f"building the simulated CANN failed: {shlex.join(command)}\n{done.stdout.rstrip()[-8000:]}"
        )


def _prune(out: Path, keep: Path) -> None:
    """Removes the oldest finished SDKs and what interrupted builds have left."""
    for leftover in out.glob("unfinished-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    finished = [p.parent for p in out.glob("*/sdk-*") if p.parent != keep]
    finished.sort(key=lambda p: p.stat().st_mtime, reverse=True)
    for old in finished[KEPT_SDKS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
