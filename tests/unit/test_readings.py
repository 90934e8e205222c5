"""Readings: one scale for all views, features by kind of view, and the reading that draws what was found."""

import numpy as np
import pytest

from latentsimplex.similarity import Diffusion, Kernel, Readings
from latentsimplex.similarity.readings import FEATURES, SCALES

X = np.random.default_rng(0).normal(size=(30, 4))
ONE = ((1, "as they are"),)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("features", FEATURES)
def test_a_reading_is_the_diffusion_of_its_scale_and_features(scale, features):
    reading = Readings(scale, ((4, features),))
    kernel = Diffusion(**SCALES[scale], **FEATURES[features])
    assert isinstance(reading, Kernel)
    assert reading.kernel(4) == kernel
    assert np.array_equal(reading.exponents(X), kernel.exponents(X))


def test_scales_and_features_differ():
    found = [Readings(scale, ((4, name),)).kernel(4) for scale in SCALES for name in FEATURES]
    assert len(set(found)) == len(SCALES) * len(FEATURES)
    assert not any(Readings(scale, ONE).kernel(1).balance for scale in ("local", "broad", "fine"))
    assert Readings("mixed", ONE).kernel(1).balance


def test_views_are_read_like_the_nearest_kind_by_ratio():
    reading = Readings("local", ((1, "as they are"), (10, "standardised"), (1000, "one by one")))
    kinds = {"as they are": [1, 2, 3], "standardised": [4, 10, 99], "one by one": [101, 1000, 10**6]}
    for name, counts in kinds.items():
        for count in counts:
            assert reading.kernel(count) == Readings("local", ((count, name),)).kernel(count), (name, count)


def test_the_number_of_features_of_a_view_decides():
    reading = Readings("broad", ((1, "as they are"), (4, "one by one")))
    assert np.array_equal(reading.exponents(X[:, :1]), reading.kernel(1).exponents(X[:, :1]))
    assert np.array_equal(reading.exponents(X), reading.kernel(4).exponents(X))
    assert not np.array_equal(reading.exponents(X), reading.kernel(1).exponents(X))


def test_a_mean_takes_the_place_of_the_scales_own():
    assert Readings("broad", ONE).kernel(1).mean == SCALES["broad"]["mean"]
    assert Readings("broad", ONE, mean=0.35).kernel(1).mean == 0.35


def test_local_walks_draw_clusters_by_mixing_as_much_as_samples_are_co_assigned():
    drawn = Readings("local", ((1, "as they are"), (4, "one by one"))).drawing(0.37)
    assert drawn == Readings("mixed", ((1, "as they are"), (4, "one by one")), 0.37)
    s = np.exp(-drawn.exponents(X))
    assert s.mean() == pytest.approx(0.37, abs=0.02)


def test_broad_walks_give_way_to_fine_ones():
    assert Readings("broad", ((4, "standardised"),)).drawing(0.37) == Readings("fine", ((4, "standardised"),))


def test_lists_of_a_file_become_tuples():
    from_file = Readings("local", [[1, "as they are"], [np.int64(4), "standardised"]])
    assert from_file == Readings("local", ((1, "as they are"), (4, "standardised")))
    assert len({from_file, Readings("local", ((1, "as they are"), (4, "standardised")))}) == 1


@pytest.mark.parametrize(
    ("scale", "features"),
    [("vast", ONE), ("local", ()), ("local", ((1, "backwards"),)), ("", ONE)],
    ids=str,
)
def test_what_is_no_reading(scale, features):
    with pytest.raises(ValueError, match="is no reading: choose the scale from local, broad, mixed, fine"):
        Readings(scale, features)
