"""Groups of columns grown from pairs."""

import numpy as np

from latentsimplex.columns.dependence import make_polynomials, normal_scores, strongest_pairs
from latentsimplex.columns.grown_groups import fit_clusters, grow_groups


def draw(n=100, p=300, columns=6, seed=0):
    """Return noise of which the first columns show three clusters together."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.normal(size=(n, p))
    X[:, :columns] += 1.5 * rng.normal(size=(3, columns))[labels]
    return X, labels


def grow(X):
    scores = normal_scores(X)
    return grow_groups(scores, strongest_pairs(make_polynomials(scores), 1000))


def test_a_group_grows_to_the_columns_of_a_view():
    group = grow(draw()[0])[0]
    assert len(group) >= 4
    assert set(group) <= set(range(6))


def test_no_group_of_noise_is_believed():
    for seed in range(5):
        assert grow(draw(columns=0, seed=seed)[0]) == []


def test_groups_have_no_column_in_common_and_missing_cells_are_taken():
    X = np.hstack([draw(p=100, seed=1)[0], draw(p=100, seed=2)[0]])
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    members = [j for group in grow(X) for j in group]
    assert len(members) == len(set(members)) > 4


def test_evidence_is_a_log_likelihood_less_prices():
    X, labels = draw(n=60)
    z = normal_scores(X)[:, :3]
    shares, evidence = fit_clusters(
        z.T[None].astype(np.float32), np.eye(3, dtype=np.float32)[labels][None], 40, 300
    )
    R = shares[0].astype(float)
    means = (R.T @ z) / R.sum(axis=0)[:, None]
    variances = 1 - R.mean(axis=0) @ means**2
    densities = [
        np.log(R.mean(axis=0)[k])
        - 0.5 * ((z - means[k]) ** 2 / variances + np.log(2 * np.pi * variances)).sum(axis=1)
        for k in range(3)
    ]
    clustered = np.logaddexp.reduce(densities, axis=0).sum()
    alone = -0.5 * (z**2 + np.log(2 * np.pi)).sum()
    choices = np.log(300 * 299 * 298 / 6)
    assert abs(evidence[0] - (clustered - alone - 4 * np.log(60) - choices)) < 0.05


def test_strongest_pairs_are_in_order_and_no_more_than_asked_for():
    scores = normal_scores(draw(p=50)[0])
    polynomials = make_polynomials(scores)
    pairs = strongest_pairs(polynomials, 1000)
    np.testing.assert_array_equal(strongest_pairs(polynomials, 3), pairs[:3])
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert set(pairs[0]) <= set(range(6))
