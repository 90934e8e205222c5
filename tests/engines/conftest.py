"""A real cluster: two worker processes of one thread each, on loopback."""

import signal
import subprocess
import sys
import time

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


@pytest.fixture(scope="module")
def some(data):
    """Fewer views, but more than a search looks at."""
    return data[:500]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Shards of 100 views, so that a few thousand views make many."""
    from latentsimplex.engines import sharded_views

    monkeypatch.setattr(sharded_views, "SHARD_VALUES", 100 * 60 * 59 // 2)


class OwnCluster:
    """A scheduler and two workers, each a process of its own, on loopback."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []

    def start(self):
        """Start it, and return the address of the scheduler."""
        found = self.folder / f"scheduler{len(self.processes)}.json"
        common = ["--host", "127.0.0.1", "--no-dashboard"]
        self._run("scheduler", *common, "--port", "0", "--scheduler-file", str(found))
        deadline = time.monotonic() + 60
        while not found.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(2):
            self._run("worker", "--scheduler-file", str(found), *common, "--nthreads", "1", "--no-nanny")
        from distributed import Client

        with Client(scheduler_file=str(found), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            return client.scheduler.address

    def _run(self, *command):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        self.processes.append(subprocess.Popen([sys.executable, "-m", "dask", *command], **quiet))

    def kill_scheduler(self):
        """Kill -9 the scheduler that was started last; its workers are none afterwards."""
        for process in self.processes[-3:]:
            process.send_signal(signal.SIGKILL)

    def kill_workers(self):
        """Kill -9 the workers that were started last."""
        for process in self.processes[-2:]:
            process.send_signal(signal.SIGKILL)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def own_cluster(tmp_path):
    pytest.importorskip("distributed")
    own = OwnCluster(tmp_path)
    yield own
    own.end()
