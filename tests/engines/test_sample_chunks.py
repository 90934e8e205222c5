"""Chunks of samples on the workers of a cluster: searches of neighbours, new samples, and labels beside them."""

import itertools
import time

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.threads import Workers
from latentsimplex.engines.chunk_workers import ChunkWorkers
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.inputs import stored_tables
from latentsimplex.model.joint_losses import BlockModel
from latentsimplex.neighbours.nearest_neighbours import cut_into_chunks, search_neighbours


def test_neighbours_have_the_same_bits(client):
    X = np.random.default_rng(0).normal(size=(10_500, 3))
    with ChunkWorkers(Cluster(client), 1) as workers:
        found = search_neighbours(X, 5, workers)
    assert np.array_equal(found, search_neighbours(X, 5, Workers(1)))


def test_chunks_cover_all_cells():
    starts = np.array([0, 0, 900, 1100, 5000, 5000, 5100])
    chunks = cut_into_chunks(starts)
    assert chunks[0][0] == 0
    assert chunks[-1][1] == len(starts) - 1
    assert all(one[1] == other[0] for one, other in itertools.pairwise(chunks))


def test_workers_read_and_fit_many_samples(client, tmp_path, monkeypatch):
    """Samples by chunks, from zarr: this process reads nothing, and workers do most of the work."""
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(0)
    groups, root = np.arange(10_500) % 3, zarr.open_group(tmp_path / "views.zarr", mode="w")
    views = [6.0 * rng.normal(size=(3, 3))[groups] + rng.normal(size=(10_500, 3)) for _ in range(2)]
    for v, X in enumerate(views):
        root.create_array(f"view{v}", shape=X.shape, chunks=(3000, 3), dtype=float)[:] = X
    model = LatentSimplexPosition(random_state=0, n_jobs=1, n_clusters=4, n_landmarks=500)
    local = model.fit_predict(views)
    monkeypatch.setattr(stored_tables.ZarrTable, "read", None)
    before, own = client.run(time.process_time), time.process_time()
    model.set_params(engine=client).fit(root)
    after, own = client.run(time.process_time), time.process_time() - own
    assert sum(after.values()) - sum(before.values()) > own
    assert np.array_equal(model.labels_, local)
    before, own = client.run(time.process_time), time.process_time()
    assert (model.predict(views) == local).mean() > 0.99
    after, own = client.run(time.process_time), time.process_time() - own
    assert sum(after.values()) - sum(before.values()) > own


def test_large_tables_travel_without_a_warning(client):
    """Dask would advise, as a warning, which is an error here, to load them otherwise."""
    big = Cluster(client).submit(np.size, np.zeros(2_000_000))
    assert big.result() == 2_000_000


def test_samples_without_a_word_in_data_that_workers_read(client, tmp_path):
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(0)
    words = rng.poisson(np.where(np.arange(150)[:, None] % 2 == np.arange(30) % 2, 0.6, 0.05))
    words[:3] = 0
    root = zarr.open_group(tmp_path / "views.zarr", mode="w")
    views = {
        "texts": words.astype(float),
        "values": np.arange(150.0)[:, None] % 2 * 5 + rng.normal(size=(150, 1)),
    }
    for name, X in views.items():
        root.create_array(name, shape=X.shape, dtype=float)[:] = X
    local = LatentSimplexPosition(random_state=0, n_jobs=1).fit(views)
    found = LatentSimplexPosition(random_state=0, engine=client).fit(root)
    assert not local.present_[0, :3].any()
    assert np.array_equal(found.present_, local.present_)
    assert all(np.array_equal(*both) for both in zip(found.memberships_, local.memberships_, strict=True))


@pytest.fixture(scope="module")
def three_groups():
    rng = np.random.default_rng(0)
    groups = np.arange(90) % 3
    return [6.0 * groups[:, None] + rng.normal(size=(90, 2)) for _ in range(2)], groups


def test_new_samples_by_chunks(client, three_groups):
    views, _ = three_groups
    model = LatentSimplexPosition(random_state=0, n_jobs=1).fit(views)
    new = [np.tile(X, (100, 1)) + 0.01 for X in views]
    local = model.predict_memberships(new)
    assert np.array_equal(model.set_params(engine=client).predict_memberships(new), local)


def test_labels_on_a_cluster(client, three_groups):
    views, groups = three_groups
    y = np.where(np.arange(90) < 12, groups, -1)
    local = LatentSimplexPosition(random_state=0, n_jobs=1).fit(views, y)
    found = LatentSimplexPosition(random_state=0, engine=client).fit(views, y)
    assert np.array_equal(found.labels_, local.labels_)
    assert all(np.array_equal(*both) for both in zip(found.memberships_, local.memberships_, strict=True))
    assert found.known_ is not None


def test_losses_on_a_cluster(client, three_groups):
    views, groups = three_groups
    graph = BlockModel((groups[:, None] == groups) & ~np.eye(90, dtype=bool))
    local = LatentSimplexPosition(random_state=0, n_jobs=1).fit(views, losses=graph)
    found = LatentSimplexPosition(random_state=0, engine=client).fit(views, losses=graph)
    assert all(np.array_equal(*both) for both in zip(found.memberships_, local.memberships_, strict=True))
    assert np.array_equal(found.loss_weights_, local.loss_weights_)
