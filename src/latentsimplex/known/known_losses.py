"""Labels and links as losses that are added to EM's in a search (:mod:`latentsimplex.model.joint_losses`)."""

from __future__ import annotations

import numpy as np

from latentsimplex.known.known_samples import HARD, Known
from latentsimplex.model.joint_losses import JointLoss, PartialLabels, SampleLinks


def list_losses(known: Known) -> tuple[JointLoss, ...]:
    """Return the losses of labels and of links, as far as there are any.

    >>> [type(loss).__name__ for loss in list_losses(Known(np.array(["a"]), np.array([0, -1])))]
    ['PartialLabels']
    """
    losses: list[JointLoss] = []
    if len(known.classes):
        losses.append(PartialLabels(known.labels, len(known.classes)))
    pairs = np.vstack([known.must.pairs, known.cannot.pairs])
    if len(pairs):
        weights = np.minimum(np.concatenate([known.must.weights, known.cannot.weights]), HARD)
        losses.append(SampleLinks(pairs, np.arange(len(pairs)) < len(known.must.pairs), weights))
    return tuple(losses)
