"""``do_bench`` by the measuring engine: the signature and the results of ``triton.testing.do_bench``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from triton_ascend_tune import program_options, settings
from triton_ascend_tune.measure import capture
from triton_ascend_tune.measure.protocol import with_options
from triton_ascend_tune.measure.trial import Failure, Trial
from triton_ascend_tune.values import Protocol, Samples

_STATISTICS: dict[str, Callable[[Samples], Any]] = {
    "min": lambda samples: min(samples.times_ms),
    "max": lambda samples: max(samples.times_ms),
    "mean": lambda samples: statistics.fmean(samples.times_ms),
    # The lower one of two, as torch.median, which stock Triton uses.
    "median": lambda samples: statistics.median_low(samples.times_ms),
    "all": lambda samples: list(samples.times_ms),
}
#: Options of a program that also say how ``do_bench`` times; the others are about choosing among candidates.
_HEEDED = ("flush", "flush_mib", "gate")


class MeasurementError(RuntimeError):
    """A call ran but could not be timed."""


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The time of ``fn`` in milliseconds, as ``triton.testing.do_bench`` gives it, taken between device events.

    ``warmup`` and ``rep`` bound the milliseconds spent, flushes and host work included. ``grad_to_none``: tensors whose
    ``grad`` is set to None before each run, outside the timed interval. With ``quantiles`` those are returned (one as
    a number, several as a list), else what ``return_mode`` names: min, max, mean, median or all. ``options`` and the
    environment set flush and gate.

    Raises what ``fn`` raises; MeasurementError where the events give no usable time; ``capture.CaptureError`` while the
    stream is being captured; ValueError for a bad argument and on a target that has no event timing.
    """
    if return_mode not in _STATISTICS:
        raise ValueError(f"return_mode is {return_mode!r}; allowed: {', '.join(_STATISTICS)}")
    samples = _samples(fn, warmup, rep, grad_to_none)
    if quantiles is not None:
        values = [samples.quantile(quantile) for quantile in quantiles]
        return values[0] if len(values) == 1 else values
    return _STATISTICS[return_mode](samples)


def _samples(fn: Callable[[], object], warmup: float, rep: float, grad_to_none: Sequence[Any] | None) -> Samples:
    from triton_ascend_tune.measure import device, event

    if any(capture.in_progress(backend) for backend in ("npu", "cuda")):
        raise capture.CaptureError("do_bench cannot time anything while the current stream is being captured")

    def forget_gradients() -> None:
        for tensor in grad_to_none or ():
            tensor.grad = None

    heeded = {**settings.protocol_options(), **program_options.current()}
    # As in stock Triton one sample is enough where the budget allows no more.
    protocol = with_options(
        Protocol(plan="classic", warmup_ms=float(warmup), repeat_ms=float(rep), min_samples=1),
        {name: value for name, value in heeded.items() if name in _HEEDED},
    )
    trial = Trial(launch=fn, before=forget_gradients if grad_to_none is not None else None, name="do_bench")
    [result] = event.measure([trial], protocol, device.active_device()).results
    if isinstance(result, Failure):
        raise MeasurementError(result.reason) from result.error
    return result
