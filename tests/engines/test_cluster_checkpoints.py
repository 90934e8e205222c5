"""Fits on a cluster that keep a checkpoint: schedulers that end, clients that are killed, and where a fit goes on."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from engines.cluster_runs import assert_same_bits, fit
from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.checkpoints import piece_folder
from latentsimplex.engines import remote_pieces
from latentsimplex.engines.sharded_pairs import ShardedPairs
from latentsimplex.engines.sharded_views import fingerprint_shards, send_views
from latentsimplex.inputs.fingerprint import fingerprint_views
from latentsimplex.inputs.stored_views import as_stored_views, check_stored_views
from latentsimplex.resuming import FINISHED


@pytest.fixture
def expected(client, some, found_once):
    """What a fit finds that nothing happens to."""
    if not found_once:
        found_once.append(fit(some, engine=client))
    return found_once[0]


@pytest.fixture(scope="module")
def found_once():
    return []


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch):
    """Pieces are collected and written as soon as they are made."""
    monkeypatch.setattr(piece_folder, "BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(piece_folder, "PACE", 0)
    monkeypatch.setattr(remote_pieces, "SOON", 0.02)
    monkeypatch.setattr(remote_pieces, "COLLECT_SECONDS", 0.02)


def on_call(monkeypatch, owner, name, number, act):
    """Let ``act`` run before a function is called for the so-manieth time; return a list of its calls."""
    asked, function = [], getattr(owner, name)

    def count(*arguments, **named):
        asked.append(None)
        if len(asked) == number:
            act()
        return function(*arguments, **named)

    monkeypatch.setattr(owner, name, count)
    return asked


def interrupt():
    raise KeyboardInterrupt


def test_a_checkpoint_changes_nothing(client, some, expected, tmp_path, monkeypatch):
    assert_same_bits(fit(some, engine=client, checkpoint=tmp_path / "kept"), expected)
    assert (tmp_path / "kept" / FINISHED).exists()
    monkeypatch.setattr(ShardedPairs, "pass_over", None)  # a fit that has ended is not made again
    for engine in (client, None):
        again = fit(some, engine=engine, checkpoint=tmp_path / "kept")
        assert np.array_equal(again.labels_, expected.labels_)


def test_a_scheduler_that_ends_leaves_a_checkpoint(
    own_cluster, client, some, expected, tmp_path, monkeypatch
):
    """It is killed while all views are taken in; the fit goes on with another one, and without any."""
    with monkeypatch.context() as patched:
        on_call(patched, ShardedPairs, "pass_over", 3, own_cluster.kill_scheduler)
        with pytest.raises(ConnectionError, match=r"was lost .*the fit goes on from checkpoint='.*kept'\.$"):
            fit(some, engine=own_cluster.start(), checkpoint=tmp_path / "kept")
    left = sorted(path.name for path in (tmp_path / "kept").glob("*.npz"))
    assert [name for name in left if name.startswith("search")]
    assert [name for name in left if name.startswith("all-views")]
    copied = tmp_path / "copied"
    copied.mkdir()
    for path in (tmp_path / "kept").iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    passes = on_call(monkeypatch, ShardedPairs, "pass_over", 0, None)
    assert_same_bits(fit(some, engine=client, checkpoint=tmp_path / "kept"), expected)
    n_again = len(passes)
    fit(some, engine=client)
    assert n_again < len(passes) - n_again
    local = fit(some, checkpoint=copied)
    assert np.array_equal(local.labels_, expected.labels_)
    np.testing.assert_allclose(local.view_responsibilities_, expected.view_responsibilities_, atol=1e-4)


def test_a_scheduler_that_ends_during_the_search(own_cluster, client, some, expected, tmp_path, monkeypatch):
    """What the worker that searches has found is in the folder: the search begins where it was."""
    kept, address = tmp_path / "kept", own_cluster.start()

    def kill_after_some_pieces():
        while len(list(kept.glob("search*.npz"))) < 2:
            time.sleep(0.01)
        own_cluster.kill_scheduler()

    killer = threading.Thread(target=kill_after_some_pieces)
    killer.start()
    with pytest.raises(ConnectionError, match="the fit goes on from checkpoint="):
        fit(some, engine=address, checkpoint=kept)
    killer.join()
    assert not list(kept.glob("all-views*"))
    assert_same_bits(fit(some, engine=client, checkpoint=kept), expected)


def test_a_search_whose_worker_is_lost_goes_on_from_what_was_kept(
    client, some, expected, tmp_path, monkeypatch
):
    handed = on_call(monkeypatch, piece_folder.PieceFolder, "load_pieces", 0, None)
    lost = []

    def kill_who_searches():
        while not lost:
            time.sleep(0.01)
            if list((tmp_path / "kept").glob("search*.npz")):
                placed = client.processing()
                lost.extend(
                    address for address, keys in placed.items() if any("explore" in key for key in keys)
                )
        client.run(lambda: os.kill(os.getpid(), signal.SIGKILL), workers=lost, on_error="ignore")

    killer = threading.Thread(target=kill_who_searches)
    killer.start()
    found = fit(some, engine=client, checkpoint=tmp_path / "kept")
    killer.join()
    assert len(handed) == 2
    assert_same_bits(found, expected)


def test_a_fit_of_this_process_goes_on_with_an_engine(client, some, expected, tmp_path, monkeypatch):
    kept = {"checkpoint": tmp_path / "kept"}
    with monkeypatch.context() as patched:
        on_call(patched, stages, "take_in_all_views", 1, interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(some, **kept)
    assert list((tmp_path / "kept").glob("refinement*.npz"))
    assert np.array_equal(fit(some, engine=client, **kept).labels_, expected.labels_)


def test_a_plain_search_keeps_a_checkpoint(client, data, tmp_path, monkeypatch):
    settings = {
        "n_clusters": 3,
        "n_patterns": 2,
        "n_init": 1,
        "max_iter": 20,
        "random_state": 0,
        "engine": client,
    }
    expected = LatentSimplexPosition.paper(**settings).fit(data[:150])
    model = LatentSimplexPosition.paper(**settings, checkpoint=tmp_path / "kept")
    with monkeypatch.context() as patched:
        on_call(patched, ShardedPairs, "pass_over", 12, interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(data[:150])
    assert_same_bits(model.fit(data[:150]), expected)


def test_data_that_workers_read_are_known_again(client, data, tmp_path):
    """Workers find the fingerprint that this process would find, and other data are refused."""
    zarr = pytest.importorskip("zarr")
    table = np.hstack(data[:150])
    array = zarr.create_array(tmp_path / "table.zarr", shape=table.shape, chunks=(60, 32), dtype=float)
    array[:] = table
    from latentsimplex.engines.dask_cluster import Cluster

    views = as_stored_views(array, "columns")
    assert fingerprint_shards(Cluster(client), send_views(Cluster(client), views)) == fingerprint_views(
        check_stored_views(views)
    )
    settings = {"engine": client, "checkpoint": tmp_path / "kept", "views": "columns", "n_patterns": 2}
    found = fit(array, **settings)
    assert np.array_equal(fit(array, **{**settings, "engine": None}).labels_, found.labels_)
    array[3, 3] = 7.0
    with pytest.raises(ValueError, match="is of other data: give another folder"):
        fit(array, **settings)
