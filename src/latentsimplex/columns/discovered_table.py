"""A table given with ``views="discover"``: what it may be, and the views that were found in it."""

from __future__ import annotations

from typing import Any

from latentsimplex.base.threads import Workers
from latentsimplex.base.wording import warn_user
from latentsimplex.columns.found_views import find_views
from latentsimplex.inputs.column_views import take_columns
from latentsimplex.inputs.views import Views, as_views


def discover_views(data: Any, precomputed: bool, missing: str, join: str, n_jobs: int | None) -> Views:
    """Return the views found in the one table that data are; ValueError for other data.

    Where no group of columns shows clusters, the table is one view.
    """
    if precomputed:
        raise ValueError(
            'views="discover" groups the columns of a table, and similarity="precomputed" has none: give features, or '
            'leave views="whole".'
        )
    views = as_views(data, "whole", False, missing, join)
    if len(views) > 1:
        raise ValueError(
            f'views="discover" groups the columns of one table, but the data already hold {len(views)} views: give '
            'one table, or leave views="whole".'
        )
    encodings = views.find_given(0).encodings or []
    if categories := [j for j, own in enumerate(encodings) if own.levels is not None]:
        name = (views.find_given(0).names or [])[categories[0]]
        raise ValueError(
            f'views="discover" groups columns of numbers, and {len(categories)} of the {len(encodings)} columns hold '
            f"categories, such as {name!r}: drop them, or say with views= which columns are a view."
        )
    with Workers(n_jobs) as workers:
        found = find_views(views[0], workers)
    if not found.n_views:
        warn_user(
            'No group of columns shows clusters together: views="discover" found no view, and the whole table is one.',
        )
    return take_columns(views, found)
