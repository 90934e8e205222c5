"""The audit of the consensus, as much of it as a page has time for."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.audit import audit_consensus
from latentsimplex.estimator import LatentSimplexPosition

MAX_WORK = 12_000_000
"""Samples times patterns times clusters squared: the consensus is formed anew without each pattern, and above this
(20,000 samples in six patterns of ten clusters) that takes more than three to ten seconds."""


def audited(model: LatentSimplexPosition) -> dict[str, Any]:
    """Return what each pattern of the consensus changes in it.

    ``patterns`` is empty where a single pattern has all the weight, as nothing else would remain, and where the
    work is more than a page should take, in which case ``skipped`` is true.
    """
    u = model.consensus_.weights
    takes_part = np.bincount(model.view_patterns_, weights=u, minlength=model.n_patterns_) > 0
    work = model.n_samples_ * model.n_patterns_ * int(model.n_clusters_.max()) ** 2
    if takes_part.sum() < 2 or work > MAX_WORK:
        return {"patterns": [], "skipped": bool(takes_part.sum() > 1)}
    audit = audit_consensus(model, u)
    heaviest = [int(np.argmax(np.where(model.view_patterns_ == l, u, -1))) for l in range(model.n_patterns_)]
    columns = ("n_kept", "share", "agreement", "influence", "label_agreement")
    rows = [
        {
            "index": int(l),
            **{name: audit.patterns[name][l].item() for name in columns},
            "view_influence": audit.views["influence"][heaviest[l]].item(),
        }
        for l in np.flatnonzero(takes_part)
    ]
    return {"patterns": rows, "skipped": False}
