"""Views against covariates: rows, marks and scales, few views or many."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from latentsimplex.analysis.screening import screen, screen_model
from latentsimplex.plots import plot_maxima, plot_screening, plot_top_views
from latentsimplex.plots.palette import OKABE_ITO
from made_model import random_model
from plots.drawn import dots, maxima, names_of, said


def screened(n_views=3, n_patterns=2, n=60, covariates=("sex", "batch")):
    """Pattern 0 is the first covariate; nothing else is related."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(n_patterns, n))
    patterns = np.sort(np.r_[np.arange(n_patterns), rng.integers(n_patterns, size=n_views - n_patterns)])
    columns = {name: rng.integers(2, size=n) for name in covariates}
    columns[covariates[0]] = labels[0]
    return screen(
        labels,
        patterns,
        columns,
        categorical=list(covariates),
        n_permutations=199,
        view_names=np.array([f"view{v}" for v in range(n_views)]),
        certainty=rng.uniform(size=n_views),
        random_state=0,
    )


def marks(ax):
    """Places of filled and of open dots, as (row, column)."""
    return [{(int(y), int(x)) for x, y in part.get_offsets()} for part in dots(ax)]


def test_screening_has_a_row_for_each_of_few_views_and_marks_findings(ax):
    found = screened()
    plot_screening(found, ax=ax)
    order = np.lexsort((-found.certainty, found.view_patterns))
    np.testing.assert_array_equal(ax.images[0].get_array(), found.statistics[found.view_patterns[order]])
    assert names_of(ax) == found.view_names[order].tolist()
    own = {(row, 0) for row, v in enumerate(order) if found.view_patterns[v] == 0}
    family, discovery = marks(ax)
    assert family == own
    assert not family & discovery
    assert [text.get_text() for text in ax.get_xticklabels()] == ["sex", "batch"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "family-wise p ≤ 0.05",
        "false discovery rate ≤ 0.05",
    ]
    assert said(ax) == ""


def test_screening_of_many_views_has_a_row_for_each_pattern_and_says_so(ax):
    found = screened(n_views=5000, n_patterns=4)
    plot_screening(found, ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), found.statistics)
    own = np.flatnonzero(found.view_patterns == 0)
    surest = own[np.argmax(found.certainty[own])]
    assert names_of(ax)[0] == f"0: view{surest} and {len(own) - 1:,} more"
    assert "5,000 views: a row for each pattern" in said(ax)


def test_screening_of_many_patterns_shows_the_most_significant(ax):
    found = screened(n_views=60, n_patterns=60)
    plot_screening(found, ax=ax)
    rows = [int(name.split(":")[0]) for name in names_of(ax)]
    assert len(rows) == 40
    assert rows == sorted(rows)
    smallest = found.familywise.min(axis=1)
    left_out = np.setdiff1d(np.arange(60), rows)
    assert smallest[rows].max() <= smallest[left_out].min()
    assert "the 40 most significant of 60 patterns" in said(ax)


def test_screening_says_what_its_colours_are(ax):
    model = random_model(30, 2, 3)
    covariates = {"age": np.arange(30.0), "sex": list("FM" * 15)}
    found = screen_model(model, covariates, statistic="ari", n_permutations=99, random_state=0)
    plot_screening(found, ax=ax)
    assert ax.child_axes[0].get_ylabel() == "ARI or $\\epsilon^2$ of ranks"


def test_screening_level_is_checked_and_used(ax):
    found = screened()
    with pytest.raises(ValueError, match="level=2 is not valid"):
        plot_screening(found, level=2)
    plot_screening(found, level=0.004, ax=ax)
    assert marks(ax)[0] == set()  # 199 permutations give 1/200 at best


def test_maxima_have_a_bar_and_two_marks_for_each_covariate():
    ax = plot_maxima(["a", "b"], *maxima(), cut_off=0.2)
    assert [bar.get_width() for bar in ax.patches] == [0.3, 0.1]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    thresholds, baselines = (marks.get_offsets()[:, 0].tolist() for marks in dots(ax))
    assert (thresholds, baselines) == ([0.2, 0.15], [0.12, 0.4])
    assert ax.lines[0].get_xdata() == [0.2, 0.2]
    assert ax.get_ylim() == (1.5, -0.5)  # the first at the top
    assert ax.get_xlim()[1] > 0.4


def test_maxima_that_chance_explains_are_grey():
    ax = plot_maxima(["a", "b"], *maxima(), cut_off=0.2)
    notable, quiet = (bar.get_facecolor() for bar in ax.patches)
    assert notable == to_rgba(OKABE_ITO[5])
    assert len(set(quiet[:3])) == 1


@pytest.mark.parametrize("n", [2, 8])
def test_the_legend_of_maxima_is_whole_and_beside_the_bars(n):
    some = np.linspace(0.2, 0.6, n)
    names = [f"a covariate of a long name {k}" for k in range(n)]
    ax = plot_maxima(names, some, some, some, some > 0.3, cut_off=0.25)
    ax.figure.canvas.draw()
    legend, figure, panel = ax.get_legend().get_window_extent(), ax.figure.bbox, ax.get_window_extent()
    assert figure.x0 <= legend.x0 < legend.x1 <= figure.x1
    assert figure.y0 <= legend.y0 < legend.y1 <= figure.y1
    assert legend.x0 >= panel.x1


def test_top_views_stand_side_by_side():
    blocks = [np.array([[0.5, 0.4], [0.1, 0.0]]), np.array([[0.2], [0.3]])]
    ax = plot_top_views(["a", "b"], blocks)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0.5, 0.4, 0.2], [0.1, 0.0, 0.3]])
    assert ax.get_xticks().tolist() == [0.5, 2]
    assert ax.images[0].get_clim() == (0, 0.5)


def test_top_views_of_nothing_look_like_nothing():
    ax = plot_top_views(["a"], [np.zeros((1, 3))])
    assert ax.images[0].get_clim() == (0, 0.1)
