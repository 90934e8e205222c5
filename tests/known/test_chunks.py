"""Samples that are known to be of one class, and those that are not."""

import numpy as np

from latentsimplex.known.chunks import tie_samples
from latentsimplex.known.known_samples import Known, Links

NONE = np.array([], dtype=object)


def links(*pairs):
    return Links(np.array(pairs).reshape(-1, 2), np.ones(len(pairs)))


def test_links_tie_and_part():
    known = Known(NONE, np.full(6, -1), links((0, 1), (1, 2), (3, 4)), links((0, 4)))
    chunks = tie_samples(known)
    assert chunks.of_samples.tolist() == [0, 0, 0, 1, 1, -1]
    assert [chunks.list_apart(c).tolist() for c in (0, 1)] == [[False, True], [True, False]]
    assert chunks.tally(np.array([0, 3, 4, 5])).tolist() == [1, 2]


def test_a_link_extends_a_class():
    known = Known(np.array(["a", "b"]), np.array([0, 1, -1, -1]), links((1, 3)))
    assert tie_samples(known).of_samples.tolist() == [0, 1, -1, 1]


def test_no_chunk_has_two_classes_whatever_ties_them():
    known = Known(np.array(["a", "b"]), np.array([0, 1]), links((0, 1)))
    chunks = tie_samples(known)
    assert chunks.of_samples.tolist() == [0, 1]
    assert [chunks.list_apart(c).tolist() for c in (0, 1)] == [[False, True], [True, False]]


def test_a_sample_whose_links_speak_against_its_label_leaves_its_class():
    labels = np.array([0, 0, 0, 0, 1, 1, 1])
    known = Known(
        np.array(["a", "b"]), labels, links((3, 4), (3, 5), (3, 6)), links((3, 0), (3, 1))
    )  # sample 3 is of class b by all links but its own label
    assert tie_samples(known).of_samples.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_ties_that_more_links_part_are_not_believed():
    known = Known(NONE, np.full(4, -1), links((0, 1), (1, 2)), links((0, 2), (0, 3)))
    assert tie_samples(known).of_samples.tolist() == [0, 0, 0, 1]  # one of two ties against one
    doubted = Known(NONE, np.full(3, -1), links((0, 1), (1, 2)), links((0, 1), (0, 2)))
    assert tie_samples(doubted).of_samples.tolist() == [0, 1, 1]


def test_links_of_more_weight_count_more():
    heavy = Links(np.array([[0, 1]]), np.array([3.0]))
    assert tie_samples(Known(NONE, np.full(2, -1), heavy, links((0, 1)))).of_samples.tolist() == [0, 0]
    assert tie_samples(Known(NONE, np.full(2, -1), links((0, 1)), heavy)).of_samples.tolist() == [0, 1]


def test_one_wrong_link_does_not_tie_two_classes_that_many_part():
    truth, rng = np.arange(60) % 3, np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(60) for j in range(i) if rng.random() < 0.3])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    wrong = rng.random(len(pairs)) < 0.05
    must, cannot = pairs[same != wrong], pairs[same == wrong]
    chunks = tie_samples(Known(NONE, np.full(60, -1), links(*must), links(*cannot)))
    assert chunks.n_chunks == 3
    assert all(len(np.unique(truth[chunks.of_samples == c])) == 1 for c in range(3))
