"""Rare clusters: a few samples beyond the tail of all others, a tail that is estimated from their bulk.

Nine of 300 samples have fewer neighbours among themselves than a graph joins, and no order of the samples dips before
them by more than chance. But the others show how fast their density falls, and so how many of them to expect so far
out. Where all samples are one cloud, even one with heavy tails, nothing is unexpected.

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

**Tails.** Two families fall in all the ways that clouds without clusters do: powers, exp(-(y/s)^b), which are normal at
b = 2, exponential at 1, as heavy as the lognormal below, and nearly even up to an end above; and Student's t, whose
outliers have any size. A group adds a normal hump as wide as the bulk: (1 - w) f(y) + w N(mu, sigma^2), where f is a
power with b of at most 2, fitted to the bulk alone. No tail is taken to be thinner than that of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import svds
from scipy.special import expit, gammaincc, gammaln, log_ndtr, stdtr

from latentsimplex.base.arrays import fill_missing
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices

FEWEST, RAREST_OF = 5, 8
"""A rare cluster has five samples at least, and no more than an eighth of all: others show in graphs."""
MOST_DIRECTIONS, PER_DIRECTION = 10, 20
"""Leading coordinates that are looked at: no more, and no more than one for each twenty samples."""
SAME = 1e-8
"""A coordinate with so small a share of the spread of the first is rounding."""
MANY = 20
"""Leading coordinates are found by themselves where there are so many times as many directions."""
FARTHEST = 20
"""Samples whose neighbours are candidates."""
LOOKED_AT = 3
"""Directions along which groups are grown: those with the most unexpected samples."""
UNLIKELY, GAPS = 3, 4
"""Ends of a direction from which a group is grown: the least likely ones, and those before the widest gaps."""
STEPS = 4
"""How often a group is measured and grown again."""
WORTH_THREADS = 20_000
"""Samples from which on directions and groups are looked at by several threads."""
NEAR = 0.3
"""Samples nearer to the centre than this share of the spread say nothing about the tail."""
TAIL_SAMPLES = 2000
"""Samples to which a tail is fitted: of more, those that are farthest out. Their tail is not that of the centre."""
NEEDED = 2.8
"""The square root of twice the log likelihood ratio that a group needs: less than one cloud in a hundred has more. Of
816 clouds of seven kinds (100, 300 and 1,000 samples in 1 to 20 features), on which it was chosen, six have."""
ELSEWHERE = 0.5
"""The most samples beside the group that are as far out as half of it, over its size: more are outliers."""
SCATTERED = 1.5
"""The largest spread of a group across u, over that of the others."""

SHAPES = np.geomspace(0.3, 20.0, 16)
"""The powers b that are tried first."""
NORMAL = 2.0
"""The largest power of a tail that a group may be beyond."""
FALLS = np.geomspace(0.02, 80.0, 24)
"""By how many nats the density falls up to the farthest sample, as tried first."""
FREEDOMS = np.array([2.0, 3.0, 5.0, 10.0, 20.0])
WIDTHS = np.geomspace(0.2, 3.0, 12)
"""Scales of Student's t over the spread of the bulk, as tried first."""
ROUNDS = 4
"""How often the step between the parameters that are tried is halved, around the best."""
TINY = 1e-300

LogLikelihood = Callable[[Array, Array], Array]


class RareGroup(NamedTuple):
    """A group (n,), by who is of it, and its evidence in standard deviations, the root of twice its nats.

    ``sureness`` is the probability of each sample (n,) to be of it, from the density of the group and of the tail.
    """

    members: np.ndarray
    depth: float
    sureness: Array | None = None


class Growth(NamedTuple):
    """What comes of a group: the evidence for it, and its members (n,) when it has grown, None if it does not."""

    evidence: float
    members: np.ndarray | None


def find_rare_group(coordinates: Sequence[Array], workers: Workers | None = None) -> RareGroup | None:
    """Return the group of few samples with the most evidence, if it is believed, given coordinates in each view."""
    n = len(coordinates[0])
    most = n // RAREST_OF
    if most < FEWEST:
        return None
    W = whiten(coordinates, min(MOST_DIRECTIONS, n // PER_DIRECTION))
    if W.shape[1] == 0:
        return None
    workers, sizes = workers or Workers(1), np.arange(FEWEST, most + 1)
    threaded = n >= WORTH_THREADS
    directions = list(list_directions(W))
    surprises = workers.map(lambda u: surprise(W @ u, sizes).max(), directions, threaded)
    scored = sorted(zip(surprises, directions, strict=True), key=lambda pair: -pair[0])
    ends = workers.map(lambda pair: list(list_ends(W @ pair[1], sizes)), scored[:LOOKED_AT], threaded)
    best: RareGroup | None = None
    grown: set[bytes] = set()
    starts = [members for of_direction in ends for members in of_direction]
    measured: dict[bytes, Growth] = {}
    if threaded and workers.n_jobs > 1:  # more than the loop below asks for, but all at once
        list(workers.map(lambda members: list(grow(W, members, most, set(), measured)), starts))
    for members in starts:
        for group in grow(W, members, most, grown, measured):
            if (best is None or group.depth > best.depth) and is_lone(W, group.members):
                best = group
    if best is None:
        return None
    sureness = measure_sureness(W, best.members)
    surely = sureness > 0.5
    return best._replace(
        members=surely if FEWEST <= surely.sum() <= most else best.members, sureness=sureness
    )


def whiten(coordinates: Sequence[Array], d: int) -> Array:
    """Return the samples along the d directions in which standardised features spread most, each of variance 1."""
    Z = np.hstack([fill_missing(own) for own in coordinates])
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    fewer = min(Z.shape)
    if fewer <= MANY * d or not spread.any():
        scores, lengths, _ = np.linalg.svd(Z, full_matrices=False)
    else:  # by Lanczos steps: all directions would take as long as the rest of a search
        start = np.random.default_rng(0).normal(size=fewer)
        scores, lengths, _ = svds(Z, d, v0=start, return_singular_vectors="u")
        scores, lengths = scores[:, ::-1], lengths[::-1]
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
    with np.errstate(over="ignore"):  # where most samples are equal, all others are infinitely far
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


def grow(
    W: Array, members: np.ndarray, most: int, grown: set[bytes], measured: dict[bytes, Growth]
) -> Iterator[RareGroup]:
    """Yield groups that are believed on the way from a first one, grown again as long as it changes.

    ``grown`` are groups that were on the way of another, and ``measured`` what came of groups, both by their members.
    """
    for _ in range(STEPS):
        key = np.packbits(members).tobytes()
        if key in grown or not FEWEST <= members.sum() <= most:
            return
        grown.add(key)
        if key not in measured:
            measured[key] = measure_group(W, members)
        evidence, further = measured[key]
        if evidence >= NEEDED**2:
            yield RareGroup(members, float(np.sqrt(evidence)))
        if further is None:
            return
        members = further


def measure_group(W: Array, members: np.ndarray) -> Growth:
    """Return the evidence for a group and its members when it has grown; it ends where its members are not far out."""
    y, beyond = look_along(W, members)
    return Growth(-np.inf, None) if beyond is None else Growth(beyond.evidence, y > beyond.edge)


def measure_sureness(W: Array, members: np.ndarray) -> Array:
    """Return the probability of each sample (n,) to be of a group: 0 in the bulk, constant beyond its centre."""
    y, beyond = look_along(W, members)
    assert beyond is not None
    return np.where(y > beyond.start, expit(beyond.excess(np.clip(y, beyond.start, beyond.centre))), 0.0)


def look_along(W: Array, members: np.ndarray) -> tuple[Array, Beyond | None]:
    """Return samples (n,) along the direction to a group, and what is beyond the tail; None if it is not far out."""
    y = place_along(W, members)
    low, median, high = np.quantile(y[~members], [0.16, 0.5, 0.84])
    spread, y = float(high - low) / 2, y - median
    others = np.sort(y[~members])
    start = max(NEAR * spread, float(others[-min(TAIL_SAMPLES, len(others))]))
    if spread <= 0 or y[members].min() <= start or others[-FEWEST] <= start:
        return y, None
    return y, compare_with_tails(others[others > start], y[members], spread, start)


def place_along(W: Array, members: np.ndarray) -> Array:
    """Return all samples along the direction from the others to the group, each member along that of the rest of it."""
    centre = W[~members].mean(axis=0)
    V = W - centre
    total = V[members].sum(axis=0)
    y = V @ (total / max(float(np.linalg.norm(total)), np.finfo(float).tiny))
    left = total - V[members]
    y[members] = (V[members] * left).sum(axis=1) / np.maximum(
        np.linalg.norm(left, axis=1), np.finfo(float).tiny
    )
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


class Beyond(NamedTuple):
    """Evidence for a group beyond a tail, twice the log of a likelihood ratio, and where the group begins.

    ``excess`` is the log of how much denser the group is than the tail, from the ``start`` of the tail to the
    ``centre`` of the group.
    """

    evidence: float
    edge: float
    start: float
    centre: float
    excess: Callable[[Array], Array]


def compare_with_tails(bulk: Array, group: Array, spread: float, start: float) -> Beyond:
    """Return the evidence that some samples are a group and not the tail of the others.

    ``bulk`` and ``group`` are distances from the centre of the bulk, none less than ``start``, and ``spread`` is the
    standard deviation of the bulk.

    >>> rng = np.random.default_rng(0)
    >>> bulk, group = np.abs(rng.normal(size=150)), 5.5 + rng.normal(size=9)
    >>> bool(compare_with_tails(bulk, group, 1.0, 0.0).evidence > 9)
    True
    >>> tail = np.sort(rng.exponential(size=150))
    >>> bool(compare_with_tails(tail[:-9], tail[-9:], 1.0, 0.0).evidence > 9)
    False
    """
    together = np.concatenate([bulk, group])
    unit = float(together.max())
    end = max(float(bulk.max()), float(group.min()))
    thin = SHAPES[SHAPES < NORMAL]
    _, b, fall = maximise(
        partial(power_likelihood, bulk / unit, start / unit, end / unit), np.append(thin, NORMAL), FALLS
    )
    share, centre = len(group) / len(together), float(group.mean())
    constant = float(_log_mass(np.array([b]), np.array([fall]), start / unit, np.inf)[0, 0]) + np.log(unit)

    def of_tail(y: Array) -> Array:
        return np.log1p(-share) - fall * (y / unit) ** b - constant

    def of_group(y: Array) -> Array:
        return np.log(share) - np.square((y - centre) / spread) / 2 - np.log(spread * np.sqrt(2 * np.pi))

    mixed = float(np.logaddexp(of_tail(together), of_group(together)).sum())
    powers = maximise(partial(power_likelihood, together / unit, start / unit, np.inf), SHAPES, FALLS)[0]
    students = maximise(partial(student_likelihood, together / spread, start / spread), FREEDOMS, WIDTHS)[0]
    n = len(together)
    one_tail = max(powers - n * np.log(unit), students - n * np.log(spread))
    places = np.linspace(start, centre, 200)
    in_tail = places[of_tail(places) >= of_group(places)]
    edge = float(in_tail[-1]) if len(in_tail) else start
    return Beyond(2 * (mixed - one_tail), edge, start, centre, lambda y: of_group(y) - of_tail(y))


def power_likelihood(y: Array, start: float, end: float, shapes: Array, falls: Array) -> Array:
    """Return log likelihoods (shapes, falls) of samples in (start, end) with density exp(-fall y^b), over its mass."""
    logs = np.log(np.maximum(y, np.finfo(float).tiny))
    sums = np.array([np.exp(b * logs).sum() for b in shapes])
    return -falls * sums[:, None] - len(y) * _log_mass(shapes, falls, start, end)


def _log_mass(shapes: Array, falls: Array, start: float, end: float) -> Array:
    """Return the logs of the integrals of exp(-fall y^b) from start to end."""
    b = shapes[:, None]
    whole = gammaln(1 / b) - np.log(b) - np.log(falls) / b
    part = gammaincc(1 / b, falls * start**b)
    if end < np.inf:
        part = part - gammaincc(1 / b, falls * end**b)
    return np.asarray(whole + np.log(np.maximum(part, TINY)))


def student_likelihood(y: Array, start: float, freedoms: Array, widths: Array) -> Array:
    """Return log likelihoods (freedoms, widths) of samples beyond start under one side of Student's t."""
    nu, s = freedoms[:, None], widths
    heights = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2 - np.log(s)
    squares = np.square(y[:, None] / s)
    sums = np.array([np.log1p(squares / each).sum(axis=0) for each in freedoms])
    beyond = np.maximum(stdtr(nu, -start / s), TINY)
    return np.asarray(len(y) * (heights - np.log(beyond)) - (nu + 1) / 2 * sums)


def maximise(log_likelihood: LogLikelihood, first: Array, second: Array) -> tuple[float, float, float]:
    """Return the largest log likelihood, and where: looked for on a grid, then on finer ones around the best.

    >>> def peak(a, b):
    ...     return -np.square(np.log(a[:, None] / 1.5)) - np.square(np.log(b / 3))
    >>> [round(float(value), 1) for value in maximise(peak, np.array([1.0, 2.0]), np.array([2.0, 4.0]))]
    [-0.0, 1.5, 3.0]
    """
    bounds = [(grid.min(), grid.max()) for grid in (first, second)]
    steps = [np.log(grid[1] / grid[0]) for grid in (first, second)]
    grids = [first, second]
    best, at = -np.inf, (float(first[0]), float(second[0]))
    for _ in range(ROUNDS + 1):
        values = log_likelihood(*grids)
        i, j = np.unravel_index(int(np.argmax(values)), values.shape)
        if values[i, j] > best:
            best, at = float(values[i, j]), (float(grids[0][i]), float(grids[1][j]))
        steps = [step / 2 for step in steps]
        grids = [
            np.clip(centre * np.exp(step * np.arange(-1, 2)), *bound)
            for centre, step, bound in zip(at, steps, bounds, strict=True)
        ]
    return best, *at
