"""Views found among columns, in the report."""

from dataclasses import replace

import numpy as np

from latentsimplex.inputs.found_columns import FoundColumns
from latentsimplex.report import describe, summarise
from latentsimplex.report.columns import summarise_columns
from latentsimplex.report.page import render
from made_model import random_model


def results_with(found, names=None):
    return replace(
        random_model(12, 2, 3, seed=1).results_, found_columns=found, feature_names=names, n_features=4
    )


def test_columns_of_a_view_are_named_the_best_explained_first():
    gains = np.array([[1.0, -1.0], [5.0, -1.0], [-2.0, 3.0], [-1.0, -1.0]])
    results = results_with(
        FoundColumns(np.array([0, 0, 1, -1]), gains), np.array(["a", "b", "c<", "d"], dtype=object)
    )
    found = summarise_columns(results)
    assert (found["n_columns"], found["n_noise"]) == (4, 1)
    assert [view["columns"] for view in found["views"]] == [["b", "a"], ["c<"]]
    page = render(results)
    assert '<div id="columns">' in page
    assert '<bdi class="name">c&lt;</bdi>' in page
    assert "2 views found in 4 columns, 1 of them in none" in describe(summarise(results))


def test_views_that_were_given_have_no_such_part():
    results = random_model(12, 2, 3, seed=1).results_
    assert summarise_columns(results) is None
    assert '<div id="columns">' not in render(results)
