"""What tests of figures draw, and how they read off what was drawn."""

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle

from made_model import made_model

W = np.array([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0], [0.3, 0.7], [0.6, 0.4]])
LABELS = np.array([0, 1, 0, 1, 0])
BY_CLUSTER = [2, 0, 4, 1, 3]
"""The samples of W by cluster, the surest first."""
N = 12
MORE_LABELS = np.array([2, 0, 1, 0, 2, 1, 0, 0, 2, 1, 0, 0])
"""Clusters of N samples."""
LONG = "the expression of a gene whose name does not end for a long time"


def small_model():
    return made_model([W, np.ones((5, 1))], [0, 1, 0], view_names=["one", "two", "three"])


def large_memberships(n=20_000, k=30, seed=0):
    return random_memberships(n, k, seed, concentration=0.05)


def random_memberships(n=40, k=3, seed=0, concentration=0.2):
    return np.random.default_rng(seed).dirichlet(np.full(k, concentration), size=n)


def points():
    """Places of N samples in the plane."""
    return np.random.default_rng(0).normal(size=(N, 2))


def similarity():
    gram = np.exp(-np.abs(np.subtract.outer(points()[:, 0], points()[:, 0])))
    return (gram + gram.T) / 2


def maxima():
    """Bars, thresholds, baselines, and which bars are notable."""
    return np.array([0.3, 0.1]), np.array([0.2, 0.15]), np.array([0.12, 0.4]), np.array([True, False])


def said(ax):
    """All texts of a panel, lines joined."""
    return " ".join(text.get_text().replace("\n", " ") for text in ax.texts)


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def dots(ax):
    return [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]


def pieces(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]
