"""Views that are groups of the columns of one table, other columns being in none."""

from __future__ import annotations

from dataclasses import replace

from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.views import Views


def take_columns(views: Views, found: FoundColumns) -> Views:
    """Return a view for each that was found in the one view there is, named view0, view1, ...; it stays if none was.

    >>> import numpy as np
    >>> from latentsimplex.inputs.views import as_views
    >>> table = as_views(np.arange(8.0).reshape(2, 4))
    >>> taken = take_columns(table, FoundColumns(np.array([0, -1, 1, 0]), np.ones((4, 2))))
    >>> taken.names, taken[0].tolist()
    (['view0', 'view1'], [[0.0, 3.0], [4.0, 7.0]])
    """
    groups = found.columns
    if not groups:
        return replace(views, found=found)
    whole = views.find_given(0)
    features = views.name_features(0)

    def find_given(v: int) -> GivenColumns:
        places = groups[v].tolist()
        names = None if whole.names is None else [whole.names[j] for j in places]
        return GivenColumns(len(places), names, None, places)

    return replace(
        views,
        names=[f"view{v}" for v in range(len(groups))],
        widths=[len(own) for own in groups],
        load=lambda v: views.load(0)[:, groups[v]],
        columns=lambda v: [features[j] for j in groups[v]],
        units=lambda v: views.find_units(0)[:, groups[v]],
        given=find_given,
        stack=None,
        found=found,
    )
