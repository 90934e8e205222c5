"""Draws and losses against their definitions, in plain loops and by enumeration."""

import subprocess
import sys
from itertools import combinations, product
from math import log

import numpy as np
import pytest

from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty import partition_losses
from latentsimplex.uncertainty.partition_losses import (
    binder_loss,
    draw_consensus,
    draw_partitions,
    expected_binder,
    expected_vi,
    expected_vi_bound,
    to_xarray,
    variation_of_information,
)

N_DRAWS = 40_000
COSTS = [(1.0, 1.0), (2.0, 0.5)]


def memberships(n, g, seed, concentration=0.5):
    return np.random.default_rng(seed).dirichlet([concentration] * g, size=n)


def together(draws):
    """Share of the draws in which each pair meets."""
    return np.mean([np.equal.outer(row, row) for row in draws], axis=0)


def off_diagonal(P):
    return P[~np.eye(len(P), dtype=bool)]


def naive_binder(c, z, a=1.0, b=1.0):
    pairs = list(combinations(range(len(c)), 2))
    apart = sum(z[i] == z[j] and c[i] != c[j] for i, j in pairs)
    joined = sum(z[i] != z[j] and c[i] == c[j] for i, j in pairs)
    return (a * apart + b * joined) / len(pairs)


def naive_vi(c, z, a=1.0, b=1.0):
    """b H(z|c) + a H(c|z), by the conditional probabilities of each sample."""
    total = 0.0
    for i in range(len(c)):
        same_c = sum(c[j] == c[i] for j in range(len(c)))
        same_z = sum(z[j] == z[i] for j in range(len(c)))
        both = sum(c[j] == c[i] and z[j] == z[i] for j in range(len(c)))
        total += b * log(same_c / both) + a * log(same_z / both)
    return total / len(c)


def all_draws(W):
    """Every labelling that memberships allow, and its probability."""
    n, g = W.shape
    labels = np.array(list(product(range(g), repeat=n)))
    return labels, W[np.arange(n), labels].prod(axis=1)


def test_pairs_meet_as_often_as_memberships_say():
    W = memberships(12, 4, seed=0)
    draws = draw_partitions(W, N_DRAWS, random_state=0)
    error = np.abs(together(draws) - W @ W.T)
    assert off_diagonal(error).max() < 4.5 * np.sqrt(0.25 / N_DRAWS)


def test_labels_are_drawn_from_each_row():
    W = memberships(6, 5, seed=1)
    draws = draw_partitions(W, N_DRAWS, random_state=1)
    shares = np.array([np.bincount(column, minlength=5) for column in draws.T]) / N_DRAWS
    assert np.abs(shares - W).max() < 4.5 * np.sqrt(0.25 / N_DRAWS)


def test_samples_are_drawn_independently():
    """Three at once, which pairs alone cannot tell."""
    W = memberships(3, 2, seed=2)
    labels, probabilities = all_draws(W)
    codes = draw_partitions(W, N_DRAWS, random_state=2) @ np.array([4, 2, 1])
    found = np.bincount(codes, minlength=8) / N_DRAWS
    assert np.abs(found - probabilities[np.argsort(labels @ [4, 2, 1])]).max() < 4.5 * np.sqrt(0.25 / N_DRAWS)


def test_clusters_of_no_probability_are_never_drawn():
    W = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.3, 0.7, 0.0]])
    draws = draw_partitions(W, 1000, random_state=0)
    assert (draws[:, 0] == 1).all()
    assert set(draws[:, 1].tolist()) == {1, 2}


def test_draws_take_the_smallest_type_and_do_not_depend_on_blocks(monkeypatch):
    W = memberships(7, 3, seed=3)
    whole = draw_partitions(W, 50, random_state=3)
    monkeypatch.setattr(partition_losses, "BLOCK_VALUES", 20)
    assert (draw_partitions(W, 50, random_state=3) == whole).all()
    assert whole.dtype == np.uint8
    wide = np.full((2, 300), 1 / 300)
    assert draw_partitions(wide, 5, random_state=0).dtype == np.uint16


def test_draws_of_a_consensus_meet_as_its_co_assignment_says():
    W = [memberships(8, 2, seed=4), memberships(8, 3, seed=5), memberships(8, 4, seed=6)]
    shares = np.array([2.0, 0.0, 1.0])
    draws = draw_consensus(W, shares, N_DRAWS, random_state=4)
    P = sum(share * V @ V.T for share, V in zip(shares / 3, W, strict=True))
    assert off_diagonal(np.abs(together(draws) - P)).max() < 4.5 * np.sqrt(0.25 / N_DRAWS)


def test_a_draw_of_a_consensus_follows_one_pattern_throughout():
    """With hard patterns every draw is one of them, which no independent draws of samples could be."""
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    draws = draw_consensus([np.eye(2)[first], np.eye(2)[second]], [1, 1], 200, random_state=0)
    assert {tuple(row) for row in draws.tolist()} == {(0, 0, 1, 1), (0, 1, 0, 1)}


def test_refused_memberships():
    for bad, message in [
        (np.ones(3), r"Memberships have shape \(3,\)"),
        (np.ones((2, 2)), "do not add up to 1 in each row: give probabilities"),
        ([[1.5, -0.5]], "do not add up to 1 in each row: give probabilities"),
        ([[np.nan, 1.0]], "do not add up to 1 in each row: give probabilities"),
    ]:
        with pytest.raises(ValueError, match=message):
            draw_partitions(bad, 3)
    with pytest.raises(ValueError, match="n_draws=0 is not valid"):
        draw_partitions(np.ones((2, 1)), 0)
    with pytest.raises(ValueError, match=r"memberships\[1\] are negative, not finite"):
        draw_consensus([np.ones((2, 1)), np.zeros((2, 1))], [1, 1], 3)
    two = [np.ones((2, 1)), np.ones((2, 1))]
    for shares in ([1.0], [0.0, 0.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="are not the shares of 2 patterns"):
            draw_consensus(two, shares, 3)
    with pytest.raises(ValueError, match=r"memberships have \[2, 3\] rows"):
        draw_consensus([np.ones((2, 1)), np.ones((3, 1))], [1, 1], 3)


@pytest.mark.parametrize("n_clusters", [1, 3, 9])
def test_distances_against_loops(n_clusters):
    rng = np.random.default_rng(n_clusters)
    c = rng.integers(0, 3, size=9)
    others = rng.integers(0, n_clusters, size=(4, 5, 9))
    vi, binder = variation_of_information(c, others), binder_loss(c, others)
    assert vi.shape == binder.shape == (4, 5)
    for index in np.ndindex(4, 5):
        assert vi[index] == pytest.approx(naive_vi(c, others[index]), abs=1e-12)
        assert binder[index] == pytest.approx(naive_binder(c, others[index]), abs=1e-12)


def test_distances_are_metrics_and_know_no_names():
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 4, size=(3, 30))
    for distance in (variation_of_information, binder_loss):
        assert distance(a, (3 * a + 7) % 11) == pytest.approx(0.0, abs=1e-12)
        assert distance(a, b) == pytest.approx(distance(b, a))
        assert distance(a, c) <= distance(a, b) + distance(b, c)
    halves, whole = np.arange(8) % 2, np.zeros(8, dtype=int)
    assert variation_of_information(halves, whole) == pytest.approx(log(2))
    assert binder_loss(np.arange(8), whole) == pytest.approx(1.0)


@pytest.mark.parametrize(("a", "b"), COSTS)
def test_expected_losses_are_means_over_draws(a, b):
    rng = np.random.default_rng(2)
    draws, c = rng.integers(0, 4, size=(11, 8)), rng.integers(0, 3, size=8)
    assert expected_vi(c, draws, (a, b)) == pytest.approx(np.mean([naive_vi(c, z, a, b) for z in draws]))
    expected = np.mean([naive_binder(c, z, a, b) for z in draws])
    assert expected_binder(c, draws, (a, b)) == pytest.approx(expected)
    assert expected_binder(c, together(draws), (a, b)) == pytest.approx(expected)


@pytest.mark.parametrize(("a", "b"), COSTS)
def test_binder_needs_co_assignments_alone(a, b):
    W = memberships(6, 3, seed=7)
    labels, probabilities = all_draws(W)
    c = np.array([0, 0, 1, 2, 1, 1])
    exact = sum(p * naive_binder(c, z, a, b) for z, p in zip(labels, probabilities, strict=True))
    assert expected_binder(c, CoAssignment(W), (a, b)) == pytest.approx(exact)
    assert expected_binder(c, W @ W.T, (a, b)) == pytest.approx(exact)


@pytest.mark.parametrize(("a", "b"), COSTS)
def test_bound_by_its_formula_and_by_jensen(a, b):
    W = memberships(6, 3, seed=8)
    P = W @ W.T
    np.fill_diagonal(P, 1.0)
    labels, probabilities = all_draws(W)
    entropy = sum(  # of the draws' own clusters, which the bound turns into the logarithm of a mean
        p * np.log(np.equal.outer(z, z).sum(axis=1)).mean()
        for z, p in zip(labels, probabilities, strict=True)
    )
    for c in ([0] * 6, [0, 0, 1, 2, 1, 1], list(range(6))):
        same = np.equal.outer(c, c)
        parts = (
            b * np.log(same.sum(axis=1)),
            a * np.log(P.sum(axis=1)),
            -(a + b) * np.log((same * P).sum(axis=1)),
        )
        found = expected_vi_bound(c, CoAssignment(W), (a, b))
        assert found == pytest.approx(np.mean(sum(parts)))
        assert expected_vi_bound(c, P, (a, b)) == pytest.approx(found)
        exact = sum(p * naive_vi(c, z, a, b) for z, p in zip(labels, probabilities, strict=True))
        assert np.mean(parts[0] + parts[2]) + a * entropy <= exact + 1e-12


def test_refused_sources():
    c = np.zeros(3, dtype=int)
    for bad, message in [
        (np.full((3, 3), 1.5), "entries outside"),
        (np.full((3, 3), np.nan), "entries outside"),
        (np.triu(np.full((3, 3), 0.5)), "not symmetric"),
        (np.zeros((2, 3)), "holds no pairs"),
        (np.zeros((3, 3), dtype=bool), "holds no pairs"),
        (np.ones((1, 1)), "holds no pairs"),
        (CoAssignment(np.ones((1, 2))), "holds no pairs"),
    ]:
        with pytest.raises(ValueError, match=message):
            expected_binder(c, bad)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\) and there are 4 samples"):
        variation_of_information(c, np.zeros((2, 4), dtype=int))
    for draws in (np.zeros((2, 3)), np.zeros(3, dtype=int), np.zeros((0, 3), dtype=int)):
        with pytest.raises(ValueError, match="holds no draws"):
            expected_vi(c, draws)
    for costs in [(1.0,), (0.0, 1.0), (1.0, np.inf)]:
        with pytest.raises(ValueError, match="give two positive numbers"):
            expected_vi(c, np.zeros((2, 3), dtype=int), costs)


def test_draws_as_a_dataset():
    pytest.importorskip("xarray")
    draws = draw_partitions(memberships(3, 2, seed=9), 5, random_state=0)
    found = to_xarray(draws, ["a", "b", "c"])
    assert dict(found.sizes) == {"chain": 1, "draw": 5, "sample": 3}
    assert (found["cluster"].sel(chain=0, sample="b").to_numpy() == draws[:, 1]).all()
    assert dict(to_xarray(np.stack([draws, draws])).sizes) == {"chain": 2, "draw": 5, "sample": 3}
    with pytest.raises(ValueError, match="to_xarray takes"):
        to_xarray(draws[0])


def test_a_dataset_needs_xarray(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match="to_xarray needs xarray, which is not installed"):
        to_xarray(np.zeros((2, 3), dtype=int))


def test_draws_and_losses_import_no_compiler():
    code = "import sys, latentsimplex.uncertainty; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
