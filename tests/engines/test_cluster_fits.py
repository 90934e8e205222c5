"""Fits on the workers of a cluster: what they find, who does the work, and what a lost worker changes."""

import os
import pickle
import signal
import time
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

from engines.cluster_runs import assert_same_bits, on_pass
from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import many_views

SETTINGS = {"n_clusters": 4, "n_patterns": 3, "n_init": 1, "random_state": 0, "n_jobs": 1}


def fit(views, **settings):
    return LatentSimplexPosition(**{**SETTINGS, **settings}).fit(views)


@pytest.fixture(scope="module")
def local(data):
    return fit(data)


def assert_same_findings(found, expected, atol=1e-4):
    assert np.array_equal(found.labels_, expected.labels_)
    assert np.array_equal(found.view_patterns_, expected.view_patterns_)
    assert found.n_clusters_.tolist() == expected.n_clusters_.tolist()
    np.testing.assert_allclose(found.view_responsibilities_, expected.view_responsibilities_, atol=atol)
    for own, other in zip(found.memberships_, expected.memberships_, strict=True):
        np.testing.assert_allclose(own, other, atol=atol)
    assert [stage.name for stage in found.stages_] == [stage.name for stage in expected.stages_]


def test_a_cluster_finds_what_this_process_finds(client, data, local):
    """Very many views: a search on one worker, and all views in shards on both."""
    found = fit(data, engine=client)
    assert_same_findings(found, local)
    assert found.stages_[-1].n_views == len(data)
    new = [X[:20] + 0.01 for X in data]
    assert np.array_equal(found.predict(new), local.predict(new))


def test_workers_do_the_work(client, data):
    """Once loops are loaded everywhere, most processor time is spent by workers."""
    before, own = sum(client.run(time.process_time).values()), time.process_time()
    fit(data, engine=client)
    spent = sum(client.run(time.process_time).values()) - before
    assert spent > time.process_time() - own


def test_a_plain_search_of_the_paper(client):
    """As many patterns and clusters as there are: with fewer, rounding decides which of them are found."""
    some = many_views(n_views=150, n_samples=60, n_patterns=2, concentration=0.05, random_state=0).views
    settings = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 40, "random_state": 0}
    local = LatentSimplexPosition.paper(**settings).fit(some)
    found = LatentSimplexPosition.paper(**settings, engine=client).fit(some)
    assert_same_findings(found, local, atol=0.01)  # from random memberships rounding goes a long way


def test_few_views(client):
    """Few views are looked at for splits, by one worker."""
    from latentsimplex.datasets import running_example

    views = running_example(n_samples=60, separation=8, random_state=0).views
    local, found = fit(views), fit(views, engine=client)
    assert_same_findings(found, local)
    assert len(found.evidence_[0]) == len(local.evidence_[0]) > 0


def test_views_that_lack_samples(client, data):
    import pandas as pd

    names = [f"s{i}" for i in range(60)]
    frames = {f"v{v}": pd.DataFrame(X, index=names) for v, X in enumerate(data[:40])}
    frames["v3"] = frames["v3"].iloc[:50]
    settings = {"join": "outer", "similarity": "diffusion"}
    assert_same_findings(fit(frames, engine=client, **settings), fit(frames, **settings))


def test_constant_views_take_no_part(client, data):
    views = [*data[:800]]
    views[5], views[700] = np.zeros((60, 2)), np.ones((60, 2))
    with pytest.warns(UserWarning, match="constant"):
        local = fit(views)
    with pytest.warns(UserWarning, match="constant"):
        found = fit(views, engine=client)
    assert_same_findings(found, local)
    assert found.initial_view_patterns_[[5, 700]].tolist() == [-1, -1]


def test_a_worker_killed_in_the_middle_changes_nothing(client, data, monkeypatch):
    expected = fit(data, engine=client)
    victim = next(iter(client.run(os.getpid).values()))
    asked = on_pass(monkeypatch, 2, lambda: os.kill(victim, signal.SIGKILL))
    found = fit(data, engine=client)
    assert len(asked) > 2
    assert victim not in client.run(os.getpid).values()
    assert_same_bits(found, expected)


def test_a_client_closed_in_the_middle(cluster, data, monkeypatch):
    from distributed import Client

    with Client(cluster, set_as_default=False) as own:
        on_pass(monkeypatch, 2, own.close)
        with pytest.raises(ConnectionError, match=r"connection to the Dask scheduler at tcp.* was lost"):
            fit(data, engine=own)


def test_a_generator_is_drawn_from_as_in_this_process(client, data):
    here, there = np.random.default_rng(3), np.random.default_rng(3)
    fit(data[:400], random_state=here)
    fit(data[:400], random_state=there, engine=client)
    assert here.integers(1 << 30) == there.integers(1 << 30)


def test_an_address_is_as_good_as_a_client(cluster, client, data, tmp_path):
    found = fit(data[:400], engine=cluster.scheduler_address)
    assert_same_findings(found, fit(data[:400]))
    assert found.get_params()["engine"] == cluster.scheduler_address
    found.save(tmp_path / "model")
    assert load(tmp_path / "model").engine is None


def test_a_client_is_shared_and_never_stored(client, data, tmp_path):
    model = LatentSimplexPosition(**SETTINGS, engine=client)
    assert model.get_params()["engine"] is client
    assert clone(model).engine is client
    assert clone(clone(model).set_params(engine=None)).engine is None
    model.fit(data[:20])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.engine is None
    assert np.array_equal(again.labels_, model.labels_)
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)
    for copied in (pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert copied.engine is None
        assert np.array_equal(copied.labels_, model.labels_)
    assert model.engine is client
