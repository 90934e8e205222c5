"""Genes as views: the screen, the covariates, who leads, and what is written. The models are small or made up."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.cli import main
from latentsimplex.datasets import Brain, load_leukaemia
from latentsimplex.experiments import EXPERIMENTS, genes
from latentsimplex.experiments.covariates import as_levels
from latentsimplex.experiments.gene_trials import (
    BRAIN,
    REACHED,
    SMALL_P,
    Study,
    Trial,
    tabulate_covariates,
    tabulate_top_genes,
    write_notes,
)
from latentsimplex.experiments.genes import run_leukaemia, run_study, screen_genes
from latentsimplex.experiments.result import be_silent

N = 40
SUFFIXES = ("paper-settings", "default-settings")


def cells(table, column):
    return table[column].tolist()


def row(table, name):
    """The row of a table that begins with a name, as a dict."""
    (found,) = [dict(zip(table.columns, row, strict=True)) for row in table if row[0] == name]
    return found


def made_model(pattern_labels, view_patterns, responsibilities=None):
    """A model with these labels, as far as the experiment looks at one."""
    labels, followed = np.array(pattern_labels), np.array(view_patterns)
    certainty = np.ones(len(followed)) if responsibilities is None else np.array(responsibilities)
    return SimpleNamespace(
        n_samples_=labels.shape[1],
        n_patterns_=len(labels),
        n_clusters_=np.array([len(np.unique(own)) for own in labels]),
        pattern_weights_=np.bincount(followed, minlength=len(labels)) / len(followed),
        view_patterns_=followed,
        view_labels_=labels[followed],
        view_responsibilities_=certainty[:, None],
    )


TRUTH = np.repeat([0, 1], N // 2)
NOISE = np.tile([0, 1, 2, 3], N // 4)
LEVELS = {"truth": as_levels(np.array(["a", "b"])[TRUTH]), "score": as_levels(NOISE.astype(float))}


@pytest.fixture(name="trial")
def _trial():
    model = made_model([NOISE, TRUTH], [0, 1, 1, 0, 1], [1.0, 0.7, 0.9, 0.8, 0.7])
    return Trial.from_fit(model, LEVELS, seed=0)


# The screen


def test_screen_ranks_by_spread_over_median():
    data = load_leukaemia().expression
    order = np.random.default_rng(0).permutation(1000)
    assert screen_genes(data[:, order]).tolist() == np.argsort(order).tolist()  # the file is sorted by it
    assert screen_genes(data[:, order], 7).tolist() == np.argsort(order)[:7].tolist()


def test_screen_leaves_out_what_has_no_ratio_or_no_spread():
    columns = {"zero": [0, 0, 9.0], "negative": [-5, -1, 3.0], "flat": [2, 2, 2.0], "mild": [4, 5, 6.0]}
    columns["wild"] = [0, 1, 50.0]
    kept = screen_genes(np.array(list(columns.values())).T)
    assert [list(columns)[k] for k in kept] == ["wild", "mild"]


def test_screen_keeps_ties_in_order():
    assert screen_genes(np.array([[1.0, 2, 3], [2, 4, 6]])).tolist() == [0, 1, 2]


# A trial


def test_scores_of_views_are_nmi_with_their_labels(trial):
    for name, own in (("truth", TRUTH), ("score", NOISE)):
        expected = [normalized_mutual_info_score(own, labels) for labels in trial.model.view_labels_]
        np.testing.assert_allclose(trial.view_scores(name), expected, atol=1e-12)


def test_ties_are_ranked_by_responsibility_then_by_the_screen(trial):
    assert trial.rank_views("truth").tolist() == [2, 1, 4, 0, 3]
    assert trial.rank_views("score").tolist() == [0, 3, 2, 1, 4]


def test_record_counts_covariates_that_reach_the_cut_off_and_a_small_p(trial):
    record = trial.measure()
    assert (record["live patterns"], record["largest number of clusters"]) == (2, 4)
    assert (record[REACHED], record[SMALL_P]) == (2, 2)
    alone = Trial.from_fit(made_model([NOISE], [0, 0]), LEVELS, seed=0)
    assert (alone.measure()[REACHED], alone.measure()[SMALL_P]) == (1, 1)
    assert "MaxNMI of sex" not in record


def test_covariates_are_chosen_by_the_study_or_by_p(trial):
    study = Study("x", "x", {}, ("score", "missing"), ())
    assert trial.choose_covariates(study) == ["score"]
    assert trial.choose_covariates(Study("x", "x", {}, (), ())) == ["truth", "score"]


def test_covariate_table_names_who_leads(trial):
    table = tabulate_covariates([trial], LEVELS, np.array(["g0", "g1", "g2", "g3", "g4"]))
    truth, score = row(table, "truth"), row(table, "score")
    assert (truth["kind"], truth["levels"], truth["samples"]) == ("categories", 2, N)
    assert (truth["gene"], truth["tied genes"], truth["pattern"]) == ("g2", 3, 1)
    assert (score["gene"], score["tied genes"], score["pattern"]) == ("g0", 2, 0)
    assert (truth["MaxNMI, mean"], truth["MaxNMI, sd"]) == (pytest.approx(1), None)
    assert (truth["p, median"], truth["seeds >= 0.2"]) == (1 / 2000, "1 of 1")


def test_covariate_table_is_over_seeds():
    same = Trial.from_fit(made_model([TRUTH], [0]), LEVELS, seed=0)
    none = Trial.from_fit(made_model([np.zeros(N, dtype=int)], [0]), LEVELS, seed=1)
    truth = row(tabulate_covariates([same, none, none], LEVELS, np.array(["g0"])), "truth")
    assert truth["MaxNMI, mean"] == pytest.approx(1 / 3)
    assert truth["MaxNMI, sd"] == pytest.approx(np.sqrt(1 / 3))
    assert (truth["p, median"], truth["seeds >= 0.2"]) == (1, "1 of 3")


def test_nobody_leads_where_nothing_is_found():
    none = Trial.from_fit(made_model([np.zeros(N, dtype=int)], [0, 0]), LEVELS, seed=0)
    table = tabulate_covariates([none], LEVELS, np.array(["g0", "g1"]))
    assert cells(table, "MaxNMI, mean") == [0, 0]
    assert {*cells(table, "gene"), *cells(table, "tied genes"), *cells(table, "pattern")} == {None}


def test_top_genes_are_in_order_with_pattern_and_responsibility(trial):
    names = np.array(["g0", "g1", "g2", "g3", "g4"])
    table = tabulate_top_genes(Study("x", "x", {}, ("truth",), ()), {"v": [trial]}, names)
    assert [(r[2], r[3], r[5], r[6]) for r in table] == [
        (1, "g2", 1, 0.9),
        (2, "g1", 1, 0.7),
        (3, "g4", 1, 0.7),
        (4, "g0", 0, 1.0),
        (5, "g3", 0, 0.8),
    ]
    assert table["NMI"][0] == pytest.approx(1)


# Notes


def test_notes_warn_where_chance_reaches_the_cut_off():
    many = Trial.from_fit(made_model([np.arange(N)], [0]), LEVELS, seed=0)
    study = Study("x", "x", {}, ("score",), ())
    text = " ".join(write_notes(study, {"v": [many]}, 9, 30, ["name"]))
    assert "permuted covariates reach 0.2 too, more often than once in twenty for truth, score" in text
    assert "of the paper's 1 covariates 1 reach 0.2 and 0 have p of 0.05 or less" in text
    assert "left out: name." in text
    few = Trial.from_fit(made_model([TRUTH], [0]), {"truth": LEVELS["truth"]}, seed=0)
    text = " ".join(write_notes(Study("x", "x", {}, (), ()), {"v": [few]}, 9, 30, []))
    assert "permuted covariates" not in text
    assert "left out:" not in text
    assert "1.0 reach 0.2 and 1.0 have p of 0.05 or less, where chance would give 0.1" in text


# Whole runs


@pytest.fixture(scope="module", name="finished")
def _finished(tmp_path_factory):
    """One small run of the bundled data with the real models."""
    out = tmp_path_factory.mktemp("genes") / "made"
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(genes, "BOUND", 3)
        result = EXPERIMENTS["leukaemia"].run(1, out, lines.append, n_samples=24, n_views=8)
    return out, result, lines


def test_a_run_writes_tables_figures_and_top_genes(finished):
    out, result, lines = finished
    tables = {"leukaemia"} | {
        f"leukaemia-{kind}-{s}" for kind in ("covariates", "patterns") for s in SUFFIXES
    }
    figures = {f"leukaemia-{suffix}.png" for suffix in SUFFIXES}
    assert set(result.tables) == tables
    assert {path.name for path in result.figures} == figures
    files = figures | {f"{name}.csv" for name in tables} | {"leukaemia-top-genes.csv"}
    assert {path.name for path in out.iterdir()} == files
    assert lines == ["leukaemia, seed 0, paper settings", "leukaemia, seed 0, default settings"]
    assert all(isinstance(note, str) and note for note in result.notes)


def test_a_run_reports_patterns_and_clusters(finished):
    _, result, _ = finished
    summary = result.tables["leukaemia"]
    assert "paper" not in summary.columns  # which has nothing to say on these data
    assert (
        row(summary, "samples")["paper settings, mean"],
        row(summary, "genes")["paper settings, mean"],
    ) == (
        24,
        8,
    )
    for variant, suffix in zip(("paper settings", "default settings"), SUFFIXES, strict=True):
        patterns = result.tables[f"leukaemia-patterns-{suffix}"]
        assert sum(cells(patterns, "genes")) == 8
        assert sum(cells(patterns, "weight")) == pytest.approx(1)
        assert row(summary, "live patterns")[f"{variant}, mean"] == len(patterns)
        assert row(summary, "largest number of clusters")[f"{variant}, mean"] == max(
            cells(patterns, "clusters")
        )


def test_a_run_lists_the_top_genes_of_four_covariates(finished):
    out, result, _ = finished
    with open(out / "leukaemia-top-genes.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 4 * 8  # variants, covariates, genes
    assert {r["gene"] for r in rows} == set(load_leukaemia().genes[_kept()])
    # each variant has four covariates of its own, those that its clusters have most to do with
    listed = {(r["variant"], r["covariate"]) for r in rows}
    assert sorted(variant for variant, _ in listed) == ["default settings"] * 4 + ["paper settings"] * 4
    for variant, name in listed:
        scores = [float(r["NMI"]) for r in rows if (r["variant"], r["covariate"]) == (variant, name)]
        assert len(scores) == 8
        assert scores == sorted(scores, reverse=True)
        suffix = variant.replace(" ", "-")
        best = row(result.tables[f"leukaemia-covariates-{suffix}"], name)["MaxNMI, mean"]
        assert scores[0] == pytest.approx(best, abs=1e-5)


def _kept():
    rows = np.sort(np.random.default_rng(0).permutation(128)[:24])
    return screen_genes(load_leukaemia().expression[rows], 8)


def made_brain(n=N, n_genes=12):
    rng = np.random.default_rng(0)
    covariates = {
        "sex": np.array(["M", "F"])[TRUTH],
        "braak": NOISE.astype(float),
        "hispanic": np.full(N, "no"),
    }
    return Brain(
        expression=rng.gamma(2.0, size=(n, n_genes)),
        genes=np.array([f"g{k}" for k in range(n_genes)]),
        samples=np.array([str(i) for i in range(n)]),
        covariates={name: column[:n] for name, column in covariates.items()},
        description="made up",
    )


@pytest.fixture
def received(monkeypatch):
    """What the model was given, in place of being fitted."""
    calls = []

    def fit(views, n_clusters, n_patterns, seed):
        calls.append((views, n_clusters, n_patterns, seed))
        labels = np.random.default_rng(seed).integers(3, size=(2, views.shape[1]))
        return made_model(labels, np.arange(len(views)) % 2)

    monkeypatch.setattr(genes, "VARIANTS", {"quick": fit})
    return calls


def test_each_gene_is_a_view_in_the_order_of_the_screen(received):
    data = made_brain()
    run_study(BRAIN, data, range(2), be_silent, n_views=5)
    assert [call[1:] for call in received] == [(30, 30, 0), (30, 30, 1)]
    for views, *_ in received:
        np.testing.assert_array_equal(views[:, :, 0], data.expression[:, screen_genes(data.expression, 5)].T)


def test_seeds_share_the_subset_of_samples(received):
    run_study(BRAIN, made_brain(), range(2), be_silent, n_samples=30)
    assert received[0][0].shape == (12, 30, 1)
    np.testing.assert_array_equal(received[0][0], received[1][0])


def test_brain_stands_beside_the_paper(received):
    result = run_study(BRAIN, made_brain(), range(2), be_silent)
    summary = result.tables["brain"]
    assert row(summary, "live patterns") == {
        "quantity": "live patterns",
        "paper": 10,
        "quick, mean": 2,
        "quick, sd": 0,
    }
    assert row(summary, "MaxNMI of sex")["paper"] == 0.13
    assert row(summary, SMALL_P)["paper"] is None
    assert cells(result.tables["brain-covariates-quick"], "covariate") == ["sex", "braak"]
    assert list(result.figures) == ["figure10-quick"]
    assert "left out: hispanic." in " ".join(result.notes)


def test_brain_reads_the_path_it_is_given(received, tmp_path, monkeypatch):
    paths = []
    monkeypatch.setattr(genes, "load_brain", lambda path: paths.append(path) or made_brain())
    EXPERIMENTS["brain"].run(1, tmp_path / "out", n_samples=30, n_views=4, data=tmp_path / "here")
    assert paths == [tmp_path / "here"]
    assert received[0][0].shape == (4, 30, 1)


# Refusals


def test_brain_without_a_path_says_what_to_give(tmp_path):
    with pytest.raises(ValueError, match=r"give --data, a folder .* from https://aging\.brain-map\.org"):
        EXPERIMENTS["brain"].run(1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["brain", "leukaemia"])
def test_no_seeds_is_an_error_before_anything_is_read(name, tmp_path):
    with pytest.raises(ValueError, match="n_seeds=0 is not valid: give a whole number"):
        EXPERIMENTS[name].run(0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (made_brain(), {"n_samples": 41}, "n_samples=41 is more than the 40 samples of the data"),
        (made_brain(), {"n_samples": 1}, "n_samples=1 is not valid"),
        (made_brain(), {"n_views": 0}, "n_views=0 is not valid"),
        (made_brain(n_genes=0), {}, "No gene varies around a median above 0"),
        (made_brain(n=3), {}, "No covariate has two or more levels"),
    ],
)
def test_senseless_requests_are_refused(data, settings, message, received):
    with pytest.raises(ValueError, match=message):
        run_study(BRAIN, data, range(1), be_silent, **settings)
    assert not received


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["brain"], "Error: The brain data may not travel with the package: give --data", 1),
        (["brain", "--data", "nowhere"], "Error: There is no nowhere: download", 1),
        (["leukaemia", "--data", "."], "Error: leukaemia takes no --data: leave it out, or run brain.", 2),
        (["table1", "--data", "."], "Error: table1 takes no --data: leave it out, or run brain.", 2),
        (["leukaemia", "--samples", "500"], "Error: n_samples=500 is more than the 128 samples", 1),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(arguments, message, status, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["reproduce", *arguments])
    assert result.exit_code == status
    assert result.output.splitlines()[-1].startswith(message)
    assert result.output.count("\n") == (4 if status == 2 else 1)  # usage comes first
    assert not list(tmp_path.iterdir())


def test_the_command_line_hands_over_path_and_numbers(received, tmp_path, monkeypatch):
    paths = []
    monkeypatch.setattr(genes, "load_brain", lambda path: paths.append(path) or made_brain())
    arguments = ["--seeds", 1, "--samples", 30, "--views", 4, "--data", tmp_path, "--out", tmp_path / "out"]
    result = CliRunner().invoke(main, ["reproduce", "brain", *map(str, arguments)])
    assert result.exit_code == 0
    assert paths == [tmp_path]
    assert received[0][0].shape == (4, 30, 1)
    assert "Written to" in result.output


def test_leukaemia_is_the_bundled_data(received, tmp_path):
    run_leukaemia(1, tmp_path, n_views=3)
    np.testing.assert_array_equal(received[0][0][:, :, 0], load_leukaemia().expression[:, :3].T)
