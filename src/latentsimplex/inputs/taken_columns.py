"""Views that are groups of the columns of one table, other columns being in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latentsimplex.base.types import Indices
from latentsimplex.inputs.mixed_columns import GivenColumns
from latentsimplex.inputs.views import Views


def take_columns(views: Views, groups: Sequence[Indices]) -> Views:
    """Return a view for each group of columns of the one view there is, named view0, view1, ...

    >>> import numpy as np
    >>> from latentsimplex.inputs.views import as_views
    >>> table = as_views(np.arange(8.0).reshape(2, 4))
    >>> taken = take_columns(table, [np.array([0, 3]), np.array([2])])
    >>> taken.names, taken[0].tolist()
    (['view0', 'view1'], [[0.0, 3.0], [4.0, 7.0]])
    """
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
    )
