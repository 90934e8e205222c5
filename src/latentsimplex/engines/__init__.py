"""How blocks of views are mapped and reduced: EM never knows which engine ran."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from latentsimplex.engines.local import LocalPairs

Engine = Callable[..., LocalPairs]
"""Makes the pair values of views."""


def engine_on(device: str) -> Engine:
    """Return the engine for a device; "cpu" is NumPy and Numba, anything else is torch.

    >>> engine_on("cpu").__name__
    'LocalPairs'
    """
    if device == "cpu":
        return LocalPairs
    from latentsimplex.engines.device import DevicePairs, checked_device

    return partial(DevicePairs, checked_device(device))
