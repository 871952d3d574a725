"""``cosift report``: a run as one page, with its tables and figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cosift.cli import _run
from cosift.cli._common import Debug, Json, Output, Quiet

__all__ = ["EXAMPLE", "report"]

EXAMPLE = "cosift report sensors-run"


def report(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where a run keeps its results.", show_default=False),
    ],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write.", show_default="beside the results"
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write report.html, which opens in any browser without a network, and what it shows as files.

    Tables are written as CSV, LaTeX and Markdown, figures as SVG and PDF.  A run that was
    interrupted gives a report of what there is, and says what is missing.
    """
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.experiment import Results
        from cosift.report.page import write_report

        with _run.stored():
            results = Results(directory)
            page, *others = write_report(results, target)
        out.show(f"{page}", f"{len(others)} files with its tables and figures beside it")
        out.document({"report": str(page), "files": [str(path) for path in others]})
