"""What travels between workers and this process, where it goes, and in which order."""

import platform

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.engines.dask_cluster import Cluster
from latentsimplex.engines.sharded_pairs import ShardedPairs


@pytest.fixture
def submitted(monkeypatch):
    """The names of functions that are submitted, in order."""
    names, submit = [], Cluster.submit

    def note(self, function, *arguments, **preferred):
        names.append(function.__name__)
        return submit(self, function, *arguments, **preferred)

    monkeypatch.setattr(Cluster, "submit", note)
    return names


def test_a_search_begins_before_all_views_have_arrived(client, data, submitted):
    LatentSimplexPosition(4, 2, n_init=1, random_state=0, n_jobs=1, engine=client).fit(data[:300])
    assert submitted.index("explore") < submitted.index("hold_views")


def test_one_result_of_a_pass_reaches_this_process(client, data, submitted, monkeypatch):
    received, gather = [], Cluster.gather

    def note(self, futures):
        found = gather(self, futures)
        received.append([type(each).__name__ for each in found])
        return found

    monkeypatch.setattr(Cluster, "gather", note)
    passes, pass_over = [], ShardedPairs.pass_over
    monkeypatch.setattr(ShardedPairs, "pass_over", lambda *given: (passes.append(None), pass_over(*given))[1])
    LatentSimplexPosition(4, 2, n_init=1, random_state=0, n_jobs=1, engine=client).fit(data)
    assert submitted.count("visit_shard") == 12 * len(passes) > 12
    assert received.count(["Passed"]) == len(passes)


def test_neighbouring_shards_are_held_together(client):
    cluster = Cluster(client)
    placed = cluster.place(7)
    first, last = dict.fromkeys(placed)
    assert placed == [first] * 4 + [last] * 3
    held = [cluster.submit(np.ones, 3, worker=place) for place in placed]
    cluster.gather(held)
    holders = client.who_has(held)
    assert [holders[each.key][0] for each in held] == placed


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="memory of other C libraries is left as it is")
def test_arrays_of_tasks_are_made_of_memory_that_others_left(client):
    """Otherwise the kernel clears 200 pages for each of fifty arrays."""

    def count_page_faults():  # travels as it is: workers may know another package by the name of these tests
        import resource

        def touch():
            for _ in range(50):
                np.ones(100_000)

        touch()
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        touch()
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

    assert Cluster(client).submit(count_page_faults).result(timeout=60) < 1000
