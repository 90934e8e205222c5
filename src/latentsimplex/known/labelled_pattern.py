"""Which pattern labels and links are about: the one whose clusters predict them best.

With N_kc samples of class c known in cluster k, the labels have the probability

    prod_k  DM(N_k),    DM(N) = Gamma(1) / Gamma(1 + sum N) prod_c Gamma(1/C + N_c) / Gamma(1/C),

classes of a cluster having a Dirichlet(1/C) prior. A link says whether two samples are together; clusters that it
speaks of agree with it but for an error, others agree as often as any two samples are together, or not. Both are
compared with clusters that labels and links say nothing of: those are the evidence of no pattern, 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, softmax

from latentsimplex.base.types import Array
from latentsimplex.known.known_samples import Known

ERROR = 0.05
"""The share of labels and links that are wrong, before the data are seen."""


def label_evidence(known: Known, clusters: np.ndarray) -> float:
    """Return what labels say for clusters (n,), -1 for none, in nats beyond one cluster of all samples.

    >>> labels = np.repeat([0, 1], 3)
    >>> known = Known(np.array(["a", "b"]), labels)
    >>> label_evidence(known, labels) > 1, label_evidence(known, np.tile([0, 1], 3)) < 0
    (True, True)
    """
    rows = known.labelled[clusters[known.labelled] >= 0]
    if not len(rows):
        return 0.0
    table = np.zeros((int(clusters.max()) + 1, len(known.classes)))
    np.add.at(table, (clusters[rows], known.labels[rows]), 1)
    return float(log_probability(table).sum() - log_probability(table.sum(axis=0)))


def log_probability(counts: Array) -> Array:
    """Return log DM of counts of classes (..., C)."""
    a = 1 / counts.shape[-1]
    return gammaln(1.0) - gammaln(1 + counts.sum(axis=-1)) + (gammaln(a + counts) - gammaln(a)).sum(axis=-1)


def link_evidence(known: Known, clusters: np.ndarray) -> float:
    """Return what links say for clusters (n,), in nats beyond clusters that they do not speak of.

    A sample has no more to say than one label would: links of many are counted as so many that are independent.
    """
    sizes = np.bincount(clusters[clusters >= 0])
    share = float(np.square(sizes / max(sizes.sum(), 1)).sum())
    total, named = 0.0, 0
    for links, together in ((known.must, True), (known.cannot, False)):
        ends = clusters[links.pairs]
        ends = ends[np.min(ends, axis=1, initial=0) >= 0]
        agree: np.ndarray = np.equal(ends[:, 0], ends[:, 1]) == together
        chance = share if together else 1 - share
        if 0 < chance < 1 and len(agree):
            right, wrong = np.log((1 - ERROR) / chance), np.log(ERROR / (1 - chance))
            total += float(agree.sum() * right + (~agree).sum() * wrong)
            named += len(agree)
    samples = len(np.unique(np.vstack([known.must.pairs, known.cannot.pairs])))
    return total * min(1.0, samples / max(named, 1))


def find_labelled_pattern(known: Known, clusterings: Sequence[np.ndarray]) -> Array:
    """Return the probability that labels and links are about each clustering (d + 1,); the last is none of them."""
    evidence = [label_evidence(known, each) + link_evidence(known, each) for each in clusterings]
    return softmax(np.array([*evidence, 0.0]))
