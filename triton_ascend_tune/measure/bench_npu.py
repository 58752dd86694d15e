"""``do_bench_npu``: kernel times of any callables from one profiler session."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

from triton_ascend_tune.measure import device
from triton_ascend_tune.measure.bench import MeasurementError
from triton_ascend_tune.measure.profile_error import NoRowError, Problem, ProfileError
from triton_ascend_tune.measure.profiler import Profiler, Session, profile
from triton_ascend_tune.measure.trial import Failure, Trial
from triton_ascend_tune.values import FLUSH_BYTES, Protocol

Func = Callable[[], object]

_log = logging.getLogger("triton_ascend_tune")


@overload
def do_bench_npu(
    funcs: Func,
    warmup: int = ...,
    active: int = ...,
    clear_l2_cache: bool = ...,
    target_kernel_name: str | Sequence[str] | None = ...,
    prof_dir: str | os.PathLike[str] | None = ...,
    keep_res: bool = ...,
) -> float: ...
@overload
def do_bench_npu(
    funcs: Sequence[Func],
    warmup: int = ...,
    active: int = ...,
    clear_l2_cache: bool = ...,
    target_kernel_name: str | Sequence[str] | None = ...,
    prof_dir: str | os.PathLike[str] | None = ...,
    keep_res: bool = ...,
) -> list[float]: ...
def do_bench_npu(
    funcs: Func | Sequence[Func],
    warmup: int = 5,
    active: int = 30,
    clear_l2_cache: bool = True,
    target_kernel_name: str | Sequence[str] | None = None,
    prof_dir: str | os.PathLike[str] | None = None,
    keep_res: bool = False,
) -> float | list[float]:
    """The mean kernel time of each callable in milliseconds, from the records of one profiler session.

    One callable gives a number, a list of them a list in its order. Each runs ``warmup + active`` times, of which the
    last ``active`` count; ``clear_l2_cache`` has 192 MiB read before each run. ``target_kernel_name``: the kernel whose
    time is wanted, one for all callables or one for each; several launches of it in a run are added up. Without it all
    kernels of a run are added up. The profile is made in a folder of its own, below ``prof_dir`` if that is given, and
    removed unless ``keep_res``; without ``prof_dir`` it is kept below ``~/.triton/profile_results``.

    Where there can be no profile, or not the expected rows in it, the whole calls are timed between device events, and
    one warning says why. Raises what a callable raises; MeasurementError if events give no time either; ValueError for
    a bad argument, also for a ``target_kernel_name`` that no kernel of the profile has.
    """
    several = not callable(funcs)
    calls: list[Func] = list(funcs) if several else [funcs]  # type: ignore[arg-type, list-item]
    names = _names(target_kernel_name, len(calls))
    if keep_res and prof_dir is None:
        prof_dir = Path.home() / ".triton" / "profile_results"
    session = Session(warmup, active, FLUSH_BYTES if clear_l2_cache else 0, prof_dir, keep_res)
    if not calls:
        return []
    trials = [Trial(call, name=f"callable {place}") for place, call in enumerate(calls)]
    at_hand = device.active_device()
    for call in calls:
        call()  # what a first run alone pays stays out of the session
        at_hand.synchronize()
    try:
        times = [samples.mean for samples in profile(active_profiler(), trials, lambda: names, session)]
    except NoRowError as error:
        seen = ", ".join(error.seen) or "none"
        raise ValueError(f"target_kernel_name is {error.kernel!r}; kernels in the profile: {seen}") from None
    except ProfileError as error:
        _log.warning("do_bench_npu measures between device events, not by the profiler: %s", error)
        times = _by_events(trials, session, at_hand)
    return times if several else times[0]


def keep_profile(call: Func, folder: str | os.PathLike[str]) -> None:
    """Leaves a profile of ``call`` in a folder below ``folder``, or one warning about why there is none."""
    try:
        profile(active_profiler(), [Trial(call)], lambda: [None], Session(folder=folder, keep=True))
    except ProfileError as error:
        _log.warning("no profile of the winner in %s: %s", folder, error)


def active_profiler() -> Profiler:
    """The profiler of the active device. ProfileError names a target that has none."""
    from triton.runtime.driver import driver

    target = driver.active.get_current_target().backend
    if target == "npu":
        from triton_ascend_tune.measure.npu_profiler import NpuProfiler

        return NpuProfiler()
    if target == "cuda":
        from triton_ascend_tune.measure.cuda_profiler import CudaProfiler

        return CudaProfiler()
    raise ProfileError(Problem.REFUSED, f"none is known on target {target!r}")


def _names(given: str | Sequence[str] | None, calls: int) -> Sequence[str | None]:
    if given is None or isinstance(given, str):
        return [given] * calls
    if len(given) != calls:
        raise ValueError(f"target_kernel_name has {len(given)} names for {calls} callables; allowed: one for each")
    return list(given)


def _by_events(trials: Sequence[Trial], session: Session, at_hand: device.Device) -> list[float]:
    from triton_ascend_tune.measure import event

    protocol = Protocol(
        plan="fixed",
        rounds=session.active,
        warmup_rounds=session.warmup,
        flush="write" if session.flush_bytes else "none",
    )
    times = []
    for result in event.measure(trials, protocol, at_hand).results:
        if isinstance(result, Failure):
            raise MeasurementError(result.reason) from result.error
        times.append(result.mean)
    return times
