"""Pair values of views on a device of torch: a GPU, or the processor as torch uses it.

Views move to the device, are centred, and become pair values there in single precision. What does not fit on it waits
in the machine's own memory, in the storage that was budgeted for it, and moves block by block, or is computed again in
each pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex.base.arrays import convert_like, runs_triton, to_double, to_host
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.inputs.views import Views
from latentsimplex.pairs.absent_pairs import Followed, follow_one
from latentsimplex.pairs.divergence import Divergence
from latentsimplex.pairs.in_memory import InMemoryPairs, ViewReader, dequantise
from latentsimplex.pairs.memory_budget import Storage
from latentsimplex.pairs.protocol import Backend
from latentsimplex.similarity.kernel import (
    LEAST_EXPONENT,
    MOST_EXPONENT,
    Kernel,
    accepts_batches,
    clip_exponents,
    read_exponents,
    to_single,
)

BLOCK_VALUES, BATCH_ENTRIES = 1 << 28, 1 << 27
"""Pair values of a block, and entries of the n x n matrices that are worked on at a time: what fills a GPU."""
SHARE_OF_FREE = 0.6
"""How much of a GPU's free memory pair values may take; the rest is for the work on them."""


class DeviceReader(ViewReader):
    """Reads views into pair values that are tensors on a device."""

    def __init__(self, device: str, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.device = device

    def read(self, members: Indices, F: Any) -> tuple[Array, np.ndarray]:
        """Write f(s) of some views into F (b, m); return the sums of const(s), and which views are not constant."""
        constants, informative = np.zeros(len(members)), np.zeros(len(members), dtype=bool)
        for rows in self.cut_into_batches(members, BATCH_ENTRIES):
            kernel, tables = self.load_tables(members[rows])
            names = self.name_views(members[rows])
            r = read_exponents(kernel, self._move_tables(tables), names)
            informative[rows] = to_host((r != 0).any(-1)).astype(bool)
            r = self.fill(members[rows], r)
            constants[rows] = to_host(self._write_values(convert_like(r, F), F[rows]))
        return constants, informative

    def _move_tables(self, tables: Any) -> Any:
        """Return tables where they are read: on the device for kernels of ours, here for those of the user's."""
        if not accepts_batches(self.kernel):
            return tables
        if self.device == "mps":  # which has no double precision: views are centred before they lose digits
            tables = to_single(tables)
        # torch takes no array that must not be written to
        tables = tables if tables.flags.writeable else tables.copy()
        return import_torch().as_tensor(tables, device=self.device)

    def _write_values(self, r: Any, F: Any) -> Any:
        """Write f(s) of exponents r (b, m) into F, and return the sums of const(s) (b,)."""
        if runs_triton(r):
            from latentsimplex.pairs._triton_values import write_pair_values

            return write_pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, self.divergence.name == "forward", F)
        r = clip_exponents(r)
        F[:] = self.divergence.f(r)
        return to_double(self.divergence.const(r)).sum(-1)


class DevicePairs(InMemoryPairs):
    """The packed f(s) of every informative view as tensors on a device."""

    block_values = BLOCK_VALUES

    def __init__(self, reader: DeviceReader, *arguments: Any, **settings: Any) -> None:
        self._device, self._is_gpu = reader.device, reader.device.startswith("cuda")
        self._free_bytes = SHARE_OF_FREE * free_gpu_bytes(reader.device) if self._is_gpu else 0.0
        super().__init__(reader, *arguments, **settings)

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) on the device."""
        return import_torch().zeros((d, count_pairs(self.n_samples)), device=self._device)

    def multiply(self, F: Any, A: Any) -> Any:
        """Return F A^T (b, d) for a block F (b, m) and A (d, m), in double precision here if the device has none."""
        products = F @ convert_like(A, F).T
        return to_host(products) if products.device.type == "mps" else products.double()

    def add_statistics(self, stat: Any, eta: Any, F: Any) -> None:
        """Add eta^T F to ``stat`` (d, m) in place, for a block F (b, m) and its responsibilities (b, d)."""
        stat += convert_like(eta, F).T @ F

    def _empty(self, n_views: int) -> Any:
        return self.zeros(0).new_empty((n_views, count_pairs(self.n_samples)))

    def _read_all(self, members: Indices, size: int) -> tuple[Array, np.ndarray]:
        """Read block by block: one is as much as a device is asked for at once."""
        return self._read_by_block(members, size)

    def _store(self, F: Any) -> Any:
        """Return a block where it can stay: in a GPU's own memory while there is room, then in ours, as budgeted.

        Other devices share our memory: there blocks stay as budgeted from the first.
        """
        size = F.element_size() * F.nelement()
        if size <= self._free_bytes:
            self._free_bytes -= size
            return F
        kept = super()._store(F)
        return kept.cpu().pin_memory() if self._is_gpu else kept

    def _fetch(self, kept: Any) -> Any:
        """Return a block on the device as a pass wants it."""
        kept = kept.to(self._device, non_blocking=True)
        return kept if kept.is_floating_point() else dequantise(kept, self._reader.divergence)


def free_gpu_bytes(device: str) -> float:
    """Return the free memory of a GPU."""
    return float(import_torch().cuda.mem_get_info(device)[0])


def import_torch() -> Any:
    """Return torch, or raise ImportError with how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            'device="cuda", "mps" and "torch" need PyTorch, which is not installed: pip install "latentsimplex[gpu]", '
            'or leave device="cpu".'
        ) from None
    return torch


def find_device(device: str) -> str:
    """Return the device as torch names it, or raise ValueError if this machine has none.

    >>> find_device("torch")
    'cpu'
    """
    torch = import_torch()
    kind = device.partition(":")[0]
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f'device="{device}" needs an NVIDIA GPU that PyTorch can use, and this machine shows none: '
            'leave device="cpu".'
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError('device="mps" needs an Apple GPU, and this machine shows none: leave device="cpu".')
    return "cpu" if device == "torch" else device


def make_pairs(
    device: str | None,
    views: Views,
    kernel: Kernel,
    divergence: Divergence,
    workers: Workers,
    backend: Backend,
    keep: Storage,
    weights: Array | None = None,
    members: Indices | None = None,
    followed: Followed | None = None,
) -> InMemoryPairs:
    """Return the pair values of views, of all or of some members, on a device of torch or, for None, in memory.

    Where samples are absent from views, their pairs are filled by the patterns that are ``followed``, as far as these
    are known.
    """
    reading: tuple[Any, ...] = (views, kernel, divergence, workers)
    reader: Any = ViewReader(*reading) if device is None else DeviceReader(device, *reading)
    if views.present is not None:
        reader.fill_absent(followed or follow_one(len(views), members), weights)
    make = InMemoryPairs if device is None else DevicePairs
    return make(reader, backend, keep, weights, members)
