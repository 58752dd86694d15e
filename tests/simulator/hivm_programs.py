"""Launches of the modules of tests/fixtures/hivm with other arguments, after textual changes; for programs on the
simulated CANN, with this folder on their path."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from acl_calls import MIB, Acl, AclError
from hivm_fixtures import fixtures, modules, pack_arguments
from hivm_shapes import arguments_of

acl, folder = Acl(), pathlib.Path(tempfile.mkdtemp())
flush = acl.malloc(192 * MIB)
by_name = {fixture.name: fixture for fixture in fixtures()}


def load(name: str, *changes: tuple[str, str]) -> Any:
    """Compiles the module after replacing each old text, which must be there, by a new one; returns its stub."""
    text = modules()[name].decode()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "m.mlir").write_text(text)
    subprocess.run(["hivmc", str(folder / "m.mlir"), "-o", str(folder / "m")], check=True)
    return acl.register((folder / "m.o").read_bytes(), by_name[name].entry.encode())


def prepare(name: str, values: list[Any], grid: tuple[int, ...], stub: Any) -> tuple[Callable[[], Any], Any, Any]:
    """A callable that launches, the address of each array by its place among the arguments, and the fixture."""
    base, blocks = by_name[name], int(np.prod(grid))
    fixture = dataclasses.replace(base, grid=(*grid, 1, 1)[:3], blocks=blocks, arguments=arguments_of(base, values))
    addresses = {}
    for i, a in enumerate(fixture.arguments):
        if "array" in a:
            addresses[i] = acl.malloc(a["array"].nbytes)
            acl.upload(addresses[i], a["array"].tobytes())
    workspace = acl.malloc(base.workspace_bytes // base.blocks * blocks + 8)
    packed = pack_arguments(fixture, acl.malloc(64), workspace, addresses)
    return (lambda: acl.launch(stub, blocks, packed)), addresses, fixture


def launch(name: str, values: list[Any], grid: tuple[int, ...], *changes: tuple[str, str]) -> tuple[list[Any], Any]:
    """The arrays, and the [cold, warm] nanoseconds between events around a first and a second launch."""
    go, addresses, fixture = prepare(name, values, grid, load(name, *changes))
    acl.fill(flush, 0, 192 * MIB)
    events = [acl.recorded()]
    for _ in range(2):
        go()
        events.append(acl.recorded())
    acl.sync()
    arrays = [
        np.frombuffer(acl.download(at, fixture.arguments[i]["array"].nbytes), fixture.arguments[i]["array"].dtype)
        for i, at in addresses.items()
    ]
    return arrays, [acl.elapsed_ns(a, b) for a, b in zip(events, events[1:])]


def attention(context: int, *changes: tuple[str, str], blocks: int = 2) -> Any:
    q, k, v = (np.full((rows, 64), 0.5, np.float16) for rows in (64 * blocks, context, context))
    return launch("attention_fp16", [q, k, v, np.zeros_like(q), 0.125, context], (blocks,), *changes)


def relu(name: str, m: int, n: int, k: int, *changes: tuple[str, str]) -> Any:
    given = [*_ones(m, n, k), np.zeros(n, np.float32)]
    return launch(name, [*given, m, n, k, k, n, n], (-(-m // 64) * -(-n // 64),), *changes)


def product(name: str, m: int, n: int, k: int, bm: int, bn: int) -> Any:
    return launch(name, [*_ones(m, n, k), m, n, k, k, n, n], (-(-m // bm) * -(-n // bn),))


def _ones(m: int, n: int, k: int) -> list[Any]:
    return [np.ones((m, k), np.float16), np.ones((k, n), np.float16), np.zeros((m, n), np.float16)]


def error_of(function: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    try:
        function(*arguments, **named)
    except AclError as error:
        return error.text
    return ""
