"""Workers that are slow, run out of memory, or never come back: what a fit finds, or what it says."""

import asyncio
import os
import signal
import threading
import time

import dask
import numpy as np
import pytest

from engines.cluster_runs import assert_same_bits, fit, on_pass
from latentsimplex.checkpoints import piece_folder
from latentsimplex.engines import dask_cluster as cluster_module
from latentsimplex.engines import remote_pieces


@pytest.fixture(scope="module")
def expected(cluster, some):
    """What a fit finds that nothing happens to."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("latentsimplex.engines.sharded_views.SHARD_VALUES", 100 * 60 * 59 // 2)
        return fit(some, engine=cluster.scheduler_address)


@pytest.fixture
def own_workers():
    """Starts clusters of two workers with a limit of memory, each with its nanny."""
    from distributed import Client, LocalCluster

    opened = []

    def start(memory_limit, **config):
        with dask.config.set(config):
            cluster = LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=memory_limit,
            )
        opened.append(cluster)
        opened.append(Client(cluster, set_as_default=False))
        return opened[-1]

    yield start
    for each in reversed(opened):
        each.close()


def freeze(process, seconds):
    """Stop a process, which goes on after some seconds."""
    os.kill(process, signal.SIGSTOP)
    waking = threading.Timer(seconds, os.kill, (process, signal.SIGCONT))
    waking.start()
    return waking


def test_a_slow_worker_changes_nothing(client, some, expected, monkeypatch):
    slow, began = next(iter(client.run(os.getpid).values())), time.monotonic()
    asked = on_pass(monkeypatch, 2, lambda: freeze(slow, 2.0))
    found = fit(some, engine=client)
    assert len(asked) > 2
    assert time.monotonic() - began > 2.0
    assert_same_bits(found, expected)


def test_a_worker_that_is_slow_to_hand_over_pieces(client, some, expected, tmp_path, monkeypatch):
    """The worker that searches does not answer: it is asked again, and loses nothing that it had to say."""
    monkeypatch.setattr(piece_folder, "BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(piece_folder, "PACE", 0)
    monkeypatch.setattr(remote_pieces, "SOON", 0.02)
    monkeypatch.setattr(remote_pieces, "COLLECT_SECONDS", 0.02)
    monkeypatch.setattr(cluster_module, "ANSWER_SECONDS", 0.3)
    processes, silent, ask = client.run(os.getpid), [], cluster_module.ask_workers

    def ask_or_note(client, function, *arguments, **settings):
        try:
            return ask(client, function, *arguments, **settings)
        except TimeoutError:
            silent.append(function.__name__)
            raise

    monkeypatch.setattr(cluster_module, "ask_workers", ask_or_note)

    def freeze_who_searches():
        deadline = time.monotonic() + 120
        while not list((tmp_path / "kept").glob("search*.npz")):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        placed = client.processing().items()
        for address, keys in placed:
            if any("explore" in key for key in keys):
                freeze(processes[address], 2.0)

    watcher = threading.Thread(target=freeze_who_searches, daemon=True)
    watcher.start()
    found = fit(some, engine=client, checkpoint=tmp_path / "kept")
    watcher.join()
    assert "collect_pieces" in silent
    assert_same_bits(found, expected)


def test_pieces_that_did_not_arrive_are_given_again(tmp_path):
    pieces = remote_pieces.PiecesOnWorker(tmp_path)
    pieces.keep("first", "key", 1)
    assert pieces.take(again=False) == {"first": ("key", 1)}
    pieces.keep("second", "key", 2)
    assert pieces.take(again=True) == {"first": ("key", 1), "second": ("key", 2)}
    assert pieces.take(again=False) == {}


@pytest.mark.slow
def test_a_worker_out_of_memory_is_ended_by_its_nanny(own_workers, some, expected, monkeypatch):
    """Something else takes all the memory of a worker: others make what it held."""
    client = own_workers("700MB")
    before = client.run(os.getpid)

    def fill_memory():
        taken = []
        while True:
            taken.append(np.ones(2_500_000))
            time.sleep(0.02)

    victim, filling = next(iter(before)), []

    def begin():
        filling.append(client.submit(fill_memory, workers=[victim], retries=0, key="fill-memory"))
        deadline = time.monotonic() + 120
        while before[victim] in client.run(os.getpid, on_error="ignore").values():
            assert time.monotonic() < deadline
            time.sleep(0.1)

    on_pass(monkeypatch, 2, begin)
    found = fit(some, engine=client)
    filling[0].cancel()
    assert_same_bits(found, expected)


def test_workers_that_never_come_back(own_cluster, client, some, expected, tmp_path, monkeypatch):
    """They have no nanny: the fit says so after a while, and goes on with another cluster."""
    address = own_cluster.start()
    with monkeypatch.context() as patched:
        patched.setattr(cluster_module, "LOOK_SECONDS", 0.1)
        patched.setattr(cluster_module, "PATIENCE", 1)
        on_pass(patched, 3, own_cluster.kill_workers)
        with pytest.raises(
            RuntimeError, match=r"All workers .* were lost, .*goes on from checkpoint='.*kept'\.$"
        ):
            fit(some, engine=address, checkpoint=tmp_path / "kept")
    assert_same_bits(fit(some, engine=client, checkpoint=tmp_path / "kept"), expected)


class Says:
    """A client, and its scheduler, which knows workers with these statuses."""

    status = "running"

    def __init__(self, *statuses):
        self.scheduler, self.address = self, "tcp://there"
        self.workers = {
            f"tcp://{i}": {"status": each, "nthreads": 1, "metrics": {"cpu": 2.0}}
            for i, each in enumerate(statuses)
        }

    def scheduler_info(self, n_workers):
        return {"workers": self.workers}

    async def identity(self, n_workers):
        return {"workers": self.workers}


def test_workers_that_are_all_paused(monkeypatch):
    """Dask pauses workers whose memory is nearly full; if all are, nothing would go on."""
    monkeypatch.setattr(cluster_module, "PATIENCE", -1)
    asyncio.run(cluster_module.Cluster(Says("paused", "running"))._look_at_workers())
    with pytest.raises(
        RuntimeError, match=r"All workers .* were paused for lack of memory, and for -1 s none"
    ):
        asyncio.run(cluster_module.Cluster(Says("paused", "paused"))._look_at_workers())


def test_a_paused_worker_may_end_the_task_that_it_has(monkeypatch):
    """A search is one long task; a worker that is paused meanwhile takes no others, but ends it."""
    monkeypatch.setattr(cluster_module, "PATIENCE", -1)
    says = Says("paused", "paused")
    says.workers["tcp://1"]["metrics"]["cpu"] = 90.0
    asyncio.run(cluster_module.Cluster(says)._look_at_workers())


def test_workers_without_a_limit_of_memory(client, monkeypatch):
    """One that was lost, and perhaps replaced, counts as the one with the least; silence is one sentence."""
    cluster = cluster_module.Cluster(client)
    own = {
        address: dict(worker, memory_limit=0, host=address) for address, worker in cluster._workers.items()
    }
    lost = dict(next(iter(own.values())), host="lost")
    monkeypatch.setattr(cluster, "_workers", own)
    alone = cluster.count_bytes()
    monkeypatch.setattr(cluster, "_workers", {**own, "tcp://127.0.0.1:9": lost})
    both = cluster.count_bytes()
    assert both == pytest.approx(alone * (len(own) + 1) / len(own), rel=0.2)

    def be_silent(*arguments, **settings):
        raise TimeoutError

    monkeypatch.setattr(cluster_module, "ask_workers", be_silent)
    with pytest.raises(
        RuntimeError, match=r"Workers of the cluster at .* do not say within 60 s .* memory_limit\.$"
    ):
        cluster.count_bytes()


def test_workers_that_do_not_answer(client, some, monkeypatch):
    monkeypatch.setattr(cluster_module, "ANSWER_SECONDS", 0.3)
    slow = next(iter(client.run(os.getpid).values()))
    waking = freeze(slow, 1.5)
    with pytest.raises(ValueError, match=r"workers that do not answer within 0\.3 s"):
        fit(some, engine=client)
    waking.join()


@pytest.mark.slow
def test_a_worker_that_stays_stopped(own_workers, some, expected, monkeypatch):
    """The scheduler gives it up, and its nanny starts another."""
    client = own_workers("1GB", **{"distributed.scheduler.worker-ttl": "10s"})
    stopped = next(iter(client.run(os.getpid).values()))
    on_pass(monkeypatch, 2, lambda: os.kill(stopped, signal.SIGSTOP))
    assert_same_bits(fit(some, engine=client), expected)
    assert stopped not in client.run(os.getpid).values()
