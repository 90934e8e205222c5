"""Neighbour graphs on a device of torch: edges, connected parts, slow modes, and edges that cuts cross.

The same as :mod:`latentsimplex.neighbours.neighbour_graphs` has for matrices of SciPy. Weights of edges are whole
numbers in double precision, so that their sums are the same in any order; sums of others are taken row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse

from latentsimplex.base.threads import one_at_a_time
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.lanczos import find_leading, start_basis

BYTES_OF_NEIGHBOUR = 160
"""Bytes that a neighbour takes at most while a graph is made of it."""
EXHAUSTED = 1e-10
"""The length of a step of Lanczos' method that leads nowhere new."""


class TorchGraph:
    """A symmetric graph by rows: the neighbours of sample i are ``ends[starts[i] : starts[i + 1]]``, in order.

    ``data`` are the weights of edges, which SciPy calls so, and ``sources`` the samples whose edges they are.
    """

    def __init__(
        self, starts: torch.Tensor, ends: torch.Tensor, weights: torch.Tensor, sources: torch.Tensor
    ) -> None:
        self.starts, self.ends, self.data, self.sources = starts, ends, weights, sources
        self.shape = (len(starts) - 1, len(starts) - 1)

    def sum_rows(self) -> Array:
        """Return the weight of the edges of each sample (n,)."""
        return self._add_up(self.sources, self.data).cpu().numpy()

    def find_parts(self) -> tuple[int, np.ndarray]:
        """Return how many parts there are that no edge joins, and the part of each sample (n,).

        Each sample points to the least one that it knows of, and takes over what that one knows.
        """
        n = self.shape[0]
        least = torch.arange(n, device=self.ends.device)
        while True:
            known = least.scatter_reduce(0, least[self.sources], least[self.ends], "amin")
            while not torch.equal(further := known[known], known):
                known = further
            if torch.equal(known, least):
                break
            least = known
        first, part = torch.unique(least, return_inverse=True)
        return len(first), part.cpu().numpy()

    def take(self, rows: Indices) -> TorchGraph:
        """Return the graph of some samples, in order."""
        device, n = self.ends.device, self.shape[0]
        number = torch.full((n,), -1, device=device)
        number[torch.as_tensor(rows, device=device)] = torch.arange(len(rows), device=device)
        kept = (number[self.sources] >= 0) & (number[self.ends] >= 0)
        return _by_rows(number[self.sources[kept]], number[self.ends[kept]], self.data[kept], len(rows))

    def toarray(self) -> Array:
        """Return the whole matrix (n, n), here."""
        held = (self.data, self.ends, self.starts)
        return sparse.csr_matrix(tuple(each.cpu().numpy() for each in held), shape=self.shape).toarray()

    def find_modes(self, root: Array, m: int) -> tuple[Array, Array]:
        """Return the largest eigenvalues of N (m,) and their vectors (n, m) after the first, which is ``root``."""
        device, n = self.ends.device, self.shape[0]
        scale = torch.as_tensor(1 / root, device=device)
        N = self.data * scale[self.sources] * scale[self.ends]
        norm = root / np.linalg.norm(root)
        start, size = start_basis(norm, m)
        constant = torch.as_tensor(norm, device=device)
        basis = torch.zeros((size + 1, n), dtype=torch.float64, device=device)
        basis[0] = torch.as_tensor(start, device=device)

        def extend(basis: torch.Tensor, H: Array, done: int, until: int) -> float:
            length = 0.0
            for step in range(done, until):
                q, before = basis[step], basis[: step + 1]
                r = q + torch.segment_reduce(N * q[self.ends], "sum", offsets=self.starts)
                r, shares = _make_orthogonal(r, constant, before)
                H[step, : step + 1] = shares.cpu().numpy()
                H[:step, step] = H[step, :step]
                length = over = float(r.norm())
                if (
                    length <= EXHAUSTED
                ):  # the basis holds all that the first vector leads to: go on with another
                    length = 0.0
                    r = torch.sin(1.0 + torch.arange(n, dtype=torch.float64, device=device) * (step + 1.7))
                    r = _make_orthogonal(r, constant, before)[0]
                    over = float(r.norm())
                basis[step + 1] = r / over
            return length

        values, vectors = find_leading(
            basis, extend, lambda small: torch.as_tensor(np.ascontiguousarray(small), device=device), m
        )
        return values - 1, vectors.cpu().numpy()

    def count_crossed(self, values: Array) -> tuple[Indices, Array]:
        """Return the ranks of samples by values (n,), and the weight of edges that each cut of that order crosses."""
        device, n = self.ends.device, self.shape[0]
        order = torch.argsort(torch.as_tensor(np.ascontiguousarray(values), device=device), stable=True)
        ranks = torch.empty_like(order)
        ranks[order] = torch.arange(n, device=device)
        one, other = ranks[self.sources], ranks[self.ends]
        signed = torch.where(other > one, self.data, -self.data)
        crossed = self._add_up(one, signed).cumsum(0)[: n - 1]
        return ranks.cpu().numpy(), crossed.cpu().numpy()

    def sum_between(self, labels: np.ndarray) -> Array:
        """Return the weight of edges between clusters (g, g)."""
        g, own = int(labels.max()) + 1, torch.as_tensor(labels, device=self.ends.device)
        pairs = own[self.sources] * g + own[self.ends]
        return self._add_up(pairs, self.data, g * g).cpu().numpy().reshape(g, g)

    def _add_up(self, where: torch.Tensor, weights: torch.Tensor, n: int | None = None) -> torch.Tensor:
        """Return sums of whole numbers (n,) by where they belong."""
        sums = torch.zeros(self.shape[0] if n is None else n, dtype=torch.float64, device=where.device)
        return sums.index_add_(0, where, weights)


def has_room(device: str, n_neighbours: int) -> bool:
    """Return whether the graph of so many neighbours, of all samples and views, fits into the memory of a GPU."""
    from latentsimplex.neighbours.torch_cells import has_room_for_bytes

    return has_room_for_bytes(device, BYTES_OF_NEIGHBOUR * n_neighbours)


def join_on_device(neighbours: Sequence[Indices], k: int, device: str) -> TorchGraph:
    """Return the graph with an edge for each view in which one of two samples is among the k neighbours of the other.

    Neighbours below 0 are none.
    """
    n, n_views = len(neighbours[0]), len(neighbours)
    with one_at_a_time:
        own, edges = torch.arange(n, device=device)[:, None], []
        for v, near in enumerate(neighbours):
            others = torch.as_tensor(np.ascontiguousarray(near[:, :k]), device=device).long()
            there = others >= 0
            one, other = own.expand_as(others)[there], others[there]
            edges += [(one * n + other) * n_views + v, (other * n + one) * n_views + v]
        every = torch.unique_consecutive(torch.cat(edges).sort().values)
        del edges
        pairs, weights = torch.unique_consecutive(every // n_views, return_counts=True)
        return _by_rows(pairs // n, pairs % n, weights.double(), n)


def _by_rows(sources: torch.Tensor, ends: torch.Tensor, weights: torch.Tensor, n: int) -> TorchGraph:
    """Return the graph of edges whose sources are in order."""
    starts = torch.searchsorted(sources, torch.arange(n + 1, device=sources.device))
    return TorchGraph(starts, ends, weights, sources)


def _make_orthogonal(
    r: torch.Tensor, constant: torch.Tensor, before: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a vector (n,) without what it shares with ``constant`` and with others (m, n), and what that was (m,)."""
    shares = torch.zeros(len(before), dtype=r.dtype, device=r.device)
    for _ in range(2):
        r = r - constant * (constant @ r)
        own = before @ r
        r = r - own @ before
        shares += own
    return r, shares
