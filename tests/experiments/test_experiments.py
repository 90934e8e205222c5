"""Experiments write what they measured; ceilings and notes follow from the records."""

import csv
import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import consensus_example, running_example, single_view
from latentsimplex.experiments import EXPERIMENTS
from latentsimplex.experiments import consensus_example as consensus_experiment
from latentsimplex.experiments import running_example as running_experiment
from latentsimplex.experiments import table1 as table1_experiment
from latentsimplex.experiments.model import VARIANTS, fit_paper, one_cluster_loss, paper_similarity
from latentsimplex.experiments.peers import make_peers, peer_labels
from latentsimplex.experiments.result import Repetitions
from latentsimplex.results.consensus import form_consensus

N = 36

FILES = {
    "running-example": {
        "running-example.csv",
        "figure1-views.png",
        "figure2-cluster-graphs.png",
        "figure3-similarities.png",
        "figure4-paper-settings.png",
        "figure4-default-settings.png",
        "figure5-memberships.png",
    },
    "consensus-example": {
        "consensus-as-stated.csv",
        "consensus-separated.csv",
        "figure6-as-stated.png",
        "figure6-separated.png",
    },
    "table1": {
        "table1.csv",
        "table1-deviation.csv",
        "table1-clusters.csv",
        "table1-limit.csv",
        "figure7-settings.png",
        "appendix-heatmaps.png",
        "reliability.png",
    },
}

TESTED_ELSEWHERE = {
    "views-50k",
    "digits",
    "brain",
    "leukaemia",
    "found-views",
    "some-labels",
    "graph-beside-views",
}


def cells(table, **where):
    """The only row of a table with these values, as a dict."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table]
    (found,) = [row for row in rows if all(row[name] == value for name, value in where.items())]
    return found


# Every experiment


@pytest.fixture(scope="module", name="finish")
def _finish(tmp_path_factory):
    """Run an experiment once with one seed and few samples, whoever asks first."""

    @cache
    def finish(name):
        out = tmp_path_factory.mktemp("experiments") / "made" / name
        lines = []
        return out, EXPERIMENTS[name].run(1, out, lines.append, n_samples=N), lines

    return finish


@pytest.fixture(params=FILES, name="finished")
def _finished(request, finish):
    return request.param, *finish(request.param)


def test_registry_has_the_experiments():
    assert set(EXPERIMENTS) == set(FILES) | TESTED_ELSEWHERE
    assert all(experiment.summary for experiment in EXPERIMENTS.values())


def test_files_are_written(finished):
    name, out, result, _ = finished
    assert {path.name for path in out.iterdir()} == FILES[name]
    assert {path.name for path in result.figures} == {file for file in FILES[name] if file.endswith(".png")}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in result.figures)


def test_csv_holds_the_table(finished):
    _, out, result, _ = finished
    for name, table in result.tables.items():
        with open(out / f"{name}.csv", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert header == list(table.columns)
        for written, row in zip(rows, table, strict=True):
            for text, cell in zip(written, row, strict=True):
                if isinstance(cell, float):
                    assert float(text) == pytest.approx(cell, rel=1e-5)
                else:
                    assert text == ("" if cell is None else str(cell))


def test_one_seed_has_no_spread(finished):
    _, _, result, _ = finished
    for table in result.tables.values():
        spreads = [k for k, name in enumerate(table.columns) if name.endswith("sd")]
        assert all(row[k] is None for row in table for k in spreads)
        rows = [row for row in table if row[1] == "sd"]
        assert spreads or rows
        assert all(cell is None for row in rows for cell in row[2:])


def test_progress_and_notes_are_text(finished):
    _, _, result, lines = finished
    assert lines
    assert len(result.notes) >= 3
    assert all(isinstance(line, str) and line for line in [*lines, *result.notes])


@pytest.mark.parametrize("name", FILES)
def test_no_seeds_is_an_error_before_anything_is_written(name, tmp_path):
    with pytest.raises(ValueError, match=r"n_seeds=0 is not valid: give a whole number"):
        EXPERIMENTS[name].run(0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_seeds_are_drawn_one_by_one_and_averaged(tmp_path, monkeypatch):
    monkeypatch.delitem(running_experiment.VARIANTS, "default settings")  # which takes longer
    monkeypatch.setattr(running_experiment, "_draw_figures", lambda data, fits: {})
    one, two = (running_experiment.run(k, tmp_path, n_samples=18).tables["running-example"] for k in (1, 2))
    for alone, both in zip(one, two, strict=True):
        first, average, spread = alone[3], both[3], both[4]
        # of two values the first lies sd / sqrt(2) from their mean
        assert abs(first - average) == pytest.approx(spread / np.sqrt(2), abs=1e-12)


# What the numbers are


def test_running_example_measures_the_fit_of_its_seed(finish):
    table = finish("running-example")[1].tables["running-example"]
    data = running_example(N, random_state=0)
    model = LatentSimplexPosition.paper(10, 3, penalty="dirichlet", n_init=2, random_state=0).fit(data.views)
    row = cells(table, quantity="NMI of view 1")
    assert row["Dirichlet rows, mean"] == normalized_mutual_info_score(data.labels[1], model.view_labels_[1])
    assert row["truth or ceiling"] == normalized_mutual_info_score(data.labels[1], data.bayes_labels[0])
    clusters = cells(table, quantity="clusters in view 2")
    assert clusters["Dirichlet rows, mean"] == len(
        np.unique(model.memberships_[model.view_patterns_[2]].argmax(axis=1))
    )
    assert clusters["truth or ceiling"] == clusters["paper"] == 2


@pytest.mark.parametrize("name", FILES)
def test_both_settings_are_in_the_tables(finish, name):
    tables = finish(name)[1].tables
    for settings in VARIANTS:
        for table in tables.values():
            shown = [*table.columns, *(str(cell) for row in table for cell in row)]
            assert any(settings in text for text in shown)


@pytest.mark.parametrize(
    ("patterns", "expected"), [([0, 0, 1], 1.0), ([1, 1, 0], 1.0), ([0, 1, 2], 0.0), ([0, 0, 0], 0.0)]
)
def test_running_example_knows_which_views_belong_together(patterns, expected):
    data = running_example(12, random_state=0)
    model = SimpleNamespace(
        view_patterns_=np.array(patterns),
        n_patterns_=3,
        n_clusters_=np.full(3, 2),
        view_labels_=data.labels,
        loss_=0.0,
    )
    assert running_experiment.measure(data, model)[running_experiment.TOGETHER] == expected


def test_consensus_ceiling_is_the_posterior_given_both_views():
    data = consensus_example(30, separation=1.5, random_state=1)
    x, y = data.views[0][:, 0], data.views[1][:, 0]
    coarse, fine = 1.5 * np.array([0, 0, 2]), 1.5 * np.array([0, 1, 2])
    joint = norm.pdf(x[:, None], coarse) * norm.pdf(y[:, None], fine)
    ours = consensus_experiment._weigh_both_views(data)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours / ours.sum(axis=1, keepdims=True), expected)


def test_consensus_example_counts_excluded_views():
    data = consensus_example(20, separation=6, random_state=0)
    single, pair = np.ones((20, 1)), np.eye(2)[data.labels[0]]
    memberships = [single if v in (1, 4, 7, 9) else pair for v in range(10)]
    consensus = form_consensus(np.arange(10), memberships, range(10))
    model = SimpleNamespace(
        view_patterns_=np.arange(10),
        n_clusters_=np.array([W.shape[1] for W in memberships]),
        view_labels_=np.array([W.argmax(axis=1) for W in memberships]),
        consensus_=consensus,
        labels_=consensus.labels,
    )
    record = consensus_experiment.measure(data, model)
    assert record[consensus_experiment.NOISE_EXCLUDED] == 3
    assert record[consensus_experiment.OTHERS_EXCLUDED] == 1
    assert record[consensus_experiment.EXACT] == 0
    assert record["clusters in views 2-9"] == (3 * 1 + 5 * 2) / 8
    assert record[consensus_experiment.CONSENSUS_CLUSTERS] == 2


def test_deviation_is_over_pairs():
    data = single_view("c", 15, random_state=0)
    model = fit_paper(data.views, 2, 1, seed=0, max_iter=3)
    P, oracle = model.coassignment(view=0), data.coassignment()
    pairs = [abs(P[i, j] - oracle[i, j]) for i in range(15) for j in range(i)]
    record = table1_experiment.measure_deviations(data, model)
    assert record[table1_experiment.MEDIAN] == pytest.approx(np.median(pairs))
    assert record[table1_experiment.MEAN] == pytest.approx(np.mean(pairs))
    labels = model.view_labels_[0]
    hard = [abs(float(labels[i] == labels[j]) - oracle[i, j]) for i in range(15) for j in range(i)]
    assert record[table1_experiment.RATIO] == pytest.approx(np.mean(pairs) / np.mean(hard))


def test_ratio_is_blank_where_hard_labels_are_right(finish):
    table = finish("table1")[1].tables["table1-deviation"]
    for settings in VARIANTS:
        ratio = cells(
            table, **{"deviation of P": f"{table1_experiment.RATIO}, {settings}", "statistic": "mean"}
        )
        assert ratio["a"] is None
        assert ratio["c"] > 0


def test_clusters_are_counted_under_a_loose_bound(finish):
    table = finish("table1")[1].tables["table1-clusters"]
    heading = f"clusters found, g={table1_experiment.LOOSE}"
    assert list(table.columns) == [heading, "statistic", *"abcd"]
    assert cells(table, **{heading: "truth", "statistic": "mean"})["a"] == 2
    model = fit_paper(single_view("b", N, random_state=0).views, 6, 1, seed=0)
    assert cells(table, **{heading: "paper settings", "statistic": "mean"})["b"] == model.n_clusters_[0]


def test_one_cluster_loss_is_divergence_from_ones_plus_one_full_column():
    view = single_view("c", 15, random_state=0).views[0]
    S = paper_similarity(view)[np.triu_indices(15, 1)]
    assert one_cluster_loss(view) == pytest.approx(-np.log(S).sum() + 15**1.5 * np.log(1000), rel=1e-6)


def test_similarity_is_the_one_that_the_model_reads():
    view = single_view("b", 20, random_state=0).views[0]
    S = paper_similarity(view)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_array_equal(np.diag(S), 1)
    own = LatentSimplexPosition.paper(2, 1, n_init=1, random_state=0).fit([view])
    given = LatentSimplexPosition.paper(2, 1, similarity="precomputed", n_init=1, random_state=0).fit([S])
    assert given.loss_ == pytest.approx(own.loss_, rel=1e-8)


# Peers


def test_table1_lists_every_method_beside_the_paper(finish):
    table = finish("table1")[1].tables["table1"]
    assert list(table.columns) == ["method", "statistic", *"abcdef"]
    methods = list(dict.fromkeys(row[0] for row in table))
    assert methods == [*make_peers(2, seed=0), *(f"LSP, {name}" for name in VARIANTS), "Bayes ceiling"]
    assert {row[0] for row in table if row[1] == "paper"} == set(methods) - {"Bayes ceiling"}
    data = single_view("b", N, random_state=0)
    kmeans = make_peers(2, seed=0)["K-means"].fit(data.views[0]).labels_
    assert cells(table, method="K-means", statistic="mean")["b"] == normalized_mutual_info_score(
        data.labels[0], kmeans
    )


class Complaining:
    """A clusterer that warns, as some do where their defaults do not suit."""

    def fit_predict(self, view):
        warnings.warn("not converged", UserWarning, stacklevel=1)
        return np.zeros(len(view), dtype=int)


def test_peers_are_silenced_here_and_nowhere_else():
    assert peer_labels(Complaining(), np.zeros((3, 1))).tolist() == [0, 0, 0]
    with pytest.warns(UserWarning, match="not converged"):
        Complaining().fit_predict(np.zeros((3, 1)))


# Notes follow from the records


def running_notes(clusters=(3, 3, 2), together=1.0, told_loss=0.5):
    def record(counts, loss):
        counted = {f"clusters in view {v}": float(counts[v]) for v in range(3)}
        return {**counted, running_experiment.TOGETHER: together, running_experiment.LOSS: loss}

    found = {name: [record(clusters, 1.0)] for name in running_experiment.VARIANTS}
    found[running_experiment.TOLD] = [record((3, 3, 2), told_loss)]
    return " ".join(running_experiment._write_notes(found))


def test_running_notes_speak_of_too_many_clusters_only_where_there_are():
    assert "too many clusters" in running_notes((9, 3, 2))
    assert "too many clusters" not in running_notes((3, 3, 2))
    assert "Paper settings: 9.0, 3.0, 2.0 clusters" in running_notes((9, 3, 2))


def test_running_notes_blame_the_starts_only_if_the_objective_prefers_fewer():
    assert "0.50 of that with g = 10: the objective prefers fewer" in running_notes((9, 3, 2), told_loss=0.5)
    assert "the objective itself does not prefer fewer" in running_notes((9, 3, 2), told_loss=1.1)


def test_running_notes_say_when_patterns_stay_apart():
    assert "pattern of its own" in running_notes(together=0.0)
    assert "pattern of its own" not in running_notes(together=1.0)


def consensus_notes(excluded=8.0, noise_loss=1.0):
    changed = {consensus_experiment.NOISE_EXCLUDED: excluded, consensus_experiment.NOISE_LOSS: noise_loss}
    aim = consensus_experiment.aim(consensus_example(30, random_state=0))
    found = {variant: [{**aim, **changed}] for variant in consensus_experiment.VARIANTS}
    repetitions = Repetitions([aim], found, {})
    return " ".join(
        consensus_experiment._write_notes(dict.fromkeys(consensus_experiment.SEPARATIONS, repetitions))
    )


def test_consensus_notes_say_when_noise_takes_part():
    assert "5.0 of 8 noise views excluded" in consensus_notes(excluded=5.0)
    assert "noise views keep clusters" in consensus_notes(excluded=5.0)
    assert "noise views keep clusters" not in consensus_notes(excluded=8.0)


def test_consensus_notes_say_when_the_objective_prefers_clusters_in_noise():
    assert "prefers clusters in noise" in consensus_notes(noise_loss=0.4)
    assert "prefers clusters in noise" not in consensus_notes(noise_loss=1.0)


@pytest.mark.parametrize(("loss", "said"), [(0.6, True), (1.0, False)])
def test_limit_notes_say_when_one_cluster_costs_more(loss, said):
    bounds = table1_experiment.LIMIT_BOUNDS
    record = {f"clusters, {name}, g={g}": 7.0 for name in VARIANTS for g in bounds}
    record.update({f"loss, paper settings, g={g}": loss for g in bounds})
    text = " ".join(table1_experiment._write_notes([record]))
    assert "default settings: clusters on average 7.0 with g = 2 and 7.0 with g = 10" in text
    assert ("the loss is lower with these clusters than with one" in text) == said
