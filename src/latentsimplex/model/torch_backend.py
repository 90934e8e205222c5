"""M steps with tensors, on any device that torch has: what :mod:`latentsimplex.model.backends` does with arrays.

Patterns are dealt with one after the other, each as full n x n matrices of single precision: a GPU has the bandwidth
for both triangles and no use for tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from latentsimplex.base.arrays import convert_like, diagonals, stack, to_double, to_host
from latentsimplex.base.condensed import pack_pairs, unpack_pairs
from latentsimplex.base.types import Array
from latentsimplex.pairs.divergence import P_CLIP, Divergence
from latentsimplex.pairs.protocol import Objective

SINGLE_ROUNDING = 1e-8
"""The share of a loss that is rounding: errors of single pairs average out."""


class TorchBackend:
    """M steps of problems with many samples on a device (:class:`latentsimplex.pairs.protocol.Backend`)."""

    is_small = False
    descend = None
    loss_rounding = SINGLE_ROUNDING

    def __init__(self, device: str) -> None:
        self.kind = torch.zeros(0, device=device)

    def place(self, stat: Any) -> Any:
        """Return statistics as they are: passes over views leave them on the device."""
        return stat

    def pair_terms(self, W: Array, B: Array, divergence: Divergence) -> tuple[Any, Array]:
        """Return A (d, m), the packed a(q) of each pattern, and H (d), the sums of h(q)."""
        A, H = [], []
        for own_W, own_B in zip(convert_like(W, self.kind), convert_like(B, self.kind), strict=True):
            a, h = divergence.a_and_h(expected_similarities(own_W, own_B))
            A.append(pack_pairs(a))
            H.append(sum_off_diagonal(h) / 2)
        return stack(A), to_host(stack(H))

    def pair_objective(self, mass: Array, stat: Any, divergence: Divergence) -> tuple[Objective, Any]:
        """Return sum_{i<j} [mass h(q) - stat a(q)] of each pattern as a function of W and B, and a tensor of its kind.

        Statistics become symmetric matrices (n, n), once; rows that are one and the same share one.
        """
        if len(stat) > 1 and stat.stride(0) == 0:
            squares = unpack_pairs(stat[0]).expand(len(stat), -1, -1)
        else:
            squares = stack([unpack_pairs(row) for row in stat])
        masses = convert_like(mass, squares)

        def evaluate(W: Any, B: Any) -> tuple[Any, Any, Any]:
            values, GW = [], []
            for own_W, own_B, own_mass, square in zip(W, B, masses, squares, strict=True):
                value, slope = divergence.value_and_slope(
                    expected_similarities(own_W, own_B), own_mass, square
                )
                diagonals(slope)[:] = 0.0
                values.append((sum_off_diagonal(value) / 2).to(own_W.dtype))
                GW.append(slope @ own_W)
            GW = stack(GW)
            return stack(values), GW @ B, W.swapaxes(-1, -2) @ GW / 2

        return evaluate, squares

    def inner_products(self, stats: Sequence[Any]) -> Array:
        """Return the inner products of statistics (m,) with each other (d, d)."""
        products = np.empty((len(stats), len(stats)))
        for i in range(len(stats)):
            for j in range(i, len(stats)):
                products[i, j] = products[j, i] = float(to_double(stats[i]) @ to_double(stats[j]))
        return products


def expected_similarities(W: Any, B: Any) -> Any:
    """Return q = W B W^T (n, n), kept off 0 and, as far as the precision goes, off 1."""
    return torch.clip(W @ B @ W.T, P_CLIP, 1 - torch.finfo(W.dtype).eps)


def sum_off_diagonal(square: Any) -> Any:
    """Return the sum off the diagonal, rows added up in double precision."""
    return to_double(square.sum(-1) - diagonals(square)).sum()
