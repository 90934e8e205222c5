"""A real cluster: two worker processes of one thread each, on loopback."""

import pytest

from latentsimplex.datasets import many_views


@pytest.fixture(scope="package")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture(scope="package")
def data():
    """Views of 60 samples, more than a search with up to three patterns looks at."""
    return many_views(n_views=1200, n_samples=60, random_state=0).views


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Shards of 100 views, so that a few thousand views make many."""
    from latentsimplex.engines import sharded_views

    monkeypatch.setattr(sharded_views, "SHARD_VALUES", 100 * 60 * 59 // 2)
