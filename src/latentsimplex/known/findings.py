"""What a fit says about labels and links: the pattern they are about, classes of clusters, which are in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latentsimplex.base.types import Array, Indices
from latentsimplex.known.known_samples import Known
from latentsimplex.known.labelled_pattern import find_labelled_pattern
from latentsimplex.known.posterior import inform_memberships


@dataclass(frozen=True, eq=False, repr=False)
class KnownFindings:
    """What a fit says of labels and links: ``known_`` of an estimator.

    Attributes
    ----------
    pattern : int or None
        The live pattern that labels and links speak of; None if of none.
    pattern_probabilities : (patterns + 1,) array
        How probable each pattern is; the last is that of none.
    classes : (C,) array
        The names of the classes in ``y``.
    class_table : (clusters, C) array
        Pr(class | cluster) for the clusters of the pattern; a cluster without known samples has even shares.
    cluster_classes : (clusters,) array
        The most probable class of each cluster, None for those without known samples: new classes.
    labels : (n,) array
        The class of each sample by index, -1 where unknown.
    label_doubts : (n,) array
        The probability that each label is wrong, given the views and all other labels; nan where unknown.
    predicted : (n,) array
        The class by index that views and other labels say of each labelled sample; -1 elsewhere.
    links : (m, 2) array
        Pairs of samples, must-links first.
    together : (m,) array of bool
        Which of them are must-links.
    link_weights, link_doubts : (m,) arrays
        Weights of links, and the probability that each is wrong.
    label_error, link_error : float
        The shares of labels and of links that are wrong, as estimated.
    """

    pattern: int | None
    pattern_probabilities: Array
    classes: np.ndarray
    class_table: Array
    cluster_classes: np.ndarray
    labels: Indices
    label_doubts: Array
    predicted: Indices
    links: Indices
    together: np.ndarray
    link_weights: Array
    link_doubts: Array
    label_error: float
    link_error: float

    def __repr__(self) -> str:
        labels, links = int((self.labels >= 0).sum()), len(self.links)
        of = "no pattern" if self.pattern is None else f"pattern {self.pattern}"
        return f"KnownFindings({labels} labels and {links} links that speak of {of})"

    @property
    def kept(self) -> Indices:
        """The samples of links that are kept to exactly."""
        return np.unique(self.links[np.isinf(self.link_weights)])


def find_known(known: Known, memberships: list[Array]) -> tuple[KnownFindings, list[Array]]:
    """Return the findings about labels and links, and the posterior memberships of patterns given them.

    Those of the pattern that labels and links speak of change, the others do not. Links to keep to speak of the most
    probable one, whatever the evidence.
    """
    probabilities = find_labelled_pattern(known, [W.argmax(axis=1) for W in memberships])
    spoken = int(probabilities[:-1].argmax())
    is_kept = bool(np.isinf(known.must.weights).any() or np.isinf(known.cannot.weights).any())
    is_spoken = is_kept or bool(probabilities[spoken] >= probabilities[-1])
    # labels that speak of no pattern are still compared with one another, as those of a single cluster
    W = memberships[spoken] if is_spoken else np.ones((known.n_samples, 1))
    informed = inform_memberships(W, known)
    rows = known.labelled
    seen = np.zeros(W.shape[1])
    np.add.at(seen, W[rows].argmax(axis=1), 1)
    names: Any = np.empty(W.shape[1], dtype=object)
    for k in np.flatnonzero(seen):
        names[k] = known.classes[informed.table[k].argmax()]
    predicted = np.full(known.n_samples, -1, dtype=np.intp)
    if len(rows):
        predicted[rows] = informed.predicted.argmax(axis=1)
    findings = KnownFindings(
        pattern=spoken if is_spoken else None,
        pattern_probabilities=probabilities,
        classes=known.classes,
        class_table=informed.table,
        cluster_classes=names,
        labels=known.labels,
        label_doubts=informed.label_doubts,
        predicted=predicted,
        links=np.vstack([known.must.pairs, known.cannot.pairs]),
        together=np.arange(len(known.must.pairs) + len(known.cannot.pairs)) < len(known.must.pairs),
        link_weights=np.concatenate([known.must.weights, known.cannot.weights]),
        link_doubts=np.concatenate([informed.must_doubts, informed.cannot_doubts]),
        label_error=informed.label_error,
        link_error=informed.link_error,
    )
    changed = [informed.W if is_spoken and l == spoken else own for l, own in enumerate(memberships)]
    return findings, changed
