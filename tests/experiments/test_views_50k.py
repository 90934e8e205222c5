"""Many views: what is measured is what the fit says of patterns it was drawn from."""

import csv
from functools import partial

import numpy as np
import pytest

from latentsimplex.datasets import many_views
from latentsimplex.experiments import EXPERIMENTS, views_50k
from latentsimplex.experiments.model import VARIANTS, nmi
from made_model import made_model

V, N = 30, 20


@pytest.fixture(scope="module", name="finished")
def _finished(tmp_path_factory):
    """The experiment, run once on few views with few iterations."""
    out = tmp_path_factory.mktemp("views") / "made"
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        for name, fit in VARIANTS.items():
            patch.setitem(VARIANTS, name, partial(fit, n_init=1, max_iter=5))
        result = EXPERIMENTS["views-50k"].run(1, out, lines.append, n_samples=N, n_views=V)
    return out, result, lines


def rows_of(table):
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table}


def fitted(data, memberships, view_patterns):
    model = made_model(memberships, view_patterns)
    model.initial_view_patterns_ = np.zeros(len(data.patterns), dtype=int)
    return model


def test_files_tables_and_progress(finished):
    out, result, lines = finished
    names = {"figure8-paper-settings.png", "figure8-default-settings.png", "reliability.png"}
    assert {path.name for path in out.iterdir()} == {"views-50k.csv", *names}
    assert {path.name for path in result.figures} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in result.figures)
    with open(out / "views-50k.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(result.tables["views-50k"].columns)
    assert lines == ["30 views, seed 0, paper settings", "30 views, seed 0, default settings"]


def test_table_has_truth_paper_and_both_settings(finished):
    table = finished[1].tables["views-50k"]
    assert list(table.columns)[:3] == ["quantity", "truth or ceiling", "paper"]
    rows = rows_of(table)
    assert rows[views_50k.LIVE]["truth or ceiling"] == rows[views_50k.LIVE]["paper"] == 5
    assert rows[views_50k.START]["paper"] == 0.83
    assert rows[views_50k.SECONDS]["truth or ceiling"] is None
    for row in rows.values():
        for name in VARIANTS:
            assert np.isfinite(row[f"{name}, mean"])
            assert row[f"{name}, sd"] is None


def test_table_measures_the_fit_of_its_seed(finished):
    rows = rows_of(finished[1].tables["views-50k"])
    data = many_views(V, N, random_state=0)
    model = VARIANTS["paper settings"](data.views, 10, 10, 0, n_init=1, max_iter=5)
    assert rows[views_50k.LIVE]["paper settings, mean"] == model.n_patterns_
    assert rows[views_50k.START]["paper settings, mean"] == nmi(data.patterns, model.initial_view_patterns_)


def test_notes_state_the_sizes(finished):
    assert "30 views of 20 samples; the paper has 50,000 of 150." in finished[1].notes[0]


def test_sizes_are_the_papers_unless_given(tmp_path, monkeypatch):
    asked = []

    def stop(*arguments, **settings):
        asked.append(arguments)
        raise InterruptedError

    monkeypatch.setattr(views_50k, "many_views", stop)
    with pytest.raises(InterruptedError):
        views_50k.run(1, tmp_path)
    assert asked == [(50_000, 150, 5, 3)]


def test_no_seeds_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="n_seeds=0"):
        views_50k.run(0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# What the numbers are


def test_the_truth_scores_as_the_truth():
    data = many_views(40, 24, random_state=1)
    order = np.array([2, 0, 4, 1, 3])  # which pattern is called first does not matter
    model = fitted(data, [data.oracle[l] for l in order], np.argsort(order)[data.patterns])
    record = views_50k.measure(data, model)
    for quantity, truth in views_50k.TRUTH.items():
        assert record[quantity] == pytest.approx(0 if quantity == views_50k.START else truth, abs=1e-12)


def test_a_true_pattern_is_compared_with_its_best_match():
    data = many_views(40, 24, random_state=1)
    blurred = [0.5 * W + 0.5 / 3 for W in data.oracle]
    model = fitted(data, blurred, data.patterns)
    deviations = []
    for l, W in enumerate(blurred):
        truth, P = data.coassignment(l), W @ W.T
        deviations.append(np.median([abs(P[i, j] - truth[i, j]) for i in range(24) for j in range(i)]))
    record = views_50k.measure(data, model)
    assert record[views_50k.DEVIATION] == pytest.approx(np.mean(deviations))
    # P is then 0.25 times the truth and a constant
    assert record[views_50k.CORRELATION] == pytest.approx(1)


def test_patterns_without_clusters_match_nothing():
    data = many_views(10, 24, random_state=1)
    record = views_50k.measure(data, fitted(data, [np.ones((24, 1))], np.zeros(10, dtype=int)))
    assert record[views_50k.CORRELATION] == 0
    assert record[views_50k.RIGHT] == 0


def test_more_patterns_than_a_row_holds_are_drawn():
    data = many_views(40, 24, random_state=1)
    memberships = [*data.oracle, *data.oracle[:2]]
    figure = views_50k._draw_figure(data, fitted(data, memberships, np.arange(40) % 7))
    titles = [ax.get_title() for part in figure.subfigs for ax in part.axes]
    firsts = [int(np.flatnonzero(data.patterns == l)[0]) for l in range(5)]
    assert [title for title in titles if title.startswith("$S$")] == [
        f"$S$ of view {v}:\ntrue pattern {l}" for l, v in enumerate(firsts)
    ]
    patterns = [title.split(":")[0] for title in titles if title.startswith("$P$")]
    assert patterns == [f"$P$ of pattern {l}" for l in range(7)]


@pytest.mark.parametrize(("clusters", "said"), [(10.0, True), (3.0, False)])
def test_notes_speak_of_too_many_clusters_only_where_there_are(clusters, said):
    record = {**views_50k.TRUTH, views_50k.CLUSTERS: clusters, views_50k.SECONDS: 1.0}
    text = " ".join(views_50k._write_notes({"paper settings": [record]}, 150, 50_000))
    assert "5.0 live patterns where there are 5" in text
    assert ("more clusters than the true 3" in text) == said
