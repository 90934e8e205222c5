"""Samples that are known to be of one class, and those that are not."""

import numpy as np

from latentsimplex.inputs.known_samples import Known, Links
from latentsimplex.known.chunks import tie_samples

NONE = np.array([], dtype=object)


def links(*pairs):
    return Links(np.array(pairs).reshape(-1, 2), np.ones(len(pairs)))


def test_links_tie_and_part():
    known = Known(NONE, np.full(6, -1), links((0, 1), (1, 2), (3, 4)), links((0, 4)))
    chunks = tie_samples(known)
    assert chunks.of_samples.tolist() == [0, 0, 0, 1, 1, -1]
    assert chunks.apart.tolist() == [[False, True], [True, False]]
    assert chunks.tally(np.array([0, 3, 4, 5])).tolist() == [1, 2]


def test_a_link_extends_a_class():
    known = Known(np.array(["a", "b"]), np.array([0, 1, -1, -1]), links((1, 3)))
    assert tie_samples(known).of_samples.tolist() == [0, 1, -1, 1]


def test_classes_that_a_wrong_link_ties_are_not_apart_from_themselves():
    known = Known(np.array(["a", "b"]), np.array([0, 1]), links((0, 1)))
    chunks = tie_samples(known)
    assert chunks.of_samples.tolist() == [0, 0]
    assert not chunks.apart.any()


def test_ties_that_more_links_part_are_not_believed():
    known = Known(NONE, np.full(4, -1), links((0, 1), (1, 2)), links((0, 2), (0, 3)))
    assert tie_samples(known).of_samples.tolist() == [0, 0, 0, 1]  # one of two ties against one
    doubted = Known(NONE, np.full(3, -1), links((0, 1), (1, 2)), links((0, 1), (0, 2)))
    assert tie_samples(doubted).of_samples.tolist() == [0, 1, 2]
