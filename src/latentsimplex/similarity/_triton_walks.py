"""Walks of many small views on a GPU, in Triton: a row of a matrix at a time, without passes over memory.

Triton comes with torch for NVIDIA GPUs. These are :func:`~latentsimplex.similarity.diffusion.make_walks` and the
exponents of :class:`latentsimplex.similarity.Diffusion` for tensors, and the sums over rows between them. What
is written there works everywhere; here a program works out a whole row where that goes over all matrices once for each
operation. Distances are cheaper to compute again than to read.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

LARGEST_WORD = tl.constexpr(2**31 - 1)
PASSED = 4096
"""Entries of a matrix that one program reads."""


@triton.jit
def row_distances(X, v, i, f, n, lanes, P: tl.constexpr, MANY: tl.constexpr):
    """Return the distances of sample i of view v from the samples at ``lanes``, in MANY features from f on."""
    table = X + v * n * P + f
    here = lanes < n
    total = tl.zeros(lanes.shape, tl.float32)
    for c in tl.static_range(MANY):
        gap = tl.load(table + lanes * P + c, mask=here, other=0.0) - tl.load(table + i * P + c)
        if MANY == 1:  # squares could vanish
            total = tl.abs(gap)
        else:
            total += gap * gap
    return total if MANY == 1 else tl.sqrt_rn(total)


@triton.jit
def row_affinities(X, q, shares, v, i, n, lanes, P: tl.constexpr, MANY: tl.constexpr):
    """Return the mean of exp(-dist^2 / (q_i q_j)) of sample i of view v with the samples at ``lanes``.

    It is one over sets of MANY features; ``q`` has 1 / sqrt(q_i) for each set, and ``shares`` what a set counts.
    """
    total = tl.zeros(lanes.shape, tl.float32)
    for c in tl.static_range(P // MANY):
        roots = q + (v * (P // MANY) + c) * n
        others = tl.load(roots + lanes, mask=lanes < n, other=0.0)
        r = row_distances(X, v, i, c * MANY, n, lanes, P, MANY) * (tl.load(roots + i) * others)
        total += tl.load(shares + v * (P // MANY) + c) * tl.exp(-r * r)
    return total


@triton.jit
def select_kth(bits, k):
    """Return the k-th smallest (from 0) of whole numbers that is not negative, by halving the range it lies in."""
    low = tl.full([], 0, tl.int32)
    high = tl.full([], LARGEST_WORD, tl.int32)
    while low < high:
        middle = low + (high - low) // 2
        reached = tl.sum((bits <= middle).to(tl.int32))
        high = tl.where(reached > k, middle, high)
        # where no more are in reach than are wanted, it is the largest of them
        low = tl.where(reached > k, tl.where(reached == k + 1, middle, low), middle + 1)
    return tl.max(tl.where(bits <= high, bits, 0))


@triton.jit
def write_root_bandwidths(
    X, q, n, below, part, share, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write 1 / sqrt(q_i), q_i a quantile of a sample's distances to the others or a share of the way out of a pile."""
    v, i, c = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    lanes = tl.arange(0, LANES)
    distances = row_distances(X, v, i, c * MANY, n, lanes, P, MANY)
    bits = tl.where(lanes < n, distances.to(tl.int32, bitcast=True), LARGEST_WORD)
    low = select_kth(bits, below + 1)
    reached = tl.sum((bits <= low).to(tl.int32))
    above = tl.min(tl.where(bits > low, bits, LARGEST_WORD))
    high = tl.where((reached <= below + 2) & (reached < n), above, low)
    at_low, at_high = low.to(tl.float32, bitcast=True), high.to(tl.float32, bitcast=True)
    bandwidth = at_low + part * (at_high - at_low)
    if bandwidth <= 0:
        nearest = tl.min(tl.where((lanes < n) & (distances > 0), distances, float("inf")))
        bandwidth = tl.where(nearest < float("inf"), share * nearest, 1.0)
    tl.store(q + (v * (P // MANY) + c) * n + i, 1.0 / tl.sqrt_rn(bandwidth))


@triton.jit
def write_least_affinities(
    X, q, shares, least, n, k, tied, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write the affinity of each sample's k-th nearest neighbour, less what is taken for a tie."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    affinities = row_affinities(X, q, shares, v, i, n, lanes, P, MANY)
    others = (lanes < n) & (lanes != i)
    bits = tl.where(others, affinities.to(tl.int32, bitcast=True), -1)
    value = select_kth(bits, LANES - k).to(tl.float32, bitcast=True)
    tl.store(least + v * n + i, value * (1.0 - tied))


@triton.jit
def row_weights(X, q, shares, least, v, i, n, lanes, tiny, P: tl.constexpr, MANY: tl.constexpr):
    """Return the weights of sample i's edges, and what joins it to all samples."""
    affinities = row_affinities(X, q, shares, v, i, n, lanes, P, MANY)
    own = tl.load(least + v * n + i)
    others = tl.load(least + v * n + lanes, mask=lanes < n, other=float("inf"))
    near = ((affinities >= own) | (affinities >= others)) & (lanes != i)
    return tl.where(lanes < n, tl.where(near, affinities, 0.0) + tiny, 0.0)


@triton.jit
def write_root_degrees(
    X, q, shares, least, degree, n, tiny, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write 1 / sqrt of each sample's degree."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    weights = row_weights(X, q, shares, least, v, i, n, tl.arange(0, LANES), tiny, P, MANY)
    tl.store(degree + v * n + i, 1.0 / tl.sqrt_rn(tl.sum(weights)))


@triton.jit
def write_walk_rows(
    X, q, shares, least, degree, M, n, wide, tiny, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write the rows of M = (I + N) / 2, 0 beyond n samples up to ``wide`` rows and columns."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    into = M + (v * wide + i) * wide + lanes
    if i < n:
        weights = row_weights(X, q, shares, least, v, i, n, lanes, tiny, P, MANY)
        own = 0.5 * tl.load(degree + v * n + i)
        others = tl.load(degree + v * n + lanes, mask=lanes < n, other=0.0)
        tl.store(into, weights * own * others + tl.where(lanes == i, 0.5, 0.0), mask=lanes < wide)
    else:
        tl.store(into, tl.zeros(lanes.shape, tl.float32), mask=lanes < wide)


def make_walks_by_triton(
    X: Any,
    one_by_one: bool,
    below: int,
    part: float,
    share: float,
    k: int,
    tied: float,
    tiny: float,
    wide: int | None = None,
) -> Any:
    """Return M (b, n, n) of tables X (b, n, p) of few features: see ``diffusion.make_walks``.

    Matrices may be wider than n, by rows and columns of 0.
    """
    b, n, p = X.shape
    wide = n if wide is None else wide
    X = X.contiguous()
    sets = p if one_by_one else 1
    varying = (X[:, :1] != X).any(1) if one_by_one else X.new_ones((b, 1))
    shares = varying / varying.sum(1, keepdim=True).clamp(min=1)  # a constant feature compares nothing
    q, M = X.new_empty((b, sets, n)), X.new_empty((b, wide, wide))
    least, degree = X.new_empty((2, b, n))
    how = {"P": p, "MANY": p // sets, **program_shape(n)}
    with torch.cuda.device(X.device):
        write_root_bandwidths[b, n, sets](X, q, n, below, part, share, **how)
        write_least_affinities[b, n](X, q, shares, least, n, k, tied, **how)
        write_root_degrees[b, n](X, q, shares, least, degree, n, tiny, **how)
        how |= program_shape(wide)
        write_walk_rows[b, wide](X, q, shares, least, degree, M, n, wide, tiny, **how)
    return M


def program_shape(n: int) -> dict[str, int]:
    """Return how wide a program is that has a row of n numbers, or of a few more that are 0."""
    return {"LANES": triton.next_power_of_2(n), "num_warps": 1 if n <= 256 else 4}


@triton.jit
def write_sums_of_rows(
    one, other, x, by_one, by_other, n, TOGETHER: tl.constexpr, LANES: tl.constexpr, ROWS: tl.constexpr
):
    """Write one x and other x for vectors x or, TOGETHER, the diagonal of one times other, for some rows."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, LANES)
    at, here = (v * n + i[:, None]) * n + lanes[None, :], (i[:, None] < n) & (lanes[None, :] < n)
    rows, beside = tl.load(one + at, mask=here, other=0.0), tl.load(other + at, mask=here, other=0.0)
    if TOGETHER:
        tl.store(by_one + v * n + i, tl.sum(rows * beside, axis=1), mask=i < n)
    else:
        weights = tl.load(x + v * n + lanes, mask=lanes < n, other=0.0)[None, :]
        tl.store(by_one + v * n + i, tl.sum(rows * weights, axis=1), mask=i < n)
        tl.store(by_other + v * n + i, tl.sum(beside * weights, axis=1), mask=i < n)


def sum_rows(one: Any, other: Any, x: Any = None) -> tuple[Any, Any]:
    """Return one x and other x (b, n) of matrices (b, n, n) and vectors x; without x the diagonal of their product."""
    b, n, _ = one.shape
    lanes = triton.next_power_of_2(n)
    rows = max(1, PASSED // lanes)
    by_one, by_other = one.new_empty((b, n)), one.new_empty((b, n))
    together, x = x is None, by_one if x is None else x.contiguous()
    with torch.cuda.device(one.device):
        write_sums_of_rows[b, triton.cdiv(n, rows)](
            one, other, x, by_one, by_other, n, TOGETHER=together, LANES=lanes, ROWS=rows, num_warps=4
        )
    return by_one, by_other


@triton.jit
def write_row_exponents(K, roots, r, n, wide, m, tiny, floor, LANES: tl.constexpr):
    """Write the exponents of a sample's pairs with the samples after it."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    after = (lanes > i) & (lanes < n)
    others = tl.load(roots + v * wide + lanes, mask=after, other=0.0)
    row = tl.load(K + (v * wide + i) * wide + lanes, mask=after, other=0.0)
    s = tl.minimum(tl.maximum(row * (tl.load(roots + v * wide + i) * others), floor), 1.0)
    into = r + v * m + i * n - (i * (i + 1)) // 2 - i - 1 + lanes
    tl.store(into, tiny - tl.log(s), mask=after)


def pack_exponents(K: Any, roots: Any, n: int, tiny: float, floor: float) -> Any:
    """Return -log of K_ij roots_i roots_j of n samples, packed (b, m); K may be wider."""
    b, wide, _ = K.shape
    r = K.new_empty((b, n * (n - 1) // 2))
    with torch.cuda.device(r.device):
        write_row_exponents[b, n](
            K.contiguous(), roots, r, n, wide, r.shape[1], tiny, floor, **program_shape(wide)
        )
    return r
