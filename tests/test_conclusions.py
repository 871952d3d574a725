"""Tests of differences against SciPy, longhand and brute force; conclusions of whole runs."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from experiments import tiny_data, tiny_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import made_results
from scipy import integrate, stats

from cosift.experiment import run
from cosift.experiment._cube import _rectangle
from cosift.experiment.conclusions import conclude
from cosift.experiment.results import Results
from cosift.experiment.significance import (
    corrected_t,
    critical_difference,
    friedman,
    groups,
    holm,
    holm_of_pairs,
    mean_ranks,
    signed_rank,
)

# Table 6 of Demšar (2006): areas under the curve of four variants of C4.5 on 14 data sets.  In the
# last row but one it prints 0.975 twice and ranks one above the other.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
METHODS = ["all-features", "fisher-score", "spec", "sfmc"]


# Tests of differences


def test_without_overlap_the_corrected_test_is_students():
    differences = np.random.default_rng(0).normal(0.01, 0.02, size=(3, 2, 5))
    ours = corrected_t(differences, 0.0)
    theirs = stats.ttest_1samp(differences, 0.0, axis=-1)
    interval = theirs.confidence_interval(0.95)
    np.testing.assert_allclose(ours.p, theirs.pvalue, rtol=1e-12)
    np.testing.assert_allclose([ours.low, ours.high], [interval.low, interval.high], rtol=1e-10)


@pytest.mark.parametrize(("n_repeats", "test_to_train"), [(2, 1.0), (5, 0.25), (5, 1.0), (10, 2.0)])
def test_corrected_p_values_are_uniform_where_the_correction_is_right(n_repeats, test_to_train):
    """With correlation rho = n_test / n between draws, t has exactly Student's distribution."""
    rng = np.random.default_rng(0)
    rho = test_to_train / (1.0 + test_to_train)
    common = rng.normal(size=(20_000, 1))
    own = rng.normal(size=(20_000, n_repeats))
    differences = np.sqrt(rho) * common + np.sqrt(1.0 - rho) * own
    assert stats.kstest(corrected_t(differences, test_to_train).p, "uniform").pvalue > 0.01
    covered = corrected_t(differences + 3.0, test_to_train)
    assert np.mean((covered.low < 3.0) & (covered.high > 3.0)) == pytest.approx(0.95, abs=0.006)
    # Without the correction the same draws look significant far too often.
    assert np.mean(corrected_t(differences, 0.0).p < 0.05) > 0.08


def test_what_cannot_be_tested_is_nan():
    once = corrected_t(np.array([[0.1]]), 1.0)
    assert once.mean == [0.1]
    assert np.isnan([once.low, once.high, once.p]).all()
    always = corrected_t(np.array([0.1, 0.1, 0.1]), 1.0)
    assert np.isnan([always.low, always.high, always.p]).all()
    never = corrected_t(np.zeros(3), 1.0)
    assert (never.mean, never.low, never.high, never.p) == (0.0, 0.0, 0.0, 1.0)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p):
    """An adjusted p-value is the largest of Bonferroni's over all sets that hold the test."""
    p = np.array(p)
    indices = range(len(p))
    sets = [s for size in range(1, len(p) + 1) for s in combinations(indices, size)]
    expected = [max(min(1.0, len(s) * p[list(s)].min()) for s in sets if i in s) for i in indices]
    np.testing.assert_allclose(holm(p), expected)


def test_holm_leaves_out_what_was_not_tested():
    adjusted = holm(np.array([np.nan, 0.01, 0.04, np.nan]))
    np.testing.assert_allclose(adjusted, [np.nan, 0.02, 0.04, np.nan])
    assert np.isnan(holm(np.array([np.nan]))).all()


def test_holm_counts_every_pair_once():
    p = np.array([[np.nan, 0.01, 0.02], [0.01, np.nan, 0.5], [0.02, 0.5, np.nan]])
    expected = [[np.nan, 0.03, 0.04], [0.03, np.nan, 0.5], [0.04, 0.5, np.nan]]
    np.testing.assert_allclose(holm_of_pairs(p), expected)


def test_ranks_and_friedman_of_a_published_example():
    ranks = mean_ranks(DEMSAR)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    n, k = DEMSAR.shape
    longhand = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert longhand == pytest.approx(9.28, abs=0.005)
    # The published statistic has no correction for ties; with it, it is divided by this.
    ties = [np.unique(row, return_counts=True)[1] for row in DEMSAR]
    correction = 1 - sum((t**3 - t).sum() for t in ties) / (n * (k**3 - k))
    found = friedman(DEMSAR)
    assert found.statistic == pytest.approx(longhand / correction)
    assert found.p == pytest.approx(stats.chi2.sf(longhand / correction, k - 1))
    assert found.n_blocks == 14


def test_friedman_of_nothing_but_ties_and_of_too_little():
    assert friedman(np.full((4, 3), 0.1 + 0.2)) == (0.0, 1.0, 4)
    assert np.isnan(friedman(np.eye(2))[:2]).all()
    assert np.isnan(friedman(np.array([[0.1, 0.2, 0.3]]))[:2]).all()


def test_rounding_errors_are_ties():
    np.testing.assert_array_equal(mean_ranks(np.array([[0.3, 0.1 + 0.2, 0.1]])), [[1.5, 1.5, 3]][0])


def test_nemenyis_constants_are_the_published_ones():
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(published, start=2):
        ours = critical_difference(k, 20) / np.sqrt(k * (k + 1) / 120)
        assert ours == pytest.approx(q, abs=1.1e-3)


@pytest.mark.parametrize("k", [2, 5, 9])
def test_nemenyis_constant_is_the_quantile_of_the_range_of_normals(k):
    """P(range <= x) integrates, over the least of k values, that the others are within x."""
    width = critical_difference(k, 6) / np.sqrt(k * (k + 1) / 36) * np.sqrt(2)

    def density(z):
        return k * stats.norm.pdf(z) * (stats.norm.cdf(z + width) - stats.norm.cdf(z)) ** (k - 1)

    assert integrate.quad(density, -10, 10)[0] == pytest.approx(0.95, abs=1e-6)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(4, 32).map(lambda i: i / 4), min_size=1, max_size=6),
    st.sampled_from([0.2, 0.75, 1.1, 9.0]),
)
def test_groups_are_the_largest_sets_within_the_critical_difference(ranks, critical):
    ranks = np.array(ranks)
    indices = range(len(ranks))
    sets = [set(s) for size in range(1, len(ranks) + 1) for s in combinations(indices, size)]
    near = [s for s in sets if np.ptp(ranks[list(s)]) < critical]
    largest = [s for s in near if not any(s < other for other in near)]
    found = groups(ranks, critical)
    assert {frozenset(group.tolist()) for group in found} == {frozenset(s) for s in largest}
    assert len(found) == len(largest)
    best = [ranks[group].min() for group in found]
    assert best == sorted(best)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(-4, 4).map(lambda i: i / 10), min_size=2, max_size=8))
def test_signed_rank_counts_all_signs(differences):
    differences = np.array(differences)
    ranks = stats.rankdata(np.abs(differences)) * (differences != 0)
    sums = np.array([np.dot(ranks, signs) for signs in product([-1, 1], repeat=len(ranks))])
    expected = np.mean(np.abs(sums) >= abs(np.dot(ranks, np.sign(differences))))
    assert signed_rank(differences) == pytest.approx(expected)


@pytest.mark.parametrize("n_blocks", [2, 5, 12, 40])
def test_signed_rank_without_ties_is_scipys(n_blocks):
    differences = np.random.default_rng(n_blocks).normal(0.3, 1.0, size=n_blocks)
    assert signed_rank(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_signed_rank_counted_and_approximated_agree_where_they_meet():
    rng = np.random.default_rng(0)
    counted = np.round(rng.normal(0.15, 1.0, size=50), 1)
    approximated = np.append(counted, 0.0)
    assert 0.02 < signed_rank(counted) < 0.2
    assert signed_rank(approximated) == pytest.approx(signed_rank(counted), rel=0.05)


def test_signed_rank_of_nothing():
    assert signed_rank(np.array([0.0, 1e-15])) == 1.0
    assert signed_rank(np.zeros(60)) == 1.0
    assert np.isnan(signed_rank(np.array([0.1])))


# What can be compared


def largest_rectangle(known):
    choices = product([False, True], repeat=known.shape[1])
    return max(
        known[:, np.array(columns)].all(axis=1).sum() * sum(columns)
        for columns in choices
        if any(columns)
    )


@pytest.mark.parametrize("n_done", range(13))
def test_of_an_interrupted_run_the_most_is_kept(n_done):
    known = (np.arange(12) < n_done).reshape(3, 4)
    rows, columns = _rectangle(known)
    assert len(rows) * len(columns) == largest_rectangle(known)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=4))
def test_what_is_kept_is_complete(known):
    known = np.array(known)
    rows, columns = _rectangle(known)
    assert known[np.ix_(rows, columns)].all()
    assert len(rows) * len(columns) >= known.sum(axis=1).max()


# Conclusions of runs


def values(n_repeats=5, n_shares=2, n_tasks=3, gains=(0.0, 0.01, 0.02, 0.06), seed=0):
    """A metric that grows by a gain with the method, with noise of 0.01."""
    rng = np.random.default_rng(seed)
    noise = 0.01 * rng.normal(size=(len(gains), n_repeats, n_shares, n_tasks))
    return 0.6 + noise + np.array(gains)[:, None, None, None]


def row(frame, **wanted):
    for name, value in wanted.items():
        frame = frame.filter(pl.col(name).is_null() if value is None else pl.col(name) == value)
    assert len(frame) == 1
    return frame.row(0, named=True)


@pytest.mark.parametrize("share", [None, 10.0, 50.0])
@pytest.mark.parametrize("task", [None, "task 1"])
def test_table_longhand(tmp_path, share, task):
    V = values()
    concluded = conclude(made_results(tmp_path, V, methods=METHODS, shares=(10.0, 50.0)))
    shares = [[10.0, 50.0].index(share)] if share else [0, 1]
    tasks = [1] if task else [0, 1, 2]
    series = {
        method: [
            np.mean([V[m, r, f, t] for f, t in product(shares, tasks)]) for r in range(V.shape[1])
        ]
        for m, method in enumerate(METHODS)
    }
    pairs = list(combinations(METHODS, 2))
    p = [corrected_t(np.subtract(series[a], series[b]), 1.0).p.item() for a, b in pairs]
    adjusted = dict(zip(pairs, holm(np.array(p)), strict=True))
    for method in METHODS:
        found = row(concluded.table, method=method, labeled_percent=share, task=task)
        assert found["mean"] == pytest.approx(np.mean(series[method]))
        assert found["std"] == pytest.approx(np.std(series[method], ddof=1))
        assert found["n"] == 5
        assert found["best"] == (method == "sfmc")
        assert found["tied"] == (method != "sfmc" and adjusted[method, "sfmc"] > 0.05)
        if method != "sfmc" and task is None:
            pair = row(concluded.paired, method=method, labeled_percent=share)
            test = corrected_t(np.subtract(series["sfmc"], series[method]), 1.0)
            assert pair["best"] == "sfmc"
            assert [pair[name] for name in ("difference", "low", "high", "p")] == pytest.approx(
                [float(x) for x in test]
            )
            assert pair["p_holm"] == pytest.approx(adjusted[method, "sfmc"])
            assert pair["n"] == 5
    assert len(concluded.table) == 4 * 3 * 4
    assert len(concluded.paired) == 3 * 3


def test_ranks_over_tasks_longhand(tmp_path):
    V = values(n_tasks=8)
    concluded = conclude(made_results(tmp_path, V, methods=METHODS, shares=(10.0, 50.0)))
    by_task = np.array([[V[m, :, :, t].mean() for m in range(4)] for t in range(8)])
    ranks = dict(zip(METHODS, stats.rankdata(-by_task, axis=1).mean(axis=0), strict=True))
    assert dict(concluded.ranks.select("method", "mean_rank").iter_rows()) == ranks
    assert concluded.ranks["mean_rank"].is_sorted()
    assert concluded.friedman[:2] == pytest.approx(stats.friedmanchisquare(*by_task.T))
    assert concluded.critical_difference == critical_difference(4, 8)
    by_rank = sorted(METHODS, key=ranks.get)
    expected = groups(np.array([ranks[m] for m in by_rank]), concluded.critical_difference)
    assert concluded.groups == tuple(tuple(by_rank[i] for i in g) for g in expected)
    # The best differs from each of the others in every task: 2 of 2**8 signs, times six pairs.
    assert row(concluded.ranks, method="spec")["p"] == 2 / 2**8
    assert concluded.ranks["p"].to_list()[0] is None
    others = [stats.wilcoxon(by_task[:, a] - by_task[:, b]).pvalue for a, b in PAIRS]
    adjusted = dict(zip(PAIRS, holm(np.array(others)), strict=True))
    assert row(concluded.ranks, method="fisher-score")["p_holm"] == pytest.approx(adjusted[1, 3])


PAIRS = list(combinations(range(4), 2))


@pytest.mark.parametrize("order", [(3, 1, 0, 2), (2, 3, 1, 0)])
def test_the_order_of_methods_means_nothing(tmp_path, order):
    V = values()
    V[1] = V[3]  # two winners
    one = conclude(made_results(tmp_path / "1", V, methods=METHODS))
    names = [METHODS[i] for i in order]
    other = conclude(made_results(tmp_path / "2", V[list(order)], methods=names))
    assert one.best == other.best == "fisher-score"
    for frame in ("table", "paired", "ranks"):
        keys = [key for key in ("method", "labeled_percent", "task") if key in one.table]
        keys = [key for key in keys if key in getattr(one, frame).columns]
        a, b = (getattr(c, frame).sort(keys) for c in (one, other))
        assert a.select(keys).equals(b.select(keys))
        for column in set(a.columns) - set(keys):
            assert a[column].to_list() == pytest.approx(b[column].to_list(), nan_ok=True)
    assert one.groups == other.groups
    assert "sfmc has the same" in one.summary
    assert one.summary == other.summary


def test_a_clear_winner_is_said_to_be_one(tmp_path):
    concluded = conclude(made_results(tmp_path, values(), methods=METHODS, shares=(10.0, 50.0)))
    spec = row(concluded.paired, method="spec", labeled_percent=None)
    assert spec["p_holm"] < 0.05
    assert concluded.best == "sfmc"
    assert concluded.summary.startswith("sfmc has the highest mean average precision, 0.66")
    assert "averaged over 3 tasks, 2 shares of labels and 5 repeats; spec comes next" in (
        concluded.summary
    )
    assert f"{spec['difference']:.3f} below (95% interval {spec['low']:.3f}" in concluded.summary
    assert "which is significant" in concluded.summary
    assert "corrected for 6 pairs" in concluded.summary
    assert "(oracle)" in concluded.summary
    assert concluded.n_unused == 0


def test_a_narrow_winner_is_not(tmp_path):
    V = values(gains=(0.0, 0.001, -0.1), n_tasks=1)
    results = made_results(tmp_path, V, methods=METHODS[:3], tuning="cv")
    concluded = conclude(results)
    assert "which is not significant (p = " in concluded.summary
    assert "(cv)" in concluded.summary
    assert "oracle" not in concluded.summary
    tied = row(concluded.table, method="all-features", labeled_percent=10.0, task=None)
    assert tied["best"] != tied["tied"]
    assert "significantly better than spec, but not than" in concluded.summary


@pytest.mark.parametrize(("gain", "says"), [(0.2, "differ ("), (0.0, "do not differ significant")])
def test_friedman_in_words(tmp_path, gain, says):
    V = values(gains=(0.0, gain, 2 * gain), n_tasks=6)
    concluded = conclude(made_results(tmp_path, V, methods=METHODS[:3]))
    assert any(says in note and "6 tasks" in note for note in concluded.notes)


def test_one_repeat_is_never_significant(tmp_path):
    concluded = conclude(made_results(tmp_path, values(n_repeats=1), methods=METHODS))
    assert concluded.paired["p"].null_count() == len(concluded.paired)
    assert "cannot be tested with one repeat" in concluded.summary
    assert "significantly" not in concluded.summary
    others = concluded.table.filter(~pl.col("best"))
    assert others["tied"].null_count() == len(others)
    assert concluded.table["std"].null_count() == len(concluded.table)


def test_equal_repeats_are_never_significant(tmp_path):
    V = np.repeat(values(n_repeats=1), 4, axis=1)
    concluded = conclude(made_results(tmp_path, V, methods=METHODS, split="rows"))
    assert "the repeats do not differ" in concluded.summary
    assert concluded.paired["p"].null_count() == len(concluded.paired)


def test_one_task_says_nothing_of_others(tmp_path):
    concluded = conclude(made_results(tmp_path, values(n_tasks=1), methods=METHODS))
    assert concluded.friedman is None
    assert concluded.critical_difference is None
    assert concluded.groups == ()
    assert concluded.ranks["mean_rank"].to_list() == [1, 2, 3, 4]
    assert any("need two tasks" in note for note in concluded.notes)


def test_few_tasks_cannot_tell_methods_apart(tmp_path):
    concluded = conclude(made_results(tmp_path, values(n_tasks=2), methods=METHODS))
    assert concluded.critical_difference > 3
    assert len(concluded.groups) == 1
    assert any("no pair can be told apart" in note for note in concluded.notes)


def test_one_method_has_nothing_to_win(tmp_path):
    concluded = conclude(made_results(tmp_path, values()[:1], methods=METHODS[:1]))
    assert concluded.best is None
    assert concluded.methods == ("all-features",)
    assert "no other method to compare it with" in concluded.summary
    assert not concluded.table["best"].any()
    assert concluded.paired.is_empty()
    assert concluded.ranks.is_empty()


def test_no_result_at_all(tmp_path):
    concluded = conclude(made_results(tmp_path, np.full((4, 2, 1, 2), np.nan), methods=METHODS))
    assert concluded.best is None
    assert "nothing to conclude" in concluded.summary
    assert concluded.table["mean"].null_count() == len(concluded.table) == 4 * 2 * 3
    assert concluded.table["n"].to_list() == [0] * 24
    assert "0 of 8 units" in concluded.notes[0]


def test_no_two_methods_on_the_same_draw(tmp_path):
    V = values(n_repeats=4, n_shares=1)
    V[~np.eye(4, dtype=bool)] = np.nan
    concluded = conclude(made_results(tmp_path, V, methods=METHODS))
    assert concluded.methods == ()
    assert "nothing compares" in concluded.summary
    assert row(concluded.table, method="spec", labeled_percent=10.0, task=None)["n"] == 1


@pytest.mark.parametrize("n_done", [1, 2, 5, 9, 17, 23])
def test_an_interrupted_run_compares_what_is_paired(tmp_path, n_done):
    """Units run by repeat, then share, then method, as in a plan."""
    V = values(n_repeats=3, gains=(0.0, 0.01, 0.02, 0.03))
    done = (np.arange(24) < n_done).reshape(3, 2, 4).transpose(2, 0, 1)
    full, partial = V.copy(), V.copy()
    partial[~done] = np.nan
    concluded = conclude(made_results(tmp_path, partial, methods=METHODS, shares=(10.0, 50.0)))
    assert f"{n_done} of 24 units" in concluded.notes[0]
    some = done.any(axis=(1, 2))
    assert concluded.methods == tuple(np.array(METHODS)[some])
    known = done[some].all(axis=0)
    rows, columns = _rectangle(known)
    assert concluded.n_unused == n_done - some.sum() * len(rows) * len(columns)
    for m in np.flatnonzero(some):
        found = row(concluded.table, method=METHODS[m], labeled_percent=None, task=None)
        assert found["mean"] == pytest.approx(full[m][np.ix_(rows, columns)].mean())
        assert found["n"] == len(rows)


def test_a_method_that_keeps_failing_is_left_out(tmp_path):
    V = values(n_repeats=4)
    failed = {(2, r, f) for r in range(4) for f in range(2) if (r, f) != (0, 0)}
    results = made_results(tmp_path, V, methods=METHODS, shares=(10.0, 50.0), failed=failed)
    concluded = conclude(results)
    assert concluded.methods == ("all-features", "fisher-score", "sfmc")
    assert any("Not compared, for lack of results: spec." in note for note in concluded.notes)
    assert "25 of 32 units have a result and 7 failed" in concluded.notes[0]
    assert concluded.n_unused == 1
    found = row(concluded.table, method="spec", labeled_percent=10.0, task=None)
    assert (found["n"], found["best"], found["tied"]) == (1, False, None)
    assert found["mean"] == pytest.approx(V[2, 0, 0].mean())
    assert row(concluded.table, method="sfmc", labeled_percent=10.0, task=None)["n"] == 4


def test_a_single_failure_costs_its_draw(tmp_path):
    V = values(n_repeats=5, n_shares=1)
    concluded = conclude(made_results(tmp_path, V, methods=METHODS, failed={(2, 1, 0)}))
    assert concluded.methods == tuple(METHODS)
    assert concluded.n_unused == 3
    kept = [0, 2, 3, 4]
    found = row(concluded.table, method="sfmc", labeled_percent=10.0, task="task 0")
    assert found["mean"] == pytest.approx(V[3, kept, 0, 0].mean())
    assert found["n"] == 4
    assert any("repeats 1, 3, 4 and 5 at 10% of the labels" in note for note in concluded.notes)


def test_a_metric_undefined_somewhere(tmp_path):
    V = values(n_shares=1)
    V[:, 2, 0, 1] = np.nan
    V[:, :, 0, 2] = np.nan
    concluded = conclude(made_results(tmp_path, V, methods=METHODS))
    assert any("tasks task 2." in note for note in concluded.notes)
    assert concluded.table["task"].unique().to_list().count("task 2") == 0
    assert row(concluded.table, method="sfmc", labeled_percent=10.0, task=None)["n"] == 4
    assert concluded.n_unused == 0


def test_a_real_run(tmp_path):
    data = tiny_data()
    run(tiny_plan(data), data, tmp_path)
    results = Results(tmp_path)
    for metric in ("map", "accuracy", "macro_f1", "auc", "recovery"):
        concluded = conclude(results, metric)
        assert concluded.methods == results.plan.methods
        means = results.means.filter(pl.col("metric") == metric)
        for method, share in product(results.plan.methods, (20.0, 100.0)):
            own = means.filter((pl.col("method") == method) & (pl.col("labeled_percent") == share))
            found = row(concluded.table, method=method, labeled_percent=share, task=None)
            assert found["mean"] == pytest.approx(own["value"].mean())
        with pytest.raises(AttributeError):
            concluded.best = "mine"
    with pytest.raises(ValueError, match=r"metric must be one of 'map'.* Got 'mse'"):
        conclude(results, "mse")
