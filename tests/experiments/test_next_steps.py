"""Experiments that the paper's discussion suggests: found views, labels of some samples, a graph beside the views."""

import numpy as np
import pytest

from latentsimplex.datasets import running_example
from latentsimplex.experiments import EXPERIMENTS, found_views, graph_beside_views, some_labels

SIZES = {"found-views": 90, "some-labels": 60, "graph-beside-views": 120}


@pytest.fixture(scope="module", params=SIZES)
def finished(request, tmp_path_factory):
    out, lines = tmp_path_factory.mktemp("next") / request.param, []
    result = EXPERIMENTS[request.param].run(1, out, lines.append, n_samples=SIZES[request.param])
    return request.param, out, result, lines


def test_a_table_a_figure_and_notes_are_written(finished):
    name, out, result, lines = finished
    assert {path.name for path in out.iterdir()} == {f"{name}.csv", f"{name}.png"}
    assert result.figures[0].read_bytes().startswith(b"\x89PNG")
    assert list(result.tables) == [name]
    assert lines
    assert "section 6" in " ".join(result.notes)
    spreads = [k for k, column in enumerate(result.tables[name].columns) if column.endswith("sd")]
    assert len(spreads) >= 3
    assert all(row[k] is None for row in result.tables[name] for k in spreads)


def test_columns_are_grouped_as_they_were_drawn():
    data = found_views.draw(200, 0)
    model = found_views.fit(data, "discover", 0)
    record = found_views.measure(data, model)
    assert record[found_views.GROUPED] > 0.9
    assert record[found_views.COUNT] == 3
    whole = found_views.measure(data, found_views.fit(data, "whole", 0))
    assert whole[found_views.GROUPED] == 0
    assert whole[found_views.CLUSTERS] < record[found_views.CLUSTERS]


def test_labels_are_drawn_from_each_class_and_some_are_wrong():
    truth = np.arange(300) % 3
    y, is_wrong = some_labels.draw_labels(truth, 20, 0.1, seed=1)
    assert (y >= 0).sum() == 60
    assert np.bincount(truth[y >= 0]).tolist() == [20, 20, 20]
    assert is_wrong.sum() == 6
    np.testing.assert_array_equal((y != truth) & (y >= 0), is_wrong)
    none, _ = some_labels.draw_labels(truth, 0, 0.0, seed=1)
    assert (none == -1).all()


def test_graphs_have_the_communities_that_they_should():
    data = running_example(300, 3.5, random_state=0)
    graphs = graph_beside_views.draw_graphs(data, 0)
    same = data.labels[0][:, None] == data.labels[0]

    def ratio(A):
        return A[same].mean() / A[~same].mean()

    assert ratio(graphs[graph_beside_views.GOOD]) > 3
    for useless in (graph_beside_views.RANDOM, graph_beside_views.OTHER):
        assert 0.7 < ratio(graphs[useless]) < 1.4
    for A in graphs.values():
        np.testing.assert_array_equal(A, A.T)
