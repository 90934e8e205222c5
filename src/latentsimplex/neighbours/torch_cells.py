"""Nearest neighbours of very many samples on a device of torch: the same cells, many of them at a time.

Samples of a cell, a block of them at a time, are compared with all members of the nearest cells: one batch of products
of matrices for many blocks, filled up to the same size. The k least of many distances are in those k groups of them
whose least ones are least, which takes one look at each; to choose among all takes a dozen. Numbers are of single
precision and relative to the centre of a cell, as in :mod:`latentsimplex.neighbours.nearest_neighbours`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from latentsimplex.base.threads import one_at_a_time
from latentsimplex.base.types import Array, Indices
from latentsimplex.neighbours.cell_plan import (
    ROUNDS,
    WIDER,
    count_cells,
    count_looked_into,
    cut_crowded,
    draw_centres,
)

AT_ONCE = 1 << 27
"""Distances, or coordinates of candidates, that are held at a time: half a gigabyte."""
BLOCK = 128
"""Samples of a cell that are compared at a time: half of a cell on average, so that little is filled up."""
SHARE_OF_FREE, BUFFERS = 0.5, 4
"""The share of the free memory of a GPU that may be taken, and the arrays of distances that are held at a time."""
GROUP = 32
"""Distances of a group, of which the least is looked at first."""


class Cells(NamedTuple):
    """Samples X (n, p) cell by cell, which samples they are, where cells start (m + 1,), centres, and the middle."""

    X: torch.Tensor
    rows: torch.Tensor
    starts: torch.Tensor
    centres: torch.Tensor
    middle: torch.Tensor


def has_room_for_bytes(device: str, n_bytes: int) -> bool:
    """Return whether so many bytes are a part of the free memory of a GPU that may be taken; others have room."""
    if not device.startswith("cuda"):
        return True
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free = torch.cuda.mem_get_info(device)[0] + unused
    return n_bytes <= SHARE_OF_FREE * free


def has_room_to_search(device: str, coordinates: Array, n_neighbours: int) -> bool:
    """Return whether a search fits into the memory of a GPU: coordinates twice, neighbours, and distances."""
    n, p = coordinates.shape
    return has_room_for_bytes(device, n * (16 * p + 24 * n_neighbours) + BUFFERS * 4 * AT_ONCE)


def search_on_device(coordinates: Array, n_neighbours: int, device: str) -> np.ndarray:
    """Return the nearest neighbours of each sample (n, k), the nearest first, nearly all of them right."""
    with one_at_a_time:
        cells = group_into_cells(move(coordinates, device))
        near = _search_cells(cells, cells.X, cells.starts, n_neighbours, True)
        found = torch.empty_like(near)
        found[cells.rows] = near
        return found.cpu().numpy()


def search_among_on_device(
    coordinates: Array, landmarks: Indices, others: Indices, n_neighbours: int, device: str
) -> np.ndarray:
    """Return the nearest landmarks (m, k) of some other samples, as indices into the landmarks, the nearest first."""
    with one_at_a_time:
        X = move(coordinates, device)
        cells = group_into_cells(X[torch.as_tensor(landmarks, device=device)])
        Y = (X[torch.as_tensor(others, device=device)] - cells.middle).float()
        cell_of = nearest_centre(Y, cells.centres)
        order = torch.argsort(cell_of, stable=True)
        starts = _find_starts(cell_of[order], len(cells.centres))
        near = _search_cells(cells, Y[order], starts, n_neighbours, False)
        found = torch.empty_like(near)
        found[order] = near
        return found.cpu().numpy()


def move(array: Array, device: str) -> torch.Tensor:
    """Return an array on the device; torch takes none that must not be written to."""
    return torch.as_tensor(array if array.flags.writeable else array.copy(), device=device)


def group_into_cells(coordinates: torch.Tensor) -> Cells:
    """Return samples grouped by the nearest of many centres."""
    middle = coordinates.mean(0, dtype=torch.float64).to(coordinates.dtype)
    X = (coordinates - middle).float()
    centres = find_centres(X, count_cells(len(X)))
    cell_of = nearest_centre(X, centres)
    rows = torch.argsort(cell_of, stable=True)
    counts = torch.bincount(cell_of, minlength=len(centres))
    starts, parts = cut_crowded(counts.cpu().numpy())
    centres = centres.repeat_interleave(torch.as_tensor(parts, device=X.device), dim=0)
    return Cells(X[rows], rows, torch.as_tensor(starts, device=X.device), centres, middle)


def find_centres(X: torch.Tensor, m: int) -> torch.Tensor:
    """Return m centres (m, p): samples drawn at random, moved to the means of those around them a few times."""
    rows, first = (torch.as_tensor(each, device=X.device) for each in draw_centres(len(X), m))
    some = X[rows]
    centres = some[first]
    for _ in range(ROUNDS if m > 1 else 0):
        cell_of = nearest_centre(some, centres)
        ordered = some[torch.argsort(cell_of, stable=True)]
        counts = torch.bincount(cell_of, minlength=m)
        sums = torch.segment_reduce(ordered, "sum", lengths=counts, axis=0)
        centres = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
    return centres


def nearest_centre(X: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """Return the nearest centre of each sample (n,)."""
    lengths = centres.square().sum(1)
    step = max(1, AT_ONCE // len(centres))
    parts = [torch.addmm(lengths, part, centres.T, alpha=-2).argmin(1) for part in X.split(step)]
    return torch.cat(parts)


def find_near(cells: Cells, which: torch.Tensor, c: int) -> torch.Tensor:
    """Return the cells (b, c) nearest to each of some cells, itself first."""
    lengths = cells.centres.square().sum(1)
    found = []
    for some in which.split(max(1, AT_ONCE // len(lengths))):
        heights = torch.addmm(lengths, cells.centres[some], cells.centres.T, alpha=-2)
        heights[torch.arange(len(some), device=some.device), some] = -torch.inf
        found.append(heights.topk(c, largest=False).indices)
    return torch.cat(found)


def _search_cells(cells: Cells, Y: torch.Tensor, starts: torch.Tensor, k: int, is_own: bool) -> torch.Tensor:
    """Return the nearest neighbours (n, k) of samples Y (n, p), which are given cell by cell.

    ``is_own`` is whether they are the samples of the cells, and so none is its own neighbour.
    """
    m, found = len(cells.centres), torch.empty((len(Y), k), dtype=torch.int32, device=Y.device)
    c, asked = count_looked_into(len(cells.X), m), torch.arange(m, device=Y.device)
    sizes = cells.starts.diff()
    while len(asked):
        near = find_near(cells, asked, c)
        totals = sizes[near].sum(1)
        enough = (totals > k) | (c == m)
        for batch in _cut_into_batches(asked[enough], totals[enough], starts, Y.shape[1]):
            _search_blocks(cells, near[enough], Y, starts, batch, is_own, found)
        asked, c = asked[~enough], min(WIDER * c, m)
    return found


class Blocks(NamedTuple):
    """Blocks of samples of some cells.

    ``which`` (b,) are the rows of the near cells that each looks into, ``cell`` the cells, ``first`` and ``size`` (b,)
    the rows of Y; ``width`` is the most candidates that one has.
    """

    which: torch.Tensor
    cell: torch.Tensor
    first: torch.Tensor
    size: torch.Tensor
    width: int


def _cut_into_batches(
    asked: torch.Tensor, totals: torch.Tensor, starts: torch.Tensor, p: int
) -> list[Blocks]:
    """Return blocks of the samples of some cells in batches, those with the most candidates first."""
    device, cell = asked.device, asked.cpu().numpy()
    n_candidates, bounds = totals.cpu().numpy(), starts.cpu().numpy()
    counts = bounds[cell + 1] - bounds[cell]
    n_blocks = -(-counts // BLOCK)
    order = np.argsort(-n_candidates, kind="stable")
    which = np.repeat(order, n_blocks[order])
    ends = np.cumsum(n_blocks[order])
    number = np.arange(len(which)) - np.repeat(ends - n_blocks[order], n_blocks[order])
    first = bounds[cell[which]] + BLOCK * number
    count = np.minimum(BLOCK, bounds[cell[which] + 1] - first)
    batches, start = [], 0
    while start < len(which):
        width = -(-int(n_candidates[which[start]]) // GROUP) * GROUP
        stop = start + max(1, AT_ONCE // (width * max(BLOCK, p)))
        some = [which[start:stop], cell[which[start:stop]], first[start:stop], count[start:stop]]
        a, b, c, d = (torch.as_tensor(each, device=device) for each in some)
        batches.append(Blocks(a, b, c, d, width))
        start = stop
    return batches


def _search_blocks(
    cells: Cells,
    near: torch.Tensor,
    Y: torch.Tensor,
    starts: torch.Tensor,
    blocks: Blocks,
    is_own: bool,
    found: torch.Tensor,
) -> None:
    """Write the nearest neighbours of the samples of some blocks into ``found`` (n, k)."""
    sizes, k = cells.starts.diff(), found.shape[1]
    looked_into = near[blocks.which]
    ends = sizes[looked_into].cumsum(1)
    place = torch.arange(blocks.width, device=Y.device).expand(len(looked_into), -1).contiguous()
    slot = torch.searchsorted(ends, place, right=True).clamp_(max=looked_into.shape[1] - 1)
    begin = cells.starts[looked_into] - ends + sizes[looked_into]
    candidates = begin.gather(1, slot) + place
    is_none = place >= ends[:, -1:]
    candidates[is_none] = 0
    centre = cells.centres[blocks.cell][:, None]
    B = cells.X[candidates] - centre
    lengths = B.square().sum(2).masked_fill_(is_none, torch.inf)
    step = torch.arange(BLOCK, device=Y.device)
    rows = (blocks.first[:, None] + step).clamp_(max=len(Y) - 1)
    heights = torch.baddbmm(lengths[:, None], Y[rows] - centre, B.transpose(1, 2), alpha=-2)
    if is_own:  # which is among the first candidates, those of the own cell
        own = (rows - starts[blocks.cell][:, None]).clamp_(max=blocks.width - 1)
        heights.scatter_(2, own[:, :, None], torch.inf)
    chosen = choose_least(heights, k)
    who = cells.rows[candidates][:, None].expand(-1, BLOCK, -1).gather(2, chosen)
    kept = step < blocks.size[:, None]
    found[rows[kept]] = who[kept].int()


def choose_least(heights: torch.Tensor, k: int) -> torch.Tensor:
    """Return the columns (b, n, k) of the k least of m numbers (b, n, m), the least first; m is of whole groups.

    >>> choose_least(torch.arange(96.0).flip(0)[None, None], 2).tolist()
    [[[95, 94]]]
    """
    b, n, m = heights.shape
    n_groups = m // GROUP
    if n_groups <= 2 * k:
        return heights.topk(k, largest=False).indices
    least = heights.view(b, n, GROUP, n_groups).amin(2)
    groups = least.topk(k, largest=False, sorted=False).indices
    members = groups[:, :, None] + n_groups * torch.arange(GROUP, device=heights.device)[:, None]
    members = members.view(b, n, GROUP * k)
    chosen = heights.gather(2, members).topk(k, largest=False).indices
    return members.gather(2, chosen)


def _find_starts(ordered: torch.Tensor, m: int) -> torch.Tensor:
    """Return where each of m cells starts (m + 1,) among samples whose cells are in order."""
    return torch.searchsorted(ordered, torch.arange(m + 1, device=ordered.device))
