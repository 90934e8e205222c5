"""Memory: the limit is read, kept to and, where it cannot be, explained before anything is allocated."""

import re

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import count_pairs
from latentsimplex.pairs import memory_budget
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import InMemoryPairs
from latentsimplex.pairs.memory_budget import (
    choose_storage,
    largest_n_samples,
    read_memory_limit,
    working_bytes,
)
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import clip_exponents
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

    monkeypatch.setattr("builtins.open", missing)
    assert memory_budget.available_bytes() > 10**7
    monkeypatch.delattr(memory_budget.os, "sysconf")
    assert memory_budget.available_bytes() == memory_budget.FALLBACK_BYTES


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("budget", [10**4, 123_457, 10**7, 2 * 10**9])
def test_the_largest_number_of_samples_is_the_largest(d, budget):
    n = largest_n_samples(d, budget)
    assert working_bytes(n, d) <= budget < working_bytes(n + 1, d)


def test_too_little_memory_names_the_largest_number_of_samples():
    X = np.random.default_rng(0).normal(size=(200, 2))
    limit = 10**5
    message = (
        rf"Fitting 200 samples with 1 patterns needs about .* GB and the limit is 0\.0001 GB: at most "
        rf"{largest_n_samples(1, limit)} samples fit; .*raise memory_limit"
    )
    with pytest.raises(MemoryError, match=message):
        LatentSimplexPosition(**QUICK, memory_limit=limit).fit(X)


def test_large_numbers_of_samples_are_written_to_be_read():
    with pytest.raises(MemoryError, match=re.escape("Fitting 1,000,000 samples")):
        choose_storage(1, 10**6, 10, 10**9)


def test_pair_values_are_kept_as_well_as_they_fit():
    """They are of single precision: four bytes each whole, one as a level."""
    working, values = working_bytes(30, 2), 3 * 435
    assert choose_storage(3, 30, 2, working + 4 * values) == "whole"
    assert choose_storage(3, 30, 2, working + 4 * values - 1) == "bytes"
    assert choose_storage(3, 30, 2, working + values) == "bytes"
    assert choose_storage(3, 30, 2, working + values - 1) == "nowhere"
    assert choose_storage(3, 30, 2, working) == "nowhere"
    with pytest.raises(MemoryError, match="at most 29 samples fit"):
        choose_storage(3, 30, 2, working - 1)


@pytest.mark.parametrize("similarity", ["local-scaling", lambda X: np.exp(-np.abs(X[:, 0, None] - X[:, 0]))])
def test_recomputing_pair_values_gives_the_same_fit(similarity, monkeypatch):
    data = clustered_views(np.random.default_rng(0), 20, 4)
    kept, made = [], InMemoryPairs.__init__

    def watched(self, reader, backend, keep, *arguments):
        kept.append(keep)
        made(self, reader, backend, keep, *arguments)

    monkeypatch.setattr(InMemoryPairs, "__init__", watched)
    models = [
        LatentSimplexPosition(**QUICK, similarity=similarity, memory_limit=limit).fit(data)
        for limit in (None, working_bytes(20, 2))
    ]
    assert kept == ["whole", "nowhere"]
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


def test_a_fit_from_values_in_bytes_is_nearly_the_same():
    data = clustered_views(np.random.default_rng(0), 60, 12)
    limits = [None, working_bytes(60, 2) + 12 * count_pairs(60)]
    whole, coarse = (
        LatentSimplexPosition(3, 2, random_state=0, memory_limit=limit).fit(data) for limit in limits
    )
    assert choose_storage(12, 60, 2, limits[1]) == "bytes"
    assert np.array_equal(whole.view_patterns_, coarse.view_patterns_)
    for a, b in zip(whole.memberships_, coarse.memberships_, strict=True):
        assert np.abs(a - b).max() < 0.02
