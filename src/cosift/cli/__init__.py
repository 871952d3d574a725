"""The command ``cosift``, one file a command.

Nothing here imports more than typer and rich before a command runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from cosift.cli import compare, demo, features, report, reproduce, select

__all__ = ["app"]

app = typer.Typer(
    name="cosift",
    help="Choose features when you have many of them, few labels and several related tasks.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cosift {version('cosift')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


def _add(command: Callable[..., None], example: str) -> None:
    app.command(epilog=f"Example: {example}")(command)


_add(demo.demo, demo.EXAMPLE)
_add(compare.compare, compare.EXAMPLE)
_add(select.select, select.EXAMPLE)
_add(reproduce.reproduce, reproduce.EXAMPLE)
_add(report.report, report.EXAMPLE)
app.add_typer(features.app, name="features")
