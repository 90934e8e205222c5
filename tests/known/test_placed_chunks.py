"""Chunks of tied samples, placed in clusters as wholes."""

from itertools import product

import numpy as np
import pytest

from latentsimplex.known.chunks import tie_samples
from latentsimplex.known.known_samples import Known, Links
from latentsimplex.known.placed_chunks import place_chunks

NATS = 3.0


@pytest.mark.parametrize("seed", range(5))
def test_clusters_of_chunks_are_those_that_views_and_links_speak_for_most(seed):
    logs = np.log(np.random.default_rng(seed).dirichlet(np.ones(3), size=7))
    must = Links(np.array([[0, 1], [1, 2], [3, 4]]), np.ones(3))
    known = Known(np.array([]), np.full(7, -1), must, Links(np.array([[2, 3], [4, 5]]), np.ones(2)))
    own = tie_samples(known).of_samples
    chunks = range(own.max() + 1)
    links = NATS * tie_samples(known).links.toarray()

    def score(z):
        together = np.equal.outer(z, z)
        return (
            logs[own >= 0][np.arange((own >= 0).sum()), np.array(z)[own[own >= 0]]].sum()
            + (links * together).sum() / 2
        )

    best = max(product(range(3), repeat=len(chunks)), key=score)
    found = place_chunks(logs, known, NATS).argmax(axis=1)
    placed = [int(found[own == a][0]) for a in chunks]
    assert score(placed) == pytest.approx(score(best))
    assert all(len(set(found[own == a])) == 1 for a in chunks)
    assert found[own < 0].tolist() == logs[own < 0].argmax(axis=1).tolist()
