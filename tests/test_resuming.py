"""Fits that end in the midst and go on: the same bits, nothing computed twice, and folders that are refused."""

import errno
import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from latentsimplex import LatentSimplexPosition, load, resuming, stages
from latentsimplex.auto import cluster_tree
from latentsimplex.base.interruption import stop_of_fits
from latentsimplex.checkpoints import piece_folder
from latentsimplex.checkpoints.piece_folder import PieceFolder
from latentsimplex.fitting import Fitting, Kept
from latentsimplex.model import backends, em
from latentsimplex.pairs import memory_budget
from latentsimplex.resuming import FINISHED
from latentsimplex.search import believed_clusters
from latentsimplex.search.multistart import Search

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


@pytest.mark.usefixtures("_written_at_once")
def test_what_is_kept_of_a_search_is_no_statistics_of_views(tmp_path, monkeypatch):
    """Not of EM after the search either, where clusters were not believed; on a device they are no arrays."""
    pytest.importorskip("torch")
    monkeypatch.setattr(backends, "HOST_PAIRS", 100)
    rng, kept, keep = np.random.default_rng(0), [], PieceFolder.keep

    def keep_and_note(self, name, key, value):
        if isinstance(value, Kept):
            kept.append(value.found)
        keep(self, name, key, value)

    monkeypatch.setattr(PieceFolder, "keep", keep_and_note)
    unbelieved = count_calls(monkeypatch, believed_clusters, "run_from_labels")
    table = rng.normal(size=(90, 2)) @ rng.normal(size=(2, 80)) + rng.normal(size=(90, 80))
    settings = {"views": "columns", "n_init": 1, "random_state": 0, "n_jobs": 1, "device": "torch"}
    model = LatentSimplexPosition(checkpoint=tmp_path / "kept", **settings).fit(table)
    assert unbelieved
    assert [found.fit.expectation.stat.size for found in kept if isinstance(found, Search)] == [0]
    assert model.n_clusters_.tolist() == [1]


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


def fit_in_pieces(model, few_pieces_at_a_time, *data):
    """Fit a model in processes that each end after one piece, and return how many that were."""
    for n_ended in range(1000):
        few_pieces_at_a_time(1)
        try:
            model.fit(*data)
        except Killed:
            continue
        return n_ended
    raise AssertionError


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
    model = LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept")
    n_ended = fit_in_pieces(model, few_pieces_at_a_time, data)
    assert n_ended > 3
    assert_same(model, whole)
    assert (len(steps), len(splits)) == needed, "something was computed twice"
    assert_same(LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept").fit(data), whole)
    assert (len(steps), len(splits)) == needed


def test_pieces_that_wait_are_not_changed_by_what_follows(route, monkeypatch, tmp_path):
    """A fit that fails at its end has written nothing until then, and goes on from there."""
    data, settings = route
    monkeypatch.setattr(piece_folder, "BETWEEN_WRITES", np.inf)
    whole = LatentSimplexPosition(**settings).fit(data)
    model = LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept")
    with monkeypatch.context() as patched:
        patched.setattr(stages, "assemble_results", fail)
        with pytest.raises(Killed):
            model.fit(data)
    steps = count_calls(monkeypatch, em, "em_step")
    assert_same(model.fit(data), whole)
    assert not steps


def fail(*arguments, **named):
    raise Killed


DATA = clustered_views(2)


def fit(folder, data=DATA, **settings):
    return LatentSimplexPosition(**{"random_state": 0, "checkpoint": folder, **settings}).fit(data)


def test_what_a_fit_that_has_ended_leaves_is_its_result(tmp_path):
    model = fit(tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "checkpoint.json",
        FINISHED,
        "lock",
    ]
    assert_same(load(tmp_path / "kept" / FINISHED), model)
    again = fit(tmp_path / "kept")
    assert_same(again, model)
    assert again.results_.settings == model.results_.settings
    new = [X[:5] + 0.1 for X in DATA]
    np.testing.assert_array_equal(
        again.predict_memberships(new, pattern=0), model.predict_memberships(new, pattern=0)
    )


def test_a_result_has_the_frames_and_the_similarity_of_the_call(tmp_path):
    def similarity(X):
        return np.exp(-np.abs(X[:, :1] - X[:, :1].T))

    frames = [pd.DataFrame(X) for X in DATA]
    for _ in range(2):
        model = fit(tmp_path / "kept", frames, similarity=similarity, n_init=1, n_clusters=3)
        assert model.similarity_.function is similarity
        assert isinstance(model.labels_frame(), pd.DataFrame)


def test_a_damaged_result_is_made_anew(tmp_path):
    model = fit(tmp_path / "kept")
    (tmp_path / "kept" / FINISHED).write_bytes(b"something else")
    with pytest.warns(UserWarning, match="The fit is made anew: .* is not a model"):
        again = fit(tmp_path / "kept")
    assert_same(again, model)
    assert_same(load(tmp_path / "kept" / FINISHED), model)


@pytest.mark.usefixtures("_written_at_once")
def test_a_damaged_piece_is_made_anew(few_pieces_at_a_time, tmp_path):
    few_pieces_at_a_time(8)
    with pytest.raises(Killed):
        fit(tmp_path / "kept")
    for piece in (tmp_path / "kept").glob("*.npz"):
        piece.write_bytes(piece.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="is damaged .*, and is made anew"):
        again = fit(tmp_path / "kept")
    assert_same(again, LatentSimplexPosition(random_state=0).fit(DATA))


def other_names():
    return [pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))]) for X in DATA]


@pytest.mark.parametrize(
    ("data", "settings", "told"),
    [
        ([DATA[0], DATA[1] + 1e-9], {}, "of other data:"),
        (DATA[::-1], {}, "of other data:"),
        (other_names(), {}, "of other data:"),
        ({"a": DATA[0], "b": DATA[1]}, {}, "of other data:"),
        (DATA, {"n_clusters": 3}, r"of other settings \(n_clusters was 'auto', not 3\):"),
        (DATA, {"random_state": 1}, r"of other settings \(random_state was 0, not 1\):"),
        (DATA, {"random_state": None}, r"of other settings \(random_state was 0, not None\):"),
        (DATA, {"similarity": "diffusion"}, r"of other settings \(similarity was 'auto', not 'diffusion'\):"),
        (DATA, {"device": "torch"}, r"of other settings \(device was 'cpu', not 'torch'\):"),
    ],
)
def test_other_data_and_other_settings_are_refused(tmp_path, data, settings, told):
    fit(tmp_path / "kept")
    with pytest.raises(ValueError, match=f"{told} give another folder, or delete this one to begin anew"):
        fit(tmp_path / "kept", data, **settings)


@pytest.mark.usefixtures("_written_at_once")
def test_a_fit_with_labels_goes_on_too(few_pieces_at_a_time, tmp_path):
    y = np.where(np.arange(len(DATA[0])) < 6, np.arange(len(DATA[0])) % 3, -1)
    settings = {"random_state": 0, "n_jobs": 1}
    model = LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept")
    assert fit_in_pieces(model, few_pieces_at_a_time, DATA, y) > 3
    assert_same(model, LatentSimplexPosition(**settings).fit(DATA, y))


def test_a_fit_with_labels_and_one_without_are_two(tmp_path):
    y = np.where(np.arange(len(DATA[0])) < 6, np.arange(len(DATA[0])) % 3, -1)
    told = "of other labels, links or losses: give another folder"
    LatentSimplexPosition(random_state=0, checkpoint=tmp_path / "with").fit(DATA, y)
    with pytest.raises(ValueError, match=told):
        fit(tmp_path / "with")
    fit(tmp_path / "without")
    with pytest.raises(ValueError, match=told):
        LatentSimplexPosition(random_state=0, checkpoint=tmp_path / "without").fit(DATA, y)


def test_settings_that_do_not_change_the_answer_may_change(tmp_path):
    one = fit(tmp_path / "kept")
    assert_same(fit(tmp_path / "kept", n_jobs=1, memory_limit="2GB", verbose=False), one)


@pytest.mark.usefixtures("_written_at_once")
def test_memory_is_used_as_at_first_where_it_still_suffices(few_pieces_at_a_time, monkeypatch, tmp_path):
    used = []
    pose = Fitting.pose
    monkeypatch.setattr(Fitting, "pose", lambda self, *how: (used.append(self.keep), pose(self, *how))[1])
    needs = {"whole": 100, "bytes": 50, "nowhere": 10}
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda size, keep: needs[keep])
    monkeypatch.setattr(stages, "estimate_bytes", lambda size, keep: needs[keep])
    for limit in (60, 200, 20):
        few_pieces_at_a_time(5)
        with pytest.raises(Killed):
            fit(tmp_path / "kept", similarity="local-scaling", memory_limit=limit)
    assert used == ["bytes", "bytes", "nowhere"]


@pytest.mark.usefixtures("_written_at_once")
def test_a_seed_that_was_drawn_stays_in_the_folder(few_pieces_at_a_time, tmp_path):
    settings = {
        "random_state": None,
        "similarity": "local-scaling",
        "penalty": "group",
        "response": "identity",
    }
    few_pieces_at_a_time(3)
    with pytest.raises(Killed):
        fit(tmp_path / "kept", **settings)
    seed = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["seed"]
    model = fit(tmp_path / "kept", **settings)
    expected = LatentSimplexPosition(**{**settings, "random_state": np.random.default_rng(seed)}).fit(DATA)
    assert_same(model, expected)


def test_a_generator_is_known_by_its_state(tmp_path):
    rng = np.random.default_rng(5)
    settings = {"similarity": "local-scaling", "n_init": 2, "n_clusters": 3}
    fit(tmp_path / "kept", random_state=rng, **settings)
    with pytest.raises(ValueError, match="random_state was 'a generator"):
        fit(tmp_path / "kept", random_state=rng, **settings)  # it has moved on
    fit(tmp_path / "kept", random_state=np.random.default_rng(5), **settings)


@pytest.mark.usefixtures("_written_at_once")
@pytest.mark.parametrize("name", ["search", "splits", "many"])
def test_a_fit_that_ends_early_keeps_its_state_and_has_not_ended(name, monkeypatch, tmp_path):
    """Whenever it is asked to stop, the next call ends as if nobody had asked."""
    if name == "many":
        monkeypatch.setattr(stages, "SEARCHED_VIEWS", 6)
    data, settings = ROUTES[name]
    settings = {"n_jobs": 1, "random_state": 0, **settings}
    whole = LatentSimplexPosition(**settings).fit(data)
    n_early = 0
    while not (tmp_path / "kept" / FINISHED).exists():
        asked = iter([False] * 4 * n_early)
        token = stop_of_fits.set(lambda asked=asked: next(asked, True))
        try:
            model = LatentSimplexPosition(**settings, checkpoint=tmp_path / "kept").fit(data)
        finally:
            stop_of_fits.reset(token)
        n_early += 1
        assert n_early < 100
    assert n_early > 4
    assert_same(model, whole)


def test_a_second_fit_in_one_folder_is_refused(monkeypatch, tmp_path):
    refused = []

    def fit_again(*arguments, **named):
        with pytest.raises(ValueError, match="is in use by process") as caught:
            fit(tmp_path / "kept")
        refused.append(caught)
        raise Killed

    monkeypatch.setattr(stages, "find_splits", fit_again)
    with pytest.raises(Killed):
        fit(tmp_path / "kept")
    assert refused


def test_a_full_disk_costs_the_checkpoint_alone(monkeypatch, tmp_path):
    def refuse(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(piece_folder, "write_piece", refuse)
    monkeypatch.setattr(resuming, "save_results", refuse)
    with (
        pytest.warns(UserWarning, match="cannot be written now .no space left on device"),
        pytest.warns(UserWarning, match="The result could not be kept in the checkpoint"),
    ):
        model = fit(tmp_path / "kept")
    assert_same(model, LatentSimplexPosition(random_state=0).fit(DATA))


@pytest.mark.usefixtures("_written_at_once")
def test_progress_says_what_it_goes_on_from(few_pieces_at_a_time, capfd, tmp_path):
    few_pieces_at_a_time(4)
    with pytest.raises(Killed):
        fit(tmp_path / "kept", verbose=True, n_jobs=1)
    fit(tmp_path / "kept", verbose=True)
    lines = capfd.readouterr().err
    assert f"keeping state in {str(tmp_path / 'kept')!r}" in lines
    assert f"going on from {str(tmp_path / 'kept')!r} (4 pieces, the last of clusters)" in lines


def test_models_and_files_do_not_know_the_folder(tmp_path):
    model = fit(tmp_path / "kept")
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").checkpoint is None
    assert clone(model).checkpoint == tmp_path / "kept"
