"""Data that the workers of a cluster read themselves, and what is refused before any work begins."""

import asyncio

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.engines import dask_cluster as cluster_module
from latentsimplex.engines.sharded_views import cut_into_shards

SETTINGS = {"n_clusters": 4, "n_patterns": 2, "n_init": 1, "random_state": 0, "n_jobs": 1, "views": "columns"}


@pytest.fixture(scope="module")
def table(data):
    """Three hundred columns, more than a search with two patterns looks at."""
    return np.hstack(data[:150])


@pytest.fixture(scope="module")
def local(table):
    return LatentSimplexPosition(**SETTINGS).fit(table)


def assert_same_findings(found, expected):
    assert np.array_equal(found.labels_, expected.labels_)
    assert np.array_equal(found.view_patterns_, expected.view_patterns_)
    for own, other in zip(found.memberships_, expected.memberships_, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)


def test_workers_read_zarr(client, table, local, tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "table.zarr", shape=table.shape, chunks=(60, 32), dtype=float)
    array[:] = table
    found = LatentSimplexPosition(**SETTINGS, engine=client).fit(array)
    assert_same_findings(found, local)
    assert np.array_equal(found.predict(table[:9]), local.predict(table[:9]))


def test_workers_compute_arrays_of_dask(client, table, local):
    da = pytest.importorskip("dask.array")
    found = LatentSimplexPosition(**SETTINGS, engine=client).fit(da.from_array(table, chunks=(30, 50)))
    assert_same_findings(found, local)


def test_data_that_only_this_process_sees(client, table, tmp_path):
    np.save(tmp_path / "table.npy", table)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    (tmp_path / "table.npy").unlink()
    with pytest.raises(
        ValueError, match=r"The worker at tcp://.* cannot read X, .*put it where all workers see it"
    ):
        LatentSimplexPosition(**SETTINGS, engine=client).fit(mapped)


def test_faults_that_only_workers_see(client, table):
    da = pytest.importorskip("dask.array")
    holes = table.copy()
    holes[7, 250] = np.inf
    with pytest.raises(ValueError, match=r"X contains infinity \(inf\)"):
        LatentSimplexPosition(**SETTINGS, engine=client).fit(da.from_array(holes, chunks=(60, 50)))


def test_what_is_no_engine():
    with pytest.raises(ValueError, match=r"engine=5 is no engine: give a dask.distributed.Client"):
        LatentSimplexPosition(engine=5).fit(np.eye(4))


def test_a_closed_client(cluster):
    from distributed import Client

    own = Client(cluster, set_as_default=False)
    own.close()
    with pytest.raises(ValueError, match="engine= is a Client that is closed: give one that is connected"):
        LatentSimplexPosition(engine=own).fit(np.eye(4))


def test_an_address_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "nowhere"):
        with pytest.raises(
            ConnectionError, match=f"engine='{address}' is not the address of a Dask scheduler"
        ):
            LatentSimplexPosition(engine=address).fit(np.eye(4))


def test_workers_of_another_version(client, monkeypatch):
    monkeypatch.setattr(cluster_module, "__version__", "99.1")
    with pytest.raises(ValueError, match=r"2 workers of 2 with another version .*this process 99.1"):
        LatentSimplexPosition(engine=client).fit(np.eye(4))


class Answers:
    """A client whose workers say that they have this version."""

    status, asynchronous = "running", False

    def __init__(self, versions):
        self.versions = versions

    async def run(self, function):
        return self.versions

    def sync(self, function, callback_timeout):
        return asyncio.run(function())


def test_workers_without_the_package():
    with pytest.raises(ValueError, match=r"1 worker of 2 cannot import latentsimplex \(the first is tcp://b"):
        cluster_module.check_workers(Answers({"tcp://a": cluster_module.__version__, "tcp://b": None}))
    with pytest.raises(ValueError, match="a Dask cluster without workers"):
        cluster_module.check_workers(Answers({}))


def test_an_asynchronous_client():
    client = Answers({})
    client.asynchronous = True
    with pytest.raises(ValueError, match="an asynchronous Client"):
        cluster_module.check_client(client)


def test_workers_that_die_again_and_again(client):
    from distributed import KilledWorker

    engine = cluster_module.Cluster(client)
    with (
        pytest.raises(
            RuntimeError, match=r"died again and again, .* with the task Shard: give workers more memory"
        ),
        engine._said_in_one_sentence(),
    ):
        raise KilledWorker("Shard-12ab", None, 3)


def test_shards_depend_on_the_data_alone():
    cut = cut_into_shards(60, [1] * 1000)
    assert [rows.stop - rows.start for rows in cut] == [100] * 10
    wide = cut_into_shards(
        60, [1] * 5 + [40_000] * 3 + [1] * 5
    )  # whose tables are more than their pair values
    assert max(rows.stop - rows.start for rows in wide) < 13
    assert [rows.start for rows in wide[1:]] == [rows.stop for rows in wide[:-1]]
    assert (wide[0].start, wide[-1].stop) == (0, 13)
    assert cut_into_shards(2, [1]) == [slice(0, 1)]
