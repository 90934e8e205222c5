"""Blocks of pair values: what is kept of them, and the views that they are read from."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, _arrays, em
from latentsimplex.compute.threads import Workers
from latentsimplex.datasets import many_views
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.engines import local
from latentsimplex.engines.local import LocalPairs
from latentsimplex.similarity import Diffusion, LocalScaling, tables_exponents
from latentsimplex.views import as_views
from problems import make_problem

FORWARD = DIVERGENCES["forward"]


def some_views(V=12, n=20):
    return np.asarray(many_views(V, n_samples=n, random_state=0).views)


@pytest.fixture(name="small_blocks")
def _small_blocks(monkeypatch):
    monkeypatch.setattr(local, "BLOCK_VALUES", 3 * 190)  # three views of twenty samples


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kernel", [Diffusion(), LocalScaling()], ids=["diffusion", "local scaling"])
@pytest.mark.parametrize("constant", [[], [1], [0, 1, 2, 7]])
@pytest.mark.parametrize("keep", [True, False])
def test_blocks_hold_the_values_of_the_views_that_tell_something(kernel, constant, keep):
    X = some_views()
    X[constant] = 3.0
    pairs = LocalPairs(as_views(X), kernel, FORWARD, Workers(1), keep)
    telling = np.setdiff1d(np.arange(len(X)), constant)
    np.testing.assert_array_equal(pairs.informative, telling)
    alone = [LocalPairs(as_views(X[v : v + 1]), kernel, FORWARD, Workers(1), True) for v in telling]
    for rows, F in pairs.blocks():
        for v, f in zip(range(rows.start, rows.stop), F, strict=True):
            np.testing.assert_array_equal(f, alone[v].values(0))
            assert pairs.constants[v] == alone[v].constants[0]


@pytest.mark.usefixtures("small_blocks")
def test_a_constant_view_does_not_keep_the_memory_of_its_neighbours():
    X = some_views()
    X[4] = 3.0
    pairs = LocalPairs(as_views(X), Diffusion(), FORWARD, Workers(1), True)
    held = {
        id(F if F.base is None else F.base): (F if F.base is None else F.base).nbytes for F in pairs._kept
    }
    assert sum(held.values()) == (len(X) - 1) * 190 * 4


def test_tables_are_those_of_the_views_in_a_row_or_not():
    X = some_views()
    views = as_views(X)
    for members in ([2, 3, 4], [0, 4, 5], [7], [5, 4]):
        np.testing.assert_array_equal(views.tables(np.array(members)), X[members])


def test_a_function_cannot_change_the_data():
    X = some_views(3)

    def similarity(view):
        view -= view[0]
        return np.exp(
            -np.abs(view - view.T) if view.shape[1] == 1 else -((view[:, None] - view) ** 2).sum(-1)
        )

    before = X.copy()
    LatentSimplexPosition(2, 2, similarity=similarity, temperature=5.0, random_state=0, n_init=1).fit(X)
    np.testing.assert_array_equal(X, before)


class Halved(LocalScaling):
    """A kernel made of one of ours, with the signature that the protocol has."""

    def exponents(self, X):
        return 0.5 * LocalScaling.exponents(self, X)


def test_kernels_made_of_ours_need_not_know_where_to_write():
    X = some_views(2)
    out = np.empty((2, 190), dtype=np.float32)
    assert tables_exponents(Halved(), X, str, out) is out
    np.testing.assert_allclose(out, 0.5 * tables_exponents(LocalScaling(), X, str), rtol=1e-6)


def test_a_lone_pattern_keeps_its_statistics():
    problem = make_problem(0)
    lam = np.eye(len(problem.state.lam))[0]
    pairs, state = problem.pairs(), problem.state._replace(lam=lam)
    first = em.e_step(pairs, state, problem.model)
    other = state._replace(W=np.roll(state.W, 1, axis=1))
    again, anew = (em.e_step(pairs, other, problem.model, before) for before in (first, None))
    assert again.stat is first.stat
    np.testing.assert_allclose(again.stat, anew.stat, rtol=1e-12)
    assert again.loss == anew.loss


def test_a_search_is_rough_and_what_is_reported_is_not(monkeypatch):
    asked = []

    def watched(*arguments):
        asked.append(arguments[-1])
        return descended(*arguments)

    descended = em.descended
    monkeypatch.setattr(em, "descended", watched)
    LatentSimplexPosition(4, 3, random_state=0, n_init=1).fit(some_views(6, 60))
    assert asked[0]
    assert not asked[-1]


def test_triton_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(_arrays.shutil, "which", lambda name: None)
    _arrays.has_triton.cache_clear()
    assert not _arrays.has_triton()
    _arrays.has_triton.cache_clear()
