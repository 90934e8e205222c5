"""Labels and links by how probable it is that they are wrong."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from latentsimplex.known.findings import KnownFindings
from latentsimplex.plots import panels, plot_known
from made_model import random_model
from plots.drawn import said


def drawn(n_links=2, height=4, **changes):
    results = random_model(12, 2, 3, seed=1).results_
    labels = np.array([0, 0, 1] + [-1] * 9)
    known = KnownFindings(
        pattern=0,
        pattern_probabilities=np.array([0.9, 0.05, 0.05]),
        classes=np.array(["a", "b"], dtype=object),
        class_table=np.full((3, 2), 0.5),
        cluster_classes=np.array(["a", "b", None], dtype=object),
        labels=labels,
        label_doubts=np.where(labels < 0, np.nan, [0.1, 0.9, 0.2] + [0.0] * 9),
        predicted=labels,
        links=np.tile([3, 4], (n_links, 1)),
        together=np.ones(n_links, dtype=bool),
        link_weights=np.ones(n_links),
        link_doubts=np.linspace(0.3, 0.6, n_links),
        label_error=0.1,
        link_error=0.1,
    )
    return plot_known(replace(results, known=replace(known, **changes)), ax=panels(1, 1, 6, height)[1][0, 0])


def test_each_class_and_kind_of_link_has_a_row_and_doubtful_ones_are_named():
    ax = drawn()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "label a (2)",
        "label b (1)",
        "must-links (2)",
    ]
    assert ax.get_title() == "labels and links about pattern 0"
    assert {"1", "3 - 4"} <= {text.get_text() for text in ax.texts}
    places = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])
    assert sorted(places[:, 0].round(2).tolist()) == [0.1, 0.2, 0.3, 0.6, 0.9]


def test_labels_about_no_pattern_have_no_clusters():
    ax = drawn(pattern=None)
    assert ax.get_title() == "labels and links about no pattern"
    assert ax.get_legend() is None


def test_many_links_are_cut_and_the_figure_says_so():
    ax = drawn(600)
    assert "of each row the 500 that are most probably wrong" in said(ax)


def test_a_fit_without_labels_has_nothing_to_draw():
    with pytest.raises(ValueError, match="neither labels nor links"):
        plot_known(random_model(5, 1, 2))


def test_names_do_not_lie_on_one_another():
    changes = {"label_doubts": np.array([0.9, 0.9, 0.9] + [np.nan] * 9), "link_doubts": np.full(6, 0.95)}
    ax = drawn(6, height=3.3, together=np.arange(6) < 3, **changes)  # as high as a figure of its own
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == 9
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
