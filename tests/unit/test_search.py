"""Starts: k-means++ on the views' pair values, and the lowest loss of several."""

import numpy as np
import pytest

from latentsimplex import search
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Schedule
from latentsimplex.engines import local
from latentsimplex.engines.local import LocalPairs
from latentsimplex.search import best_of, kmeans_labels, random_memberships
from latentsimplex.similarity import LocalScaling
from latentsimplex.views import as_views
from problems import clustered_views, make_problem, same_partition

SHORT = Schedule(max_iter=5, first_steps=10)


def pairs_of(data, keep=True):
    return LocalPairs(as_views(data), LocalScaling(), DIVERGENCES["reverse"], Workers(1), keep)


def repeated_views(seed, repeats, n=20):
    """Return views in three kinds, one after another, and the kind of each."""
    rng = np.random.default_rng(seed)
    kinds = clustered_views(rng, n, 3)
    views = [X + 0.01 * rng.normal(size=X.shape) for _ in range(repeats) for X in kinds]
    return views, np.tile(np.arange(3), repeats)


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_finds_kinds_of_views(seed):
    views, kinds = repeated_views(seed, 4)
    assert same_partition(kmeans_labels(pairs_of(views), 3, np.random.default_rng(seed)), kinds)


def test_kmeans_is_the_same_in_blocks(monkeypatch):
    views, _ = repeated_views(1, 4)
    whole = kmeans_labels(pairs_of(views), 4, np.random.default_rng(0))
    monkeypatch.setattr(local, "BLOCK_VALUES", 3 * 190)
    pieces = pairs_of(views, keep=False)
    assert [rows.stop - rows.start for rows, _ in pieces.blocks()] == [3, 3, 3, 3]
    assert np.array_equal(kmeans_labels(pieces, 4, np.random.default_rng(0)), whole)


@pytest.mark.parametrize("seed", range(4))
def test_kmeans_ends_where_no_view_has_a_nearer_centre(seed):
    rng = np.random.default_rng(seed)
    pairs = pairs_of(rng.normal(size=(25, 8, 1)))  # no kinds to find, so the first centres are not the last
    labels = kmeans_labels(pairs, 3, rng)
    F = np.concatenate([F for _, F in pairs.blocks()])
    centres = np.array([F[labels == k].mean(axis=0) for k in range(3)])
    distances = ((F[:, None] - centres) ** 2).sum(axis=-1)
    assert np.array_equal(distances.argmin(axis=1), labels)


def test_kmeans_edges():
    views, _ = repeated_views(0, 1)
    pairs, rng = pairs_of(views), np.random.default_rng(0)
    assert kmeans_labels(pairs, 1, rng).tolist() == [0, 0, 0]
    assert kmeans_labels(pairs, 3, rng).tolist() == [0, 1, 2]


def test_kmeans_of_equal_views():
    X = clustered_views(np.random.default_rng(0), 10, 1)[0]
    labels = kmeans_labels(pairs_of([X] * 5), 3, np.random.default_rng(0))
    assert len(set(labels.tolist())) == 1


def test_starts_are_near_the_barycentre():
    W = random_memberships(2, 50, 4, np.random.default_rng(0))
    assert W.shape == (2, 50, 4)
    np.testing.assert_allclose(W, 0.25, atol=0.02)
    assert W.std() > 1e-4


def test_the_lowest_loss_is_kept(monkeypatch):
    problem = make_problem(11)
    ends = []
    run = search.run

    def recorded(*arguments):
        ends.append(run(*arguments))
        return ends[-1]

    monkeypatch.setattr(search, "run", recorded)
    found = best_of(problem.pairs(), 3, 2, problem.model, SHORT, 4, np.random.default_rng(0))
    losses = [fit.loss_curve[-1] for fit in ends]
    assert len(set(losses)) > 1
    assert found.start_losses.tolist() == losses
    assert found.fit is ends[int(np.argmin(losses))]


def test_more_starts_never_end_higher_and_share_their_first_ones():
    problem = make_problem(11)
    few, many = (
        best_of(problem.pairs(), 3, 2, problem.model, SHORT, n, np.random.default_rng(0)) for n in (2, 5)
    )
    assert many.start_losses[:2].tolist() == few.start_losses.tolist()
    assert many.fit.loss_curve[-1] <= few.fit.loss_curve[-1]


def test_progress_is_reported_for_every_iteration_of_every_start():
    problem, seen = make_problem(11), []
    best_of(
        problem.pairs(),
        2,
        2,
        problem.model,
        SHORT,
        2,
        np.random.default_rng(0),
        lambda start, iteration, expectation: seen.append((start, iteration)),
    )
    assert seen == [(start, iteration) for start in range(2) for iteration in range(6)]
