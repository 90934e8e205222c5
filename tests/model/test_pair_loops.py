"""The pairs of one pattern in compiled loops, in either precision, against plain NumPy."""

import numpy as np
import pytest

from latentsimplex.base.compiled import STRIP
from latentsimplex.base.condensed import count_pairs, first_pair_of_row, unpack_pairs
from latentsimplex.model._pair_loops import (
    FEW_SAMPLES,
    add_gradient,
    clip_bounds,
    find_first_row,
    write_terms,
)
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from problems import KINDS, interior_memberships, mixed_memberships, random_responses

KIND = pytest.mark.parametrize("kind", KINDS)
PRECISION = pytest.mark.parametrize("precision", [np.float64, np.float32], ids=["double", "single"])
ROUNDING = {np.float64: 1e-10, np.float32: 1e-4}


def plain_terms(W, B, mass, stat, kind):
    """Return a(q), the sum of h(q), the objective and G W, by full matrices."""
    n, divergence = len(W), DIVERGENCES[kind]
    i, j = np.triu_indices(n, 1)
    q = np.clip(np.einsum("ia,ab,ib->i", W[i], B, W[j]), P_CLIP, 1 - P_CLIP)
    a, h = divergence.a_and_h(q)
    value, slope = divergence.value_and_slope(q, mass, stat)
    return a, h.sum(), value.sum(), unpack_pairs(slope) @ W


def a_pattern(n, g, precision):
    """Return W, B and a statistic whose pairs both precisions tell from certain ones."""
    rng = np.random.default_rng(n + g)
    if precision == np.float64:
        W = mixed_memberships(rng, n, g) if n > 2 and g > 1 else interior_memberships(rng, 1, n, g)[0]
        return W, random_responses(rng, 1, g)[0], rng.normal(size=count_pairs(n))
    B = np.full((g, g), 0.05) + 0.7 * np.eye(g)
    return rng.dirichlet(np.full(g, 0.3), n), B, 2 * rng.random(count_pairs(n))


def sides_of(W, B, precision):
    return (
        np.ascontiguousarray((W @ B).T).astype(precision),
        np.ascontiguousarray(W.T).astype(precision),
    )


@PRECISION
@KIND
@pytest.mark.parametrize("g", [1, 2, 3, 5, 6])
@pytest.mark.parametrize(
    ("n", "first_row"),
    [(n, 0) for n in (2, 3, 4, 9, 40, 170, STRIP + 3, STRIP + 6, STRIP + 7)]
    + [(n, None) for n in (2, 3, 40, 170)],
)
def test_pairs_of_a_pattern(kind, n, first_row, g, precision):
    """Rows are longer and shorter than a strip, even and odd in number, and so are clusters; or all are one product."""
    W, B, stat = a_pattern(n, g, precision)
    (left, right), rtol = sides_of(W, B, precision), ROUNDING[precision]
    a, h, value, GW = plain_terms(W, B, 2.5, stat, kind)

    A = np.empty(count_pairs(n), precision)
    assert write_terms(left, right, 0, n - 1, kind == "forward", A) == pytest.approx(h, rel=rtol / 10, abs=0)
    np.testing.assert_allclose(A, a, rtol=rtol, atol=1e-12 if precision == np.float64 else 1e-5)
    found = np.zeros((g, n), precision)
    total = add_gradient(left, right, 2.5, stat.astype(precision), first_row, n - 1, kind == "forward", found)
    assert total == pytest.approx(value, rel=1e-10 if precision == np.float64 else 1e-5, abs=0)
    np.testing.assert_allclose(
        found.T, GW, rtol=1e-9 if precision == np.float64 else 0, atol=rtol * np.abs(GW).max()
    )


@PRECISION
@KIND
@pytest.mark.parametrize("cut", [1, 2, 5, 6])
def test_rows_add_up(kind, cut, precision):
    W, B, stat = a_pattern(8, 3, np.float32)
    (left, right), stat, forward = sides_of(W, B, precision), stat.astype(precision), kind == "forward"
    whole, parts = np.zeros((3, 8), precision), np.zeros((3, 8), precision)
    total = add_gradient(left, right, 1.0, stat, 0, 7, forward, whole)
    at = first_pair_of_row(cut, 8)
    sums = [
        add_gradient(left, right, 1.0, stat[:at], 0, cut, forward, parts),
        add_gradient(left, right, 1.0, stat[at:], cut, 7, forward, parts),
    ]
    rtol = ROUNDING[precision] / 10
    assert sum(sums) == pytest.approx(total, rel=rtol)
    np.testing.assert_allclose(parts, whole, atol=rtol * np.abs(whole).max())

    A, tiled = np.empty(28, precision), np.empty(28, precision)
    h = write_terms(left, right, 0, 7, forward, A)
    sums = [
        write_terms(left, right, 0, cut, forward, tiled[:at]),
        write_terms(left, right, cut, 7, forward, tiled[at:]),
    ]
    assert sum(sums) == pytest.approx(h, rel=rtol)
    np.testing.assert_array_equal(tiled, A)


@PRECISION
@pytest.mark.parametrize("first_row", [None, 0])
def test_gradients_are_added_to_what_is_there(first_row, precision):
    W, B, stat = a_pattern(9, 2, np.float32)
    (left, right), stat = sides_of(W, B, precision), stat.astype(precision)
    once, more = np.zeros((2, 9), precision), np.full((2, 9), 3.0, precision)
    add_gradient(left, right, 1.0, stat, first_row, 8, True, once)
    add_gradient(left, right, 1.0, stat, first_row, 8, True, more)
    np.testing.assert_allclose(more, once + 3, rtol=1e-5, atol=1e-4)


def test_single_precision_is_as_double_but_for_rounding():
    """One loop for both: the same pattern gives the same to what single precision leaves."""
    for kind in KINDS:
        W, B, stat = a_pattern(700, 4, np.float32)
        found = []
        for precision in (np.float64, np.float32):
            GW = np.zeros((4, 700), precision)
            value = add_gradient(
                *sides_of(W, B, precision), 1.5, stat.astype(precision), 0, 699, kind == "forward", GW
            )
            found.append((value, GW))
        assert found[1][0] == pytest.approx(found[0][0], rel=1e-6)
        np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-4 * np.abs(found[0][1]).max())


def test_similarities_come_as_near_to_certainty_as_their_precision_goes():
    least, most = clip_bounds(np.zeros(1))
    assert (least, most) == (P_CLIP, 1 - P_CLIP)
    least, most = clip_bounds(np.zeros(1, np.float32))
    assert least == np.float32(P_CLIP)
    assert most == np.float32(1 - np.finfo(np.float32).eps) < 1


@PRECISION
@KIND
@pytest.mark.parametrize("first_row", [None, 0])
def test_certain_pairs_have_finite_terms_and_slopes(first_row, kind, precision):
    """Samples that are surely together or apart, under statistics that want the opposite."""
    W = np.eye(2)[[0, 0, 1]]
    left, right = sides_of(W, np.eye(2), precision)
    stat = np.array([-3.0, 3.0, 3.0], precision)
    A, GW = np.empty(3, precision), np.zeros((2, 3), precision)
    assert np.isfinite(write_terms(left, right, 0, 2, kind == "forward", A))
    assert np.isfinite(A).all()
    assert np.isfinite(add_gradient(left, right, 1.0, stat, first_row, 2, kind == "forward", GW))
    assert np.isfinite(GW).all()
    assert GW[0, 0] > 0  # the pair that is together is pulled apart
    assert GW[1, 0] < 0  # and the pairs that are apart are pulled together


def test_few_samples_go_without_a_first_row():
    assert [find_first_row(n) for n in (2, FEW_SAMPLES, FEW_SAMPLES + 1)] == [None, None, 0]
