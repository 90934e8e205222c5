"""The hot loops on tensors, on any device that torch has: the functions of :mod:`latentsimplex.compute.cpu`.

Patterns are dealt with one after the other, each as full n x n matrices of single precision: a graphics card
has the bandwidth for both triangles and no use for tiles.
"""

from __future__ import annotations

from typing import Any

import torch

from latentsimplex._arrays import diagonals, like, on_host, stacked, widened
from latentsimplex._types import Array
from latentsimplex.compute.pairs import pack, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import P_CLIP, Divergence


def _expected(W: Any, B: Any) -> Any:
    """Return q = W B W^T (n, n), kept off 0 and, as far as the precision goes, off 1."""
    return torch.clip(W @ B @ W.T, P_CLIP, 1 - torch.finfo(W.dtype).eps)


def _total(square: Any) -> Any:
    """Return the sum off the diagonal, rows added up in double precision."""
    rows = widened(square.sum(-1) - diagonals(square))
    return rows.sum()


def pair_terms(memberships: Array, responses: Array, divergence: Divergence, home: Any) -> tuple[Any, Array]:
    """Return A (d, m), the packed a(q) of each pattern, as tensors like ``home``, and H (d), the sums of h(q)."""
    A, H = [], []
    for W, B in zip(like(memberships, home), like(responses, home), strict=True):
        a, h = divergence.a_h(_expected(W, B))
        A.append(pack(a))
        H.append(_total(h) / 2)
    return stacked(A), on_host(stacked(H))


def prepared(stat: Any) -> Any:
    """Return the statistics (d, m) as symmetric matrices (d, n, n); rows that are one and the same share one."""
    if len(stat) > 1 and stat.stride(0) == 0:
        return unpack(stat[0]).expand(len(stat), -1, -1)
    return stacked([unpack(row) for row in stat])


def pair_objective(
    memberships: Any, responses: Any, gamma: Any, stat: Any, divergence: Divergence, workers: Workers
) -> tuple[Any, Any, Any]:
    """Return sum_{i<j} [gamma h(q) - stat a(q)] of each pattern and its gradients in W and in B; ``stat`` (d, n, n)."""
    values, GW = [], []
    for W, B, mass, square in zip(memberships, responses, gamma, stat, strict=True):
        value, slope = divergence.value_slope(_expected(W, B), mass, square)
        diagonals(slope)[:] = 0.0
        values.append((_total(value) / 2).to(W.dtype))
        GW.append(slope @ W)
    GW = stacked(GW)
    return stacked(values), GW @ responses, memberships.swapaxes(-1, -2) @ GW / 2


def pair_products(F: Any, A: Any, workers: Workers) -> Any:
    """Return F A^T (b, d) for pair values F (b, m) and A (d, m) in double precision, here if the device has none."""
    products = F @ like(A, F).T
    return on_host(products) if products.device.type == "mps" else products.double()


def add_statistics(stat: Any, eta: Any, F: Any, workers: Workers) -> None:
    """Add eta^T F to ``stat`` (d, m) in place, for responsibilities eta (b, d) of the views in F (b, m)."""
    stat += like(eta, F).T @ F
