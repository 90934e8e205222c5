"""What a page's script is given: numbers to the bits that they are kept to, and which samples."""

import numpy as np
import pytest

from latentsimplex.report import page as whole_page
from latentsimplex.report import page_data
from made_model import made_model, random_model
from report.reading import ONE, SURE, Elements, decoded, page_of


def test_memberships_are_kept_to_the_16_bits_of_their_numbers():
    model = random_model(40, 2, 3, concentration=0.3)
    data = page_data.collect_data(model.results_, page_data.choose_samples(model.results_))
    rows = decoded(data["samples"]["index"])
    assert sorted(rows.tolist()) == list(range(40))
    for W, labels, pattern in zip(model.memberships_, model.pattern_labels_, data["patterns"], strict=True):
        assert decoded(pattern["memberships"]).reshape(40, 3) / 65535 == pytest.approx(W[rows], abs=1 / 65535)
        assert decoded(pattern["labels"]).tolist() == labels[rows].tolist()


def test_only_certainty_is_kept_as_certain():
    levels = decoded(page_data.encode_probabilities(np.array([0.0, 1e-300, 0.5, 1 - 1e-12, 1.0])))
    assert levels.tolist() == [0, 1, 32768, 65534, 65535]


@pytest.mark.parametrize(("top", "size"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_whole_numbers_take_the_bytes_they_need(top, size):
    column = page_data.encode_whole_numbers(np.array([0, top]))
    assert column[0] == f"u{size}"
    assert decoded(column).tolist() == [0, top]


def test_figures_are_in_the_order_of_their_clusters(model):
    shown = page_data.choose_samples(model.results_)
    for own, order in zip(model.pattern_labels_, shown.patterns, strict=True):
        assert (np.diff(own[shown.kept[order]]) >= 0).all()
    samples = shown.kept[shown.patterns[0]]
    assert samples.tolist() == [0, 1, 3, 2]


def test_the_consensus_figure_has_those_most_together_with_their_cluster_first():
    model = random_model(30, 2, 3)
    P, labels = model.coassignment().toarray(), model.labels_
    shown = page_data.choose_samples(model.results_)
    others = [(labels == labels[i]) & (np.arange(30) != i) for i in range(30)]
    together = [P[i, others[i]].mean() for i in range(30)]
    expected = sorted(range(30), key=lambda i: (labels[i], -together[i]))
    assert shown.kept[shown.consensus].tolist() == expected


def test_views_keep_their_order_and_the_next_pattern(model):
    model.view_responsibilities_[0] = [0.6, 0.1, 0.3]
    views = page_data.collect_data(model.results_, page_data.choose_samples(model.results_))["views"]
    assert views["names"] == ["a", "b", "c", "d", "flat"]
    assert decoded(views["pattern"]).tolist() == [0, 0, 0, 1, 2]
    assert (decoded(views["next"])[0], decoded(views["nextProbability"])[0] / 65535) == (
        2,
        pytest.approx(0.3, abs=1e-5),
    )
    assert decoded(views["weight"]).tolist() == [1, 1, 1, 1, 0]


def test_of_many_samples_the_least_sure_are_listed_and_an_even_choice_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(page_data, "MAX_MEMBERSHIPS", 30_000)
    model = random_model(5000, 2, 5)
    shown = page_data.choose_samples(model.results_)
    assert shown.n_listed == 30_000 // 10 - 600
    sure = np.mean([W.max(axis=1) for W in model.memberships_], axis=0)
    assert sorted(shown.kept[: shown.n_listed].tolist()) == sorted(
        np.argsort(sure)[: shown.n_listed].tolist()
    )
    assert len(set(shown.kept.tolist())) == len(shown.kept) <= 3000
    drawn = {frozenset(shown.kept[order].tolist()) for order in [shown.consensus, *shown.patterns]}
    assert [len(samples) for samples in drawn] == [600]
    text = Elements(page_of(model, tmp_path)).text
    assert "600 of 5,000 samples are drawn, chosen evenly" in text
    assert "The 2,400 least sure of 5,000 samples" in text


def test_all_of_few_samples_are_shown_without_a_note(tmp_path):
    assert "are drawn" not in Elements(page_of(random_model(600, 1, 3), tmp_path)).text


def test_only_so_many_views_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(page_data, "MAX_LISTED_VIEWS", 300)
    monkeypatch.setattr(whole_page, "MAX_LISTED_VIEWS", 300)
    page = Elements(page_of(made_model([SURE, ONE], [0] * 205 + [1] * 300), tmp_path))
    assert len(page.data["views"]["names"]) == len(decoded(page.data["views"]["pattern"])) == 300
    assert "The first 300 views of 505 are in this page" in page.text
    assert "and 288 more" in page.text
