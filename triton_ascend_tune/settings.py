"""Every environment variable of the package, read here and nowhere else.

Values are read when they are asked for, at each tuning, and never at import: a program may set a variable between two
tunings. Where the installed Triton has a knob for the same thing (``triton.knobs``, 3.4 and newer) the knob is asked,
because a program may have set it from Python.

==============================  ========================================================================================
``TRITON_ASCEND_TUNE``          ``0`` (also ``false``, ``off``, ``no``) switches the whole package off; default on
``TRITON_ASCEND_TUNE_TARGETS``  further targets to tune on besides ``npu``, separated by commas; allowed: npu, cuda
``TRITON_ASCEND_TUNE_REPORT``   ``1`` prints each candidate of a tuning with its time, or why it has none; default off
``TRITON_BENCH_METHOD``         unset, ``default``, ``event``: device events; ``npu``, ``profiler``: profiler records
``TRITON_PRINT_AUTOTUNING``     as in the installed Triton: exactly ``1`` up to 3.3, a boolean from 3.4 on
``TRITON_INTERPRET``            as in the installed Triton; the interpreter's tuner is left as it is
``TRITON_CACHE_AUTOTUNING``     keeps results on disk (see ``store``), as ``cache_results=True`` does for one kernel;
                                read as the installed Triton reads it, and as a boolean by those that have no such cache
``TRITON_ASCEND_TUNE_WORKERS``  candidates that are compiled at once; default: the processors that the process may use
``TRITON_ASCEND_TUNE_BUSY``     while another thread tunes the same thing: ``wait`` (default), or ``first``: launch with
                                the first config that works
``TRITON_ASCEND_TUNE_SECONDS``  where candidates are proposed by us: after how long a tuning proposes no more; default:
                                no limit
``TRITON_ASCEND_TUNE_MEASURE``  ``0`` lets no tuning run: launches take what is stored on disk for them, else the
                                config that the program names as ``fallback``, else the first that compiles; default
                                ``1``
``TRITON_ASCEND_TUNE_KEEP``     what stays in Triton's cache of what a tuning compiled: ``all`` (default), ``winner``
``TRITON_ASCEND_TUNE_WINNERS``  the most choices that each kernel keeps, the least recently used dropped first; default:
                                no limit
``TRITON_ALL_BLOCKS_PARALLEL``  triton-ascend's own; unless it is ``0`` or unset, grids of over 65535 blocks are legal
==============================  ========================================================================================

``TRITON_ASCEND_TUNE_COMPILE_TIMEOUT``: seconds after which a compiler that has not ended is killed, and its candidate
has failed; default: no limit. ``TRITON_ASCEND_TUNE_ISOLATE``: ``1`` compiles candidates in processes of their own, so
that one that crashes, or hangs longer than that, is a failed candidate even if Triton itself does; default off.

How times are taken, unless a program says otherwise (``triton_ascend_tune.options`` describes each):

====================================  ================================================================================
``TRITON_ASCEND_TUNE_PLAN``           ``race`` (default), ``classic``, ``fixed``
``TRITON_ASCEND_TUNE_FLUSH``          ``write`` (default), ``read``, ``none``
``TRITON_ASCEND_TUNE_FLUSH_MIB``      default 192
``TRITON_ASCEND_TUNE_GATE``           ``0`` measures while the host launches; default ``1``
``TRITON_ASCEND_TUNE_TOLERANCE``      default 0.01
``TRITON_ASCEND_TUNE_WARMUP_MS``      default 25
``TRITON_ASCEND_TUNE_BUDGET_MS``      default 100
``TRITON_ASCEND_TUNE_MIN_SAMPLES``    default 10
``TRITON_ASCEND_TUNE_MAX_SAMPLES``    default 10000
``TRITON_ASCEND_TUNE_ROUNDS``         default 30
``TRITON_ASCEND_TUNE_WARMUP_ROUNDS``  default 5
``TRITON_ASCEND_TUNE_SEED``           default 0
``TRITON_ASCEND_TUNE_STATISTIC``      ``p50``
====================================  ================================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ENABLED = "TRITON_ASCEND_TUNE"
TARGETS = "TRITON_ASCEND_TUNE_TARGETS"
REPORT = "TRITON_ASCEND_TUNE_REPORT"
METHOD = "TRITON_BENCH_METHOD"
PRINT = "TRITON_PRINT_AUTOTUNING"
INTERPRET = "TRITON_INTERPRET"
CACHE = "TRITON_CACHE_AUTOTUNING"
WORKERS = "TRITON_ASCEND_TUNE_WORKERS"
BUSY = "TRITON_ASCEND_TUNE_BUSY"
COMPILE_TIMEOUT = "TRITON_ASCEND_TUNE_COMPILE_TIMEOUT"
ISOLATE = "TRITON_ASCEND_TUNE_ISOLATE"
SECONDS = "TRITON_ASCEND_TUNE_SECONDS"
WINNERS = "TRITON_ASCEND_TUNE_WINNERS"
MEASURE = "TRITON_ASCEND_TUNE_MEASURE"
KEEP = "TRITON_ASCEND_TUNE_KEEP"
ALL_BLOCKS = "TRITON_ALL_BLOCKS_PARALLEL"
#: triton-ascend's: the chip to compile for, whatever chip there is.
ARCH = "TRITON_ASCEND_ARCH"

#: How many processes torchrun and others have started on this host.
_RANKS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
_CANN_FOLDERS = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
#: Besides those that Triton itself lists.
_COMPILER_VARIABLES = (
    ALL_BLOCKS,
    ARCH,
    "TRITON_DEBUG",
    "TRITON_DISABLE_FFTS",
    "TRITON_DISABLE_LINE_INFO",
    "TRITON_ENABLE_SANITIZER",
    "TRITON_NPU_COMPILER_PATH",
)

ALL = "all"
WINNER = "winner"
WAIT = "wait"
FIRST = "first"
PROTOCOL_PREFIX = "TRITON_ASCEND_TUNE_"

EVENT = "event"
PROFILER = "profiler"

_BOOLEANS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
_METHODS = {"default": EVENT, "event": EVENT, "npu": PROFILER, "profiler": PROFILER}
_KNOWN_TARGETS = ("npu", "cuda")


@dataclass(frozen=True)
class Settings:
    """One consistent reading of the environment.

    ``targets``: Triton target backends that are tuned. ``method``: ``"event"`` or ``"profiler"``.
    ``print_autotuning``: print one line per tuning as stock Triton does.
    ``report``: print each candidate with its time or the reason it has none.
    """

    enabled: bool = True
    targets: tuple[str, ...] = ("npu",)
    method: str = EVENT
    print_autotuning: bool = False
    report: bool = False
    interpret: bool = False


def current() -> Settings:
    """Reads the environment. ValueError names the variable, its value and what is allowed."""
    return Settings(
        enabled=enabled(),
        targets=targets(),
        method=method(),
        print_autotuning=print_autotuning(),
        report=report(),
        interpret=interpreting(),
    )


def enabled() -> bool:
    return _boolean(ENABLED, default=True)


def targets() -> tuple[str, ...]:
    named = {name.strip().lower() for name in _read(TARGETS).split(",")} - {""}
    if not named.issubset(_KNOWN_TARGETS):
        raise _illegal(TARGETS, _read(TARGETS), _KNOWN_TARGETS, "a list, separated by commas, of")
    return tuple(name for name in _KNOWN_TARGETS if name == "npu" or name in named)


def method() -> str:
    value = _read(METHOD)
    if not value:
        return EVENT
    if value.lower() not in _METHODS:
        raise _illegal(METHOD, value, _METHODS)
    return _METHODS[value.lower()]


def protocol_options() -> dict[str, Any]:
    """The options of a protocol (``measure.protocol.OPTIONS``) that the environment sets, by name."""
    from triton_ascend_tune.measure.protocol import OPTIONS

    given = {}
    for name, rule in OPTIONS.items():
        variable = PROTOCOL_PREFIX + name.upper()
        if text := _read(variable):
            given[name] = rule.parsed(text, variable)
    return given


def print_autotuning() -> bool:
    knob = _knob("autotuning", "print")
    return os.environ.get(PRINT) == "1" if knob is None else knob


def report() -> bool:
    return _boolean(REPORT, default=False)


def cache_autotuning() -> bool:
    """Whether results are kept on disk for every kernel."""
    knob = _knob("autotuning", "cache")
    return _boolean(CACHE, default=False) if knob is None else knob


def workers() -> int | None:
    """How many candidates are compiled at once; None: as many as the process may use processors."""
    return _count(WORKERS)


def winners() -> int | None:
    """The most choices that each kernel keeps; None: no limit."""
    return _count(WINNERS)


def compile_timeout() -> float | None:
    """Seconds after which a compiler is killed; None: never."""
    return _seconds(COMPILE_TIMEOUT)


def isolate() -> bool:
    """Whether candidates are compiled in processes of their own."""
    return _boolean(ISOLATE, default=False)


def environment() -> dict[str, str]:
    """All variables, for another process."""
    return dict(os.environ)


def adopt(variables: dict[str, str]) -> None:
    """Makes ``variables``, another process's, this one's."""
    if dict(os.environ) != variables:
        os.environ.clear()
        os.environ.update(variables)


def uses_ir_locations() -> bool:
    """Whether Triton is told to make new locations from its modules while it compiles."""
    return bool(_knob("compilation", "use_ir_loc") or _read("USE_IR_LOC"))


def stages_hook() -> Any:
    """The program's function that may change a backend's stages (Triton 3.5 and newer); None without one."""
    runtime = getattr(getattr(sys.modules.get("triton"), "knobs", None), "runtime", None)
    return getattr(runtime, "add_stages_inspection_hook", None)


def busy() -> str:
    """What a launch does while another thread tunes the same thing: ``WAIT`` or ``FIRST``."""
    return _one_of(BUSY, WAIT, FIRST)


def measure() -> bool:
    """Whether tunings may run."""
    return _boolean(MEASURE, default=True)


def keep() -> str:
    """Whose compiled files stay in Triton's cache after a tuning: ``ALL`` or ``WINNER``."""
    return _one_of(KEEP, ALL, WINNER)


def tuning_seconds() -> float | None:
    """After how many seconds a tuning proposes no further candidates; None: no limit."""
    return _seconds(SECONDS)


def spreads_blocks() -> bool:
    """Whether triton-ascend spreads grids that have more blocks than the device launches."""
    return os.environ.get(ALL_BLOCKS, "0") != "0"


def ranks() -> int:
    """Processes that were started together on this host, as their launcher says; 1 if it does not."""
    for variable in _RANKS:
        if _read(variable).isdigit() and int(_read(variable)) > 0:
            return int(_read(variable))
    return 1


def compiler_variables() -> dict[str, str]:
    """The variables that are set and that change what triton-ascend's backend compiles or how it launches."""
    return {name: os.environ[name] for name in _COMPILER_VARIABLES if name in os.environ}


def cann_folders() -> tuple[str, ...]:
    """Where CANN is installed, as its ``set_env.sh`` says."""
    return tuple(filter(None, map(_read, _CANN_FOLDERS)))


def interpreting() -> bool:
    knob = _knob("runtime", "interpret")
    return os.environ.get(INTERPRET) == "1" if knob is None else knob


def physical_npu(number: int) -> str:
    """What the NPU that this process sees as ``number`` is called on the machine, e.g. "npu6"."""
    visible = [each.strip() for each in _read("ASCEND_RT_VISIBLE_DEVICES").split(",") if each.strip()]
    return f"npu{visible[number] if number < len(visible) else number}"


def profiled_from_outside() -> bool:
    """Whether CANN's msprof runs this process, which then has no profiler of its own."""
    return bool(_read("PROFILER_SAMPLECONFIG") or _read("PROFILING_MODE"))


def _read(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def _count(variable: str) -> int | None:
    """A whole number of at least 1; None if the variable is not set."""
    value = _read(variable)
    if not value:
        return None
    if not value.isdigit() or int(value) < 1:
        raise _illegal(variable, value, ["1 and more"], "a whole number,")
    return int(value)


def _seconds(variable: str) -> float | None:
    value = _read(variable)
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise _illegal(variable, value, ["more than 0"], "a number of seconds,")
    return seconds


def _one_of(variable: str, default: str, *others: str) -> str:
    value = _read(variable) or default
    if value not in (default, *others):
        raise _illegal(variable, value, (default, *others))
    return value


def _boolean(variable: str, default: bool) -> bool:
    value = _read(variable).lower()
    if not value:
        return default
    if value not in _BOOLEANS:
        raise _illegal(variable, _read(variable), _BOOLEANS)
    return _BOOLEANS[value]


def _knob(group: str, name: str) -> bool | None:
    """The value of ``triton.knobs.<group>.<name>``; None where Triton is not imported or too old to have knobs."""
    knobs = getattr(sys.modules.get("triton"), "knobs", None)
    value = getattr(getattr(knobs, group, None), name, None)
    return None if value is None else bool(value)


def _illegal(variable: str, value: str, allowed: Iterable[str], form: str = "one of") -> ValueError:
    return ValueError(f"{variable} is {value!r}; allowed: unset, or {form} {', '.join(allowed)}")
