"""What all commands share: options, where output goes, how errors end.

A command takes `Json`, `Quiet` and `Debug`, and does everything inside an `Output`::

    def command(..., json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
        with Output(json=json, quiet=quiet, debug=debug) as out:
            ...

Whatever takes long to import is imported in there.
"""

from __future__ import annotations

import json as _json
import math
import re
import sys
import traceback
import warnings
from contextlib import ExitStack
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.console import Console, RenderableType

__all__ = [
    "FAILED",
    "PANEL",
    "Debug",
    "Json",
    "Output",
    "Quiet",
    "Seed",
    "UsageError",
    "plain",
    "to_json",
]

# Columns of a table that goes to a file or a pipe.
WIDTH = 120
PANEL = "Common options"
# All but tabs and ends of lines.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
FAILED, REFUSED, INTERRUPTED = 1, 2, 130

Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document and nothing else on standard output.",
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no notes.", rich_help_panel=PANEL)
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=PANEL),
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="What all random draws follow from.", rich_help_panel=PANEL),
]


class UsageError(Exception):
    """Bad usage or input that no exception of Python's describes."""


class Output:
    """Results on standard output, all else on standard error; errors as sentences.

    As a context manager it ends the command: with code 2 where usage or input is at fault
    (`UsageError`, ValueError, OSError, ImportError), with 130 on Ctrl-C, with 1 on anything else.
    Warnings become notes.

    Parameters
    ----------
    json, quiet, debug : bool
        As the options say.

    Attributes
    ----------
    progress : Console
        Standard error, for progress bars.
    draws : bool
        Whether a progress bar can be drawn and is wanted.
    """

    def __init__(self, *, json: bool, quiet: bool, debug: bool) -> None:
        self._json, self._quiet, self._debug = json, quiet, debug
        self._results = _console(sys.stdout)
        self.progress = self._errors = _console(sys.stderr)
        self.draws = self.progress.is_terminal and not quiet
        self._stack = ExitStack()

    def show(self, *results: RenderableType) -> None:
        """Print results for people: text, tables."""
        if not self._json:
            for result in results:
                if isinstance(result, str):
                    self._results.print(plain(result), soft_wrap=True)
                else:
                    self._results.print(result)

    def document(self, content: Any) -> None:
        """Print results for programs, once."""
        if self._json:
            print(to_json(content))

    def note(self, text: str, *, style: str = "") -> None:
        """Say something beside the results."""
        if not self._quiet:
            self._errors.print(plain(text), soft_wrap=True, style=style)

    def __enter__(self) -> Self:
        self._stack.enter_context(warnings.catch_warnings())
        warnings.showwarning = self._note_warning
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        if error is None or isinstance(error, (typer.Exit, SystemExit, BrokenPipeError)):
            return
        if self._debug:
            traceback.print_exception(error)
        code, text = _verdict(error)
        self._errors.print(plain(text), soft_wrap=True, style="red")
        raise typer.Exit(code) from error

    def _note_warning(self, message: Warning | str, *where: Any, **more: Any) -> None:
        self.note(f"Note: {message}", style="yellow")


def plain(text: str) -> str:
    """Text from a file without what a terminal would act on."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def to_json(content: Any) -> str:
    """Content as JSON that others read: null where a number is not finite."""
    return _json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _console(file: Any) -> Console:
    console = Console(file=file, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def _verdict(error: BaseException) -> tuple[int, str]:
    """Exit code and sentence."""
    text = str(error)
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, text or "Interrupted."
        case MemoryError():
            return FAILED, f"Error: memory does not suffice. {text}".rstrip()
        case OSError() if error.strerror and error.filename:
            return REFUSED, f"Error: {error.filename}: {error.strerror}."
        case UsageError() | ValueError() | OSError() | ImportError():
            return REFUSED, f"Error: {text}"
    what = type(error).__name__
    return FAILED, f"Error: {what}: {text}\n--debug shows where it comes from."
