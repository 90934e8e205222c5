"""Pairs that views lack: filled with means over the views of a pattern, or with what memberships expect."""

import numpy as np
import pytest
from scipy.special import expit, logit

from latentsimplex.base.condensed import count_pairs, pack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import Views
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.em import collect_statistics
from latentsimplex.pairs.absent_pairs import (
    Followed,
    fill_pairs,
    find_pairs,
    follow_fit,
    follow_labels,
    follow_one,
)
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.on_device import make_pairs
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import S_CLIP

N = 7
PRESENT = np.array(
    [[1, 1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0, 1]], bool
)


def make_similarities():
    rng = np.random.default_rng(0)
    found = []
    for own in PRESENT:
        S = rng.uniform(0.05, 0.95, size=(own.sum(), own.sum()))
        found.append((S + S.T) / 2)
    return found


def read_from(similarities):
    return lambda v: (np.flatnonzero(PRESENT[v]), -np.log(pack_pairs(similarities[v])))


def test_pairs_of_some_samples_are_where_all_pairs_have_them():
    square = np.arange(N * N).reshape(N, N)
    samples = np.array([0, 2, 3, 6])
    np.testing.assert_array_equal(
        pack_pairs(square)[find_pairs(samples, N)], pack_pairs(square[np.ix_(samples, samples)])
    )


@pytest.mark.parametrize("name", ["reverse", "forward"])
def test_a_pair_that_a_view_lacks_is_the_mean_over_those_of_its_pattern_by_hand(name):
    similarities, divergence = make_similarities(), DIVERGENCES[name]
    weights, eta = np.array([1.0, 2.0, 0.5, 3.0]), np.array([[1.0, 0], [1.0, 0], [0, 1.0], [1.0, 0]])
    filling = fill_pairs(read_from(similarities), Followed(eta, []), weights, divergence, N, Workers(1))
    to_f, from_f = (logit, expit) if name == "reverse" else (lambda s: s, lambda f: f)
    expected, unknown = np.zeros((N, N)), []
    for i in range(N):
        for j in range(i):
            who = [v for v in (0, 1, 3) if PRESENT[v, i] and PRESENT[v, j]]
            if not who:
                unknown.append((i, j))
                continue
            places = [np.flatnonzero(PRESENT[v]).tolist() for v in who]
            values = [
                to_f(similarities[v][own.index(i), own.index(j)]) for v, own in zip(who, places, strict=True)
            ]
            expected[i, j] = expected[j, i] = from_f(np.average(values, weights=weights[who]))
    known = pack_pairs(expected) > 0
    assert len(unknown) == (~known).sum() > 0
    found = np.exp(-filling.exponents[0].astype(float))
    np.testing.assert_allclose(found[known], pack_pairs(expected)[known], rtol=1e-5)
    everything = to_f(pack_pairs(expected)[known]).mean()
    np.testing.assert_allclose(found[~known], from_f(everything), rtol=1e-5)
    assert filling.of_view.tolist() == [0, 0, 1, 0]


def test_a_view_keeps_its_own_pairs():
    similarities = make_similarities()
    read = read_from(similarities)
    filling = fill_pairs(read, follow_one(4), None, DIVERGENCES["reverse"], N, Workers(1))
    samples, r = read(1)
    every = filling.spread(1, samples, r)
    np.testing.assert_allclose(every[find_pairs(samples, N)], r, rtol=1e-6)
    others = np.setdiff1d(np.arange(count_pairs(N)), find_pairs(samples, N))
    np.testing.assert_array_equal(every[others], filling.exponents[0][others])


@pytest.mark.parametrize("name", ["reverse", "forward"])
def test_what_memberships_expect_moves_none_of_them(name):
    """The divergence of a pair that is filled with f(q) has no slope at q."""
    divergence = DIVERGENCES[name]
    W = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    B = np.array([[0.9, 0.2, 0.1], [0.2, 0.8, 0.3], [0.1, 0.3, 0.7]])
    known = np.zeros(count_pairs(N), bool)
    f = Followed(np.ones((1, 1)), [W], [B]).expect(0, np.zeros(count_pairs(N)), known, divergence)
    q = pack_pairs(W @ B @ W.T)
    np.testing.assert_allclose(divergence.value_and_slope(q, 2.0, 2.0 * f)[1], 0, atol=1e-9)


def test_clusters_expect_their_mean_pair_values():
    labels = np.array([0, 0, 0, 1, 1, 1, -1])
    followed = follow_labels([0, -1], [labels])
    assert followed.eta.tolist() == [[1.0], [0.0]]
    np.testing.assert_allclose(followed.W[0][-1], [0.5, 0.5])
    sure = followed.W[0][:-1]
    square = np.full((N, N), 0.3)
    square[:6, :6] = sure @ np.array([[0.9, 0.1], [0.1, 0.7]]) @ sure.T
    known = np.ones(count_pairs(N), bool)
    known[find_pairs(np.array([0, 1]), N)] = False
    known[find_pairs(np.array([2, 3]), N)] = False
    mean_f = np.where(known, pack_pairs(square), np.nan)
    found = followed.expect(0, np.where(known, mean_f, 0.0), known, DIVERGENCES["forward"])
    assert 0.6 < found[find_pairs(np.array([0, 1]), N)][0] < 0.9
    assert 0.1 < found[find_pairs(np.array([2, 3]), N)][0] < 0.3


def test_views_that_a_fit_did_not_see_share_a_filling():
    eta = np.array([[1.0, 0.0], [0.0, 1.0]])
    W, B = np.ones((2, N, 1)), np.ones((2, 1, 1))
    assert follow_fit(eta, np.array([0, 1]), 2, W, B).eta is eta
    some = follow_fit(eta, np.array([0, 2]), 3, W, B)
    assert some.eta.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert (some.expect(2, np.array([1.0, 3.0]), np.array([True, True]), DIVERGENCES["forward"]) == 2).all()


@pytest.mark.parametrize("keep", ["whole", "bytes", "nowhere"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_statistics_are_as_if_each_pair_were_weighed_by_who_has_it(keep, device):
    """stat / mass is the mean of f over the views of a pattern that have a pair, however values are kept."""
    if device is not None:
        pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    n = 40
    present = rng.random((3, n)) > 0.3
    present[0] = True
    tables = [rng.normal(size=(own.sum(), 2)) for own in present]
    views = Views(list("abc"), None, None, n, [2] * 3, lambda v: tables[v], present=present)
    kernel, divergence = LocalScaling(), DIVERGENCES["reverse"]
    with Workers(2) as workers:
        backend = choose_backend(device, n, workers)
        pairs = make_pairs(device, views, kernel, divergence, workers, backend, keep)
        mass, stat = collect_statistics(pairs, np.ones((3, 1)))
    sums, counts = np.zeros(count_pairs(n)), np.zeros(count_pairs(n))
    for X, own in zip(tables, present, strict=True):
        places = find_pairs(np.flatnonzero(own), n)
        s = np.clip(np.exp(-kernel.exponents(X)), S_CLIP, 1 - S_CLIP)
        sums[places] += logit(s)
        counts[places] += 1
    found = np.asarray(stat)[0] / mass[0]
    near = {"whole": 1e-3, "nowhere": 1e-3, "bytes": 0.08}[keep]
    np.testing.assert_allclose(found, sums / counts, atol=near)
