"""Which pattern labels and links speak of."""

import numpy as np
import pytest
from scipy.special import gammaln

from latentsimplex.known.known_samples import Known, Links
from latentsimplex.known.labelled_pattern import (
    find_labelled_pattern,
    label_evidence,
    link_evidence,
    log_probability,
)

NONE = np.array([], dtype=object)
HALVES, ODD = np.repeat([0, 1], 20), np.arange(40) % 2


def known_labels(truth, rows):
    labels = np.full(len(truth), -1)
    labels[rows] = truth[rows]
    return Known(np.arange(2), labels)


def test_probability_of_counts_by_hand():
    expected = gammaln(1) - gammaln(4) + 2 * (gammaln(0.5 + 1.5) - gammaln(0.5))
    assert log_probability(np.array([1.5, 1.5])) == pytest.approx(expected)


def test_labels_name_their_pattern():
    rows = np.array([0, 1, 2, 25, 26, 27])
    found = find_labelled_pattern(known_labels(ODD, rows), [HALVES, ODD])
    assert found.argmax() == 1
    assert found[1] > 0.8
    assert found.sum() == pytest.approx(1)


def test_labels_about_something_else_name_none():
    quarters = np.arange(40) // 2 % 2
    found = find_labelled_pattern(known_labels(quarters, np.arange(40)), [HALVES, ODD])
    assert found.argmax() == 2


def test_links_name_their_pattern():
    must, cannot = (
        Links(np.array([[0, 2], [1, 3], [21, 5]]), np.ones(3)),
        Links(np.array([[0, 1], [2, 35]]), np.ones(2)),
    )
    known = Known(NONE, np.full(40, -1), must, cannot)
    assert find_labelled_pattern(known, [HALVES, ODD]).argmax() == 1
    assert link_evidence(known, ODD) > 0 > link_evidence(known, HALVES)


def test_samples_without_a_cluster_say_nothing():
    clusters = np.where(np.arange(40) < 10, -1, ODD)
    assert label_evidence(known_labels(ODD, np.arange(10)), clusters) == 0
