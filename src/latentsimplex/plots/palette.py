"""Colours that stay apart for colour-blind readers: Okabe and Ito's for clusters, viridis for probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#505050")
"""The last is their black, lightened so that it shows on black too."""
CLUSTER_COLOURS = (
    *OKABE_ITO,
    *("#693C00", "#B4C378", "#1E3CA5", "#871E78", "#9687FF", "#E1B4B4", "#3CE1F0", "#5A783C"),
    *("#96E15A", "#FF4B78", "#C3964B", "#C32D2D", "#785A78", "#782D2D", "#A587C3", "#2D785A"),
    *("#692D5A", "#B43CB4", "#5A960F", "#0078F0", "#C3B4D2", "#78D296", "#78B496", "#87A5FF"),
)
"""Each added where it is farthest from those before it, to normal sight and with each cone missing, neither too
pale for white paper nor too dark for black."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PROBABILITY = "viridis"
EMPTY = "#BDBDBD"
QUIET = "#BFBFBF"
"""The colour of a bar that has no say, or that chance explains."""


def cluster_colour(k: int) -> str:
    """Return the colour of cluster k; colours repeat after 32."""
    return CLUSTER_COLOURS[k % len(CLUSTER_COLOURS)]


def cluster_style(k: int) -> tuple[str, str]:
    """Return the colour and the marker of cluster k; markers change every eight clusters.

    >>> cluster_style(0), cluster_style(8)
    (('#0072B2', 'o'), ('#693C00', 's'))
    """
    return cluster_colour(k), MARKERS[k // len(OKABE_ITO) % len(MARKERS)]


def split_by_cluster(labels: np.ndarray) -> Iterator[tuple[np.ndarray, str, str]]:
    """Yield the members of each cluster with its colour and marker."""
    names = np.unique(labels)
    for label, k in zip(names, style_numbers(names), strict=True):
        yield (np.flatnonzero(labels == label), *cluster_style(k))


def style_numbers(names: np.ndarray) -> list[int]:
    """Return the number that gives each cluster its style: its own, or its place where it has none.

    >>> style_numbers(np.array([0, 2])), style_numbers(np.array(["a", "b"]))
    ([0, 2], [0, 1])
    """
    numbered = names.dtype.kind in "iu" and names.min() >= 0
    return [int(name) for name in names] if numbered else list(range(len(names)))


def ink(ax: Axes) -> str:
    """Return the colour of the text on an axes: dark on paper, light in a dark style."""
    return str(ax.title.get_color())
