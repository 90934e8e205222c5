"""Links that are kept to exactly, and those that clusters are too few for."""

import numpy as np
import pytest

from latentsimplex.known.hard_links import assign_apart, keep_to_links
from latentsimplex.known.known_samples import Known, Links

NONE = np.array([], dtype=object)


def hard(*pairs):
    return Links(np.array(pairs).reshape(-1, 2), np.full(len(pairs), np.inf))


def test_tied_samples_share_a_row():
    W = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    kept = keep_to_links(W, Known(NONE, np.full(3, -1), hard((0, 1))))
    np.testing.assert_allclose(kept[0], kept[1])
    root = np.sqrt(W[0] * W[1])
    np.testing.assert_allclose(kept[0], root / root.sum())
    np.testing.assert_array_equal(kept[2], W[2])


def test_parted_samples_have_different_clusters():
    W = np.array([[0.9, 0.1, 0.0], [0.8, 0.15, 0.05], [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    kept = keep_to_links(W, Known(NONE, np.full(4, -1), cannot=hard((0, 1), (0, 2), (1, 2))))
    assert sorted(kept[:3].argmax(axis=1).tolist()) == [0, 1, 2]
    np.testing.assert_array_equal(kept[3], W[3])
    np.testing.assert_allclose(kept.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(10))
def test_random_links_are_all_kept(seed):
    rng = np.random.default_rng(seed)
    truth, W = rng.integers(4, size=40), rng.dirichlet(np.full(4, 0.3), size=40)
    pairs = rng.permutation([(i, j) for i in range(40) for j in range(i)])[:60]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    known = Known(NONE, np.full(40, -1), hard(*pairs[same]), hard(*pairs[~same]))
    labels = keep_to_links(W, known).argmax(axis=1)
    assert ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == same).all()


def test_soft_links_change_nothing_here():
    W = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert keep_to_links(W, Known(NONE, np.full(2, -1), Links(np.array([[0, 1]]), np.ones(1)))) is W


def test_more_parted_samples_than_clusters():
    with pytest.raises(
        ValueError,
        match="2 clusters cannot keep apart, such as c and d: give min_clusters, and n_clusters if",
    ):
        assign_apart(np.zeros((3, 2)), np.array([[0, 1], [0, 2], [1, 2]]), ["a and b", "c and d", "e and f"])


@pytest.mark.parametrize(
    ("names", "pair"), [(None, "(0|1) and 3"), (["anna", "bert", "carl", "dora"], "(anna|bert) and dora")]
)
def test_a_link_that_cannot_be_kept_is_named(names, pair):
    """By its own samples, also where others are tied to them."""
    known = Known(NONE, np.full(4, -1), hard((2, 3)), hard((0, 1), (0, 3), (1, 3)), names)
    with pytest.raises(ValueError, match=f"cannot keep apart, such as {pair}: give"):
        keep_to_links(np.full((4, 2), 0.5), known)
