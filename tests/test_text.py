"""Blocks of numbers in text: against numpy, in any block size, and what broken files say."""

import gzip
import zlib
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cosift.datasets import TableError, _text
from cosift.datasets._text import (
    count_lines,
    read_lines,
    read_numbers,
    read_zeros_and_ones,
    stack_numbers,
)


def parsed(path, columns, dtype=np.float64):
    return np.vstack([np.empty((0, columns)), *read_numbers(path, columns, dtype)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [64, 1000, 2**23])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n", " \t\n"])
@pytest.mark.parametrize("between", [" ", "\t", "  "])
def test_every_layout_of_blanks_gives_the_same_numbers(
    tmp_path, monkeypatch, dtype, block, end, between
):
    X = np.random.default_rng(0).normal(size=(50, 3)) * np.array([1e-300, 1.0, 1e30])
    path = tmp_path / "x.txt"
    path.write_bytes("".join(between.join(map(repr, row)) + end for row in X.tolist()).encode())
    monkeypatch.setattr(_text, "BLOCK", block)
    np.testing.assert_array_equal(parsed(path, 3, dtype), X.astype(dtype))
    assert count_lines(path) == 50


@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        max_size=6,
    ),
    blank=st.sampled_from([" ", "\t", "   ", " \t "]),
    edge=st.sampled_from(["", " ", "\t"]),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
)
def test_what_python_prints_is_read_back(tmp_path_factory, rows, blank, edge, end):
    path = tmp_path_factory.mktemp("text") / "x.txt"
    lines = [edge + blank.join(map(repr, row)) + edge for row in rows]
    path.write_bytes(end.join(lines).encode())
    np.testing.assert_array_equal(parsed(path, 2), np.array(rows).reshape(-1, 2))


@given(st.binary(max_size=200), st.integers(1, 3))
def test_garbage_is_refused_or_read_as_numpy_reads_it(tmp_path_factory, text, columns):
    path = tmp_path_factory.mktemp("text") / "x.txt"
    path.write_bytes(text)
    words = text.removeprefix(b"\xef\xbb\xbf").split()
    with suppress(TableError):
        found = parsed(path, columns)
        np.testing.assert_array_equal(found.ravel(), np.array([float(word) for word in words]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2\n3\n", r"line 2: expected 2 numbers. Found 1 in '3'"),
        (b"1 2\n\n3 4 5\n", r"line 3: expected 2 numbers. Found 3 in '3 4 5'"),
        (b"1 2\n3 nan\n", r"line 2: .* Found 'nan'"),
        (b"1 2\n3 1e999\n", r"line 2: .* Found '1e999'"),
        (b"1 2\n3 1_0\n", r"line 2: .* Found '1_0'"),
        (b"1,2\n", r"line 1: .* Found 1 in '1,2'"),
        (b'1 "2"\n', r"line 1: .* Found '\"2\"'"),
        (b"1 2\n3 x\xff\n", r"line 2: .* Found 'x\ufffd'"),
        (b"\x28\xb5\x2f\xfd\n", r"line 1: .* Found 1"),
        (zlib.compress(b"1 2\n" * 100, 1), r"line 1: .* Found"),
        (gzip.compress(b"1 2\n" * 100, mtime=0), r"line 1: .* Found"),
        ("1 2\n".encode("utf-16"), r"line 1: .* Found"),
        (b"1 2 " * 10_000, r"expected lines of 2 numbers. Found longer ones"),
    ],
)
@pytest.mark.parametrize("block", [8, 2**23])
def test_errors_name_the_line(tmp_path, monkeypatch, text, message, block):
    path = tmp_path / "x.txt"
    path.write_bytes(text)
    # Lines must not depend on where blocks end.
    monkeypatch.setattr(_text, "BLOCK", block)
    with pytest.raises(TableError, match=message) as caught:
        parsed(path, 2)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("odd", ["0.5", "1e3", "3000000000", "-2.", "1\t2", " 1 2"])
def test_whole_numbers_may_end_anywhere(tmp_path, monkeypatch, odd):
    """What is read fast for its first lines must be read right for its last."""
    lines = ["1 2"] * 20 + [odd if len(odd.split()) == 2 else f"{odd} 2"] + ["3 4"] * 20
    path = tmp_path / "x.txt"
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(_text, "BLOCK", 30)
    np.testing.assert_array_equal(parsed(path, 2), [list(map(float, x.split())) for x in lines])


def test_names_are_read_without_marks_and_empty_lines(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeff Cat\r\n\r\nHund \n\n".encode())
    assert read_lines(path) == ["Cat", "Hund"]
    path.write_bytes("Bär".encode("latin-1"))
    with pytest.raises(TableError, match=r"names.txt: cannot be read as text in UTF-8"):
        read_lines(path)
    path.write_bytes(b" \n")
    with pytest.raises(TableError, match=r"names.txt: expected lines of text. Found none"):
        read_lines(path)
    with pytest.raises(TableError, match=r"names.txt: expected lines of numbers. Found none"):
        count_lines(path)


def test_zeros_and_ones(tmp_path):
    path = tmp_path / "y.txt"
    path.write_text("0 1\n1 1\n")
    np.testing.assert_array_equal(read_zeros_and_ones(path, 2, 2, "x.txt"), [[0, 1], [1, 1]])
    with pytest.raises(TableError, match=r"y.txt: expected 3 rows, as many as x.txt. Found 2"):
        read_zeros_and_ones(path, 2, 3, "x.txt")
    path.write_text("0 1\n1 -1\n")
    with pytest.raises(TableError, match=r"y.txt, line 2: expected 0 or 1. Found -1"):
        read_zeros_and_ones(path, 2, 2, "x.txt")


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_dense_sparse_and_mapped_hold_the_same(tmp_path, monkeypatch, share):
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, size=(60, 7)) * (rng.random((60, 7)) < share)
    parts = []
    for name, rows in (("a", X[:25]), ("b", X[25:])):
        np.savetxt(tmp_path / name, rows, fmt="%d")
        parts.append((tmp_path / name, len(rows), "ids"))
    monkeypatch.setattr(_text, "BLOCK", 100)
    stacked = stack_numbers(parts, 7, dtype=np.float32)
    assert sp.issparse(stacked) == (share < 0.5)
    mapped = stack_numbers(parts, 7, dtype=np.float32, memory_map=tmp_path / "X.npy")
    assert isinstance(mapped, np.memmap)
    for found in (stacked.toarray() if sp.issparse(stacked) else stacked, mapped):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, X)


def test_a_broken_file_leaves_no_memory_map(tmp_path):
    (tmp_path / "a").write_text("1 2\n3 4\n")
    target = tmp_path / "X.npy"
    for rows in (1, 3):
        with pytest.raises(TableError, match=f"a: expected {rows} rows, as many as ids. Found"):
            stack_numbers([(tmp_path / "a", rows, "ids")], 2, memory_map=target)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with pytest.raises(TableError, match=r"nowhere"):
        stack_numbers([(tmp_path / "a", 2, "ids")], 2, memory_map=tmp_path / "nowhere" / "X.npy")
