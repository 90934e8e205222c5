"""Memory: the limit is read, kept to and, where it cannot be, explained before anything is allocated."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.base.condensed import count_pairs
from latentsimplex.inputs.views import as_views
from latentsimplex.pairs import memory_budget
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.memory_budget import (
    BLOCK_BYTES,
    STORAGES,
    FitSize,
    choose_storage,
    estimate_bytes,
    largest_n_samples,
    measure_size,
    read_memory_limit,
)
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import FunctionKernel, clip_exponents
from problems import clustered_views, read_pairs

QUICK = {"n_clusters": 2, "n_patterns": 2, "n_init": 1, "max_iter": 4, "random_state": 0}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1000, 1000),
        (1e9, 10**9),
        (np.int64(5000), 5000),
        ("2GB", 2 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("500MB", 5 * 10**8),
        ("64k", 64_000),
        (" 12 ", 12),
    ],
)
def test_amounts_of_memory(limit, expected):
    assert read_memory_limit(limit) == expected


@pytest.mark.parametrize(
    "limit",
    ["much", "", "GB", ".GB", "1.2.3GB", "-1GB", "0GB", "2 lightyears", 0, -5, True, np.nan, np.inf, [1]],
    ids=repr,
)
def test_what_is_not_an_amount_of_memory(limit):
    with pytest.raises(
        ValueError, match=r"memory_limit=.* is not an amount of memory: give bytes or a string like"
    ):
        read_memory_limit(limit)


def test_no_limit_is_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory_budget, "available_bytes", lambda: 8000)
    assert read_memory_limit(None) == 4000


def test_free_memory_is_known_without_proc(monkeypatch):
    assert memory_budget.available_bytes() > 10**7

    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    assert memory_budget.available_bytes() > 10**7
    monkeypatch.delattr(memory_budget.os, "sysconf")
    assert memory_budget.available_bytes() == memory_budget.FALLBACK_BYTES


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("budget", [10**7, 123_456_789, 2 * 10**9])
def test_the_largest_number_of_samples_is_the_largest(d, budget):
    size = FitSize(10, 10**5, d)
    n = largest_n_samples(size, budget)
    needs = [estimate_bytes(size._replace(n_samples=each), "nowhere") for each in (n, n + 1)]
    assert needs[0] <= budget < needs[1]


@pytest.mark.parametrize(
    ("size", "advice"),
    [
        (
            FitSize(1, 10**6, 10),
            r"Fitting 1,000,000 samples .* at most [\d,]+ samples fit; take a random subset",
        ),
        (FitSize(8, 2000, 1, 4), r"set n_jobs=1 in place of 4, or raise memory_limit"),
        (
            FitSize(1, 2, 1, 1, 10**9),
            r"select features, of which the widest view has 1,000,000,000, or raise",
        ),
    ],
    ids=["samples", "threads", "features"],
)
def test_too_little_memory_says_what_to_do(size, advice):
    with pytest.raises(MemoryError, match=advice):
        choose_storage(size, 2 * 10**8)


def test_a_fit_that_does_not_fit_says_so_before_it_begins(monkeypatch):
    monkeypatch.setattr(stages, "find_patterns", lambda *_: pytest.fail("the fit has begun"))
    with pytest.raises(
        MemoryError, match=r"Fitting 90 samples with 1 pattern needs about .* GB and the limit is 0\.01 GB"
    ):
        LatentSimplexPosition(**QUICK, memory_limit="10MB").fit(
            np.random.default_rng(0).normal(size=(90, 2000))
        )


def test_pair_values_are_kept_as_well_as_they_fit():
    """They are of single precision: four bytes each whole, one as a level."""
    size = FitSize(50_000, 150, 10)
    needs = {keep: estimate_bytes(size, keep) for keep in STORAGES}
    values = 50_000 * count_pairs(150)
    assert needs["whole"] - needs["nowhere"] == 4 * values - BLOCK_BYTES
    assert needs["bytes"] - needs["nowhere"] == values
    for keep, coarser in pairwise(STORAGES):
        assert choose_storage(size, needs[keep]) == keep
        assert choose_storage(size, needs[keep] - 1) == coarser
    with pytest.raises(MemoryError, match="at most 149 samples fit"):
        choose_storage(size, needs["nowhere"] - 1)


def test_features_and_threads_count():
    one = FitSize(6, 500, 2, 1, 10)
    wider, threads = one._replace(n_features=500), one._replace(n_jobs=2)
    more = [estimate_bytes(size, "whole") - estimate_bytes(one, "whole") for size in (wider, threads)]
    assert more[0] >= 3 * 8 * 500 * 490
    assert more[1] >= 24 * 500**2
    assert estimate_bytes(one._replace(n_jobs=64), "whole") == estimate_bytes(one._replace(n_jobs=6), "whole")


@pytest.mark.parametrize("form", [sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
def test_a_sparse_and_wide_view_counts_by_what_it_stores(form):
    X = form(sparse.random_array((60, 1_000_000), density=1e-4, rng=np.random.default_rng(0)))
    size = measure_size(as_views([X]), None, 10, 1)
    assert size == FitSize(1, 60, 1, 1, 1_000_000, True, 6000, 0)
    assert estimate_bytes(size, "whole") < 2e8
    assert measure_size(as_views([X]), None, 10, 1, 2500) == size._replace(n_graphed=60)
    own = measure_size(as_views([X]), FunctionKernel(np.corrcoef), 10, 1)  # which wants the whole table
    assert estimate_bytes(own, "whole") > 24 * 60 * 1_000_000


# What is free


def test_the_least_of_what_is_free_and_limits_counts(monkeypatch):
    monkeypatch.setattr(memory_budget, "free_bytes", lambda: 5000)
    monkeypatch.setattr(memory_budget, "address_space_left", lambda: iter([4000]))
    monkeypatch.setattr(memory_budget, "group_bytes_left", lambda: iter([7000, 3000]))
    assert memory_budget.available_bytes() == 3000
    monkeypatch.setattr(memory_budget, "group_bytes_left", lambda: iter([-10]))
    assert memory_budget.available_bytes() == 0


def test_the_address_space_is_limited():
    script = (
        "import resource; from latentsimplex.pairs.memory_budget import available_bytes\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY)); print(available_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3 << 30


def write_group(folder, limit, usage, statistics, values):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(
        (limit, usage, "memory.stat"), (*values[:2], f"anon 5\n{statistics} {values[2]}"), strict=True
    ):
        (folder / name).write_text(f"{value}\n")


SECOND = ("memory.max", "memory.current", "inactive_file")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@pytest.mark.parametrize(
    ("lines", "groups", "expected"),
    [
        ("0::/", {"": (*SECOND, (1000, 300, 100))}, [800]),
        ("0::/a/b", {"a/b": (*SECOND, ("max", 300, 0)), "a": (*SECOND, (900, 400, 0))}, [500]),
        ("0::/not/seen", {"": (*SECOND, (1000, 300, 0))}, [700]),
        (
            "4:memory:/a\n0::/",
            {"memory/a": (*FIRST, (1000, 300, 50)), "memory": (*FIRST, (2000, 300, 0))},
            [750, 1700],
        ),
        ("2:cpu,cpuacct:/a", {}, []),
    ],
    ids=["container", "above", "unseen", "first version", "none"],
)
def test_the_control_group_is_limited(lines, groups, expected, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(lines + "\n")
    for path, group in groups.items():
        write_group(tmp_path / "sys/fs/cgroup" / path, *group)
    assert list(memory_budget.group_bytes_left(tmp_path)) == expected


# How values are kept


@pytest.mark.parametrize("similarity", ["local-scaling", lambda X: np.exp(-np.abs(X[:, 0, None] - X[:, 0]))])
def test_recomputing_pair_values_gives_the_same_fit(similarity, monkeypatch):
    data = clustered_views(np.random.default_rng(0), 20, 4)
    models = []
    for keep in ("whole", "nowhere"):
        monkeypatch.setattr(stages, "choose_storage", lambda size, budget, keep=keep: keep)
        models.append(LatentSimplexPosition(**QUICK, similarity=similarity).fit(data))
    assert np.array_equal(models[0].loss_curve_, models[1].loss_curve_)
    assert np.array_equal(models[0].view_responsibilities_, models[1].view_responsibilities_)
    for a, b in zip(models[0].memberships_, models[1].memberships_, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", ["forward", "reverse"])
def test_values_in_bytes_are_off_by_half_a_level_at_most(kind):
    views = clustered_views(np.random.default_rng(0), 30, 3)
    whole, in_bytes = (
        read_pairs(views, LocalScaling(), DIVERGENCES[kind], keep=keep) for keep in ("whole", "bytes")
    )
    values, coarse = (np.concatenate([F for _, F in pairs.blocks()]) for pairs in (whole, in_bytes))
    limits = DIVERGENCES[kind].f(clip_exponents(np.array([0.0, np.inf])))
    assert 0 < np.abs(values - coarse).max() <= np.ptp(limits) / 510 * (1 + 1e-4)
    assert in_bytes.values(1).dtype == np.float32
    np.testing.assert_array_equal(in_bytes.values(1), coarse[1])


def test_a_fit_from_values_in_bytes_is_nearly_the_same(monkeypatch):
    data = clustered_views(np.random.default_rng(0), 60, 12)
    whole = LatentSimplexPosition(3, 2, random_state=0).fit(data)
    monkeypatch.setattr(stages, "choose_storage", lambda size, budget: "bytes")
    coarse = LatentSimplexPosition(3, 2, random_state=0).fit(data)
    assert np.array_equal(whole.view_patterns_, coarse.view_patterns_)
    for a, b in zip(whole.memberships_, coarse.memberships_, strict=True):
        assert np.abs(a - b).max() < 0.02


def test_neighbour_graphs_count_where_they_take_more_than_pairs():
    """Graphs are there before pair values are: whichever takes more counts."""
    few, many = FitSize(1, 1000, 1, 1, 5), FitSize(12, 1000, 3, 2, 5)
    for size, least, most in ((few, 1.2, 1.6), (many, 2.0, 3.5)):
        ratio = estimate_bytes(size._replace(n_graphed=1000), "whole") / estimate_bytes(size, "whole")
        assert least < ratio < most
    pairs = FitSize(12, 2500, 12, 1, 5)
    assert estimate_bytes(pairs._replace(n_graphed=100), "whole") == estimate_bytes(pairs, "whole")


def test_neighbour_graphs_count_where_they_have_more_samples_than_pairs_have():
    landmarks = FitSize(3, 2500, 3, 1, 5)
    graphed = landmarks._replace(n_graphed=40_000)
    assert estimate_bytes(graphed, "nowhere") > estimate_bytes(landmarks, "nowhere") + 10**9
    budget = estimate_bytes(landmarks._replace(n_graphed=10_000), "nowhere")
    assert largest_n_samples(graphed, budget) in (9_999, 10_000)
    with pytest.raises(MemoryError, match=r"40,000 samples.*at most (9,999|10,000) samples fit"):
        choose_storage(graphed, budget)
