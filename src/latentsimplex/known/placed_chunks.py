"""Chunks of tied samples placed in clusters as wholes, so that links are heard together and not one by one.

With L_ak = sum of log w_ik over the samples of chunk a, and J_ab the links that tie chunks a and b, less those that
part them, each in nats, clusters z of chunks are sought that maximise

    sum_a L_a,z_a  +  sum_{a<b} J_ab [z_a = z_b]:

the chunk that would lose most by its second choice goes first, and each is then moved while the sum rises.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latentsimplex.base.arrays import softmax
from latentsimplex.base.types import Array
from latentsimplex.known.chunks import tie_samples
from latentsimplex.known.known_samples import UNKNOWN, Known

SWEEPS = 20
"""Times that each chunk is looked at again, at most; few are moved after the first."""
PLACED = 0.9
"""What samples of a chunk start with in its cluster: their own links and views may still move them."""


def place_chunks(logs: Array, known: Known, nats: float) -> Array:
    """Return memberships (n, g), those of samples that links name being in the clusters of their chunks.

    ``logs`` (n, g) are logarithms of memberships without links, ``nats`` what a link is worth.

    >>> from latentsimplex.known.known_samples import Links
    >>> links = Links(np.array([[0, 1]]), np.ones(1))
    >>> known = Known(np.array([]), np.full(3, -1), links)
    >>> place_chunks(np.log([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]), known, 3.0).argmax(axis=1).tolist()
    [0, 0, 1]
    """
    by_links = replace(known, classes=known.classes[:0], labels=np.full_like(known.labels, UNKNOWN))
    chunks = tie_samples(by_links)  # labels are in the memberships already
    named = chunks.of_samples >= 0
    own = chunks.of_samples[named]
    g = logs.shape[1]
    L = np.zeros((chunks.n_chunks, g))
    np.add.at(L, own, logs[named])
    J = nats * chunks.links
    best = np.sort(L, axis=1)
    regret = best[:, -1] - best[:, -2] if g > 1 else best[:, -1]
    z = np.full(chunks.n_chunks, UNKNOWN, dtype=np.intp)
    for _ in range(SWEEPS):
        before = z.copy()
        for a in np.argsort(-regret, kind="stable").tolist():
            others = slice(J.indptr[a], J.indptr[a + 1])
            where, said = z[J.indices[others]], J.data[others]
            heard = where >= 0
            z[a] = np.argmax(L[a] + np.bincount(where[heard], weights=said[heard], minlength=g))
        if (z == before).all():
            break
    q = softmax(logs)
    q[named] = PLACED * np.eye(g)[z[own]] + (1 - PLACED) / g
    return q
