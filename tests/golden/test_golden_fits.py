"""Fits of every kind still find what they found when their files were made."""

import numpy as np
import pytest

from golden import fits

EXACT = ("labels_", "pattern_labels_", "view_patterns_", "n_clusters_")
"""What is the same on every processor; which of two starts is kept that lead to one fit is not."""


def cases():
    """Yield the names of all fits, slow ones marked."""
    for name, golden in fits.FITS.items():
        yield pytest.param(name, marks=[pytest.mark.slow] if golden.slow else [])


@pytest.mark.parametrize("name", list(cases()))
def test_a_fit_finds_what_it_found(name):
    now, before, close = fits.run(name), fits.read(name), fits.FITS[name].close
    assert now.keys() == before.keys()
    for field in EXACT:
        np.testing.assert_array_equal(now[field], before[field], err_msg=field)
    for field, values in before.items():
        if field.startswith(("memberships", "responses", "consensus", "view_resp", "pattern_weights")):
            np.testing.assert_allclose(now[field], values, rtol=0, atol=close, err_msg=field)
    for field in ("temperature_", "start_losses_"):
        np.testing.assert_allclose(now[field], before[field], rtol=close / 10, err_msg=field)
    np.testing.assert_allclose(now["loss_curve_"][-1], before["loss_curve_"][-1], rtol=close / 10)


def test_every_file_has_its_fit():
    assert {path.stem for path in fits.FOLDER.glob("*.npz")} == set(fits.FITS)


def test_a_number_that_moved_is_noticed():
    before = fits.read("one-view")
    moved = {**before, "memberships_0": before["memberships_0"] + 1e-9}
    assert list(fits.differences(moved, before)) == ["memberships_0"]
    assert fits.differences(before, before) == {}
