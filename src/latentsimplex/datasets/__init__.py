"""Simulated data with a known answer, and the real data that travel with the package."""

from latentsimplex.datasets.load import Digits, Leukaemia, load_digits, load_leukaemia
from latentsimplex.datasets.simulate import (
    Simulation,
    consensus_example,
    many_views,
    running_example,
    single_view,
)

__all__ = [
    "Digits",
    "Leukaemia",
    "Simulation",
    "consensus_example",
    "load_digits",
    "load_leukaemia",
    "many_views",
    "running_example",
    "single_view",
]
