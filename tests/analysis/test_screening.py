"""Views against covariates: exact on the data as they are, fair where nothing is there, and able to find."""

import datetime
import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kruskal, norm, skew
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.analysis import screening
from latentsimplex.analysis.screening import read_covariates, screen, screen_model, shuffled_statistics
from latentsimplex.base.checks import make_generator
from latentsimplex.base.table import Table
from latentsimplex.datasets import load_leukaemia
from made_model import made_model

SCORES = {
    "nmi": normalized_mutual_info_score,
    "ami": adjusted_mutual_info_score,
    "ari": adjusted_rand_score,
}


def study(seed=0, n=60, patterns=5):
    """Patterns without any relation to covariates of both kinds, some with missing values."""
    rng = np.random.default_rng(seed)
    labels = np.array([rng.integers(2 + k % 3, size=n) for k in range(patterns)])
    sex, site = rng.choice(["F", "M"], size=n), rng.choice(list("abcd"), size=n)
    site[rng.random(n) < 0.2] = ""
    age, score = rng.normal(60, 10, size=n), rng.integers(7, size=n).astype(float)
    age[rng.random(n) < 0.3] = np.nan
    return labels, {"sex": sex, "site": site, "age": age, "score": score}


def epsilon_squared(labels, values):
    groups = [values[labels == k] for k in np.unique(labels)]
    return kruskal(*groups).statistic / (len(values) - 1)


# Statistics


@pytest.mark.parametrize("statistic", SCORES)
def test_statistics_are_those_of_scikit_learn_and_scipy(statistic):
    labels, covariates = study()
    found = screen(labels, np.arange(5), covariates, statistic=statistic, n_permutations=5, random_state=0)
    assert found.kinds == ("categorical", "categorical", "numeric", "numeric")
    for c, (name, column) in enumerate(covariates.items()):
        present = column != "" if column.dtype.kind == "U" else ~np.isnan(column)
        assert found.n_samples[c] == present.sum()
        for l, own in enumerate(labels):
            if column.dtype.kind == "U":
                values = {s: score(own[present], column[present]) for s, score in SCORES.items()}
                assert np.isnan(found.effects["epsilon_squared"][l, c])
            else:
                values = {"epsilon_squared": epsilon_squared(own[present], column[present])}
                assert np.isnan(found.effects["nmi"][l, c])
            for effect, value in values.items():
                assert found.effects[effect][l, c] == pytest.approx(value, abs=1e-10), name
            chosen = statistic if column.dtype.kind == "U" else "epsilon_squared"
            assert found.statistics[l, c] == pytest.approx(values[chosen], abs=1e-10)
    np.testing.assert_array_equal(found.maxima, found.statistics.max(axis=0))
    assert repr(found) == "Screening(5 patterns, 4 covariates, 5 permutations)"


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_p_values_are_the_share_of_all_permutations(kind):
    labels = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 2, 2, 0]])
    codes = np.array([0, 0, 0, 0, 1, 2, 2])
    if kind == "categorical":
        column, score = np.array(list("abc"))[codes], normalized_mutual_info_score
    else:
        column, score = codes * 1.5, epsilon_squared
    naive = np.array(
        [[score(own, np.array(p)) for own in labels] for p in sorted(set(itertools.permutations(codes)))]
    )
    observed = np.array([score(own, codes) for own in labels])
    found = screen(labels, [0, 1], {"x": column}, n_permutations=20_000, random_state=0)
    error = 4 * np.sqrt(0.25 / 20_000)
    np.testing.assert_allclose(found.p_values[:, 0], (naive >= observed - 1e-9).mean(axis=0), atol=error)
    largest = (naive.max(axis=1) >= observed.max() - 1e-9).mean()
    np.testing.assert_allclose(found.maxima_p_values, [largest], atol=error)


def test_familywise_p_values_against_a_loop():
    labels, covariates = study(n=25, patterns=3)
    found = screen(labels, [0, 1, 2], covariates, n_permutations=60, random_state=3)
    orders = np.tile(np.arange(25), (61, 1))
    # the same draws as in the screening
    make_generator(3).permuted(orders[1:], axis=1, out=orders[1:])
    z = {}
    for name, column in covariates.items():
        text = column.dtype.kind == "U"
        present = np.flatnonzero(column != "" if text else ~np.isnan(column))
        score = normalized_mutual_info_score if text else epsilon_squared
        for l, own in enumerate(labels):
            T = []
            for order in orders:
                kept = [i for i in order if i in present]
                T.append(score(own[present], column[kept]))
            rest = np.sort(T)[:-1]
            t, g = (np.array(T) - rest.mean()) / rest.std(), skew(rest)
            reached = np.sum(np.array(T)[:, None] - 1e-9 <= np.array(T), axis=1)
            ranked = norm.isf((reached - 0.5) / 61)
            tail = np.maximum(6 / g * (np.cbrt(1 + g * t / 2) - 1) + g / 6, np.sort(ranked)[-11])
            z[l, name] = np.where(reached <= 10, tail, ranked)
    largest = np.max(list(z.values()), axis=0)
    for c, name in enumerate(covariates):
        for l in range(3):
            assert found.familywise[l, c] == pytest.approx(np.mean(largest >= z[l, name][0] - 1e-9))


def test_covariates_with_the_same_samples_are_shuffled_alike():
    labels, covariates = study(n=30)
    twins = {"one": covariates["site"], "two": covariates["site"]}
    found = screen(labels, np.arange(5), twins, n_permutations=50, random_state=0)
    np.testing.assert_array_equal(found.permuted_maxima[:, 0], found.permuted_maxima[:, 1])


def test_missing_samples_are_left_out_of_everything():
    labels, covariates = study()
    kept = covariates["site"] != ""
    orders = np.array([np.arange(60), np.arange(60)[::-1]])
    some, none = (
        read_covariates({"site": column}, len(column))[0]
        for column in (covariates["site"], covariates["site"][kept])
    )
    found = shuffled_statistics(labels.astype(np.int32), some, orders, "ari")
    m = kept.sum()
    alone = shuffled_statistics(
        np.ascontiguousarray(labels[:, kept], dtype=np.int32),
        none,
        np.array([np.arange(m), np.arange(m)[::-1]]),
        "ari",
    )
    np.testing.assert_allclose(found, alone)


# Control


def false_findings(n_trials, n_permutations, rng):
    """The shares of trials with a false finding at 5%: family-wise, by false discovery, by the first maximum."""
    found = np.zeros(3)
    for trial in range(n_trials):
        labels, covariates = study(seed=int(rng.integers(2**31)), n=40)
        s = screen(labels, np.arange(5), covariates, n_permutations=n_permutations, random_state=trial)
        found += [s.familywise.min() <= 0.05, s.false_discovery.min() <= 0.05, s.maxima_p_values[0] <= 0.05]
    return found / n_trials


def test_errors_where_nothing_is_there():
    rates = false_findings(300, 199, np.random.default_rng(0))
    error = 4 * np.sqrt(0.05 * 0.95 / 300)
    assert rates[0] == pytest.approx(0.05, abs=error)
    assert rates[1] <= 0.05 + error
    assert rates[2] == pytest.approx(0.05, abs=error)


@pytest.mark.slow
def test_errors_where_nothing_is_there_over_many_trials():
    rates = false_findings(4000, 399, np.random.default_rng(1))
    error = 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert rates[0] == pytest.approx(0.05, abs=error)
    assert rates[1] <= 0.05 + error
    assert rates[2] == pytest.approx(0.05, abs=error)


def beside_a_strong_link(n_trials, n_permutations, rng, milder):
    """The shares of trials that find a perfect link, a milder one (of such a shift), and one that is not there."""
    found = np.zeros(3)
    for trial in range(n_trials):
        labels, covariates = study(seed=int(rng.integers(2**31)), n=60)
        covariates["sex"] = labels[0].astype(str)
        covariates["score"] = milder * labels[1] + rng.normal(size=60)
        p = screen(
            labels, np.arange(5), covariates, n_permutations=n_permutations, random_state=trial
        ).familywise
        true = [0, 7] if milder else [0]
        found += [p[0, 0] <= 0.05, p[1, 3] <= 0.05, np.delete(p.ravel(), true).min() <= 0.05]
    return found / n_trials


def test_a_strong_link_does_not_hide_another():
    strong, milder, _ = beside_a_strong_link(40, 999, np.random.default_rng(2), milder=0.8)
    assert strong == 1
    assert milder > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("milder", [0.0, 0.8])
def test_a_strong_link_leaves_the_error_among_the_others_at_its_level(milder):
    strong, _, false = beside_a_strong_link(2000, 999, np.random.default_rng(3), milder)
    assert strong == 1
    assert false == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 2000))


@pytest.mark.slow
def test_strong_links_in_real_data_are_all_found():
    """B or T cells, and sex, each go with genes of their own; none hides another."""
    data = load_leukaemia()
    lineage = np.array([name[:1] for name in data.covariates["BT"]])
    known = {"sex": data.covariates["sex"], "age": data.covariates["age"], "cells": lineage}
    model = LatentSimplexPosition(views="columns", random_state=0).fit(data.expression[:, ::2])
    found = screen_model(model, known, random_state=0)
    strongest = found.p_values == 1 / 10_001
    assert strongest.any(axis=0).tolist() == [True, False, True]
    assert (found.familywise[strongest] <= 0.01).all()
    assert (found.familywise[:, 1] > 0.05).all()


def test_planted_links_are_found_and_nothing_else():
    rng = np.random.default_rng(5)
    labels, covariates = study(seed=5, n=90)
    covariates["sex"] = np.where(rng.random(90) < 0.85, np.array(["F", "M"])[labels[0]], covariates["sex"])
    covariates["score"] = labels[4] + rng.normal(0, 0.7, size=90)
    covariates["score"][:15] = np.nan
    views = np.repeat(np.arange(5), 3)
    found = screen(labels, views, covariates, n_permutations=2000, random_state=0)
    for adjusted in (found.familywise, found.false_discovery):
        assert np.argwhere(adjusted <= 0.05).tolist() == [[0, 0], [4, 3]]
    best = found.best_views()
    assert best["pattern"][[0, 3]].tolist() == [0, 4]
    assert best["view"][[0, 3]].tolist() == [0, 12]
    assert best["maximum_p_value"][[0, 3]].tolist() == [1 / 2001] * 2


def test_large_tables_do_not_drown_small_ones():
    """A clear link with two levels is found beside an unrelated covariate with many, whose raw NMI is larger."""
    rng = np.random.default_rng(6)
    labels = np.array([np.repeat([0, 1], 40), rng.integers(12, size=80)])
    sex = np.where(rng.random(80) < 0.85, labels[0], 1 - labels[0]).astype(str)
    many = rng.integers(20, size=80).astype(str)
    found = screen(labels, [0, 1], {"sex": sex, "many": many}, n_permutations=2000, random_state=0)
    assert found.statistics[0, 0] < found.statistics[1, 1]
    assert found.familywise[0, 0] <= 0.05 < found.familywise[1, 1]


def test_a_pattern_without_clusters_is_not_tested():
    labels, covariates = study(patterns=2)
    alone = screen(labels, [0, 1], covariates, n_permutations=200, random_state=0)
    found = screen(
        np.vstack([labels, np.zeros(60, dtype=int)]),
        [0, 1, 2],
        covariates,
        n_permutations=200,
        random_state=0,
    )
    np.testing.assert_allclose(found.statistics[2], 0, atol=1e-12)
    for p in (found.p_values, found.familywise, found.false_discovery):
        assert (p[2] == 1).all()
    np.testing.assert_array_equal(found.familywise[:2], alone.familywise)
    np.testing.assert_array_equal(found.false_discovery[:2], alone.false_discovery)


def test_a_covariate_that_names_samples_is_related_to_none():
    labels, _ = study(patterns=2)
    found = screen(labels, [0, 1], {"id": [f"s{i}" for i in range(60)]}, n_permutations=50, random_state=0)
    assert (found.p_values == 1).all()


def test_the_threshold_is_a_quantile_of_the_maxima():
    labels, covariates = study()
    found = screen(labels, np.arange(5), covariates, n_permutations=999, random_state=0)
    above = (found.permuted_maxima > found.threshold(0.1)).mean(axis=0)
    reached = (found.permuted_maxima >= found.threshold(0.1) - 1e-9).mean(axis=0)
    assert (above <= 0.101).all()
    assert (reached >= 0.099).all()
    with pytest.raises(ValueError, match="level=5 is not valid"):
        found.threshold(5)


def test_a_seed_fixes_the_answer():
    labels, covariates = study()
    one, same, other = (
        screen(labels, np.arange(5), covariates, n_permutations=50, random_state=seed).permuted_maxima
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


# Baselines


@pytest.mark.parametrize("statistic", SCORES)
def test_baselines_are_the_largest_over_random_labels(statistic, monkeypatch):
    labels, covariates = study(n=25)
    monkeypatch.setattr(screening, "SHUFFLED_AT_ONCE", 25 * 3)
    found = screen(
        labels,
        np.arange(5),
        covariates,
        statistic=statistic,
        n_permutations=10,
        baseline=True,
        random_state=2,
    )
    rng = make_generator(2)
    rng.permuted(np.tile(np.arange(25, dtype=np.int32), (10, 1)), axis=1)
    vectors = [(rng.random((m, 25)) < k / 10).astype(int) for k in range(1, 10) for m in (3, 2)]
    for c, column in enumerate(covariates.values()):
        text = column.dtype.kind == "U"
        kept = column != "" if text else ~np.isnan(column)
        score = SCORES[statistic] if text else epsilon_squared
        naive = [score(v[kept], column[kept]) for v in np.concatenate(vectors) if np.ptp(v[kept])]
        assert found.baselines[c] == pytest.approx(max(naive))
    assert found.best_views()["baseline"].tolist() == found.baselines.tolist()


def test_baselines_are_left_out_unless_asked_for():
    labels, covariates = study()
    found = screen(labels, np.arange(5), covariates, n_permutations=5, random_state=0)
    assert found.baselines is None
    assert "baseline" not in found.best_views().columns


# Tables


def test_views_of_a_pattern_share_its_numbers():
    labels, covariates = study()
    views = np.array([4, 0, 1, 2, 3, 0, 0])
    certainty = np.array([1, 0.5, 1, 1, 1, 0.9, 0.5])
    names = list("abcdefg")
    found = screen(
        labels, views, covariates, n_permutations=50, view_names=names, certainty=certainty, random_state=0
    )
    table = found.views("age")
    assert (np.diff(table["statistic"]) <= 0).all()
    same = [name for name, pattern in zip(table["view"], table["pattern"], strict=True) if pattern == 0]
    assert same == ["f", "b", "g"]  # by certainty, then in order
    for name, pattern, p in zip(table["view"], table["pattern"], table["p_value"], strict=True):
        assert pattern == views[names.index(name)]
        assert p == found.p_values[pattern, 2]
    with pytest.raises(
        ValueError, match="covariate='income' was not screened: choose one of sex, site, age, score"
    ):
        found.views("income")


def test_all_pairs_of_patterns_and_covariates():
    labels, covariates = study()
    found = screen(labels, np.arange(5), covariates, n_permutations=50, random_state=0)
    table = found.table()
    assert len(table) == 20
    assert (np.diff(table["p_value"]) >= 0).all()
    for row in range(20):
        l, c = table["pattern"][row], list(covariates).index(table["covariate"][row])
        assert table["familywise"][row] == found.familywise[l, c]


# Reading covariates


@pytest.mark.parametrize(
    ("column", "kind", "present", "values"),
    [
        (["F", "", "M", None], "categorical", [1, 0, 1, 0], [0, 1]),
        ([True, False, True, True], "categorical", [1, 1, 1, 1], [1, 0, 1, 1]),
        ([3, 1, 1, 2], "numeric", [1, 1, 1, 1], [1.5, -1, -1, 0.5]),
        ([3.0, np.nan, np.inf, 2.0], "numeric", [1, 0, 1, 1], [0, 1, -1]),
        ([3, None, 1, float("nan")], "numeric", [1, 0, 1, 0], [0.5, -0.5]),
        (
            np.array(["2020-01-02", "NaT", "2019-01-01", "2021"], "M8[ns]"),
            "numeric",
            [1, 0, 1, 1],
            [0, -1, 1],
        ),
        ([1, "1", 2, "x"], "categorical", [1, 1, 1, 1], [0, 0, 1, 2]),
        (
            [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1), ""],
            "categorical",
            [1, 0, 1, 0],
            [0, 1],
        ),
    ],
)
def test_columns(column, kind, present, values):
    (found,) = read_covariates({"x": column}, 4)
    assert found.kind == kind
    assert found.present.astype(int).tolist() == present
    assert found.values.tolist() == values


def test_numbers_that_name_levels():
    found = read_covariates({"batch": [3, 1, 1], "age": [3, 1, 1]}, 3, categorical=["batch"])
    assert [own.kind for own in found] == ["categorical", "numeric"]
    assert found[0].values.tolist() == [1, 0, 0]


def test_data_frames_and_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "grade": pandas.Categorical([2, 1, 1, 2]),
            "count": pandas.array([1, None, 3, 2], dtype="Int64"),
            "name": pandas.array(["a", "b", None, "a"]),
            "when": pandas.to_datetime(["2020-01-01", None, "2021-01-01", "2019-01-01"]),
        }
    )
    found = {own.name: own for own in read_covariates(frame, 4)}
    assert [own.kind for own in found.values()] == ["categorical", "numeric", "categorical", "numeric"]
    assert found["count"].values.tolist() == [-1, 1, 0]
    assert found["name"].present.tolist() == [True, True, False, True]
    assert found["when"].values.tolist() == [0, 1, -1]
    assert read_covariates(Table({"x": np.array([1, 2])}), 2)[0].kind == "numeric"


# Models


def model_of(labels, **settings):
    return made_model([np.eye(own.max() + 1)[own] for own in labels], [0, 1, 1], **settings)


def test_screening_of_a_model():
    labels, covariates = study(patterns=2)
    model = model_of(labels, view_names=["x", "y", "z"])
    responsibilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]])
    model = replace(model.results_, view_responsibilities=responsibilities)
    found = screen_model(model, covariates, n_permutations=99, random_state=0, statistic="ami")
    expected = screen(labels, [0, 1, 1], covariates, n_permutations=99, random_state=0, statistic="ami")
    np.testing.assert_array_equal(found.familywise, expected.familywise)
    assert found.view_names.tolist() == ["x", "y", "z"]
    assert found.certainty.tolist() == [0.9, 0.6, 0.9]


def test_frames_are_put_in_the_order_of_the_samples():
    pandas = pytest.importorskip("pandas")
    labels, covariates = study(patterns=2)
    names = [f"s{i}" for i in range(60)]
    model = model_of(labels, sample_names=names)
    frame = pandas.DataFrame({"sex": covariates["sex"], "score": covariates["score"]}, index=names)
    expected = screen_model(model, frame, n_permutations=9, random_state=0).statistics
    for other in (
        frame.iloc[::-1],
        pandas.concat([frame, frame.iloc[:3].rename(index=lambda s: s + "b")]).iloc[::-1],
        frame.reset_index(drop=True),  # no names: in order
    ):
        found = screen_model(model, other, n_permutations=9, random_state=0).statistics
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(
        ValueError, match="covariates has no row, or several, for sample 's0': give each sample one"
    ):
        screen_model(model, frame.iloc[1:])
    with pytest.raises(ValueError, match="no row, or several, for sample 's7'"):
        screen_model(model, pandas.concat([frame, frame.loc[["s7"]]]))


# Misuse


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        ({}, "There are no covariates: give a dict or a data frame"),
        ([[1, 2, 3]], "There are no covariates: give a dict or a data frame"),
        ({"x": [1, 2]}, r"covariates\['x'\] has shape \(2,\) and there are 3 samples: give one value each"),
        ({"x": [[1, 2, 3]]}, r"covariates\['x'\] has shape \(1, 3\)"),
        ({"x": ["", None, ""]}, r"covariates\['x'\] has no values at all: leave it out"),
        ({"x": [np.nan] * 3}, r"covariates\['x'\] has no values at all: leave it out"),
        ({"x": ["F", "", "F"]}, r"covariates\['x'\] is F wherever it has a value: leave it out"),
        ({"x": [2, np.nan, 2]}, r"covariates\['x'\] is 2\.0 wherever it has a value: leave it out"),
    ],
)
def test_refused_covariates(covariates, message):
    with pytest.raises(ValueError, match=message):
        screen([[0, 1, 1]], [0], covariates)


def test_refused_settings():
    labels, covariates = [[0, 1, 1], [0, 0, 1]], {"x": [1, 2, 3]}
    with pytest.raises(ValueError, match=r"pattern_labels has shape \(3,\)"):
        screen([0, 1, 1], [0], covariates)
    for views in ([0], [0, 2], [0, 1, 2], [[0, 1]], [0.5, 1]):
        with pytest.raises(
            ValueError, match="view_patterns does not hold each of 0 to 1: give each view its row"
        ):
            screen(labels, views, covariates)
    with pytest.raises(ValueError, match="statistic='chi2' is unknown: choose one of nmi, ami, ari"):
        screen(labels, [0, 1], covariates, statistic="chi2")
    with pytest.raises(ValueError, match="n_permutations=0 is not valid"):
        screen(labels, [0, 1], covariates, n_permutations=0)
    with pytest.raises(ValueError, match="categorical has 'y', which is not a covariate"):
        screen(labels, [0, 1], covariates, categorical=["y"])
    with pytest.raises(ValueError, match=r"view_names has shape \(1,\) for 2 views: give one per view"):
        screen(labels, [0, 1], covariates, view_names=["a"], n_permutations=1)
    with pytest.raises(ValueError, match="not fitted"):
        screen_model(LatentSimplexPosition(), covariates)
