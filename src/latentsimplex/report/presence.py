"""Which samples each view has, for the report; nothing where each has all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.plots.thinned import order_samples
from latentsimplex.report.wording import show_name
from latentsimplex.results.results import Results

MOST_VIEWS = 40
"""Views that are listed; of more, those that lack most samples."""
MOST_BINS = 60
"""Runs of samples in a strip, each as dark as the share of them that the view has."""


def summarise_presence(results: Results) -> dict[str, Any] | None:
    """Return which samples each view has, as numbers and text; None where each has all of them.

    Samples of a strip are in the order of the consensus clusters and, within these, of how many views have them.
    """
    present = results.present
    if present is None:
        return None
    n_views, n = present.shape
    counts = present.sum(axis=0)
    order = order_samples(results.labels, -counts)
    bins = np.array_split(order, min(MOST_BINS, n))
    listed = np.sort(np.argsort(present.sum(axis=1), kind="stable")[:MOST_VIEWS])
    numbers, sizes = np.unique(counts, return_counts=True)
    placed = results.placed
    return {
        "share": float(1 - present.mean()),
        "n_whole": int((counts == n_views).sum()),
        "n_views": n_views,
        "numbers": [{"views": int(k), "samples": int(size)} for k, size in zip(numbers, sizes, strict=True)],
        "views": [
            {
                "name": show_name(results.view_names[v]),
                "n_present": int(present[v].sum()),
                "share": float(present[v].mean()),
                "bins": [round(float(present[v, some].mean()), 3) for some in bins],
            }
            for v in listed
        ],
        "unplaced": []
        if placed is None
        else [{"pattern": l, "samples": int((~own).sum())} for l, own in enumerate(placed) if not own.all()],
    }
