"""How sure clusters are: against naive loops over samples, clusters and pairs."""

import itertools

import numpy as np
import pytest
from scipy.special import entr
from scipy.stats import entropy

from latentsimplex.base.kmeans import sample_rows
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import pair_reliability
from latentsimplex.uncertainty.doubtful_samples import (
    OTHERS,
    cluster_affinity,
    cluster_overlap,
    coassignment_uncertainty,
    membership_entropy,
    model_uncertainty,
    most_uncertain,
    pair_blocks,
    pair_entropy,
    sample_of_pairs,
    sample_uncertainty,
    uncertain_pairs,
)
from made_model import made_model


def memberships(n, k, seed=0):
    return np.random.default_rng(seed).dirichlet([0.5] * k, size=n)


# Samples


@pytest.mark.parametrize("k", [1, 2, 5])
def test_entropy_is_that_of_scipy(k):
    W = memberships(20, k)
    np.testing.assert_allclose(membership_entropy(W), entropy(W, axis=1), atol=1e-14)
    if k > 1:
        np.testing.assert_allclose(membership_entropy(W, normalised=True), entropy(W, base=k, axis=1))


def test_entropy_at_its_bounds():
    W = np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(membership_entropy(W, normalised=True), [0, 1])
    assert membership_entropy(np.ones((2, 1)), normalised=True).tolist() == [0, 0]


def test_samples_against_a_loop():
    W, labels = memberships(30, 4), np.random.default_rng(1).integers(4, size=30)
    table = sample_uncertainty(W, labels, names=[f"s{i}" for i in range(30)])
    for i, row in enumerate(W):
        others = {k: w for k, w in enumerate(row) if k != labels[i]}
        rival = max(others, key=others.get)
        assert table["sample"][i] == f"s{i}"
        assert (table["cluster"][i], table["runner_up"][i]) == (labels[i], rival)
        assert table["probability"][i] == row[labels[i]]
        assert table["margin"][i] == row[labels[i]] - row[rival]
    assert (table["margin"] < 0).any()  # labels that are not the most probable
    assert (sample_uncertainty(W)["margin"] >= 0).all()


def test_one_cluster_is_sure():
    table = sample_uncertainty(np.ones((3, 1)))
    assert table["runner_up"].tolist() == [-1] * 3
    assert table["margin"].tolist() == table["probability"].tolist() == [1.0] * 3


def test_affinity_against_a_loop():
    P, labels = CoAssignment(memberships(15, 3)), np.repeat([0, 1, 2, 3], [7, 5, 2, 1])
    dense, found = P.toarray(), cluster_affinity(P, labels)
    for i in range(15):
        for k in range(4):
            others = [dense[i, j] for j in range(15) if labels[j] == k and j != i]
            assert found[i, k] == pytest.approx(np.mean(others) if others else 0)
    table = coassignment_uncertainty(P, labels)
    own = found[np.arange(15), labels]
    found[np.arange(15), labels] = -1
    np.testing.assert_array_equal(table["runner_up"], found.argmax(axis=1))
    np.testing.assert_allclose(table["margin"], own - found.max(axis=1))


def test_the_least_sure_come_first():
    table = sample_uncertainty(memberships(40, 3))
    worst = most_uncertain(table, 5)
    assert worst["margin"].tolist() == sorted(table["margin"])[:5]
    vague = most_uncertain(table, 5, by="entropy")
    assert vague["entropy"].tolist() == sorted(table["entropy"])[:-6:-1]
    assert len(most_uncertain(table, 100)) == 40


def test_tables_of_a_model():
    first, second = memberships(12, 2, seed=3), memberships(12, 3, seed=4)
    names = [f"s{i}" for i in range(12)]
    model = made_model([first, second], [0, 1, 1], view_names=["a", "b", "c"], sample_names=names)
    by_view, by_pattern = model_uncertainty(model, view="c"), model_uncertainty(model, pattern=1)
    for table in (by_view, by_pattern):
        np.testing.assert_array_equal(table["probability"], second.max(axis=1))
        assert table["sample"].tolist() == names
    consensus = model_uncertainty(model)
    expected = cluster_affinity(model.consensus_.coassignment, model.labels_)[np.arange(12), model.labels_]
    np.testing.assert_array_equal(consensus["affinity"], expected)
    np.testing.assert_array_equal(consensus["cluster"], model.labels_)


# Clusters


def test_overlap_against_draws_and_a_loop():
    W = memberships(50, 4)
    table = cluster_overlap(W)
    assert len(table) == 6
    assert (np.diff(table["expected_samples"]) <= 0).all()
    for row in range(6):
        k, l = table["first"][row], table["second"][row]
        assert k < l
        assert table["mean_product"][row] == pytest.approx(np.mean([w[k] * w[l] for w in W]))
    rng = np.random.default_rng(0)
    one, two = ((W.cumsum(axis=1)[:, :, None] < rng.random((50, 1, 4000))).sum(axis=1) for _ in range(2))
    k, l = table["first"][0], table["second"][0]
    once_each = ((one == k) & (two == l)) | ((one == l) & (two == k))
    assert table["expected_samples"][0] == pytest.approx(once_each.sum(axis=0).mean(), rel=0.03)


def test_one_cluster_overlaps_with_none():
    assert len(cluster_overlap(np.ones((3, 1)))) == 0


# Pairs


@pytest.mark.usefixtures("small_tiles")
def test_blocks_are_all_pairs_in_order():
    P = CoAssignment(memberships(25, 3))
    blocks = list(pair_blocks(P))
    assert len(blocks) > 5
    pairs = [(start + r, start + 1 + c) for start, _, upper in blocks for r, c in np.argwhere(upper)]
    assert pairs == list(itertools.combinations(range(25), 2))
    np.testing.assert_allclose(np.concatenate([block[upper] for _, block, upper in blocks]), P.packed())


@pytest.mark.usefixtures("small_tiles")
def test_pairs_nearest_to_a_half():
    P = CoAssignment(memberships(25, 3))
    i, j = np.triu_indices(25, 1)
    p = P.packed()
    order = np.argsort(np.abs(p - 0.5), kind="stable")[:20]
    table = uncertain_pairs(P, 20)
    assert table["first"].tolist() == i[order].tolist()
    assert table["second"].tolist() == j[order].tolist()
    np.testing.assert_allclose(table["probability"], p[order])


@pytest.mark.usefixtures("small_tiles")
def test_tied_pairs_come_in_order():
    table = uncertain_pairs(CoAssignment(np.full((20, 2), 0.5)), 25, names=list("abcdefghijklmnopqrst"))
    assert "".join(table["first"]) == "a" * 19 + "b" * 6
    assert "".join(table["second"]) == "bcdefghijklmnopqrst" + "cdefgh"


def test_fewer_pairs_than_asked_for():
    assert len(uncertain_pairs(CoAssignment(np.eye(3)), 10)) == 3


@pytest.mark.usefixtures("small_tiles")
def test_entropy_of_pairs_against_a_loop():
    P = CoAssignment(memberships(20, 3))
    dense = P.toarray()
    for i, found in enumerate(pair_entropy(P)):
        own = [entropy([dense[i, j], 1 - dense[i, j]]) for j in range(20) if j != i]
        assert found == pytest.approx(np.mean(own))


# Misuse


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones(3), r"Memberships have shape \(3,\)"),
        (np.empty((0, 2)), r"Memberships have shape \(0, 2\)"),
        (np.array([[0.5, 0.6]]), "do not add up to 1"),
        (np.array([[1.5, -0.5]]), "negative"),
        (np.array([[np.nan, 1.0]]), "not finite"),
    ],
)
def test_refused_memberships(W, message):
    with pytest.raises(ValueError, match=message):
        sample_uncertainty(W)


def test_refused_labels_and_names():
    W = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match=r"labels has shape \(2,\) and there are 3 samples"):
        sample_uncertainty(W, [0, 1])
    with pytest.raises(ValueError, match="labels holds 2 and there are 2 clusters: number them from 0 to 1"):
        sample_uncertainty(W, [0, 1, 2])
    with pytest.raises(ValueError, match="whole numbers of 0 or more"):
        coassignment_uncertainty(CoAssignment(W), [0, 1, -1])
    with pytest.raises(ValueError, match="whole numbers of 0 or more"):
        coassignment_uncertainty(CoAssignment(W), [0.5, 1, 1])
    with pytest.raises(ValueError, match="names holds 1 names and there are 3 samples"):
        uncertain_pairs(CoAssignment(W), names=["a"])


def test_refused_counts_and_measures():
    table = sample_uncertainty(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match="n_samples=0 is not valid"):
        most_uncertain(table, 0)
    with pytest.raises(
        ValueError, match="by='cluster' is not a measure of this table: choose one of margin, prob"
    ):
        most_uncertain(table, by="cluster")
    with pytest.raises(ValueError, match=r"n_pairs=2\.5 is not valid"):
        uncertain_pairs(CoAssignment(np.eye(2)), 2.5)
    with pytest.raises(ValueError, match="Both view and pattern"):
        model_uncertainty(made_model([np.eye(2)], [0]), view=0, pattern=0)


def test_pairs_of_very_many_samples_are_those_of_a_part():
    rng = np.random.default_rng(0)
    P = CoAssignment(rng.dirichlet([0.3, 0.3, 0.3], size=10_050))
    some = sample_of_pairs(len(P))
    assert len(some) == 5_000
    found = pair_entropy(P)
    others = sample_rows(len(P), OTHERS)
    for i in (3, int(others[7])):
        p = P.factor[i] @ P.factor[np.setdiff1d(others, [i])].T
        np.testing.assert_allclose(found[i], (entr(p) + entr(1 - p)).mean())
    table = uncertain_pairs(P, 5)
    assert np.isin(table["first"], some).all()
    assert np.isin(table["second"], some).all()
    np.testing.assert_allclose(
        [P[i, j] for i, j in zip(table["first"], table["second"], strict=True)], table["probability"]
    )
    assert (np.abs(table["probability"] - 0.5) < 1e-4).all()
    assert pair_reliability(P, rng.integers(3, size=len(P))).counts.sum() == 5_000 * 4_999 // 2
