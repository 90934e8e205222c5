"""Columns by what the clusters of views explain of them, as a heatmap."""

from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.plots import panels, plot_columns
from made_model import random_model
from plots.drawn import names_of, said


def drawn(found):
    return plot_columns(
        replace(random_model(12, 2, 3, seed=1).results_, found_columns=found), ax=panels(1, 1)[1][0, 0]
    )


def test_rows_are_columns_by_view_and_colours_their_gains():
    gains = np.array([[-3.0, 4.0], [9.0, 0.0], [-1.0, -2.0], [16.0, 1.0]])
    ax = drawn(FoundColumns(np.array([1, 0, -1, 0]), gains))
    assert np.asarray(ax.images[0].get_array()).tolist() == [[4, 1], [3, 0], [0, 2], [0, 0]]
    assert names_of(ax) == ["view 0", "view 1", "noise"]
    assert ax.get_title() == "4 columns in 2 views and noise"


def test_many_columns_are_cut_and_the_figure_says_so(monkeypatch):
    monkeypatch.setattr("latentsimplex.plots.cluster_features.MOST_COLUMNS", 3)
    ax = drawn(FoundColumns(np.array([0, 0, -1, -1, -1]), np.arange(5.0)[:, None]))
    assert len(ax.images[0].get_array()) == 3
    assert "3 of 5 columns" in said(ax)


@pytest.mark.parametrize("found", [None, FoundColumns(np.full(3, -1), np.empty((3, 0)))])
def test_views_that_were_not_found_cannot_be_drawn(found):
    with pytest.raises(ValueError, match="No views were found in a table"):
        drawn(found)
