"""From tables to exponents by diffusion, in one compiled call for many views of few samples."""

from __future__ import annotations

import numpy as np

from latentsimplex.base.compiled import compiled
from latentsimplex.base.float_math import ZERO
from latentsimplex.similarity._scaling_loops import add_affinities, make_walk
from latentsimplex.similarity._walk_loops import write_diffusion_exponents


@compiled
def write_exponents(
    tables: np.ndarray,
    compared: np.ndarray | None,
    few: int,
    quantile: tuple[int, float, float],
    k: int,
    length: tuple[float, int, int, int],
    tiny: float,
    floor: float,
    M: np.ndarray,
    spare: np.ndarray,
    lists: tuple[np.ndarray, np.ndarray, np.ndarray],
    r: np.ndarray,
) -> None:  # pragma: no cover
    """Write the exponents of :class:`latentsimplex.similarity.Diffusion` for tables (b, n, p) into r (b, m).

    Features are compared one by one, those that are ``compared`` (b, p), or together if that is None: only what one of
    both needs is compiled. What is in M, in ``spare`` and in the lists is lost: see
    :func:`latentsimplex.similarity._walk_loops.walk_to_mean`.
    """
    b, n, p = tables.shape
    distances, column = np.empty((n, n), np.float32), np.empty(n, np.float32)
    for v in range(b):
        for i in range(n):
            row = M[i]
            for j in range(len(row)):
                row[j] = ZERO
        if compared is None:
            add_affinities(tables[v], None, few, *quantile, 1.0, distances, M)
        else:
            n_compared = 0
            for f in range(p):
                n_compared += compared[v, f]
            for f in range(p):
                if compared[v, f]:
                    for i in range(n):
                        column[i] = tables[v, i, f]
                    add_affinities(None, column, few, *quantile, 1 / n_compared, distances, M)
        make_walk(M, n, k, tiny)
        write_diffusion_exponents(M, *length, tiny, floor, spare, *lists, r[v])
