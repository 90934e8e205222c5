"""Chunks: samples known to be of one class, by labels or must-links, and which chunks are of different classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from latentsimplex.base.types import Array, Indices
from latentsimplex.known.known_samples import UNKNOWN, Known

MORE_PARTED = 0.5
"""Of the links within a chunk, the share of those that part its samples from which its ties are not believed."""


class Chunks(NamedTuple):
    """The chunk of each sample (n,), -1 for none, and which chunks are known to be of different classes (C, C)."""

    of_samples: Indices
    apart: np.ndarray

    def tally(self, rows: Indices) -> Indices:
        """Return how many of some samples are in each chunk (C,)."""
        own = self.of_samples[rows]
        return np.bincount(own[own >= 0], minlength=len(self.apart))


def tie_samples(known: Known) -> Chunks:
    """Return the chunks of samples: those of one class, and those that must-links tie.

    Two chunks are apart where their classes differ, or a cannot-link parts them. Links within a chunk that part it
    are taken as errors, unless they are more than those that tie it: its samples then are chunks of their own.

    >>> from latentsimplex.known.known_samples import Links
    >>> link = Links(np.array([[0, 2]]), np.ones(1))
    >>> found = tie_samples(Known(np.array(["a", "b"]), np.array([0, 1, -1, 1, -1]), must=link))
    >>> found.of_samples.tolist(), found.apart.tolist()
    ([0, 1, 0, 1, -1], [[False, True], [True, False]])
    """
    n, labelled = known.n_samples, known.labelled
    _, first = np.unique(known.labels[labelled], return_index=True)
    by_class = np.column_stack([labelled, labelled[first][known.labels[labelled]]])
    tied = np.vstack([known.must.pairs, by_class])
    named = np.unique(np.concatenate([tied.ravel(), known.cannot.pairs.ravel()]))
    whole = _connect(tied, n)
    inside = whole[known.cannot.pairs[:, 0]] == whole[known.cannot.pairs[:, 1]]
    parted = np.bincount(whole[known.cannot.pairs[inside, 0]], minlength=n)
    joined = np.bincount(whole[tied[:, 0]], minlength=n)
    doubtful = parted > MORE_PARTED * joined
    kept = tied[~doubtful[whole[tied[:, 0]]]]
    of_samples = np.full(n, UNKNOWN, dtype=np.intp)
    of_samples[named] = np.unique(_connect(kept, n)[named], return_inverse=True)[1]
    return Chunks(of_samples, _find_apart(of_samples, known))


def _connect(pairs: Indices, n: int) -> Indices:
    """Return the connected component of each sample (n,)."""
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.intp)


def _find_apart(of_samples: Indices, known: Known) -> np.ndarray:
    """Return which chunks are known to be of different classes (C, C)."""
    C = int(of_samples.max(initial=-1)) + 1
    classes: Array = np.zeros((C, len(known.classes)))
    classes[of_samples[known.labelled], known.labels[known.labelled]] = 1
    sizes = classes.sum(axis=1)
    apart = np.outer(sizes, sizes) * (classes @ classes.T == 0) > 0
    ends = of_samples[known.cannot.pairs]
    apart[ends[:, 0], ends[:, 1]] = apart[ends[:, 1], ends[:, 0]] = True
    np.fill_diagonal(apart, False)
    return apart
