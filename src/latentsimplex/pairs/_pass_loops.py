"""Passes over the pair values of views, compiled: products with patterns, and sums weighted by responsibilities.

Loops are over strips of pairs that stay in the nearest cache, and take several patterns and views at a time, so that a
value is used several times once it is loaded. Strips are added up in single precision, their sums in double.
"""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import STRIP, compiled

NEGLIGIBLE = 1e-12
"""Views with less than this share of a pattern's largest responsibility add less to its sum than rounding does."""


@compiled
def add_products(
    f: np.ndarray, g: np.ndarray, A: np.ndarray, left: int, right: int, of_f: np.ndarray, of_g: np.ndarray
) -> None:  # pragma: no cover
    """Add the products of two strips with those of four patterns, A (4, m), to ``of_f`` and ``of_g`` (4,)."""
    a, b, c, e = A[0, left:right], A[1, left:right], A[2, left:right], A[3, left:right]
    fa, fb, fc, fe = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    ga, gb, gc, ge = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for j in range(right - left):
        fa += f[j] * a[j]
        fb += f[j] * b[j]
        fc += f[j] * c[j]
        fe += f[j] * e[j]
        ga += g[j] * a[j]
        gb += g[j] * b[j]
        gc += g[j] * c[j]
        ge += g[j] * e[j]
    of_f[0] += fa
    of_f[1] += fb
    of_f[2] += fc
    of_f[3] += fe
    of_g[0] += ga
    of_g[1] += gb
    of_g[2] += gc
    of_g[3] += ge


@compiled
def multiply_strips(
    F: np.ndarray, A: np.ndarray, start: int, stop: int, first: int, last: int
) -> np.ndarray:  # pragma: no cover
    """Return F A^T of views start..stop over the pairs first..last; F is (b, m), A (d, m) with d in fours."""
    d = len(A)
    out, nobody = np.zeros((stop - start, d)), np.zeros(4)
    for left in range(first, last, STRIP):
        right = min(left + STRIP, last)
        for v in range(start, stop, 2):
            f, g = F[v, left:right], F[min(v + 1, stop - 1), left:right]
            for l in range(0, d, 4):
                beside = out[v + 1 - start, l : l + 4] if v + 1 < stop else nobody
                add_products(f, g, A[l : l + 4], left, right, out[v - start, l : l + 4], beside)
    return out


@compiled
def add_weighted_sums(
    F: np.ndarray, eta: np.ndarray, first: int, last: int, stat: np.ndarray
) -> None:  # pragma: no cover
    """Add eta^T F over the pairs first..last to ``stat`` (d, m), for F (b, m) and eta (b, d)."""
    V, d = eta.shape
    who, share = np.empty(V, np.intp), np.empty(V, F.dtype)
    total = np.empty(STRIP, F.dtype)
    for left in range(first, last, STRIP):
        right = min(left + STRIP, last)
        width = right - left
        for l in range(d):
            n_counted, largest = 0, 0.0
            for v in range(V):
                largest = max(largest, eta[v, l])
            for v in range(V):
                if eta[v, l] > NEGLIGIBLE * largest:
                    who[n_counted], share[n_counted] = v, eta[v, l]
                    n_counted += 1
            total[:] = 0.0
            for i in range(0, n_counted - 3, 4):
                a, b = F[who[i], left:right], F[who[i + 1], left:right]
                c, e = F[who[i + 2], left:right], F[who[i + 3], left:right]
                s, t, u, w = share[i], share[i + 1], share[i + 2], share[i + 3]
                for j in range(width):
                    total[j] += s * a[j] + t * b[j] + u * c[j] + w * e[j]
            for i in range(n_counted - n_counted % 4, n_counted):
                a, s = F[who[i], left:right], share[i]
                for j in range(width):
                    total[j] += s * a[j]
            into = stat[l, left:right]
            for j in range(width):
                into[j] += total[j]
