"""Labels and links, for the report: the pattern they are about, the class of each cluster, which are in doubt."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.report.wording import show_name
from latentsimplex.results.results import Results
from latentsimplex.results.tables import doubts_table

MOST_DOUBTS = 20
"""Labels and links that are listed, those that are most probably wrong."""
DOUBTFUL = 0.5
"""A label or a link is called wrong where that is more probable than not."""


def summarise_known(results: Results) -> dict[str, Any] | None:
    """Return what the fit says of labels and links, as numbers and text; None where none were given."""
    known = results.known
    if known is None:
        return None
    table = doubts_table(results)
    probabilities = table["probability_wrong"]
    listed = table.rows(np.arange(min(MOST_DOUBTS, len(table))))
    return {
        "n_labels": int((known.labels >= 0).sum()),
        "n_links": len(known.links),
        "pattern": known.pattern,
        "probability": float(known.pattern_probabilities[-1 if known.pattern is None else known.pattern]),
        "classes": [
            None if name is None else {"name": show_name(name), "share": float(row.max())}
            for name, row in zip(known.cluster_classes, known.class_table, strict=True)
        ]
        if known.pattern is not None and len(known.classes)
        else [],
        "n_wrong": int((probabilities > DOUBTFUL).sum()),
        "doubts": [
            {
                "kind": str(kind),
                "samples": [show_name(name) for name in (sample, other) if name is not None],
                "given": show_name(given),
                "found": show_name(found),
                "probability": float(probability),
            }
            for kind, sample, other, given, found, probability in zip(*listed.columns.values(), strict=True)
        ],
    }
