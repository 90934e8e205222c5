"""Mirror descent over tiles: every pair once, the same bits on threads, the steps of small patterns."""

import numpy as np
import pytest

from latentsimplex.base.condensed import count_pairs, cut_into_tiles
from latentsimplex.base.threads import Workers
from latentsimplex.model import _descent_tiled as tiled
from latentsimplex.model._descent_compiled import descend, start_descent
from latentsimplex.model._pair_loops import add_gradient
from problems import KINDS, interior_memberships, random_responses

KIND = pytest.mark.parametrize("kind", KINDS)
PRICES = np.array([0.0, 3.0, 5.0])


@pytest.mark.parametrize("n", [3, 520, 2000, 5000])
def test_parts_of_a_pass_have_every_pair_once(n):
    parts = tiled.bound_parts(n)
    assert len(parts) == min(len(cut_into_tiles(n)), tiled.MOST_PARTS)
    assert parts[0, [0, 2]].tolist() == [0, 0]
    assert parts[-1, [1, 3]].tolist() == [n - 1, count_pairs(n)]
    np.testing.assert_array_equal(parts[1:, [0, 2]], parts[:-1, [1, 3]])


@pytest.mark.usefixtures("small_tiles")
@KIND
def test_parts_add_up_to_the_whole(kind):
    rng, n = np.random.default_rng(0), 40
    W = np.ascontiguousarray(interior_memberships(rng, 1, n, 3)[0].T).astype(np.float32)
    left, stat = 0.7 * W + 0.05, rng.random(count_pairs(n), dtype=np.float32)
    bounds = tiled.bound_parts(n)
    assert len(bounds) > 5
    values, parts = np.empty(len(bounds)), np.full((len(bounds), 3, n), 9.0, np.float32)
    tiled.pass_over_tiles(left, W, 1.5, stat, bounds, kind == "forward", values, parts)
    whole = np.zeros((3, n), np.float32)
    total = add_gradient(left, W, 1.5, stat, 0, n - 1, kind == "forward", whole)
    assert values.sum() == pytest.approx(total, rel=1e-6)
    added = tiled.add_parts(parts)
    assert added.dtype == np.float64
    np.testing.assert_allclose(added, whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(added, parts.sum(axis=0, dtype=float), rtol=1e-12)


def test_sides_of_a_pass_are_of_single_precision():
    rng = np.random.default_rng(0)
    columns, B = np.ascontiguousarray(interior_memberships(rng, 1, 9, 3)[0].T), random_responses(rng, 1, 3)[0]
    W, left, right = np.empty((3, 9)), np.empty((3, 9), np.float32), np.empty((3, 9), np.float32)
    found = tiled.write_narrow_sides(*start_descent(columns, B, True), True, W, left, right)
    np.testing.assert_allclose(W, columns, rtol=1e-12)
    np.testing.assert_array_equal(right, W.astype(np.float32))
    np.testing.assert_allclose(left, B @ W, rtol=1e-6)
    np.testing.assert_allclose(found, B, rtol=1e-12)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@KIND
def test_descent_over_tiles_takes_the_steps_of_descent_in_one_piece(kind, learned):
    """Both of single precision: only the order of sums differs. Of three rates one is too long at first."""
    rng, n, d = np.random.default_rng(0), 40, 3
    W, B = interior_memberships(rng, d, n, 3), random_responses(rng, d, 3)
    mass, rate = np.array([1.0, 2.0, 30.0]), np.array([0.5, 4.0, 200.0])
    stat = (mass[:, None] * rng.uniform(0.05, 0.95, size=(d, count_pairs(n)))).astype(np.float32)

    def starts():
        return [start_descent(np.ascontiguousarray(W[l].T), B[l], learned) for l in range(d)]

    def over_tiles(n_jobs):
        with Workers(n_jobs) as workers:
            return tiled.descend_in_tiles(
                starts(), mass, stat, kind == "forward", learned, PRICES, 10, rate, workers
            )

    alone, threaded = over_tiles(1), over_tiles(3)
    for l, start in enumerate(starts()):
        expected = descend(*start, mass[l], stat[l], 0, kind == "forward", learned, PRICES, 10, rate[l])
        assert not np.allclose(expected[0].T, W[l], atol=1e-3)
        for found, other, one in zip(alone[l], threaded[l], expected, strict=True):
            np.testing.assert_array_equal(found, other)
            np.testing.assert_allclose(found, one, rtol=1e-4, atol=1e-4)


def test_no_steps_return_the_start():
    rng = np.random.default_rng(0)
    columns, B = np.ascontiguousarray(interior_memberships(rng, 1, 9, 3)[0].T), random_responses(rng, 1, 3)[0]
    stat = rng.random((1, 36), dtype=np.float32)
    ((W, response, rate),) = tiled.descend_in_tiles(
        [start_descent(columns, B, True)],
        np.ones(1),
        stat,
        True,
        True,
        PRICES,
        0,
        np.array([4.0]),
        Workers(1),
    )
    np.testing.assert_allclose(W, columns, rtol=1e-12)
    np.testing.assert_allclose(response, B, rtol=1e-12)
    assert rate == 4.0
