"""Rare clusters: a few samples beyond the tail of all others, by what the bulk of the others says of that tail.

Nine of 300 samples have fewer neighbours among themselves than a graph joins, and no order of the samples dips before
them by more than chance. But the others show how fast their density falls, and so how many of them to expect so far
out (:mod:`latentsimplex.auto.one_sided_tails`). Where all samples are one cloud, even one with heavy tails, nothing
is unexpected.

====== ============= ======= =========================================================================
symbol name          shape   meaning
====== ============= ======= =========================================================================
W      ``W``         n x d   leading coordinates of the samples, of variance 1 and uncorrelated
G      ``members``   n       the group: whether each sample is of it
u                    d       the direction from the mean of the others to that of the group
y                    n       the samples along u, from the others' median
====== ============= ======= =========================================================================

Candidates are the ends of a few directions: those of W, those along which tails are heaviest, and those towards the
farthest samples and their neighbours. A group is grown from each: samples beyond the place where it is denser than the
tail are its members, u is measured again, and so on. A member is placed along the u of the other members, since any few
samples are far out along their own mean. Outliers are no group: they are far out in other directions, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from latentsimplex.auto.one_sided_tails import compare_with_tails
from latentsimplex.base.arrays import fill_missing
from latentsimplex.base.types import Array, Indices

FEWEST, RAREST_OF = 5, 8
"""A rare cluster has five samples at least, and no more than an eighth of all: others show in graphs."""
MOST_DIRECTIONS, PER_DIRECTION = 10, 20
"""Leading coordinates that are looked at: no more, and no more than one for each twenty samples."""
SAME = 1e-8
"""A coordinate with so small a share of the spread of the first is rounding."""
FARTHEST = 20
"""Samples whose neighbours are candidates."""
LOOKED_AT = 3
"""Directions along which groups are grown: those with the most unexpected samples."""
UNLIKELY, GAPS = 3, 4
"""Ends of a direction from which a group is grown: the least likely ones, and those before the widest gaps."""
STEPS = 4
"""How often a group is measured and grown again."""
NEAR = 0.3
"""Samples nearer to the centre than this share of the spread say nothing about the tail."""
TAIL_SAMPLES = 2000
"""Samples to which a tail is fitted: of more, those that are farthest out. Their tail is not that of the centre."""
NEEDED = 3.0
"""The square root of twice the log likelihood ratio that a group needs. Of 828 clouds of 14 kinds (100, 300 and 1,000
samples in 1 to 20 features), on which it was chosen, 2 have more."""
ELSEWHERE = 0.5
"""The most samples beside the group that are as far out as half of it, over its size: more are outliers."""
SCATTERED = 1.5
"""The largest spread of a group across u, over that of the others."""


class RareGroup(NamedTuple):
    """A group (n,), by who is of it, and its evidence in standard deviations, the root of twice its nats."""

    members: np.ndarray
    depth: float


def find_rare_group(coordinates: Sequence[Array]) -> RareGroup | None:
    """Return the group of few samples with the most evidence, if it is believed, given coordinates in each view."""
    n = len(coordinates[0])
    most = n // RAREST_OF
    if most < FEWEST:
        return None
    W = whiten(coordinates, min(MOST_DIRECTIONS, n // PER_DIRECTION))
    if W.shape[1] == 0:
        return None
    sizes = np.arange(FEWEST, most + 1)
    scored = []
    for u in list_directions(W):
        y = W @ u
        scored.append((surprise(y, sizes).max(), u))
    scored.sort(key=lambda pair: -pair[0])
    best: RareGroup | None = None
    grown: set[bytes] = set()
    for _, u in scored[:LOOKED_AT]:
        for members in list_ends(W @ u, sizes):
            for group in grow(W, members, most, grown):
                if (best is None or group.depth > best.depth) and is_lone(W, group.members):
                    best = group
    return best


def whiten(coordinates: Sequence[Array], d: int) -> Array:
    """Return the samples along the d directions in which standardised features spread most, each of variance 1."""
    Z = np.hstack([fill_missing(own) for own in coordinates])
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores, lengths, _ = np.linalg.svd(Z, full_matrices=False)
    d = min(d, int((lengths > SAME * max(lengths[0], np.finfo(float).tiny)).sum()))
    return scores[:, :d] * np.sqrt(len(Z))


def list_directions(W: Array) -> Array:
    """Return directions (m, d) at whose ends groups may be: both ways along each."""
    squares = np.square(W).sum(axis=1)
    heavy = np.linalg.eigh((W * squares[:, None]).T @ W)[1].T
    farthest = np.argsort(-squares, kind="stable")[:FARTHEST]
    towards = []
    for sample in farthest:
        near = np.argpartition(np.square(W - W[sample]).sum(axis=1), FEWEST)[:FEWEST]
        mean = W[near].mean(axis=0)
        towards.append(mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny))
    found = np.vstack([np.eye(W.shape[1]), heavy, towards])
    return np.vstack([found, -found])


def surprise(y: Array, sizes: Indices) -> Array:
    """Return how little the farthest 5, 6, ... samples are expected of a normal tail, in nats; 0 if they are."""
    n = len(y)
    rising = np.sort(y)
    median, quarter = np.quantile(rising, [0.5, 0.75])
    spread = max(float(quarter - median) / 0.6745, np.finfo(float).tiny)
    expected = log_ndtr(-(rising[n - sizes] - median) / spread) + np.log(n)
    nats = sizes * (np.log(sizes) - expected) - sizes + np.exp(expected)
    return np.where(expected < np.log(sizes), nats, 0.0)


def list_ends(y: Array, sizes: Indices) -> Iterator[np.ndarray]:
    """Yield groups at the far end of y: the least likely ones, and those before the widest gaps."""
    order = np.argsort(-y, kind="stable")
    gaps = y[order[sizes - 1]] - y[order[sizes]]
    unlikely = np.argsort(-surprise(y, sizes), kind="stable")[:UNLIKELY]
    for end in dict.fromkeys([*unlikely.tolist(), *np.argsort(-gaps, kind="stable")[:GAPS].tolist()]):
        members = np.zeros(len(y), dtype=bool)
        members[order[: sizes[end]]] = True
        yield members


def grow(W: Array, members: np.ndarray, most: int, grown: set[bytes]) -> Iterator[RareGroup]:
    """Yield groups that are believed on the way from a first one, grown again as long as it changes."""
    for _ in range(STEPS):
        key = np.packbits(members).tobytes()
        if key in grown or not FEWEST <= members.sum() <= most:
            return
        grown.add(key)
        y = place_along(W, members)
        low, median, high = np.quantile(y[~members], [0.16, 0.5, 0.84])
        spread, y = float(high - low) / 2, y - median
        others = np.sort(y[~members])
        start = max(NEAR * spread, float(others[-min(TAIL_SAMPLES, len(others))]))
        if spread <= 0 or y[members].min() <= start or others[-FEWEST] <= start:
            return
        evidence, edge = compare_with_tails(others[others > start], y[members], spread, start)
        if evidence >= NEEDED**2:
            yield RareGroup(members, float(np.sqrt(evidence)))
        members = y > edge


def place_along(W: Array, members: np.ndarray) -> Array:
    """Return all samples along the direction from the others to the group, each member along that of the rest of it."""
    centre = W[~members].mean(axis=0)
    V = W - centre
    total = V[members].sum(axis=0)
    y = V @ (total / np.linalg.norm(total))
    left = total - V[members]
    y[members] = (V[members] * left).sum(axis=1) / np.linalg.norm(left, axis=1)
    return y


def is_lone(W: Array, members: np.ndarray) -> bool:
    """Return whether few other samples are as far out as a group, and the group is no wider than the others."""
    V = W - W[~members].mean(axis=0)
    inverse = np.linalg.pinv(V[~members].T @ V[~members] / (~members).sum())
    far = np.einsum("ij,jk,ik->i", V, inverse, V)
    if (far[~members] >= np.median(far[members])).sum() > ELSEWHERE * members.sum():
        return False
    mean = V[members].mean(axis=0)
    apart = V[members] - mean
    along = np.square(apart @ inverse @ mean).sum() / (mean @ inverse @ mean)
    across = np.einsum("ij,jk,ik->", apart, inverse, apart) - along
    free = (members.sum() - 1) * (W.shape[1] - 1)
    return bool(across <= SCATTERED**2 * free) if free else True
