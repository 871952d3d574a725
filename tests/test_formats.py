"""Every format: what was written is read back, and what is broken is refused by name."""

import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from cosift.datasets import TableError, read_table
from cosift.datasets._formats import ENDINGS, table

rng = np.random.default_rng(0)
N, D = 30, 4
X = rng.normal(size=(N, D)).round(3)
NAMES = [f"f{j}" for j in range(D)]
Y = np.array(["cat", "dog", "bird"])[rng.integers(3, size=N)]
WHO = np.array(["Ann", "Bob"])[np.arange(N) % 2]
FRAME = pl.DataFrame({"who": WHO, **{name: X[:, j] for j, name in enumerate(NAMES)}, "kind": Y})


def write_frame(path, frame):
    """By its ending."""
    ending = "".join(path.suffixes)
    if ending in (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".tab"):
        text = frame.write_csv(separator="," if "csv" in ending else "\t").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    elif ending == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    return path


FRAMES = [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".parquet", ".arrow", ".feather", ".ipc"]


def sparse(density=0.2, n=N, d=D):
    return sp.random_array((n, d), density=density, format="csr", rng=rng)


def test_the_list_of_endings():
    assert set(ENDINGS) >= {*FRAMES, ".npy", ".npz", ".mat", ".svmlight", ".arff", ".h5ad"}


# Frames: text, Parquet, Arrow


@pytest.mark.parametrize("ending", FRAMES)
def test_frames(tmp_path, ending):
    path = write_frame(tmp_path / f"pets{ending}", FRAME)
    data = read_table(path, target="kind", task="who")
    assert data.name == "pets"
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(data.tasks, WHO)
    assert data.feature_names.tolist() == NAMES


@pytest.mark.parametrize("target", ["some", "maybe", "text"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_types_of_columns(tmp_path, ending, target):
    frame = pl.DataFrame(
        {
            "whole": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "single": pl.Series([0.5, 1.5, -2.0], dtype=pl.Float32),
            "truth": [True, False, True],
            "some": pl.Series([1, None, 2], dtype=pl.Int64),
            "maybe": [True, None, False],
            "text": pl.Series(["a", None, "b"], dtype=pl.String),
        }
    )
    path = write_frame(tmp_path / f"t{ending}", frame)
    data = read_table(path, target=target, ignore={"some", "maybe", "text"} - {target})
    np.testing.assert_array_equal(data.X, [[1, 0.5, 1], [2, 1.5, 0], [3, -2.0, 1]])
    missing = [value is None or value != value for value in data.y.tolist()]
    assert missing == [False, True, False]
    assert data.y[0] in (1, "a", True, "true")
    assert data.y[2] in (2, "b", False, "false")


def test_a_folder_of_parquet(tmp_path):
    (tmp_path / "parts").mkdir()
    for k, part in enumerate((FRAME[:12], FRAME[12:])):
        part.write_parquet(tmp_path / "parts" / f"{k}.parquet")
    data = read_table(tmp_path / "parts", target="kind", ignore=["who"])
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match=r"none: expected Parquet files .* in this folder"):
        read_table(tmp_path / "none", target="kind")


def test_arrow_streams(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "t.arrow")
    data = read_table(tmp_path / "t.arrow", target="kind", ignore=["who"])
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,y\r\n1,2,u\r\n3,4,v\r\n", "uv"),
        ("\ufeffa,b,y\n1,2,u\n3,4,v", "uv"),
        ('"a","b","y"\n1, 2 ,"u"\n 3,4,v\n', "uv"),
        ("a;b;y\n1;2;u\n3;4;v\n", "uv"),
        ("a,b,y\n1,2,u\n\n3,4,\n\n\n", ["u", None]),
        (",a,b,y\n0,1,2,u\n1,3,4,v\n", "uv"),
        ('"","a","b","y"\n"2",1,2,"u"\n"1",3,4,"v"\n', "uv"),
        ("a,b,y\n1,2,1\n3,4,2\n", [1, 2]),
        ("a,b,y\n1,2,1\n3,4,01\n", ["1", "01"]),
        ('a,b,y\n1,2,"u,\nv"\n3,4,\n', ["u,\nv", None]),
    ],
)
def test_texts_as_people_write_them(tmp_path, text, expected):
    (tmp_path / "t.csv").write_text(text, newline="")
    data = read_table(tmp_path / "t.csv", target="y")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    assert data.y.tolist() == list(expected)
    assert data.feature_names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "expected a line of names. Found none"),
        (b"\n1,2\n", "expected a line of names. Found none"),
        (b'"a\xff\n1,2\n', "cannot be read as text in UTF-8"),
        (b"a,b,y\n", "Found 0 rows and 2 features"),
        (b"y\nu\n", "Found 1 rows and 0 features"),
        (b"a,b,y\n1,2,u\n3,4\n", "line 3: expected 3 values. Found 2"),
        (b"a,b,y\n1,2,u\n3,4,v,5\n", "line 3: expected 3 values. Found 4"),
        (b'a,b,y\n1,2,u\n3,4,"v\n', "unexpected end of data"),
        (b"a,a,y\n1,2,u\n", "different names. Found twice: 'a'"),
        (b"a,,y\n1,2,u\n", "column 2 has no name in the first line"),
        (b",a,y\nrow,2,u\n", "column 1 has no name .* does not number the rows"),
        (b",a,y\n1,2,u\n1,2,v\n", "column 1 has no name .* does not number the rows"),
        (b"a,b,y\n1,x,u\n", "features must be numbers. Found String in 'b', such as 'x'"),
        (b"a,b,y\n1,2,u\n1,,u\n", "Found no value in row 2, column 'b'"),
        (b"a,b,y\n1,inf,u\n", "Found inf in row 1, column 'b'"),
        (b"a,b,y\n1,2,\xfc\n", "cannot be read as text in UTF-8 with a line of names"),
        ("a,b,y\n1,2,u\n".encode("utf-16"), "cannot be read as text"),
        ("a,b,y\n1,2,u\n".encode("utf-16-le"), "zero bytes"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "is compressed by zstd. Only gzip is read"),
        (b"\x78\xda" + bytes(20), "is compressed by zlib. Only gzip is read"),
    ],
)
def test_broken_text(tmp_path, text, message):
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(TableError, match=message) as caught:
        read_table(tmp_path / "t.csv", target="y")
    assert str(caught.value).startswith(str(tmp_path / "t.csv"))


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("kept", [0, 0.5])
def test_broken_frames(tmp_path, ending, kept):
    path = write_frame(tmp_path / f"t{ending}", FRAME)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(TableError, match=f"t{ending}: cannot be read as "):
        read_table(path, target="kind")


def test_nested_columns_are_no_features(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "list": [[1, 2], [3]], "y": [0, 1]})
    with pytest.raises(TableError, match=r"must be numbers. Found List\(Int64\) in 'list'"):
        read_table(write_frame(tmp_path / "t.parquet", frame), target="y")


# NumPy


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint16, bool, ">f8"])
def test_npy(tmp_path, order, dtype):
    whole = np.asarray(np.arange(12).reshape(4, 3) % 2 * 100, dtype=dtype, order=order)
    np.save(tmp_path / "t.npy", whole)
    data = read_table(tmp_path / "t.npy", target=2)
    np.testing.assert_array_equal(data.X, whole[:, :2])
    np.testing.assert_array_equal(data.y, whole[:, 2])
    assert data.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert data.feature_names.tolist() == ["0", "1"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    save(tmp_path / "t.npz", fea=X, kind=Y[:, None], who=WHO, feature_names=np.array(NAMES))
    data = read_table(tmp_path / "t.npz", target="kind", task="who")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(data.tasks, WHO)
    assert data.feature_names.tolist() == NAMES


def test_npz_with_several_targets(tmp_path):
    flags = rng.integers(2, size=(N, 3))
    np.savez(tmp_path / "t.npz", X=X, Y=flags, other=X)
    data = read_table(tmp_path / "t.npz", target="Y")
    np.testing.assert_array_equal(data.y, flags)
    assert data.target_names == ("Y[0]", "Y[1]", "Y[2]")


class Trap:
    """Unpickling it would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_nothing_is_unpickled(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")] * N, dtype=object)
    np.savez(tmp_path / "t.npz", X=X, y=trap)
    np.save(tmp_path / "t.npy", trap)
    (tmp_path / "p.npy").write_bytes(pickle.dumps(trap))
    for name, message in [
        ("t.npz", r"array 'y' holds Python objects, .*unpickling .* array.astype\(str\)"),
        ("t.npy", r"the array holds Python objects"),
        ("p.npy", r"cannot be read as .npy"),
    ]:
        with pytest.raises(TableError, match=f"{name}: {message}"):
            read_table(tmp_path / name, target="y")
    assert not (tmp_path / "sprung").exists()


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(text, version=(1, 0)):
    """A .npy header that says anything at all."""
    width = 2 if version == (1, 0) else 4
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(width, "little") + text.encode()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 500), }"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header(HUGE), "should have 4000000000000000 bytes by its header.* Found 0"),
        (header("x" * 50_000), "cannot be read as .npy"),
        (header("x" * 2_000_000, (2, 0)), "cannot be read as .npy"),
        (header("(" * 5_000), "cannot be read as .npy"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }"), "t.npy: "),
        (header("{'descr': '|V0', 'fortran_order': False, 'shape': (9, 2), }"), "t.npy: "),
        (header(HUGE, (3, 0)), r"version 1 or 2 of the format. Found \(3, 0\)"),
        (npy_bytes(X)[:-1], "should have 960 bytes .* Found 959"),
        (npy_bytes(X) + b"1", "should have 960 bytes .* Found 961"),
        (npy_bytes(X.ravel()), r"expected a matrix. Found an array of shape \(120,\)"),
        (npy_bytes(X + 1j), "the array must hold real numbers. Found complex128"),
        (npy_bytes(np.array([["a", "b"]])), "the array must hold real numbers. Found <U1"),
        (npy_bytes(X[:0]), "expected rows and features. Found 0 rows"),
        (b"", "cannot be read as .npy"),
    ],
)
def test_broken_npy(tmp_path, content, message):
    (tmp_path / "t.npy").write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "t.npy", target=0)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": Y}, r"expected one matrix of features.* Found 'y \(30,\)'"),
        ({"A": X, "B": X, "y": Y}, "expected one matrix of features, called X, fea, data"),
        ({"X": X, "y": Y[:5]}, r"'y' must have one entry for each of the 30 rows of 'X'"),
        ({"X": X}, "no column 'y'. No column has a name"),
        ({"X": X, "yy": Y}, "no column 'y'. .*mean 'yy'"),
        ({"X": X + 1j, "y": Y}, "array 'X' must hold real numbers. Found complex128"),
    ],
)
def test_wrong_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(TableError, match=f"t.npz: .*{message}"):
        read_table(tmp_path / "t.npz", target="y")


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """Ten megabytes of zeros in ten kilobytes, on a machine of one megabyte."""
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1300, 1000)), y=np.zeros(1300))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,y\n" + b"0,0\n" * 2_500_000))
    assert all(path.stat().st_size < 50_000 for path in tmp_path.iterdir())
    monkeypatch.setattr(table, "MEMORY", 10**6)
    for name in ("t.npz", "t.csv.gz"):
        with pytest.raises(
            TableError, match=f"{name}: expands to more than .* memory of this mach"
        ):
            read_table(tmp_path / name, target="y")


def test_a_bomb_that_lies_about_its_size(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 1000)), y=np.zeros(1000))
    whole = (tmp_path / "t.npz").read_bytes()
    size = 8 * 10**6 + 128
    assert whole.count(size.to_bytes(4, "little"))
    (tmp_path / "t.npz").write_bytes(
        whole.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    )
    with pytest.raises(TableError, match=r"t.npz: "):
        read_table(tmp_path / "t.npz", target="y")


def test_names_in_an_archive_are_no_paths(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    with zipfile.ZipFile(inside / "t.npz", "w") as archive:
        for name in ("../../escaped", "/tmp/absolute", "X", "y"):
            archive.writestr(f"{name}.npy", npy_bytes(X if name != "y" else Y))
    data = read_table(inside / "t.npz", target="y")
    np.testing.assert_array_equal(data.X, X)
    assert {path.name for path in tmp_path.rglob("*")} == {"inside", "t.npz"}


# MATLAB


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_5(tmp_path, compressed):
    savemat(
        tmp_path / "t.mat",
        {"X": X, "Y": np.arange(N)[:, None] % 3, "who": WHO.astype(object)[:, None]},
        do_compression=compressed,
    )
    data = read_table(tmp_path / "t.mat", target="Y", task="who")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.arange(N) % 3)
    np.testing.assert_array_equal(data.tasks, WHO)


def test_mat_5_sparse_and_cells(tmp_path):
    S = sparse()
    savemat(tmp_path / "s.mat", {"fea": sp.csc_matrix(S), "gnd": np.arange(N) % 2})
    data = read_table(tmp_path / "s.mat", target="gnd")
    assert sp.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), S.toarray())
    cells = np.empty((1, 2), dtype=object)
    labels = np.empty((1, 2), dtype=object)
    cells[0, :] = [X[:10], X[10:]]
    labels[0, :] = [np.zeros((10, 1)), np.ones((20, 1))]
    savemat(tmp_path / "c.mat", {"feature": cells, "label": labels})
    data = read_table(tmp_path / "c.mat", target="label", task="cell")
    np.testing.assert_array_equal(data.X, X)
    assert data.tasks.tolist() == [1] * 10 + [2] * 20


def write_73(path, arrays):
    """As MATLAB's -v7.3 has it: HDF5 behind 512 bytes, columns as rows, sparse as a group."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            if sp.issparse(values):
                csc = sp.csc_array(values)
                group = file.create_group(name)
                group.attrs["MATLAB_class"] = np.bytes_("double")
                group.attrs["MATLAB_sparse"] = np.uint64(csc.shape[0])
                group["data"], group["ir"], group["jc"] = csc.data, csc.indices, csc.indptr
            elif values.dtype.kind == "U":
                codes = np.array([[ord(c) for c in text.ljust(8)] for text in values.tolist()])
                file[name] = codes.T.astype(np.uint16)
                file[name].attrs["MATLAB_class"] = np.bytes_("char")
            else:
                file[name] = values.T
                file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def test_mat_73(tmp_path):
    S = sparse()
    write_73(tmp_path / "d.mat", {"X": X, "y": np.arange(N)[:, None] % 3, "who": WHO})
    data = read_table(tmp_path / "d.mat", target="y", task="who")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.arange(N) % 3)
    np.testing.assert_array_equal(data.tasks, WHO)
    write_73(tmp_path / "s.mat", {"X": S, "y": np.arange(N)[:, None] % 3})
    data = read_table(tmp_path / "s.mat", target="y")
    assert sp.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), S.toarray())


def test_broken_mat(tmp_path):
    path = tmp_path / "t.mat"
    savemat(path, {"X": X, "y": np.arange(N)})
    whole = path.read_bytes()
    for broken in (b"nonsense" * 100, whole[: len(whole) - 100]):
        path.write_bytes(broken)
        with pytest.raises(TableError, match=r"t.mat: "):
            read_table(path, target="y")
    savemat(path, {"X": X, "y": np.arange(N), "more": {"a": 1}})
    with pytest.raises(TableError, match=r"'more' is a structure or an object.* ignore it"):
        read_table(path, target="y")
    assert read_table(path, target="y", ignore=["more"]).X.shape == X.shape
    write_73(path, {"X": X, "y": np.arange(N)})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match=r"t.mat: cannot be read as MATLAB 7.3"):
        read_table(path, target="y")


def test_hdf5_stays_in_its_own_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_73(tmp_path / "other.mat", {"X": X})
    write_73(tmp_path / "t.mat", {"y": np.arange(N)})
    with h5py.File(tmp_path / "t.mat", "r+") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "other.mat"), "/X")
    with pytest.raises(TableError, match="expected one matrix of features"):
        read_table(tmp_path / "t.mat", target="y")
    with h5py.File(tmp_path / "t.mat", "r+") as file:
        del file["X"]
        layout = h5py.VirtualLayout(shape=(D, N), dtype=float)
        layout[:] = h5py.VirtualSource(tmp_path / "other.mat", "X", shape=(D, N))
        file.create_virtual_dataset("X", layout)
    with pytest.raises(TableError, match="/X refers to other files"):
        read_table(tmp_path / "t.mat", target="y")


# SVMlight


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight(tmp_path, zero_based):
    S = sparse().toarray()
    S[0, [0, D - 1]] = 1.0
    labels = np.arange(N) % 3
    dump_svmlight_file(S, labels, str(tmp_path / "t.svmlight"), zero_based=zero_based)
    data = read_table(tmp_path / "t.svmlight")
    assert sp.issparse(data.X)
    np.testing.assert_allclose(data.X.toarray(), S, rtol=1e-14)
    np.testing.assert_array_equal(data.y, labels)
    first = 0 if zero_based else 1
    assert data.feature_names.tolist() == [str(j + first) for j in range(D)]


def test_svmlight_signs(tmp_path):
    path = tmp_path / "t.libsvm"
    path.write_text("1 1:2\n-1 2:1 # a remark\n0 1:1\n")
    np.testing.assert_array_equal(read_table(path).y, [1, 0, np.nan])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Found 0 rows"),
        ("a 1:2\n", "cannot be read as SVMlight"),
        ("1 2:x\n", "cannot be read as SVMlight"),
        ("1 3:1 2:1\n", "cannot be read as SVMlight"),
        ("1 -3:1\n", "cannot be read as SVMlight"),
        ("1 1:nan\n", "features must be present and finite. Found no value in row 1, column '1'"),
        ("1 99999999999999999999:1\n", "cannot be read as SVMlight"),
        ("1 2000000000:1\n", "features must have numbers below 4194304. Found 2000000000"),
    ],
)
def test_broken_svmlight(tmp_path, text, message):
    (tmp_path / "t.svm").write_text(text)
    with pytest.raises(TableError, match=f"t.svm: .*{message}"):
        read_table(tmp_path / "t.svm")


# ARFF


ARFF = """% a remark
@RELATION 'made up'
@attribute f0 numeric
@attribute 'f 1' {0,1}
@attribute "f,2" REAL
@attribute kind {cat, 'big dog', "it's"}

@data
"""


def test_dense_arff(tmp_path):
    rows = "1.5,0,2,cat\n% between\n-1e3, 1 ,0.5,'big dog'\n0,1,0,\"it's\"\n1,0,0,?\n"
    (tmp_path / "t.arff").write_text(ARFF + rows)
    data = read_table(tmp_path / "t.arff", target="kind")
    np.testing.assert_array_equal(data.X, [[1.5, 0, 2], [-1000, 1, 0.5], [0, 1, 0], [1, 0, 0]])
    assert data.y.tolist() == ["cat", "big dog", "it's", None]
    assert data.feature_names.tolist() == ["f0", "f 1", "f,2"]


def test_sparse_arff(tmp_path):
    rows = "{0 1.5, 2 2}\n{}\n{1 1,3 'big dog'}\n{ 3 \"it's\" , 0 1 }\n"
    (tmp_path / "t.arff").write_text(ARFF + rows)
    data = read_table(tmp_path / "t.arff", target="kind")
    assert sp.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0, 2], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
    # What a sparse row leaves out is the first value.
    assert data.y.tolist() == ["cat", "cat", "big dog", "it's"]


def test_labels_in_an_xml_file(tmp_path):
    text = "@relation r\n" + "".join(
        f"@attribute {a} {{0,1}}\n" for a in ("f0", "f1", "sky", "sea")
    )
    (tmp_path / "birds-train.arff").write_text(text + "@data\n{0 1,2 1}\n{1 1,2 1,3 1}\n{}\n")
    xml = tmp_path / "birds.xml"
    xml.write_text('<labels xmlns="u"><label name="sky"><label name="sea"/></label></labels>')
    data = read_table(tmp_path / "birds-train.arff")
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(data.y, [[1, 0], [1, 1], [0, 0]])
    assert data.target_names == ("sky", "sea")
    for content, message in [
        ("<labels><label name='sun'/></labels>", "no attribute for the labels 'sun' of the XML"),
        ("<labels/>", 'expected <label name="...">'),
        ("<labels>", "cannot be read as XML"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><labels><label name='&a;'/></labels>", "document type"),
    ]:
        for encoding in ("utf-8", "utf-16"):
            xml.write_bytes(content.encode(encoding))
            with pytest.raises(TableError, match=message):
                read_table(tmp_path / "birds-train.arff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 0: expected @data after the attributes. Found the end"),
        ("nonsense\n", "line 1: expected @relation, @attribute or @data. Found nonsense"),
        ("@attribute a\n", "line 1: expected @attribute, a name and a type"),
        ("@attribute a complex\n", "line 1: expected numeric, real.* Found complex"),
        ("@attribute a {0,1\n", "line 1: expected the values .* in braces"),
        ("@attribute a real\n@attribute a real\n@data\n1,2\n", "different names"),
        ("@attribute kind real\n@data\n", "line 2: expected rows after @data. Found none"),
        (ARFF + "1,0\n", "line 9: expected 4 values. Found 2"),
        (ARFF + "1,0,2,cat,5\n", "line 9: expected 4 values. Found 5"),
        (ARFF + "1,0,x,cat\n", "line 9: expected a number. Found 'x'"),
        (ARFF + "1,0,2,'cat\n", "line 9: expected quotes to be closed"),
        (ARFF + "1,?,2,cat\n", "Found no value in row 1, column 'f 1'"),
        (ARFF + "{0 1}\n1,0,2,cat\n", "line 10: expected a sparse row"),
        (ARFF + "{4 1}\n", "different numbers of attributes below 4. Found 4 1"),
        (ARFF + "{0 1,0 2}\n", "different numbers of attributes below 4. Found 0 2"),
        (ARFF + "{-1 1}\n", "different numbers of attributes below 4"),
        ("@attribute a {1,2}\n@attribute kind {x}\n@data\n{0 2}\n", "'a' is 1 where a sparse row"),
        ("@attribute a string\n@attribute kind {x}\n@data\nu,x\n", "must be numbers. Found string"),
    ],
)
def test_broken_arff(tmp_path, text, message):
    (tmp_path / "t.arff").write_text(text)
    with pytest.raises(TableError, match=f"t.arff.*{message}"):
        read_table(tmp_path / "t.arff", target="kind")


def test_arff_in_another_encoding(tmp_path):
    (tmp_path / "t.arff").write_bytes((ARFF + "1,0,2,b\u00e4r\n").encode("latin-1"))
    with pytest.raises(TableError, match=r"t.arff: cannot be read as ARFF \('utf-8'"):
        read_table(tmp_path / "t.arff", target="kind")


# AnnData


@pytest.mark.filterwarnings("ignore")  # of the library about its own future
def test_h5ad(tmp_path):
    anndata = pytest.importorskip("anndata")
    anndata.settings.allow_write_nullable_strings = True
    S = sparse()
    for name, values in (("dense", X), ("sparse", S)):
        cells = anndata.AnnData(
            values,
            obs=pd.DataFrame({"kind": Y, "who": WHO}, index=[f"cell{i}" for i in range(N)]),
            var=pd.DataFrame(index=NAMES),
        )
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
        data = read_table(tmp_path / f"{name}.h5ad", target="kind", task="who", ignore=["f1"])
        found = data.X.toarray() if sp.issparse(data.X) else data.X
        assert sp.issparse(data.X) == (name == "sparse")
        expected = values.toarray() if sp.issparse(values) else values
        np.testing.assert_array_equal(found, expected[:, [0, 2, 3]])
        np.testing.assert_array_equal(data.y, Y)
        np.testing.assert_array_equal(data.tasks, WHO)
        assert data.feature_names.tolist() == ["f0", "f2", "f3"]


def test_h5ad_without_its_library(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(TableError, match="needs the library of this format: pip install anndata"):
        read_table(tmp_path / "t.h5ad", target="y")


# All


@pytest.mark.parametrize("ending", sorted(ENDINGS))
def test_what_is_not_there(tmp_path, ending):
    if ending == ".h5ad":
        pytest.importorskip("anndata")
    with pytest.raises(TableError, match=rf"nowhere{ending}: No such file or directory"):
        read_table(tmp_path / f"nowhere{ending}", target="y")


def test_other_endings_and_pipes(tmp_path):
    with pytest.raises(TableError, match=r"t.xlsx: expected a name that ends in .csv, .csv.gz"):
        read_table(tmp_path / "t.xlsx", target="y")
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(TableError, match=r"t.csv: expected a file. Found a device or a pipe"):
        read_table(tmp_path / "t.csv", target="y")
