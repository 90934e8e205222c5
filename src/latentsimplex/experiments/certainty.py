"""Whether a model is as sure as it should be, where the true clusters are known."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from latentsimplex._types import Array
from latentsimplex.coassignment import CoAssignment


def confidence(P: CoAssignment, labels: np.ndarray) -> Array:
    """Return each sample's mean co-assignment with the others of its cluster; 0 where there are none.

    >>> co = CoAssignment(np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    >>> confidence(co, np.array([0, 0, 1])).tolist()
    [0.75, 0.75, 0.0]
    """
    members = np.eye(labels.max() + 1)[labels]
    own = np.arange(len(labels)), labels
    others = members.sum(axis=0)[labels] - 1
    with_others = (P @ members)[own] - np.square(P.factor).sum(axis=1)
    return np.where(others > 0, with_others / np.maximum(others, 1), 0.0)


def misplaced(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return which samples differ in truth from most of their cluster; ties go to the lowest true label.

    >>> misplaced(np.array([0, 0, 0, 1]), np.array([5, 5, 3, 3])).tolist()
    [False, False, True, False]
    """
    counts = np.eye(labels.max() + 1)[labels].T @ np.eye(truth.max() + 1)[truth]
    return counts.argmax(axis=1)[labels] != truth


def doubt_auc(sureness: Array, wrong: np.ndarray) -> float | None:
    """Return the chance that a wrong sample is less sure than a right one; None without one of either.

    >>> doubt_auc(np.array([0.9, 0.2, 0.7]), np.array([False, True, False]))
    1.0
    """
    return float(roc_auc_score(wrong, -sureness)) if 0 < wrong.sum() < len(wrong) else None
