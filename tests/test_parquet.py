"""Parquet files in chunks, and ``cosift select --scheduler`` on them."""

import json

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
from commands import here, refusal
from dask.distributed import LocalCluster
from sklearn.preprocessing import StandardScaler

from cosift import SFMC
from cosift.cli import _run
from cosift.datasets import TableError, make_related_tasks, read_table, scan_parquet

MADE = make_related_tasks(2, 40, 6, labeled=0.4, n_classes=2, n_shared=3, n_private=1)
MIXED = np.random.default_rng(0).permutation(80)
X, TASKS = MADE.X[MIXED], [f"p{task}" for task in MADE.tasks[MIXED].tolist()]
KIND = [None if label == -1 else "yes" if label else "no" for label in MADE.y[MIXED].tolist()]
FRAME = pl.DataFrame({f"f{j}": column for j, column in enumerate(X.T)}).with_columns(
    person=pl.Series(TASKS), kind=pl.Series(KIND)
)
ROLES = {"target": "kind", "task": "person"}


@pytest.fixture
def folder(tmp_path):
    """Files of 50 and 30 rows, and one of none."""
    path = tmp_path / "people"
    path.mkdir()
    FRAME[:50].write_parquet(path / "1.parquet", row_group_size=20)
    FRAME[:0].write_parquet(path / "2.parquet")
    FRAME[50:].write_parquet(path / "3.parquet")
    return path


@pytest.fixture(scope="module")
def scheduler():
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


class TestScan:
    @pytest.mark.parametrize("rows", [7, 30, 1_000])
    def test_reads_as_all_at_once(self, rows, folder):
        found, expected = scan_parquet(folder, **ROLES, rows=rows), read_table(folder, **ROLES)
        assert isinstance(found.X, da.Array)
        assert max(found.X.chunks[0]) <= rows
        assert 50 in np.cumsum(found.X.chunks[0])
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.y, expected.y)
        np.testing.assert_array_equal(found.tasks, expected.tasks)
        np.testing.assert_array_equal(found.feature_names, expected.feature_names)
        assert found.describe().startswith(expected.describe())
        assert f"chunks: {found.X.numblocks[0]} of at most" in found.describe()

    def test_order_of_columns_goes_by_the_first_file(self, folder):
        FRAME[50:].select(FRAME.columns[::-1]).write_parquet(folder / "3.parquet")
        np.testing.assert_array_equal(scan_parquet(folder, **ROLES).X, X)

    def test_keeps_single_precision(self, tmp_path):
        numbers = pl.DataFrame(X.astype(np.float32)).with_columns(kind=pl.Series(KIND))
        numbers.write_parquet(tmp_path / "single.parquet")
        found = scan_parquet(tmp_path / "single.parquet", target="kind").X
        assert (found.dtype, found.compute().dtype) == (np.float32, np.float32)
        mixed = numbers.with_columns(pl.col("column_0").cast(pl.Int64))
        mixed.write_parquet(tmp_path / "mixed.parquet")
        found = scan_parquet(tmp_path / "mixed.parquet", target="kind").X
        assert (found.dtype, found.compute().dtype) == (np.float64, np.float64)

    def test_reads_samples_only_when_asked(self, folder):
        found = scan_parquet(folder, **ROLES, rows=20).X
        (folder / "3.parquet").write_bytes(b"gone")
        np.testing.assert_array_equal(found[:50], X[:50])
        with pytest.raises(TableError, match=r"3.parquet: cannot be read as Parquet"):
            found.compute()

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (lambda f: f.drop("f3"), "expected the columns of .*1.parquet. Not in both: 'f3'"),
            (lambda f: f.with_columns(f9=1.0), "Not in both: 'f9'"),
        ],
    )
    def test_refuses_files_that_differ(self, change, told, folder):
        change(FRAME[50:]).write_parquet(folder / "3.parquet")
        with pytest.raises(TableError, match=told):
            scan_parquet(folder, **ROLES)

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"target": "knid"}, "Did you mean 'kind'"),
            ({"target": "kind"}, "features must be numbers. Found String in 'person'"),
            ({"target": "kind", "ignore": ["persons", "person"]}, "no column 'persons'"),
            ({"target": "kind", "ignore": FRAME.columns}, "80 rows and 0 features"),
            ({}, "features must be numbers"),
        ],
    )
    def test_refuses_as_read_table_does(self, settings, told, folder):
        with pytest.raises(TableError, match=told):
            scan_parquet(folder, **settings)

    def test_refuses_other_formats(self, tmp_path):
        FRAME.write_csv(tmp_path / "people.csv")
        for name in ("people.csv", "nothing.parquet", "."):
            with pytest.raises(TableError, match=r"only Parquet|No such file|Found none"):
                scan_parquet(tmp_path / name, **ROLES)


class TestSelect:
    OPTIONS = ("--target", "kind", "--task", "person", "-k", 3)

    def test_on_a_cluster_ranks_as_the_selector_does(self, folder, scheduler):
        weights = ["--alpha", 0.3, "--gamma", 2]
        done = here("select", folder, *self.OPTIONS, *weights, "--scheduler", scheduler, "--json")
        chunked = da.from_array(StandardScaler().fit_transform(X), chunks=((50, 30), 6))
        selector = SFMC(alpha=0.3, gamma=2, n_features_to_select=3)
        selector.fit(chunked, np.array(KIND, dtype=object), TASKS)
        best = np.argsort(selector.ranking_)[:3]
        found = json.loads(done.stdout)
        assert [line["feature"] for line in found["features"]] == [f"f{j}" for j in best]
        assert [line["score"] for line in found["features"]] == pytest.approx(
            selector.scores_[best]
        )
        assert found["certificate"]["objective"] == pytest.approx(selector.objective_)

    def test_missing_values_are_told(self, folder, scheduler):
        broken = FRAME[50:].with_columns(f1=pl.Series([*X[50:79, 1], None]))
        broken.write_parquet(folder / "3.parquet")
        for scaling in ("standard", "none"):
            options = ["--scheduler", scheduler, "--scaling", scaling]
            told = refusal("select", folder, *self.OPTIONS, *options)
            assert "contains NaN" in told
            assert "in this chunk: 1, the first at row 79, column 1" in told

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (["--scheduler", "local", "--reduced", "small.csv"], "--scheduler holds none"),
            (["--scheduler", "tcp://127.0.0.1:1", "--workers", 2], "a cluster has its own"),
            (["--scheduler", "tcp://127.0.0.1:1"], "No Dask scheduler answers"),
        ],
    )
    def test_bad_usage(self, options, told, folder, monkeypatch):
        monkeypatch.setattr("cosift.experiment.backends.PATIENCE", 0.2)
        assert told in refusal("select", folder, *self.OPTIONS, *options)

    def test_methods_that_need_all_say_so(self, folder, scheduler):
        options = ["--scheduler", scheduler, "--method", "fisher-score"]
        assert "takes no Dask array" in refusal("select", folder, *self.OPTIONS, *options)
        told = refusal("select", folder, folder, *self.OPTIONS, "--scheduler", scheduler)
        assert "one Parquet file or one folder" in told


def test_a_cluster_is_in_charge_only_for_the_while(scheduler):
    with _run.cluster(None, scheduler):
        (worker,) = dask.compute(dask.delayed(_worker)())
        assert worker is not None
    assert dask.compute(dask.delayed(_worker)()) == (None,)


def _worker():
    """Address of the worker that runs this, if one does."""
    from dask.distributed import get_worker

    try:
        return get_worker().address
    except ValueError:
        return None
