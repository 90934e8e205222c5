"""Tables of words and other counts: which they are, and samples that have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.base.partial_table import PartialTable
from latentsimplex.base.types import Array
from latentsimplex.base.wide_table import WideTable
from latentsimplex.inputs.views import Views

WORDS, FILLED = 20, 0.7
"""Tables of no negative numbers are words from so many features on, if no more than this share of cells is filled."""

LEAST_WORDED = 100
"""The fewest samples with words of a view, from which samples without a word are left out."""


def holds_words(X: Array | WideTable) -> bool:
    """Return whether a table has many features, no negative number and many zeros: words, and other counts.

    Standardised, the rarest words would count most, and as they are the longest texts would.
    """
    X = X.values if isinstance(X, PartialTable) else X
    values: Any = X.X if isinstance(X, WideTable) else X
    if X.shape[1] < WORDS or values.min() < 0:
        return False
    filled = values.count_nonzero() if sparse.issparse(values) else np.count_nonzero(values)
    return bool(filled < FILLED * np.prod(X.shape))


def leave_out_wordless(views: Views) -> Views:
    """Return views with samples absent from the tables of words in which they have none: these say nothing of them.

    Rows of nothing but zeros coincide, and would be one another's neighbours. All samples of a view stay in which few
    have words.

    >>> from latentsimplex.inputs.views import as_views
    >>> words = np.random.default_rng(0).poisson(0.2, size=(150, 30)).astype(float)
    >>> words[:2] = 0
    >>> found = leave_out_wordless(as_views([words, np.arange(150.0)[:, None]])).present
    >>> found[:, :3].tolist()
    [[False, False, True], [True, True, True]]
    """
    before = np.ones((len(views), views.n_samples), dtype=bool) if views.present is None else views.present
    present = before.copy()
    for v in range(len(views)):
        X = views.load(v)
        if (
            X.shape[1] >= WORDS and holds_words(views.held_table(v)) and not has_unknown(X)
        ):  # which may hold words
            worded = np.asarray(X.sum(axis=1)).ravel() > 0
            if worded.sum() >= LEAST_WORDED:
                present[v, before[v]] = worded
    return keep_present(views, present)


def has_unknown(values: Any) -> bool:
    """Return whether cells of a table, sparse or not, are missing."""
    return bool(np.isnan(values.data if sparse.issparse(values) else values).any())


def keep_present(views: Views, present: np.ndarray | None) -> Views:
    """Return views without the rows of samples that are not present (V, n) in them; None leaves all."""
    before = np.ones((len(views), views.n_samples), dtype=bool) if views.present is None else views.present
    if present is None or (present == before).all():
        return views
    kept = [(now & was)[was] for now, was in zip(present, before, strict=True)]
    return replace(views, present=present & before, load=lambda v: views.load(v)[kept[v]], stack=None)
