"""The drawings of a page: as opaque, as long and as far apart as what they show."""

import base64
import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from latentsimplex.plots.palette import cluster_colour
from latentsimplex.report import figures
from report.reading import Elements


def picture(address):
    return imread(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,"))))


def test_a_still_heatmap_is_as_opaque_as_the_pair_is_probable():
    P = np.array([[1.0, 0.25, 0.0], [0.25, 0.5, 0.75], [0.0, 0.75, 1.0]])
    image = picture(figures.heatmap_picture(P))
    assert image.shape == (3, 3, 4)
    assert image[..., 3] == pytest.approx(P, abs=1 / figures.SHADES)


@pytest.mark.parametrize("n_clusters", [3, 40])
def test_still_bars_are_filled_by_the_probabilities(n_clusters):
    W = np.random.default_rng(0).dirichlet([0.3] * n_clusters, size=7)
    image = picture(figures.bars_picture(W))[..., :3]
    expected = {}
    for k in range(n_clusters):  # with many clusters a colour may stand for two of them
        expected[cluster_colour(k)] = expected.get(cluster_colour(k), 0) + W[:, k]
    for colour, share in expected.items():
        own = np.isclose(image, mpl.colors.to_rgb(colour), atol=0.01).all(axis=-1)
        assert own.mean(axis=0) == pytest.approx(share, abs=2 / figures.BAR_PIXELS)
    assert np.isclose(
        image[-1], [mpl.colors.to_rgb(cluster_colour(k)) for k in (W > 0.01).argmax(axis=1)], atol=0.01
    ).all()


def rectangles(svg):
    return [a for tag, a in Elements(svg).elements if tag == "rect"]


def test_strips_and_frames_are_as_long_as_their_clusters():
    labels = np.array([0, 0, 0, 2])
    across, upright = rectangles(figures.strip(labels)), rectangles(figures.strip(labels, upright=True))
    assert [(a["x"], a["width"]) for a in across] == [("0%", "75%"), ("75%", "25%")]
    assert [(a["y"], a["height"]) for a in upright] == [("0%", "75%"), ("75%", "25%")]
    assert [a["fill"] for a in across] == [cluster_colour(0), cluster_colour(2)]
    assert [(a["x"], a["y"], a["width"], a["height"]) for a in rectangles(figures.frames(labels))] == [
        ("0%", "0%", "75%", "75%"),
        ("75%", "75%", "25%", "25%"),
    ]


def test_small_clusters_of_a_strip_have_no_number():
    labels = np.repeat([0, 1, 2], [50, 1, 49])
    assert Elements(figures.strip(labels)).text == "0 2"


def test_a_histogram_counts_the_samples_of_each_bin():
    svg = figures.histogram(np.array([0.01, 0.79, 0.81, 0.82, 1.0]), 0.8)
    assert Elements(svg).text == (
        "1 sample between 0.00 and 0.05 1 sample between 0.75 and 0.80 2 samples between 0.80 and 0.85 "
        "1 sample between 0.95 and 1.00"
    )
    assert [a["class"] for a in rectangles(svg)] == ["low", "low", "high", "high"]
    assert [a["height"] for a in rectangles(svg)] == ["50%", "50%", "100%", "50%"]


def test_a_simplex_has_samples_at_the_mean_of_their_corners():
    W = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0]])
    circles = [
        a for tag, a in Elements(figures.simplex(W, W.argmax(axis=1), "x < y")).elements if tag == "circle"
    ]
    first, second, third, between = [np.array([float(a["cx"]), float(a["cy"])]) for a in circles]
    sides = [np.linalg.norm(a - b) for a, b in ((first, second), (second, third), (third, first))]
    assert sides == pytest.approx([np.sqrt(3)] * 3, abs=0.01)
    assert between == pytest.approx((first + second) / 2, abs=0.002)
    assert [a["fill"] for a in circles[:3]] == [cluster_colour(k) for k in range(3)]


def test_a_loss_curve_falls_from_its_highest_to_its_lowest():
    (line,) = [
        a for tag, a in Elements(figures.loss_curve(np.array([30.0, 20, 10]))).elements if tag == "polyline"
    ]
    assert line["points"] == "0.00,2.00 50.00,50.00 100.00,98.00"
    assert "100.00,98.00" in figures.loss_curve(np.array([1e6, 1e6, 1e6 + 1e-6]))
    assert figures.loss_axis(np.array([1000.0, 999.9])) == (999.9, pytest.approx(1000.9))
    assert "polyline" not in figures.loss_curve(np.array([3.0]))
    assert figures.loss_curve(np.linspace(9, 1, 5000)).count(",") == figures.CURVE_POINTS
