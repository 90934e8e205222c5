"""Hard clusters of samples and what they explain, compiled: eigenvectors, k-means, samples moved to where they fit.

Each function is the compiled form of one in :mod:`latentsimplex.auto.explained_divergence` that is written for tensors.
A search asks for hundreds of these on many threads, so that all of it is one call: between short calls threads would
wait for the interpreter in turn.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import ONE, ZERO
from latentsimplex.base.kmeans_loops import NO_STEPS, best_kmeans
from latentsimplex.base.types import Array
from latentsimplex.pairs.divergence import P_CLIP
from latentsimplex.pairs.divergence_loops import forward_a_and_h, reverse_a_and_h


@compiled
def sum_by_cluster(F: Array, labels: np.ndarray, k: int) -> Array:  # pragma: no cover
    """Return the sums of each row of the symmetric F (n, n) over the columns of each cluster (k, n)."""
    Z = np.zeros((k, len(F)), F.dtype)
    for j in range(len(F)):
        Z[labels[j], j] = 1.0
    sums = np.empty((k, len(F)), F.dtype)
    np.dot(Z, F, sums)  # the one form of products that is compiled
    return sums.astype(np.float64)


@compiled
def find_block_terms(
    sums: Array, labels: np.ndarray, sizes: Array, forward: bool
) -> tuple[Array, Array, float]:  # pragma: no cover
    """Return a and h (k, k) of the responses that fit clusters best, and the divergence that they leave."""
    k, n = sums.shape
    total = np.zeros((k, k))
    for c in range(k):
        row = sums[c]
        for i in range(n):
            total[labels[i], c] += row[i]
    a, h = np.empty((k, k)), np.empty((k, k))
    left = 0.0
    for b in range(k):
        for c in range(k):
            pairs = sizes[b] * sizes[c] - (sizes[b] if b == c else 0.0)
            mean = total[b, c] / max(pairs, 1.0)
            p = mean if forward else 1.0 / (1.0 + np.exp(-mean))
            p = min(max(p, P_CLIP), 1.0 - P_CLIP)
            a[b, c], h[b, c] = forward_a_and_h(p) if forward else reverse_a_and_h(p)
            left += (pairs * h[b, c] - total[b, c] * a[b, c]) / 2
    return a, h, left


@compiled
def find_best_clusters(
    sums: Array, labels: np.ndarray, sizes: Array, a: Array, h: Array
) -> np.ndarray:  # pragma: no cover
    """Return for each sample the cluster whose responses fit its pairs best, all others staying where they are."""
    k, n = sums.shape
    best, least, cost = np.zeros(n, np.intp), np.full(n, np.inf), np.empty(n)
    for c in range(k):
        base, own = 0.0, h[c]
        for b in range(k):
            base += sizes[b] * own[b]
        for i in range(n):
            cost[i] = base - own[labels[i]]  # the sample is no pair with itself
        for b in range(k):
            row, weight = sums[b], a[c, b]
            for i in range(n):
                cost[i] -= weight * row[i]
        for i in range(n):
            best[i] = c if cost[i] < least[i] else best[i]
            least[i] = min(cost[i], least[i])
    return best


@compiled
def drop_empty(labels: np.ndarray, k: int) -> tuple[np.ndarray, Array]:  # pragma: no cover
    """Return the labels without empty clusters, and the sizes of the others."""
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
def refine(
    F: Array, sums: Array, labels: np.ndarray, forward: bool, sweeps: int
) -> tuple[np.ndarray, float]:  # pragma: no cover
    """Return labels with samples moved to where they fit best for as long as that helps, and what is left.

    F (n, n) are pair values with a zero diagonal, ``sums`` (k, n) those of each sample with each cluster.
    """
    given = labels
    labels, sizes = drop_empty(given, len(sums))
    if len(sizes) < len(sums):
        sums = keep_used_sums(sums, given, len(sizes))
    a, h, left = find_block_terms(sums, labels, sizes, forward)
    for _ in range(sweeps):
        best = find_best_clusters(sums, labels, sizes, a, h)
        moved, moved_sizes = drop_empty(best, len(sizes))
        sums = update_sums(F, sums, labels, best, moved, len(moved_sizes))
        a, h, now = find_block_terms(sums, moved, moved_sizes, forward)
        if now >= left:
            break
        labels, sizes, left = moved, moved_sizes, now
    return labels, left


@compiled
def update_sums(
    F: Array, sums: Array, before: np.ndarray, after: np.ndarray, numbers: np.ndarray, k: int
) -> Array:  # pragma: no cover
    """Return the cluster sums (k, n) after samples have moved, ``numbers`` being ``after`` without empty clusters.

    A sample that stays changes nothing; one that moves takes its row of F, which is symmetric, along.
    """
    n = len(F)
    moving = 0
    for j in range(n):
        moving += before[j] != after[j]
    if 3 * moving > n:
        return sum_by_cluster(F, numbers, k)
    changed = sums.copy()
    for j in range(n):
        if before[j] != after[j]:
            row, out, into = F[j], changed[before[j]], changed[after[j]]
            for i in range(n):
                out[i] -= row[i]
                into[i] += row[i]
    return changed if k == len(sums) else keep_used_sums(changed, after, k)


@compiled
def keep_used_sums(sums: Array, labels: np.ndarray, k: int) -> Array:  # pragma: no cover
    """Return the rows of cluster sums (k, n) that belong to the k clusters that are not empty."""
    used, kept, at = np.zeros(len(sums), np.bool_), np.empty((k, sums.shape[1])), 0
    for j in range(len(labels)):
        used[labels[j]] = True
    for c in range(len(used)):
        if used[c]:
            for i in range(sums.shape[1]):
                kept[at, i] = sums[c, i]
            at += 1
    return kept


@compiled
def cut_and_refine(
    F: Array,
    U: Array,
    rows: np.ndarray,
    draws: Array,
    forward: bool,
    iterations: int,
    sweeps: int,
    left: Array,
    labels: np.ndarray,
) -> None:  # pragma: no cover
    """Write what is left of the divergence with k = 1..g clusters (g,), and their labels (g, n).

    U (g, n) are spectral coordinates, of which k-means looks at some samples; draws (starts, g, candidates) are
    uniform numbers for its starts.
    """
    g, n = U.shape
    some = np.empty((g, len(rows)))
    for c in range(g):
        for i in range(len(rows)):
            some[c, i] = U[c, rows[i]]
    for i in range(n):
        labels[0, i] = 0
    for k in range(2, g + 1):
        found = best_kmeans(U[:k], some[:k], np.empty((0, k, k)), draws, iterations, NO_STEPS)
        for i in range(n):
            labels[k - 1, i] = found[i]
    Z = np.zeros((g * (g + 1) // 2, n), F.dtype)  # the clusters of all partitions one after the other
    for k in range(g):
        for i in range(n):
            Z[k * (k + 1) // 2 + labels[k, i], i] = 1.0
    sums = np.empty_like(Z)
    np.dot(Z, F, sums)
    for k in range(1, g + 1):
        first = k * (k - 1) // 2
        own = sums[first : first + k].astype(np.float64)
        refined, left[k - 1] = refine(F, own, labels[k - 1].copy(), forward, sweeps if k > 1 else 0)
        for i in range(n):
            labels[k - 1, i] = refined[i]


@compiled
def unpack_row(f: np.ndarray, square: np.ndarray) -> None:  # pragma: no cover
    """Write the symmetric matrix (n, n) of packed pairs (m,), with zeros on its diagonal, into ``square``."""
    n, at = len(square), 0
    for i in range(n):
        row = square[i]
        row[i] = ZERO
        for j in range(i + 1, n):
            row[j] = f[at + j - i - 1]
        at += n - 1 - i
        for j in range(i):
            row[j] = square[j, i]


@compiled
def make_orthonormal(Q: np.ndarray) -> None:  # pragma: no cover
    """Make the rows of Q (r, n) orthonormal, in place: each one's part along those before is taken off, twice.

    The second time takes off what rounding has left of nearly parallel rows. A row of zeros stays one.
    """
    r, n = Q.shape
    for i in range(r):
        row = Q[i]
        for _ in range(2):
            for k in range(i):
                other, along = Q[k], ZERO
                for j in range(n):
                    along += other[j] * row[j]
                for j in range(n):
                    row[j] -= along * other[j]
            square = ZERO
            for j in range(n):
                square += row[j] * row[j]
            scale = ONE / np.sqrt(square) if square > 0 else ZERO
            for j in range(n):
                row[j] *= scale


@compiled
def find_spectral_coordinates(
    S: np.ndarray, vectors: np.ndarray, g: int, rounds: int, products: int, shift: float
) -> Array:  # pragma: no cover
    """Return the leading g eigenvectors (g, n) of the normalised similarity S (n, n), the largest eigenvalue first.

    They come from products with ``vectors`` (r, n), made orthonormal now and then. S becomes its normalised form.
    """
    n, r = len(S), len(vectors)
    root = np.empty(n, S.dtype)
    for i in range(n):
        row, total = S[i], ZERO
        for j in range(n):
            total += row[j]
        root[i] = np.sqrt(total)
    for i in range(n):
        row, own = S[i], root[i]
        for j in range(n):
            row[j] = row[j] / own / root[j]
        row[i] += np.float32(shift)
    Q, other = vectors.copy(), np.empty_like(vectors)
    for _ in range(rounds):
        for _ in range(products):
            np.dot(Q, S, other)
            Q, other = other, Q
        make_orthonormal(Q)
    np.dot(Q, S, other)
    small, turned = np.empty((r, r), S.dtype), np.empty((n, r), S.dtype)
    for k in range(r):
        for i in range(n):
            turned[i, k] = other[k, i]
    np.dot(Q, turned, small)
    directions = np.linalg.eigh(small)[1]  # the shift moves eigenvalues, not vectors
    U = np.zeros((g, n))
    for c in range(g):
        for k in range(r):
            weight, row = directions[k, r - 1 - c], Q[k]
            for i in range(n):
                U[c, i] += weight * row[i]
        for i in range(n):
            U[c, i] /= root[i]
    return U


@compiled
def explain_rows(
    f: np.ndarray,
    vectors: np.ndarray,
    rows: np.ndarray,
    draws: Array,
    forward: bool,
    rounds: int,
    products: int,
    shift: float,
    iterations: int,
    sweeps: int,
) -> tuple[Array, np.ndarray]:  # pragma: no cover
    """Return what is left of the divergence of views f (b, m) with k = 1..g clusters (b, g), and labels (b, g, n)."""
    b, n, g = len(f), vectors.shape[1], draws.shape[1]
    left, labels = np.empty((b, g)), np.empty((b, g, n), np.intp)
    F, S = np.empty((n, n), np.float32), np.empty((n, n), np.float32)
    for v in range(b):
        unpack_row(f[v], F)
        for i in range(n):
            for j in range(n):
                # what fits a mean of similarities best is that mean
                S[i, j] = F[i, j] if forward else ONE / (ONE + np.exp(-F[i, j]))
            S[i, i] = ZERO
        U = find_spectral_coordinates(S, vectors, g, rounds, products, shift)
        cut_and_refine(F, U, rows, draws, forward, iterations, sweeps, left[v], labels[v])
    return left, labels
