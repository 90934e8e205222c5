"""Kinds of views by k-means of their pair values."""

import numpy as np
import pytest

from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs
from latentsimplex.search.view_groups import group_views
from latentsimplex.similarity import LocalScaling
from problems import clustered_views, read_pairs, same_partition


def pairs_of(data, keep="whole"):
    return read_pairs(data, LocalScaling(), DIVERGENCES["reverse"], keep=keep)


def repeated_views(seed, repeats, n=20):
    """Return views in three kinds, one after another, and the kind of each."""
    rng = np.random.default_rng(seed)
    kinds = clustered_views(rng, n, 3)
    views = [X + 0.01 * rng.normal(size=X.shape) for _ in range(repeats) for X in kinds]
    return views, np.tile(np.arange(3), repeats)


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_finds_kinds_of_views(seed):
    views, kinds = repeated_views(seed, 4)
    assert same_partition(group_views(pairs_of(views), 3, np.random.default_rng(seed)), kinds)


def test_kmeans_is_the_same_in_blocks(monkeypatch):
    views, _ = repeated_views(1, 4)
    whole = group_views(pairs_of(views), 4, np.random.default_rng(0))
    monkeypatch.setattr(InMemoryPairs, "block_values", 3 * 190)
    pieces = pairs_of(views, keep="nowhere")
    assert [rows.stop - rows.start for rows, _ in pieces.blocks()] == [3, 3, 3, 3]
    assert np.array_equal(group_views(pieces, 4, np.random.default_rng(0)), whole)


@pytest.mark.parametrize("seed", range(4))
def test_kmeans_ends_where_no_view_has_a_nearer_centre(seed):
    rng = np.random.default_rng(seed)
    pairs = pairs_of(rng.normal(size=(25, 8, 1)))  # no kinds to find, so the first centres are not the last
    labels = group_views(pairs, 3, rng)
    F = np.concatenate([F for _, F in pairs.blocks()])
    centres = np.array([F[labels == k].mean(axis=0) for k in range(3)])
    distances = ((F[:, None] - centres) ** 2).sum(axis=-1)
    assert np.array_equal(distances.argmin(axis=1), labels)


def test_one_group_and_a_group_for_each_view_need_no_kmeans():
    views, _ = repeated_views(0, 1)
    pairs, rng = pairs_of(views), np.random.default_rng(0)
    assert group_views(pairs, 1, rng).tolist() == [0, 0, 0]
    assert group_views(pairs, 3, rng).tolist() == [0, 1, 2]
    assert group_views(pairs, 4, rng).tolist() == [0, 1, 2]


def test_equal_views_are_one_group():
    X = clustered_views(np.random.default_rng(0), 10, 1)[0]
    labels = group_views(pairs_of([X] * 5), 3, np.random.default_rng(0))
    assert len(set(labels.tolist())) == 1
