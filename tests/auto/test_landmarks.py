"""Landmarks, and samples placed by those nearest to them."""

import numpy as np
import pytest

from latentsimplex.auto.landmarks import draw_landmarks, place_by_landmarks


def test_landmarks_hold_some_of_each_cluster():
    rare = np.zeros(5000, dtype=int)
    rare[:30] = 1
    landmarks = draw_landmarks([rare, np.arange(5000) % 3], 500, 20)
    assert len(landmarks) == len(set(landmarks.tolist())) == 500
    assert len(draw_landmarks([np.arange(5000) % 100], 500, 20)) == 2000
    assert rare[landmarks].sum() >= 20
    assert np.array_equal(draw_landmarks([rare[:100]], 500, 20), np.arange(100))


@pytest.mark.parametrize("missing", [False, True])
def test_samples_are_placed_where_the_nearest_landmarks_are(missing):
    labels = np.arange(400) % 2
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[:, 0] += 9 * labels
    if missing:
        X[3, 1] = np.nan
    landmarks = np.arange(0, 400, 3)
    placed = place_by_landmarks([X, X], landmarks, np.eye(2)[labels[landmarks]])
    assert np.array_equal(placed.argmax(axis=1), labels)
    np.testing.assert_allclose(placed.sum(axis=1), 1)
