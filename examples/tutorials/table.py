"""Shows a benchmark of the tutorials: Triton's own tables and plots where matplotlib is installed, else a table."""

from __future__ import annotations

import importlib.util
from typing import Any


def show(mark: Any) -> None:
    """Runs a function that ``triton.testing.perf_report`` has wrapped and prints what it measured."""
    if importlib.util.find_spec("matplotlib") and importlib.util.find_spec("pandas"):
        mark.run(print_data=True)
        return
    benchmarks = mark.benchmarks if isinstance(mark.benchmarks, list) else [mark.benchmarks]
    for benchmark in benchmarks:
        print(f"{benchmark.plot_name} ({benchmark.ylabel}):")
        print("".join(f"{title:>14}" for title in (benchmark.x_names[0], *benchmark.line_names)))
        for x in benchmark.x_vals:
            sizes = dict.fromkeys(benchmark.x_names, x)
            values = [mark.fn(**sizes, **{benchmark.line_arg: line}, **benchmark.args) for line in benchmark.line_vals]
            # Three quantiles, the first is the median; or one value.
            medians = [value[0] if isinstance(value, tuple) else value for value in values]
            print(f"{x:14}" + "".join(f"{median:14.3f}" for median in medians))
