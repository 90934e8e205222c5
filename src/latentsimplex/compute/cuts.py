"""Hard clusters of samples, compiled: k-means of a few coordinates, and samples moved to where their pairs fit best."""

from __future__ import annotations

import numpy as np

from latentsimplex._types import Array
from latentsimplex.compute.loops import compiled
from latentsimplex.divergence import P_CLIP


@compiled
def nearest_centres(X: Array, centres: Array, labels: np.ndarray) -> float:  # pragma: no cover
    """Write the nearest centre (k, p) of each sample (n, p) into ``labels``; return the sum of squared distances.

    |x - c|^2 = |x|^2 - 2 x c + |c|^2, and |x|^2 is the same for all centres.
    """
    k = len(centres)
    products = X @ centres.T.copy()
    norms = np.zeros(k)
    for c in range(k):
        for f in range(X.shape[1]):
            norms[c] += centres[c, f] * centres[c, f]
    inertia = 0.0
    for i in range(len(X)):
        row = products[i]
        least, best = norms[0] - 2.0 * row[0], 0
        for c in range(1, k):
            value = norms[c] - 2.0 * row[c]
            if value < least:
                least, best = value, c
        labels[i] = best
        for f in range(X.shape[1]):
            inertia += X[i, f] * X[i, f]
        inertia += least
    return inertia


@compiled
def squared_distances(X: Array, centre: Array, out: Array) -> None:  # pragma: no cover
    """Write the squared distance of each sample (n, p) from a centre (p,) into ``out``."""
    for i in range(len(X)):
        distance = 0.0
        for f in range(X.shape[1]):
            step = X[i, f] - centre[f]
            distance += step * step
        out[i] = distance


@compiled
def spread_centres(X: Array, draws: Array) -> Array:  # pragma: no cover
    """Return k samples as centres, far from each other: k-means++ with several candidates for each.

    Candidates are drawn in proportion to their squared distance from the centres before; the one that leaves the
    least of it is taken. ``draws`` (k, candidates) are uniform numbers in [0, 1).
    """
    n, p = X.shape
    k, tries = draws.shape
    centres = np.empty((k, p))
    nearest, distance, trial, best = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    centres[0] = X[min(int(draws[0, 0] * n), n - 1)]
    squared_distances(X, centres[0], nearest)
    for c in range(1, k):
        total, least, taken = nearest.sum(), np.inf, 0
        for t in range(tries):
            aim, reached, pick = draws[c, t] * total, 0.0, n - 1
            for i in range(n):
                reached += nearest[i]
                if reached > aim:
                    pick = i
                    break
            squared_distances(X, X[pick], distance)
            left = 0.0
            for i in range(n):
                trial[i] = min(nearest[i], distance[i])
                left += trial[i]
            if left < least:
                least, taken = left, pick
                best[:] = trial
        centres[c] = X[taken]
        nearest[:] = best
    return centres


@compiled
def lloyd(X: Array, centres: Array, most: int) -> tuple[np.ndarray, float]:  # pragma: no cover
    """Return labels (n,) and their inertia after k-means iterations; an empty cluster keeps its centre."""
    n, p = X.shape
    k = len(centres)
    labels, before = np.empty(n, np.intp), np.full(n, -1, np.intp)
    inertia = nearest_centres(X, centres, labels)
    for _ in range(most):
        moving = 0
        for i in range(n):
            moving += labels[i] != before[i]
        if not moving:
            break
        sums, sizes = np.zeros((k, p)), np.zeros(k)
        for i in range(n):
            sizes[labels[i]] += 1.0
            for f in range(p):
                sums[labels[i], f] += X[i, f]
        for c in range(k):
            if sizes[c] > 0:
                for f in range(p):
                    centres[c, f] = sums[c, f] / sizes[c]
        before[:] = labels
        inertia = nearest_centres(X, centres, labels)
    return labels, inertia


@compiled
def best_kmeans(X: Array, some: Array, draws: Array, most: int) -> np.ndarray:  # pragma: no cover
    """Return the labels (n,) of the best of several k-means runs on some samples; ``draws`` (runs, k, candidates)."""
    best, least = np.zeros(len(X), np.intp), np.inf
    for start in range(len(draws)):
        centres = spread_centres(some, draws[start])
        inertia = lloyd(some, centres, most)[1]
        if inertia < least:
            least = inertia
            nearest_centres(X, centres, best)
    return best


@compiled
def cluster_sums(F: Array, labels: np.ndarray, k: int) -> Array:  # pragma: no cover
    """Return the sum of each row of F (n, n) over the columns of each cluster (n, k)."""
    Z = np.zeros((len(F), k), F.dtype)
    for j in range(len(F)):
        Z[j, labels[j]] = 1.0
    return np.dot(F, Z).astype(np.float64)


@compiled
def block_terms(
    sums: Array, labels: np.ndarray, sizes: Array, forward: bool
) -> tuple[Array, Array, float]:  # pragma: no cover
    """Return a and h (k, k) of the responses that fit clusters best, and the divergence that they leave."""
    n, k = sums.shape
    total = np.zeros((k, k))
    for i in range(n):
        for c in range(k):
            total[labels[i], c] += sums[i, c]
    a, h = np.empty((k, k)), np.empty((k, k))
    left = 0.0
    for b in range(k):
        for c in range(k):
            pairs = sizes[b] * sizes[c] - (sizes[b] if b == c else 0.0)
            mean = total[b, c] / max(pairs, 1.0)
            p = mean if forward else 1.0 / (1.0 + np.exp(-mean))
            p = min(max(p, P_CLIP), 1.0 - P_CLIP)
            log_p, log_q = np.log(p), np.log1p(-p)
            a[b, c] = log_p - log_q if forward else p
            h[b, c] = -log_q if forward else p * (log_p - log_q) + log_q
            left += (pairs * h[b, c] - total[b, c] * a[b, c]) / 2
    return a, h, left


@compiled
def best_clusters(
    sums: Array, labels: np.ndarray, sizes: Array, a: Array, h: Array
) -> np.ndarray:  # pragma: no cover
    """Return for each sample the cluster whose responses fit its pairs best, all others staying where they are."""
    n, k = sums.shape
    best = np.empty(n, np.intp)
    base = np.zeros(k)
    for c in range(k):
        for b in range(k):
            base[c] += sizes[b] * h[c, b]
    for i in range(n):
        least = np.inf
        for c in range(k):
            cost = base[c] - h[c, labels[i]]  # the sample is no pair with itself
            for b in range(k):
                cost -= sums[i, b] * a[c, b]
            if cost < least:
                least, best[i] = cost, c
    return best


@compiled
def renumbered(labels: np.ndarray, k: int) -> tuple[np.ndarray, Array]:  # pragma: no cover
    """Return the labels without the clusters that nobody is in, and the sizes of the others."""
    sizes, number = np.zeros(k), np.zeros(k, np.intp)
    for i in range(len(labels)):
        sizes[labels[i]] += 1.0
    used = 0
    for c in range(k):
        if sizes[c] > 0:
            number[c] = used
            sizes[used] = sizes[c]
            used += 1
    found = np.empty(len(labels), np.intp)
    for i in range(len(labels)):
        found[i] = number[labels[i]]
    return found, sizes[:used].copy()


@compiled
def refined_by(
    F: Array, sums: Array, labels: np.ndarray, forward: bool, sweeps: int
) -> tuple[np.ndarray, float]:  # pragma: no cover
    """Return labels with samples moved to where they fit best for as long as that helps, and what is left.

    F (n, n) are pair values with a zero diagonal, ``sums`` (n, k) those of each sample with each cluster.
    """
    given = labels
    labels, sizes = renumbered(given, sums.shape[1])
    if len(sizes) < sums.shape[1]:
        sums = used_sums(sums, given, len(sizes))
    a, h, left = block_terms(sums, labels, sizes, forward)
    for _ in range(sweeps):
        best = best_clusters(sums, labels, sizes, a, h)
        moved, moved_sizes = renumbered(best, len(sizes))
        sums = sums_after(F, sums, labels, best, moved, len(moved_sizes))
        a, h, now = block_terms(sums, moved, moved_sizes, forward)
        if now >= left:
            break
        labels, sizes, left = moved, moved_sizes, now
    return labels, left


@compiled
def sums_after(
    F: Array, sums: Array, before: np.ndarray, after: np.ndarray, numbers: np.ndarray, k: int
) -> Array:  # pragma: no cover
    """Return the cluster sums (n, k) after samples have moved, ``numbers`` being ``after`` without empty clusters.

    A sample that stays changes nothing; one that moves takes its row of F, which is symmetric, along.
    """
    n = len(F)
    moving = 0
    for j in range(n):
        moving += before[j] != after[j]
    if 3 * moving > n:
        return cluster_sums(F, numbers, k)
    changed = sums.copy()
    for j in range(n):
        if before[j] != after[j]:
            row = F[j]
            for i in range(n):
                changed[i, before[j]] -= row[i]
                changed[i, after[j]] += row[i]
    return changed if k == sums.shape[1] else used_sums(changed, after, k)


@compiled
def used_sums(sums: Array, labels: np.ndarray, k: int) -> Array:  # pragma: no cover
    """Return the columns of cluster sums (n, k) that belong to the k clusters which somebody is in."""
    used, kept, at = np.zeros(sums.shape[1], np.bool_), np.empty((len(sums), k)), 0
    for j in range(len(labels)):
        used[labels[j]] = True
    for c in range(len(used)):
        if used[c]:
            for i in range(len(sums)):
                kept[i, at] = sums[i, c]
            at += 1
    return kept
