"""The audit of the consensus for the report, left out where it would take too long."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.analysis.audit import audit_consensus
from latentsimplex.results.results import Results

MAX_WORK = 12_000_000
"""Samples times patterns times clusters squared: the consensus is formed anew without each pattern, and above this
(20,000 samples in six patterns of ten clusters) that takes more than three to ten seconds."""


def summarise_audit(results: Results) -> dict[str, Any]:
    """Return what each pattern of the consensus changes in it.

    ``patterns`` is empty where a single pattern has all the weight, as nothing else would remain, and where the
    work is more than a page should take, in which case ``skipped`` is true.
    """
    patterns = np.unique(results.view_patterns[results.consensus.weights > 0]).tolist()
    work = results.n_samples * results.n_patterns * int(results.n_clusters.max()) ** 2
    if len(patterns) < 2 or work > MAX_WORK:
        return {"patterns": [], "skipped": len(patterns) > 1}
    audit = audit_consensus(results)
    columns = ("share", "agreement", "influence", "label_agreement")
    rows = [
        {
            "index": l,
            **{name: audit.patterns[name][l].item() for name in columns},
            "view_influence": audit.views["influence"][results.view_patterns == l].max().item(),
        }
        for l in patterns
    ]
    return {"patterns": rows, "skipped": False}
