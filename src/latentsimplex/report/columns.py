"""Which columns make up which view, for the report; nothing where views were given."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.report.wording import show_name
from latentsimplex.results.results import Results

MOST_NAMED = 12
"""Columns of a view that are named: those that its clusters explain most."""


def summarise_columns(results: Results) -> dict[str, Any] | None:
    """Return the columns of each view that was found in a table, as numbers and text; None where views were given."""
    found = results.found_columns
    if found is None:
        return None
    names = np.arange(len(found.views)) if results.feature_names is None else results.feature_names
    views = []
    for v, own in enumerate(found.columns):
        best = own[np.argsort(-found.gains[own, v], kind="stable")]
        views.append(
            {
                "name": show_name(results.view_names[v]),
                "pattern": int(results.view_patterns[v]),
                "n_columns": len(own),
                "columns": [show_name(str(names[j])) for j in best[:MOST_NAMED]],
            }
        )
    return {"n_columns": len(found.views), "n_noise": int((found.views < 0).sum()), "views": views}
