"""Whatever bytes a file holds: a correct Dataset, or a TableError that names the file.

COSIFT_FUZZ sets how many files are tried of each kind; without it few, and always the same.
"""

import gzip
import io
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from cosift.datasets import TableError, read_table

ASKED = int(os.environ.get("COSIFT_FUZZ", "0"))
# These are read by a process of their own, so that each costs a second.
REHEARSED = [".parquet", ".feather", ".mat"]
OTHERS = [".csv", ".csv.gz", ".tsv", ".npy", ".npz", ".svmlight", ".arff"]


def fuzz(examples):
    return settings(
        max_examples=ASKED or examples,
        derandomize=not ASKED,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@cache
def valid(ending):
    """The bytes of a good file with a target called y."""
    X = np.array([[1.5, 0.0], [0.0, -2.0], [3.0, 4.0]])
    y = np.array([0, 1, 1])
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": ["u", "v", "v"]})
    file = io.BytesIO()
    match ending:
        case ".csv" | ".tsv":
            return frame.write_csv(separator="," if ending == ".csv" else "\t").encode()
        case ".csv.gz":
            return gzip.compress(frame.write_csv().encode(), mtime=0)
        case ".npy":
            np.save(file, np.column_stack([X, y]))
        case ".npz":
            np.savez_compressed(file, X=X, y=y, feature_names=np.array(["a", "b"]))
        case ".svmlight":
            dump_svmlight_file(X, y, file)
        case ".arff":
            head = "@relation r\n@attribute a real\n@attribute 'b' {0,1}\n@attribute y {u,'v w'}\n"
            return (head + "@data\n1.5,0,u\n2,1,'v w'\n-1e3,0,?\n").encode()
        case ".parquet":
            frame.write_parquet(file)
        case ".feather":
            frame.write_ipc(file)
        case ".mat":
            savemat(file, {"X": X, "y": y})
    return file.getvalue()


def check(ending, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        path.write_bytes(content)
        try:
            data = read_table(
                path, target=2 if ending == ".npy" else None if LABELED[ending] else "y"
            )
        except TableError as error:
            message = str(error)
            assert str(path) in message
            assert len(message) < 1000
            assert message.endswith(".")
            return
        n, d = data.X.shape
        assert n > 0
        assert d > 0
        assert len(data.y) == n
        stored = data.X.data if sp.issparse(data.X) else data.X
        assert stored.dtype in (np.float32, np.float64)
        assert np.isfinite(stored).all()
        assert data.feature_names is None or len(data.feature_names) == d
        data.describe()
        assert [p.name for p in Path(folder).iterdir()] == [path.name]


LABELED = dict.fromkeys([*REHEARSED, *OTHERS], False) | {".svmlight": True}


def mutated(whole):
    """The bytes with a few of them changed, removed, repeated or added, or cut off."""
    places = st.integers(0, max(0, len(whole) - 1))
    edit = st.tuples(
        places,
        st.integers(0, 8),
        st.one_of(
            st.binary(max_size=8),
            st.sampled_from([b"\n", b",", b'"', b"'", b"{", b"}", b"?", b"\xff" * 4, b"9" * 30]),
        ),
    )

    def apply(edits):
        content = whole
        for place, removed, added in edits:
            content = content[:place] + added + content[place + removed :]
        return content

    cut = places.map(lambda place: whole[:place])
    return st.one_of(st.lists(edit, min_size=1, max_size=4).map(apply), cut)


@pytest.mark.parametrize("ending", OTHERS)
def test_good_files_are_good(ending):
    check(ending, valid(ending))


@pytest.mark.parametrize("ending", OTHERS)
def test_any_bytes(ending):
    @fuzz(60)
    @given(st.binary(max_size=400))
    def run(content):
        check(ending, content)

    run()


@pytest.mark.parametrize("ending", OTHERS)
def test_spoilt_files(ending):
    @fuzz(120)
    @given(mutated(valid(ending)))
    def run(content):
        check(ending, content)

    run()


@pytest.mark.parametrize("ending", REHEARSED)
def test_spoilt_binary_files(ending):
    @fuzz(6)
    @given(mutated(valid(ending)))
    def run(content):
        check(ending, content)

    run()


@fuzz(100)
@given(
    st.lists(
        st.text(st.sampled_from("@attributedatarelation {}'\"\\,?%01.5eE+- \t\n"), max_size=40),
        max_size=8,
    )
)
def test_lines_of_the_grammar_of_arff(lines):
    check(".arff", "\n".join(["@attribute y {u,v}", "@attribute a real", *lines]).encode())


@fuzz(100)
@given(st.text(st.sampled_from("01:.-e #,\n \tqid"), max_size=80))
def test_lines_of_the_grammar_of_svmlight(text):
    check(".svmlight", text.encode())


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LABELS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cc", "Cs", "Z"]),
    min_size=1,
    max_size=6,
)


@fuzz(60)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, LABELS), min_size=1, max_size=8),
    st.sampled_from([".csv", ".tsv", ".csv.gz"]),
)
def test_text_is_read_as_it_was_written(rows, ending):
    a, b, y = (list(column) for column in zip(*rows, strict=True))
    frame = pl.DataFrame(
        {"a": a, "b": b, "y": y}, schema={"a": pl.Float64, "b": pl.Float64, "y": pl.String}
    )
    text = frame.write_csv(separator="\t" if ending == ".tsv" else ",").encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        path.write_bytes(gzip.compress(text) if ending == ".csv.gz" else text)
        data = read_table(path, target="y")
    np.testing.assert_array_equal(data.X, np.column_stack([a, b]))
    # The same labels are told apart, whatever they are turned into.
    missing = np.array([label in ("NA", "NaN", "nan", "null", "?") for label in y])
    found = ["" if value is None or value != value else str(value) for value in data.y.tolist()]
    assert [not label for label in found] == missing.tolist()
    kept = [i for i in range(len(y)) if not missing[i]]
    assert len({y[i] for i in kept}) == len({found[i] for i in kept})


@fuzz(40)
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([".npz", ".svmlight", ".npy"]),
)
def test_arrays_are_read_as_they_were_written(n, d, seed, ending):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, size=(n, d))
    if d == 1:
        X = np.hstack([X, X])
    y = rng.integers(3, size=n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        target = "y"
        if ending == ".npz":
            np.savez(path, X=X, y=y)
        elif ending == ".npy":
            np.save(path, np.column_stack([X, y]))
            target = X.shape[1]
        else:
            lines = [
                f"{label} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row))
                for label, row in zip(y, X.tolist(), strict=True)
            ]
            path.write_text("\n".join(lines) + "\n")
            target = None
        data = read_table(path, target=target)
    found = data.X.toarray() if sp.issparse(data.X) else data.X
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(data.y, y)


def test_a_huge_header_is_read_or_refused_at_once(tmp_path):
    """A hundred thousand columns in one line."""
    names = ",".join(f"column_{j}" for j in range(100_000))
    path = tmp_path / "t.csv"
    path.write_text(f"{names},y\n" + ",".join(["1"] * 100_000) + ",u\n")
    assert read_table(path, target="y").X.shape == (1, 100_000)
    path.write_text(names * 5)
    with suppress(TableError):
        read_table(path, target="y")
    path = tmp_path / "t.arff"
    path.write_text(
        "".join(f"@attribute a{j} real\n" for j in range(20_000)) + "@data\n{0 1,19999 1}\n"
    )
    assert read_table(path, target="a19999").X.shape == (1, 19_999)
