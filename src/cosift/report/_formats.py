"""Tables as CSV, LaTeX and Markdown.

Names of methods, tasks and data are text that anyone may have written: every format gets them with
what it would act on made harmless.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cosift.report._table import Cell, Row, Table

__all__ = ["safe_csv", "safe_latex", "safe_markdown", "to_csv", "to_latex", "to_markdown"]

# What spreadsheets take for the start of a formula.
FORMULA = ("=", "+", "-", "@", "|", "%")
# Ends of lines and other characters that are no text.
CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # At the start of a row these would belong to the end of the row before.
    "*": "{*}",
    "[": "{[}",
}
MARKDOWN = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    **{character: "\\" + character for character in "\\`*_[]|~$#!"},
}
LATEX_STYLES = {"best": (r"\textbf{", "}"), "tied": (r"\textit{", "}")}
MARKDOWN_STYLES = {"best": ("**", "**"), "tied": ("*", "*")}


def to_csv(tables: Sequence[Table]) -> str:
    """Tables as one CSV: a row a task, method and source, four columns a share of labels.

    Numbers are as exact as they are known; what is unknown is empty.  A name that a spreadsheet
    would take for a formula has an apostrophe before it.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = ("mean", "std", "n", "mark")
    for table in tables[:1]:
        heads = [f"{head} {name}" for head in table.heads for name in names]
        writer.writerow(["metric", "tuning", "task", "method", "source", *heads])
    for table in tables:
        task = "mean over tasks" if table.task is None else safe_csv(table.task)
        for row in table.rows:
            values: list[Any] = []
            for cell in row.cells:
                values += [getattr(cell, name, None) for name in names]
            source = "published" if row.published else "found"
            writer.writerow(
                [table.metric, table.tuning, task, safe_csv(row.method), source, *values]
            )
    return buffer.getvalue()


def to_latex(tables: Sequence[Table]) -> str:
    """Tables as LaTeX; the document needs the package booktabs."""
    return "\n".join(["% \\usepackage{booktabs}", *map(_latex, tables)])


def to_markdown(tables: Sequence[Table]) -> str:
    """Tables as Markdown, as GitHub has it."""
    return "\n".join(map(_markdown, tables))


def safe_csv(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> safe_csv("=cmd()"), safe_csv("sfmc")
    ("'=cmd()", 'sfmc')
    """
    text = _one_line(text)
    return "'" + text if text.startswith(FORMULA) else text


def safe_latex(text: str) -> str:
    r"""Text that LaTeX takes for nothing but text.

    Examples
    --------
    >>> print(safe_latex("50% of_$x$"))
    50\% of\_\$x\$
    """
    return "".join(LATEX.get(character, character) for character in _one_line(text))


def safe_markdown(text: str) -> str:
    r"""Text that Markdown, and HTML made of it, shows as it is.

    Examples
    --------
    >>> print(safe_markdown("<b>|_x_"))
    &lt;b&gt;\|\_x\_
    """
    return "".join(MARKDOWN.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return CONTROL.sub(" ", text).strip()


def _latex(table: Table) -> str:
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{safe_latex(table.title)}.}}",
        rf"\begin{{tabular}}{{l{'c' * len(table.shares)}}}",
        r"\toprule",
        _latex_row(["Method", *map(safe_latex, table.heads)]),
        r"\midrule",
    ]
    for row in table.rows:
        values = [_number(table, cell, LATEX_STYLES) for cell in row.cells]
        name = safe_latex(_name(row))
        lines.append(_latex_row([name, *(value.replace("±", r"$\pm$") for value in values)]))
    text = " ".join([table.legend, *(f"{note}." for note in table.notes)])
    return "\n".join(
        [
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\footnotesize {safe_latex(text)}",
            r"\end{table}",
            "",
        ]
    )


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _markdown(table: Table) -> str:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [
        f"## {safe_markdown(table.title)}",
        "",
        line(["Method", *table.heads]),
        line(["---", *["---:"] * len(table.shares)]),
    ]
    for row in table.rows:
        values = [_number(table, cell, MARKDOWN_STYLES) for cell in row.cells]
        lines.append(line([safe_markdown(_name(row)), *values]))
    lines += ["", table.legend, ""]
    lines += [f"- {safe_markdown(note)}" for note in table.notes]
    return "\n".join([*lines, ""]) if table.notes else "\n".join(lines)


def _name(row: Row) -> str:
    return f"{row.method}, published" if row.published else row.method


def _number(table: Table, cell: Cell | None, styles: Mapping[str, tuple[str, str]]) -> str:
    """A cell in words, its mean set in the style of its mark."""
    if cell is None:
        return ""
    begin, end = styles.get(cell.mark, ("", ""))
    text = f"{begin}{cell.mean:.3f}{end}"
    if cell.std is not None:
        text += f" ± {cell.std:.3f}"
    return text if cell.n in (None, table.n) else f"{text} (n = {cell.n})"
