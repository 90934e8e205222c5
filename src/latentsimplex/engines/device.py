"""Pair values of views on a device of torch: a graphics card, or the processor as torch uses it.

Views move to the device, are centred, and become pair values there in single precision. What does not fit on it waits
in the machine's own memory and moves block by block, or is computed again in each pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentsimplex._arrays import like, on_card, on_host, widened
from latentsimplex._types import Array, Indices
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.engines.local import LocalPairs
from latentsimplex.similarity import clip_exponents, tables_exponents
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT, single

HOST_PAIRS = 1 << 19
"""With no more pairs than this an M step is over on the processor before a card has been told what to do."""
BLOCK_VALUES = 1 << 28
BATCH_ENTRIES = 1 << 27
SHARE_OF_FREE = 0.6
"""How much of a card's free memory pair values may take; the rest is for the work on them."""


class DevicePairs(LocalPairs):
    """The packed f(s) of every informative view as tensors on a device."""

    def __init__(self, device: str, *arguments: Any) -> None:
        self._device = device
        self._room = SHARE_OF_FREE * free_bytes(device)
        super().__init__(*arguments)
        if n_pairs(self.n_samples) > HOST_PAIRS:
            self.home = self.zeros(0)

    def zeros(self, d: int) -> Any:
        """Return zeros (d, m) on the device."""
        return torch_module().zeros((d, n_pairs(self.n_samples)), device=self._device)

    def homed(self, stat: Any) -> Any:
        """Return statistics where M steps want them: on the device where there are many pairs."""
        return stat if n_pairs(self.n_samples) > HOST_PAIRS else on_host(stat)

    def _fetched(self, F: Any) -> Any:
        return F.to(self._device, non_blocking=True)

    def _stored(self, F: Any) -> Any:
        """Return a block where it can stay: on the device as long as there is room."""
        size = F.element_size() * F.nelement()
        if size <= self._room:
            self._room -= size
            return F
        F = F.cpu()
        return F.pin_memory() if self._device.startswith("cuda") else F

    def _block_values(self) -> int:
        return BLOCK_VALUES

    def _blocks_read(self) -> int:
        return 1  # a block is as much as a device is asked for at once

    def _tables(self, members: Indices) -> Any:
        """Return views where they are read: on the device for kernels of ours, here for those of the user's."""
        tables = self._views.tables(members)
        if not getattr(self._kernel, "reads_many", False):
            return tables
        if self._device == "mps":  # which has no double precision: views are centred before they lose digits
            tables = single(tables)
        # torch takes no array that must not be written to
        return torch_module().as_tensor(
            tables if tables.flags.writeable else tables.copy(), device=self._device
        )

    def _read(self, members: Indices) -> tuple[Any, Array, np.ndarray]:
        """Return f(s) of some views, the sums of const(s), and whether they have anything to tell."""
        F = self.zeros(0).new_empty((len(members), n_pairs(self.n_samples)))
        constants, informative = np.zeros(len(members)), np.zeros(len(members), dtype=bool)
        for rows in self._batches(members, BATCH_ENTRIES):
            r = tables_exponents(self._kernel, self._tables(members[rows]), self._namer(members[rows]))
            informative[rows] = on_host((r != 0).any(-1)).astype(bool)
            constants[rows] = on_host(self._write_values(like(r, F), F[rows]))
        return F, constants, informative

    def _write_values(self, r: Any, F: Any) -> Any:
        """Write f(s) of exponents r (b, m) into F, and return the sums of const(s) (b,)."""
        if on_card(r):
            from latentsimplex.compute.cards import pair_values

            return pair_values(r, LEAST_EXPONENT, MOST_EXPONENT, self._divergence.name == "forward", F)
        r = clip_exponents(r)
        F[:] = self._divergence.f(r)
        return widened(self._divergence.const(r)).sum(-1)


def torch_module() -> Any:
    """Return torch, or raise ImportError with how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            'device="cuda", "mps" and "torch" need PyTorch, which is not installed: pip install "latentsimplex[gpu]", '
            'or leave device="cpu".'
        ) from None
    return torch


def checked_device(device: str) -> str:
    """Return the device as torch names it, or raise ValueError if this machine has none.

    >>> checked_device("torch")
    'cpu'
    """
    torch = torch_module()
    kind = device.partition(":")[0]
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f'device="{device}" needs an NVIDIA graphics card that PyTorch can use, and this machine shows none: '
            'leave device="cpu".'
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError(
            'device="mps" needs an Apple graphics processor, and this machine shows none: leave device="cpu".'
        )
    return "cpu" if device == "torch" else device


def free_bytes(device: str) -> float:
    """Return the free memory of a card; a processor's is looked after before a fit."""
    torch = torch_module()
    return float(torch.cuda.mem_get_info(device)[0]) if device.startswith("cuda") else float("inf")
