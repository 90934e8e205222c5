"""The course of a fit: the curve that was kept beside the ends of all starts."""

from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.plots import plot_loss
from made_model import random_model
from plots.drawn import dots, said


def test_loss_curve_and_starts_are_panels_of_their_own(ax):
    results = replace(random_model(10, 1, 2).results_, start_losses=np.array([17.0, 15.0, 15.5]))
    plot_loss(results, ax=ax)
    curve, starts = ax.child_axes[:2]
    np.testing.assert_array_equal(curve.lines[0].get_ydata(), results.loss_curve)
    ends, ring = dots(starts)
    np.testing.assert_allclose(ends.get_offsets(), [[0, 2], [1, 0], [2, 0.5]])
    np.testing.assert_array_equal(ends.get_array(), results.start_agreement)
    assert ring.get_offsets().tolist() == [[1, 0]]
    assert said(curve) == ""
    assert ax.get_title() == "2 steps, converged"


def test_loss_of_another_stage_is_said_to_be_another(ax):
    starts = {"start_losses": np.array([170.0, 150.0]), "start_agreement": np.array([0.3, 1.0])}
    plot_loss(replace(random_model(10, 1, 2).results_, **starts), ax=ax)
    assert "last stage" in said(ax.child_axes[0])


def test_a_curve_alone_is_one_panel(ax):
    plot_loss(np.array([3.0, 2.0]), ax=ax)
    assert not ax.child_axes
    assert ax.lines[0].get_ydata().tolist() == [3, 2]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "loss")


@pytest.mark.parametrize(("n", "numbers"), [(1, [0]), (3, [0, 1, 2]), (25, list(range(0, 25, 3)))])
def test_starts_are_numbered_whole(ax, n, numbers):
    plot_loss(np.array([3.0, 2.0]), np.linspace(2, 3, n), ax=ax)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.child_axes[1].get_xticklabels()] == list(map(str, numbers))


def test_starts_that_agree_look_alike(ax):
    plot_loss(np.array([3.0, 2.0]), np.array([1000.0, 1000.01]), ax=ax)
    assert ax.child_axes[1].get_ylim() == (0, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_steps_are_whole(ax, n):
    plot_loss(np.linspace(3, 2, n), ax=ax)
    ax.figure.canvas.draw()
    steps = ax.get_xticks()
    assert 0 in steps
    assert (steps == steps.round()).all()
