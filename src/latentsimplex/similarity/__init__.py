"""Similarity kernels, which turn a view into similarities: chosen by name, or the user's own."""

from __future__ import annotations

from typing import Any

from latentsimplex.base.wording import show_value
from latentsimplex.similarity.auto_diffusion import AutoDiffusion
from latentsimplex.similarity.diffusion import Diffusion
from latentsimplex.similarity.kernel import FunctionKernel, Kernel
from latentsimplex.similarity.local_scaling import LocalScaling
from latentsimplex.similarity.precomputed import Precomputed

__all__ = [
    "AutoDiffusion",
    "Diffusion",
    "FunctionKernel",
    "Kernel",
    "LocalScaling",
    "Precomputed",
    "as_kernel",
]

NAMED = {"local-scaling": LocalScaling, "diffusion": Diffusion, "precomputed": Precomputed}


def as_kernel(similarity: Any) -> Kernel:
    """Return the kernel for a ``similarity``: a name, a kernel object or a function.

    >>> as_kernel("local-scaling")
    LocalScaling(quantile=0.1, power=1.0, neighbour=None, metric='euclidean', standardise=False, per_feature=False)
    """
    if isinstance(similarity, str) and similarity in NAMED:
        return NAMED[similarity]()
    if isinstance(similarity, Kernel) and not isinstance(similarity, type):
        return similarity
    if callable(similarity) and not isinstance(similarity, type):
        return FunctionKernel(similarity)
    names = ", ".join(map(repr, ["auto", *NAMED]))
    raise ValueError(
        f"similarity={show_value(similarity)} is not a way to compare samples: choose one of {names} "
        '(with "precomputed" the matrices themselves go to fit), a kernel object, or a function from a view (n, p) '
        "to similarities (n, n)."
    )
