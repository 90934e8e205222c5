"""Colours that stay apart for colour-blind readers: Okabe and Ito's for clusters, viridis for chances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
MARKERS = ("o", "s", "^", "D")
PROBABILITY = "viridis"
EMPTY = "#E6E6E6"
INK = "#444444"


def cluster_style(k: int) -> tuple[str, str]:
    """Return the colour and the marker of cluster k; markers change when colours begin anew.

    >>> cluster_style(0), cluster_style(7)
    (('#0072B2', 'o'), ('#0072B2', 's'))
    """
    return OKABE_ITO[k % len(OKABE_ITO)], MARKERS[k // len(OKABE_ITO) % len(MARKERS)]


def clusters(labels: np.ndarray) -> Iterator[tuple[np.ndarray, str, str]]:
    """Yield the members of each cluster with its colour and marker."""
    for k, label in enumerate(np.unique(labels)):
        yield (np.flatnonzero(labels == label), *cluster_style(k))
