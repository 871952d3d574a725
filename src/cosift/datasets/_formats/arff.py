"""ARFF, dense or sparse, line by line; labels named by an XML file as Mulan's data sets have it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Matrix
from cosift.datasets._formats.frames import labels
from cosift.datasets._formats.table import Table, TableError, check_there, listed, parsing

__all__ = ["read_arff"]

NUMERIC = ("numeric", "real", "integer")
MISSING = "?"
# A piece of a line that holds no comma outside quotes.
PIECE = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,'"]+)*""")
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.*)""", re.I)
# Rows that are turned into numbers at once.
BLOCK = 1000


@dataclass
class Attribute:
    """A column: its name, and the values it may take if it is nominal."""

    name: str
    kind: str
    values: list[str] = field(default_factory=list)

    @property
    def is_number(self) -> bool:
        """Whether all its values are numbers."""
        return self.kind in NUMERIC or (bool(self.values) and all(map(_is_number, self.values)))

    @property
    def omitted(self) -> str | None:
        """The value where a sparse row names none."""
        return "0" if self.kind in NUMERIC else self.values[0] if self.values else None


def read_arff(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """Attributes as columns; if an XML file names labels, these stand beside the features.

    The XML file has the name of the data or the beginning of it: ``birds.xml`` belongs to
    ``birds.arff`` and to ``birds-train.arff``.
    """
    label_names = _label_names(path)
    with parsing(path, "ARFF"), path.open(encoding="utf-8-sig") as file:
        lines = Lines(path, file)
        attributes = list(_attributes(lines))
        names = [attribute.name for attribute in attributes]
        if len(set(names)) < len(names):
            raise lines.error("attributes must have different names", "one twice")
        if unknown := [name for name in label_names if name not in names]:
            raise TableError(f"{path}: no attribute for the labels {listed(unknown)} of the XML.")
        check_there(path, sorted(wanted), names)
        aside = {*wanted, *label_names}
        roles = [_role(path, a, a.name in aside, a.name in ignored) for a in attributes]
        X, columns = _rows(lines, attributes, roles)
    kept = [name for name, role in zip(names, roles, strict=True) if role == "feature"]
    return Table(X, kept, columns, labels=tuple(label_names), left_out=ignored & {*names})


def _role(path: Path, attribute: Attribute, is_aside: bool, is_ignored: bool) -> str:
    if is_aside or is_ignored:
        return "aside" if is_aside else "ignored"
    if not attribute.is_number:
        raise TableError(
            f"{path}: features must be numbers. Found {attribute.kind} attribute "
            f"{attribute.name!r}. Ignore it, or say that it is the target, the task or the group."
        )
    return "feature"


class Lines:
    """Lines that say something, and the number of the last one for errors."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        self.path = path
        self.number = 0
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            line = line.strip()
            if line and not line.startswith("%"):
                yield line

    def error(self, expected: str, found: str) -> TableError:
        """What a line should be and what it is."""
        return TableError(f"{self.path}, line {self.number}: {expected}. Found {found[:60]}.")


def _attributes(lines: Lines) -> Iterator[Attribute]:
    for line in lines:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            return
        if keyword == "@attribute":
            match = ATTRIBUTE.fullmatch(line)
            if not match:
                raise lines.error("expected @attribute, a name and a type", line)
            yield _attribute(lines, _bare(match[1]), match[2].strip())
        elif keyword != "@relation":
            raise lines.error("expected @relation, @attribute or @data", line)
    raise lines.error("expected @data after the attributes", "the end of the file")


def _attribute(lines: Lines, name: str, kind: str) -> Attribute:
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise lines.error("expected the values of a nominal attribute in braces", kind)
        return Attribute(name, "nominal", [_bare(value) for value in _pieces(lines, kind[1:-1])])
    kind = kind.split(maxsplit=1)[0].lower()
    if kind not in (*NUMERIC, "string", "date"):
        raise lines.error("expected numeric, real, integer, string, date or {values}", kind)
    return Attribute(name, kind)


def _rows(
    lines: Lines, attributes: list[Attribute], roles: list[str]
) -> tuple[Matrix, dict[str, NDArray[Any]]]:
    texts: dict[int, list[str | None]] = {j: [] for j, role in enumerate(roles) if role == "aside"}
    features = [j for j, role in enumerate(roles) if role == "feature"]
    first = next(iter(lines), None)
    if first is None:
        raise lines.error("expected rows after @data", "none")
    rows = _with_first(first, lines)
    fill = _sparse if first.startswith("{") else _dense
    X = fill(lines, rows, attributes, features, texts)
    columns = {attributes[j].name: labels(pl.Series(values)) for j, values in texts.items()}
    return X, columns


def _with_first(first: str, lines: Lines) -> Iterator[str]:
    yield first
    yield from lines


def _dense(
    lines: Lines,
    rows: Iterator[str],
    attributes: list[Attribute],
    features: list[int],
    texts: dict[int, list[str | None]],
) -> Matrix:
    blocks: list[NDArray[np.float64]] = []
    block: list[list[float]] = []
    for line in rows:
        row = _pieces(lines, line)
        if len(row) != len(attributes):
            raise lines.error(f"expected {len(attributes)} values", f"{len(row)}")
        for j, values in texts.items():
            values.append(_text(row[j]))
        block.append([_number(lines, row[j]) for j in features])
        if len(block) == BLOCK:
            blocks.append(np.array(block))
            block = []
    return np.concatenate([*blocks, np.array(block).reshape(len(block), len(features))])


def _sparse(
    lines: Lines,
    rows: Iterator[str],
    attributes: list[Attribute],
    features: list[int],
    texts: dict[int, list[str | None]],
) -> Matrix:
    for j in features:
        if _number(lines, str(attributes[j].omitted)) != 0:
            raise TableError(
                f"{lines.path}: attribute {attributes[j].name!r} is {attributes[j].omitted} where "
                "a sparse row omits it, and not 0. Ignore it, or save the data as dense."
            )
    column_of = dict(zip(features, range(len(features)), strict=True))
    data, indices, starts = array("d"), array("q"), array("q", [0])
    for n, line in enumerate(rows):
        if not (line.startswith("{") and line.endswith("}")):
            raise lines.error("expected a sparse row, {number value, ...}", line)
        for values_of, values in texts.items():
            values.append(attributes[values_of].omitted)
        seen = set()
        for piece in _pieces(lines, line[1:-1]) if line[1:-1].strip() else ():
            number, _, value = piece.strip().partition(" ")
            j = int(number) if number.isdecimal() else -1
            if not 0 <= j < len(attributes) or j in seen:
                raise lines.error(
                    f"expected different numbers of attributes below {len(attributes)}", piece
                )
            seen.add(j)
            if j in texts:
                texts[j][n] = _text(value)
            elif j in column_of:
                data.append(_number(lines, value))
                indices.append(column_of[j])
        starts.append(len(data))
    arrays = (np.array(data), np.array(indices, dtype=np.int64), np.array(starts))
    X = sp.csr_array(arrays, shape=(len(starts) - 1, len(features)))
    X.sort_indices()
    return X


def _pieces(lines: Lines, text: str) -> list[str]:
    """Parts between commas, where quotes protect commas."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    pieces, position = [], 0
    while True:
        match = PIECE.match(text, position)
        assert match is not None  # it may be empty
        pieces.append(match[0])
        position = match.end()
        if position == len(text):
            return pieces
        if text[position] != ",":
            raise lines.error("expected quotes to be closed", text[position:])
        position += 1


def _bare(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _text(piece: str) -> str | None:
    text = _bare(piece)
    return None if text == MISSING else text


def _number(lines: Lines, piece: str) -> float:
    try:
        return float(piece)
    except ValueError:
        text = _bare(piece)
    if text == MISSING:
        return np.nan
    if not _is_number(text):
        raise lines.error("expected a number", repr(text))
    return float(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class NoDoctype(ElementTree.TreeBuilder):
    """Elements alone: a document type could declare entities that expand without end."""

    def doctype(self, *declared: str | None) -> None:
        """Refuse a document type declaration."""
        raise ValueError("a document type declaration, where labels alone are expected")


def _label_names(path: Path) -> list[str]:
    """Labels that an XML file beside the data names."""
    beside = [xml for xml in path.parent.glob("*.xml") if path.stem.startswith(xml.stem)]
    if not beside:
        return []
    xml = max(beside, key=lambda xml: len(xml.stem))
    with parsing(xml, "XML"):
        tree = ElementTree.parse(xml, ElementTree.XMLParser(target=NoDoctype()))
    names = [tag.get("name") for tag in tree.iter() if tag.tag.rpartition("}")[2] == "label"]
    if not names or None in names:
        raise TableError(f'{xml}: expected <label name="..."> in <labels>. Found no name.')
    return [str(name) for name in names]
