"""Readings of many small views on a graphics card, in Triton: a row of a matrix at a time, without passes over memory.

Triton comes with torch for NVIDIA cards. Each function is the form of one in :mod:`latentsimplex.similarity` that is
written for tensors; those work everywhere, and here a program works out a whole row where they go over all matrices
once for each operation. Distances are cheaper to compute again than to read.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK = 1024
"""Pairs of a view that one program turns into pair values."""
LARGEST_WORD = tl.constexpr(2**31 - 1)
HALVINGS = tl.constexpr(31)


@triton.jit
def distances_of(X, v, i, f, n, lanes, P: tl.constexpr, MANY: tl.constexpr):
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
def affinities_of(X, q, shares, v, i, n, lanes, P: tl.constexpr, MANY: tl.constexpr):
    """Return the mean of exp(-dist^2 / (q_i q_j)) of sample i of view v with the samples at ``lanes``.

    It is one over sets of MANY features; ``q`` has 1 / sqrt(q_i) for each set, and ``shares`` what a set counts.
    """
    total = tl.zeros(lanes.shape, tl.float32)
    for c in tl.static_range(P // MANY):
        roots = q + (v * (P // MANY) + c) * n
        others = tl.load(roots + lanes, mask=lanes < n, other=0.0)
        r = distances_of(X, v, i, c * MANY, n, lanes, P, MANY) * (tl.load(roots + i) * others)
        total += tl.load(shares + v * (P // MANY) + c) * tl.exp(-r * r)
    return total


@triton.jit
def ordered(bits, k):
    """Return the k-th smallest (from 0) of whole numbers that is not negative, by halving the range it lies in."""
    low = tl.full([], 0, tl.int32)
    high = tl.full([], LARGEST_WORD, tl.int32)
    for _ in range(HALVINGS):
        middle = low + (high - low) // 2
        enough = tl.sum((bits <= middle).to(tl.int32)) > k
        low = tl.where(enough, low, middle + 1)
        high = tl.where(enough, middle, high)
    return low


@triton.jit
def root_bandwidths(X, q, n, below, part, share, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr):
    """Write 1 / sqrt(q_i), q_i a quantile of a sample's distances to the others or a share of the way out of a pile."""
    v, i, c = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    lanes = tl.arange(0, LANES)
    distances = distances_of(X, v, i, c * MANY, n, lanes, P, MANY)
    bits = tl.where(lanes < n, distances.to(tl.int32, bitcast=True), LARGEST_WORD)
    low = ordered(bits, below + 1)
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
def least_affinities(
    X, q, shares, least, n, k, tied, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write the affinity of each sample's k-th nearest neighbour, less what is taken for a tie."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    affinities = affinities_of(X, q, shares, v, i, n, lanes, P, MANY)
    others = (lanes < n) & (lanes != i)
    bits = tl.where(others, affinities.to(tl.int32, bitcast=True), -1)
    value = ordered(bits, LANES - k).to(tl.float32, bitcast=True)
    tl.store(least + v * n + i, value * (1.0 - tied))


@triton.jit
def weights_of(X, q, shares, least, v, i, n, lanes, tiny, P: tl.constexpr, MANY: tl.constexpr):
    """Return the weights of sample i's edges, and what joins it to all samples."""
    affinities = affinities_of(X, q, shares, v, i, n, lanes, P, MANY)
    own = tl.load(least + v * n + i)
    others = tl.load(least + v * n + lanes, mask=lanes < n, other=float("inf"))
    near = ((affinities >= own) | (affinities >= others)) & (lanes != i)
    return tl.where(lanes < n, tl.where(near, affinities, 0.0) + tiny, 0.0)


@triton.jit
def root_degrees(
    X, q, shares, least, degree, n, tiny, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write 1 / sqrt of each sample's degree."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    weights = weights_of(X, q, shares, least, v, i, n, tl.arange(0, LANES), tiny, P, MANY)
    tl.store(degree + v * n + i, 1.0 / tl.sqrt_rn(tl.sum(weights)))


@triton.jit
def lazy_walks(
    X, q, shares, least, degree, M, n, tiny, P: tl.constexpr, MANY: tl.constexpr, LANES: tl.constexpr
):
    """Write the rows of M = (I + N) / 2."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    weights = weights_of(X, q, shares, least, v, i, n, lanes, tiny, P, MANY)
    own = 0.5 * tl.load(degree + v * n + i)
    others = tl.load(degree + v * n + lanes, mask=lanes < n, other=0.0)
    row = weights * own * others + tl.where(lanes == i, 0.5, 0.0)
    tl.store(M + (v * n + i) * n + lanes, row, mask=lanes < n)


def walks(
    X: Any, one_by_one: bool, below: int, part: float, share: float, k: int, tied: float, tiny: float
) -> Any:
    """Return M (b, n, n) of tables X (b, n, p) of few features: see ``Diffusion.walk``."""
    b, n, p = X.shape
    X = X.contiguous()
    sets = p if one_by_one else 1
    varying = (X[:, :1] != X).any(1) if one_by_one else X.new_ones((b, 1))
    shares = varying / varying.sum(1, keepdim=True).clamp(min=1)  # a constant feature compares nothing
    q, M = X.new_empty((b, sets, n)), X.new_empty((b, n, n))
    least, degree = X.new_empty((2, b, n))
    how = {"P": p, "MANY": p // sets, **lanes_and_warps(n)}
    with torch.cuda.device(X.device):
        root_bandwidths[b, n, sets](X, q, n, below, part, share, **how)
        least_affinities[b, n](X, q, shares, least, n, k, tied, **how)
        root_degrees[b, n](X, q, shares, least, degree, n, tiny, **how)
        lazy_walks[b, n](X, q, shares, least, degree, M, n, tiny, **how)
    return M


def lanes_and_warps(n: int) -> dict[str, int]:
    """Return how wide a program is that has a row of n numbers."""
    return {"LANES": triton.next_power_of_2(n), "num_warps": 1 if n <= 256 else 4}


@triton.jit
def exponents_of_rows(shorter, longer, less, more, roots, r, n, m, tiny, floor, LANES: tl.constexpr):
    """Write the exponents of a sample's pairs with the samples after it."""
    v, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes = tl.arange(0, LANES)
    after = (lanes > i) & (lanes < n)
    at = (v * n + i) * n + lanes
    K = tl.load(less + v) * tl.load(shorter + at, mask=after, other=0.0)
    K += tl.load(more + v) * tl.load(longer + at, mask=after, other=0.0)
    others = tl.load(roots + v * n + lanes, mask=after, other=0.0)
    s = K * (tl.load(roots + v * n + i) * others)
    s = tl.minimum(tl.maximum(s, floor), 1.0)
    into = r + v * m + i * n - (i * (i + 1)) // 2 - i - 1 + lanes
    tl.store(into, tiny - tl.log(s), mask=after)


def packed_exponents(
    shorter: Any, longer: Any, less: Any, more: Any, roots: Any, tiny: float, floor: float
) -> Any:
    """Return -log of K_ij roots_i roots_j for K = less shorter + more longer, packed (b, m)."""
    b, n, _ = shorter.shape
    r = shorter.new_empty((b, n * (n - 1) // 2))
    with torch.cuda.device(r.device):
        exponents_of_rows[b, n](
            shorter, longer, less, more, roots, r, n, r.shape[1], tiny, floor, **lanes_and_warps(n)
        )
    return r


@triton.jit
def values_of_blocks(r, F, sums, least, most, m, blocks, FORWARD: tl.constexpr, SIZE: tl.constexpr):
    """Write f(s) of a block of pairs and their sum of const(s)."""
    # one axis: the others end at 65,535 programs, which the pairs of 12,000 samples would exceed
    v, block = (tl.program_id(0) // blocks).to(tl.int64), (tl.program_id(0) % blocks).to(tl.int64)
    at = block * SIZE + tl.arange(0, SIZE)
    here = at < m
    x = tl.load(r + v * m + at, mask=here, other=1.0)
    x = tl.minimum(tl.maximum(x, least), most)
    s = tl.exp(-x)
    # 1 - s by its series where s is near 1
    rest = tl.where(x < 0.03, x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0)))), 1.0 - s)
    log_rest = tl.log(rest)
    if FORWARD:
        f, const = s, rest * log_rest - s * x
    else:
        f, const = -x - log_rest, -log_rest
    tl.store(F + v * m + at, f, mask=here)
    tl.store(sums + v * blocks + block, tl.sum(tl.where(here, const, 0.0)))


def pair_values(r: Any, least: float, most: float, forward: bool, F: Any) -> Any:
    """Write f(s) of s = exp(-r), cut to [least, most], into F (b, m), and return the sums of const(s) (b,)."""
    b, m = r.shape
    blocks = triton.cdiv(m, BLOCK)
    sums = r.new_empty((b, blocks))
    with torch.cuda.device(r.device):
        values_of_blocks[(b * blocks,)](r, F, sums, least, most, m, blocks, FORWARD=forward, SIZE=BLOCK)
    return sums.double().sum(-1)
