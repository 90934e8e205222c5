"""Fits that end in the midst and go on: the same bits, nothing computed twice, and folders that are refused."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.auto import cluster_tree
from latentsimplex.checkpoints import piece_folder
from latentsimplex.checkpoints.piece_folder import PieceFolder
from latentsimplex.model import em

pytestmark = pytest.mark.usefixtures("one_cloud")


class Killed(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def _written_at_once(monkeypatch):
    """Each piece is written as soon as it is made."""
    monkeypatch.setattr(piece_folder, "BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(piece_folder, "PACE", 0)


@pytest.fixture
def few_pieces_at_a_time(monkeypatch):
    """Return what lets so many pieces be written before all ends; a flush at the end writes nothing."""
    keep, left = PieceFolder.keep, [0]

    def keep_and_end(self, name, key, value):
        keep(self, name, key, value)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(PieceFolder, "keep", keep_and_end)
    monkeypatch.setattr(PieceFolder, "flush", lambda self: None)
    return lambda n: left.__setitem__(0, n)


def count_calls(monkeypatch, module, name):
    """Return a list that grows by one with each call of a function."""
    calls, function = [], getattr(module, name)

    def counted(*arguments, **named):
        calls.append(name)
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


def clustered_views(n_views, n=36, p=2, seed=0):
    """Return views of which every third has other clusters than the rest."""
    rng = np.random.default_rng(seed)
    labels = [np.arange(n) % 3, np.arange(n) * 2 // n]
    return [9.0 * labels[v % 3 == 2][:, None] + rng.normal(size=(n, p)) for v in range(n_views)]


def partial_frames():
    """Return views of named samples, each of which lacks some."""
    views = [pd.DataFrame(X, index=[f"s{i}" for i in range(36)]) for X in clustered_views(3)]
    return {"a": views[0].iloc[4:], "b": views[1].iloc[:-4], "c": views[2]}


ROUTES = {
    "splits": (clustered_views(3, n=60), {}),
    "exactly": (clustered_views(2), {"n_clusters": 2, "min_clusters": 2}),
    "landmarks": (clustered_views(2, n=300), {"n_landmarks": 120}),
    "absent": (partial_frames(), {"join": "outer"}),
    "search": (np.array(clustered_views(14)), {"n_init": 2, "n_clusters": 4, "n_patterns": 3}),
    "many": (np.array(clustered_views(24)), {"n_init": 2, "n_clusters": 3, "n_patterns": 2}),
    "given": (clustered_views(3), {"similarity": "local-scaling", "n_clusters": 3, "n_init": 2}),
    "paper": (
        clustered_views(3),
        {"similarity": "local-scaling", "penalty": "group", "response": "identity"},
    ),
    "similarities": (
        [np.exp(-np.abs(X[:, :1] - X[:, :1].T)) for X in clustered_views(3)],
        {"similarity": "precomputed", "n_init": 1, "n_clusters": 3},
    ),
}


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    """Data and settings of each way that a fit may take."""
    if request.param == "many":
        monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, settings = ROUTES[request.param]
    return data, {"n_jobs": 1, "random_state": 0, "max_iter": 12, **settings}


def assert_same(one, other):
    """Two fits have the same bits."""
    for name in (
        "labels_",
        "pattern_labels_",
        "view_patterns_",
        "view_responsibilities_",
        "pattern_weights_",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("loss_curve_", "expected_loss_curve_", "start_losses_", "start_agreement_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("memberships_", "responses_", "evidence_"):
        for mine, yours in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(mine, yours, err_msg=name)
    factors = [model.coassignment().factor for model in (one, other)]
    np.testing.assert_array_equal(*factors)
    assert one.stages_ == other.stages_
    assert one.converged_ == other.converged_


@pytest.mark.usefixtures("_written_at_once")
def test_a_fit_that_ends_after_each_piece_ends_as_one_that_nothing_interrupts(
    route, few_pieces_at_a_time, monkeypatch, tmp_path
):
    data, settings = route
    steps, splits = (
        count_calls(monkeypatch, em, "em_step"),
        count_calls(monkeypatch, cluster_tree, "find_split_of_seen"),
    )
    whole = LatentSimplexPosition(**settings).fit(data)
    needed = len(steps), len(splits)
    steps.clear(), splits.clear()
    model, n_ended = LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept"), 0
    while n_ended < 1000:
        few_pieces_at_a_time(1)
        try:
            model.fit(data)
            break
        except Killed:
            n_ended += 1
    assert n_ended > 3
    assert_same(model, whole)
    assert (len(steps), len(splits)) == needed, "something was computed twice"
    assert_same(LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept").fit(data), whole)
    assert (len(steps), len(splits)) == needed
