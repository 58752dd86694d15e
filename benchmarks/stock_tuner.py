"""The side of stock Triton in programs where this package's tuner is installed."""

from __future__ import annotations

import inspect

from triton.runtime.autotuner import Autotuner


class StockTuner(Autotuner):
    """The installed Triton's own tuner: a subclass whose ``run`` does not end in Triton's stays as it is.

    That is Triton's function itself, not the one through which subclasses come to our tuner.
    """

    run = inspect.unwrap(Autotuner.run)
