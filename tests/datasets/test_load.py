"""The bundled data are what they say they are."""

import csv
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from latentsimplex.datasets import load_digits, load_fruit, load_leukaemia, load_stick_figures


def test_digits_are_complete():
    digits = load_digits()
    shapes = {name: view.shape for name, view in digits.views.items()}
    widths = [("fou", 76), ("fac", 216), ("kar", 64), ("pix", 240), ("zer", 47), ("mor", 6)]
    assert list(shapes.items()) == [(name, (2000, width)) for name, width in widths]
    assert list(digits.view_descriptions) == list(digits.views)
    assert all(view.dtype == np.float64 and np.isfinite(view).all() for view in digits.views.values())
    np.testing.assert_array_equal(np.bincount(digits.labels), [200] * 10)
    assert "CC BY 4.0" in digits.description


def test_digits_in_file_order_are_sorted_and_unaltered():
    digits = load_digits(shuffle=False)
    np.testing.assert_array_equal(digits.labels, np.repeat(np.arange(10), 200))
    np.testing.assert_array_equal(digits.views["fou"][0, :2], [0.065882, 0.19731])
    np.testing.assert_array_equal(digits.views["mor"][0, :4], [1, 0, 0, 133.15])
    assert (digits.views["fac"].max(), digits.views["pix"].max()) == (1353, 6)


def test_digits_shuffle_is_fixed_and_joint():
    plain, once, twice = load_digits(shuffle=False), load_digits(), load_digits()
    other = load_digits(random_state=1)
    np.testing.assert_array_equal(once.labels, twice.labels)
    assert not np.array_equal(once.labels, other.labels)
    order = np.random.default_rng(0).permutation(2000)
    np.testing.assert_array_equal(once.labels, plain.labels[order])
    for name, view in once.views.items():
        np.testing.assert_array_equal(view, plain.views[name][order])


def test_leukaemia_is_complete():
    leukaemia = load_leukaemia()
    assert leukaemia.expression.shape == (128, 1000)
    assert np.isfinite(leukaemia.expression).all()
    assert len(set(leukaemia.genes)) == 1000
    assert len(set(leukaemia.samples)) == 128
    assert len(leukaemia.covariates) == 21
    assert all(column.shape == (128,) for column in leukaemia.covariates.values())
    variability = leukaemia.expression.std(axis=0, ddof=1) / np.median(leukaemia.expression, axis=0)
    assert (np.diff(variability) <= 0).all()
    assert "Artistic-2.0" in leukaemia.description


def test_leukaemia_covariates_have_the_right_types():
    covariates = load_leukaemia().covariates
    assert Counter(covariates["sex"].tolist()) == {"M": 83, "F": 42, "": 3}
    assert Counter(entry[0] for entry in covariates["BT"].tolist()) == {"B": 95, "T": 33}
    assert covariates["age"].dtype == np.float64
    assert np.isnan(covariates["age"]).sum() == 5
    numeric = {name for name, column in covariates.items() if column.dtype.kind == "f"}
    assert numeric == {"age", "t(4;11)", "t(9;22)", "cyto.normal", "ccr", "relapse", "transplant"}


def test_leukaemia_covariates_are_in_the_order_of_the_samples():
    path = files("latentsimplex.datasets") / "data" / "leukaemia_covariates.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    assert [row["sample"] for row in rows] == load_leukaemia().samples.tolist()


def test_stick_figures_are_complete():
    figures = load_stick_figures()
    assert list(figures.views) == [f"row {i}" for i in range(20)]
    assert all(view.shape == (900, 20) and view.dtype == np.float64 for view in figures.views.values())
    assert {view.max() for view in figures.views.values()} <= set(range(200))
    assert Counter(zip(*figures.labels.tolist(), strict=True)) == {
        (upper, lower): 100 for upper in range(3) for lower in range(3)
    }
    assert "BSD-3-Clause" in figures.description


@pytest.mark.parametrize(("truth", "rows"), [(0, range(10)), (1, range(10, 20))])
def test_stick_figures_have_a_truth_in_each_half(truth, rows):
    figures = load_stick_figures()
    own, other = figures.labels[truth], figures.labels[1 - truth]
    half = np.hstack([figures.views[f"row {i}"] for i in rows])
    # the figure is drawn brighter than whatever background the half has, and only the half's own pose moves it
    drawn = half > half.mean(axis=1, keepdims=True)
    assert len(np.unique(drawn, axis=0)) == 3
    for pose in range(3):
        assert len(np.unique(drawn[own == pose], axis=0)) == 1
        assert len(np.unique(drawn[other == pose], axis=0)) == 3


def test_fruit_is_complete():
    fruit = load_fruit()
    assert list(fruit.views) == [f"feature {j}" for j in range(6)]
    assert all(view.shape == (105, 1) and np.isfinite(view).all() for view in fruit.views.values())
    kinds = {(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}
    assert Counter(zip(*fruit.labels.tolist(), strict=True)) == dict.fromkeys(kinds, 15)
    assert "BSD-3-Clause" in fruit.description


def test_fruit_is_named_as_its_features_say():
    fruit = load_fruit()
    hue = fruit.views["feature 0"][:, 0]
    green, red, yellow = (np.median(hue[fruit.labels[0] == colour]) for colour in range(3))
    assert yellow < green < 0.4 < 0.6 < red
    assert np.abs(fruit.views["feature 3"]).max() < 1e-12


def test_every_bundled_file_states_its_licence():
    folder = files("latentsimplex.datasets") / "data"
    notes = (folder / "LICENCES.md").read_text(encoding="utf-8")
    for item in folder.iterdir():
        assert item.name in notes or item.name == "LICENCES.md"
