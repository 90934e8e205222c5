"""What a page shows of the data: samples in the plane, features that set clusters apart, and their files."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex.analysis.cluster_features import measure_features, read_again
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.report import data_shown, write_report
from latentsimplex.report.data_shown import place_samples, tabulate_effects
from made_model import made_model
from report.reading import Elements, decoded

LABELS = np.repeat([0, 1, 2], 10)
W = np.eye(3)[LABELS]


def planted(seed=0):
    """Two views of three clusters, one feature of each cluster, and one view of noise."""
    rng = np.random.default_rng(seed)
    A, B, C = (rng.normal(size=(30, p)) for p in (4, 3, 2))
    A[:10, 1] += 9
    A[10:20, 3] -= 9
    B[20:, 2] += 9
    return {"a": pd.DataFrame(A, columns=list("pqrs")), "b": B, "noise": C}


def planted_model(**options):
    return made_model([W, np.ones((30, 1))], [0, 0, 1], view_names=["a", "b", "noise"], **options)


def page_with(model, data, tmp_path):
    write_report(model, tmp_path / "page", data)
    return (tmp_path / "page").read_text(encoding="utf-8")


def test_the_plane_is_that_of_the_principal_components():
    model, data = planted_model(), planted()
    found = place_samples(model.results_, read_again(model.results_, data), np.arange(30))
    Z = np.hstack(
        [
            (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1])
            for X in (data["a"].to_numpy(), data["b"])
        ]
    )
    U, s, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    expected = (U * s)[:, :2]
    for axis in range(2):
        assert abs(np.corrcoef(found.points[:, axis], expected[:, axis])[0, 1]) == pytest.approx(1, abs=1e-4)
    assert found.shares == pytest.approx(s[:2] ** 2 / (s**2).sum(), abs=1e-4)
    assert (found.n_views, found.n_features, found.n_joined) == (2, 7, 7)


def test_of_many_features_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(data_shown, "MAX_JOINED", 4)
    model = planted_model()
    found = place_samples(model.results_, read_again(model.results_, planted()), np.arange(5))
    assert (found.points.shape, found.n_features, found.n_joined) == ((5, 2), 7, 4)


@pytest.mark.parametrize("X", [np.arange(30.0)[:, None], np.zeros((30, 3))], ids=["one feature", "constant"])
def test_a_plane_of_little(X):
    model = made_model([W], [0])
    found = place_samples(model.results_, read_again(model.results_, X), np.arange(30))
    assert np.isfinite(found.points).all()
    assert np.allclose(found.points[:, 1], 0, atol=1e-4)


def test_top_features_are_those_that_were_planted():
    model = planted_model()
    found = tabulate_effects(measure_features(model.results_, read_again(model.results_, planted())))
    rows = {(row["view"], row["feature"]): row["effects"] for row in found["rows"]}
    assert rows["a", "q"][0] > 2
    assert rows["a", "s"][1] < -2
    assert rows["b", "x2"][2] > 2
    assert (found["clusters"], found["largest"]) == ([0, 1, 2], np.abs(list(rows.values())).max())


def test_a_page_with_data_has_a_scatter_and_the_features(tmp_path):
    page = page_with(planted_model(), planted(), tmp_path)
    elements = Elements(page)
    for words in (
        "The data, coloured by cluster",
        "7 standardised features in 2 views of equal weight",
        "What sets each cluster apart",
        "Of the 7 features of the views that take part",
    ):
        assert words in elements.text
    circles = [a for tag, a in elements.elements if tag == "circle" and float(a["cx"]) > 2]
    assert len(circles) == 30
    index = decoded(elements.data["samples"]["index"])
    for circle in circles:
        assert circle["fill"] == cluster_colour(LABELS[index[int(circle["data-i"])]])
    features = elements.data["features"]
    cluster, effect = decoded(features["cluster"]), decoded(features["effect"])
    first = int(decoded(features["feature"])[0])
    assert (features["names"][first], int(cluster[0]), len(effect)) == ("q", 0, 21)
    assert features["views"]["names"] == ["a", "b"]


def test_a_page_without_data_says_nothing_of_them(tmp_path):
    text = Elements(page_with(planted_model(), None, tmp_path)).text
    assert "coloured by cluster" not in text
    assert "What sets each cluster apart" not in text


def test_patterns_have_their_own_features(tmp_path):
    two = np.eye(2)[np.arange(30) % 2]
    data = {"a": planted()["a"], "b": np.random.default_rng(0).normal(size=(30, 2)) + 5 * two[:, :1]}
    page = page_with(made_model([W, two], [0, 1], view_names=["a", "b"]), data, tmp_path)
    assert page.count("<h3>What sets each cluster apart</h3>") == 3
    assert '<option value="1">pattern 1</option>' in page[page.index("colour-by") :]


def test_data_without_clusters_are_shown_too(tmp_path):
    text = Elements(page_with(made_model([np.ones((30, 1))], [0]), np.eye(30)[:, :4], tmp_path)).text
    assert "4 standardised features in 1 view." in text
    assert "If you expect clusters" in text
    assert "What sets" not in text


def test_names_of_features_cannot_leave_their_place(tmp_path):
    hostile = "<script>alert(1)</script>&{{ 7 * 7 }}"
    data = planted()
    plain = Elements(page_with(planted_model(), data, tmp_path)).elements
    data["a"].columns = [hostile, *"qrs"]
    elements = Elements(page_with(planted_model(), data, tmp_path))
    assert elements.elements == plain
    assert hostile in elements.data["features"]["names"]


def test_the_heatmap_of_one_pattern_is_drawn_once(tmp_path):
    page = page_with(planted_model(), None, tmp_path)
    assert "co-assignments under the consensus" not in page
    assert "It is pattern 0 , whose figures are above" in Elements(page).text
