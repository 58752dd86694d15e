"""The command ``triton-ascend-tune``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from triton_ascend_tune.doctor import Report

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
simulator_app = typer.Typer(no_args_is_help=True, help="Run programs on the simulated CANN, without an NPU.")
app.add_typer(simulator_app, name="sim")


@app.callback()
def _root() -> None:
    """Tunes stock Triton kernels on Ascend NPUs."""


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False) -> None:
    """Show what is installed and in force, and what is wrong if something is (exit code 1 then)."""
    from triton_ascend_tune.doctor import examine

    report = examine()
    if as_json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        _show(report)
    raise typer.Exit(0 if report.healthy else 1)


@simulator_app.command("build")
def simulator_build(
    # Optional[...]: typer evaluates annotations, and Python 3.9 cannot evaluate X | None.
    out: Annotated[Optional[Path], typer.Option(help="Folder for the SDK; else the checkout's or a cache.")] = None,  # noqa: UP045
    jobs: Annotated[Optional[int], typer.Option(min=1, help="Compiler processes; else one per CPU.")] = None,  # noqa: UP045
) -> None:
    """Build the simulated CANN if it is not up to date, and print its folder."""
    from triton_ascend_tune import simulator

    with _reported(simulator.SimulatorError):
        print(simulator.build(out, jobs))


@simulator_app.command("env")
def simulator_env() -> None:
    """Print the exports that put a shell on the simulated CANN: eval "$(triton-ascend-tune sim env)"."""
    from triton_ascend_tune import simulator

    with _reported(simulator.SimulatorError):
        print(simulator.shell_exports(simulator.environment(simulator.build())), end="")


@simulator_app.command("run", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def simulator_run(context: typer.Context) -> None:
    """Run a command on the simulated CANN: triton-ascend-tune sim run -- python train.py."""
    from triton_ascend_tune import simulator

    with _reported(simulator.SimulatorError, ValueError):
        simulator.run(context.args)


@simulator_app.command("trace")
def simulator_trace(
    log: Annotated[Path, typer.Argument(help="What CANN_SIM_TASK_LOG=LOG has written.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="The trace: JSON, overwritten if it exists.", show_default=False)],
) -> None:
    """Turn a task log into a trace for chrome://tracing or ui.perfetto.dev."""
    from triton_ascend_tune import sim_trace, simulator

    with _reported(simulator.SimulatorError):
        print(f"{out}: {sim_trace.convert(log, out)} tasks")


@contextmanager
def _reported(*errors: type[Exception]) -> Iterator[None]:
    """Turns the given errors into one line on stderr and exit code 1: their text is meant for the user."""
    try:
        yield
    except errors as error:
        print(f"triton-ascend-tune: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _show(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, version in report.versions.items():
        table.add_row(name, version or "not installed")
    table.add_row("python", report.python)
    table.add_row("way in", ", ".join(report.ways_in) or "none")
    table.add_row("replaced", ", ".join(report.replaced) or "nothing")
    table.add_row(
        "target", f"{report.target} ({'tuned' if report.tuned else 'left to Triton'})" if report.target else "none"
    )
    table.add_row("runtime", report.runtime or "none")
    table.add_row("simulated", f"yes, version {report.simulated}" if report.simulated else "no")
    table.add_row("method", report.method or "undecided")
    console = Console()
    console.print(table)
    for note in report.notes:
        console.print(f"note: {escape(note)}", style="dim", highlight=False, soft_wrap=True)
    for problem in report.problems:
        console.print(f"[red]wrong:[/red] {escape(problem)}", highlight=False, soft_wrap=True)
    if report.healthy:
        console.print("[green]all is well[/green]")


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="triton-ascend-tune")


if __name__ == "__main__":
    main()
