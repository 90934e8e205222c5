"""Data sets: simulations with known clusters, bundled real data, and readers for data that users download."""

from latentsimplex.datasets.allen import Brain, load_brain
from latentsimplex.datasets.load import (
    Digits,
    Leukaemia,
    TwoTruths,
    load_digits,
    load_fruit,
    load_leukaemia,
    load_stick_figures,
)
from latentsimplex.datasets.simulate import (
    Simulation,
    consensus_example,
    many_views,
    running_example,
    single_view,
)
from latentsimplex.datasets.simulate_columns import HiddenViews, hidden_views

__all__ = [
    "Brain",
    "Digits",
    "HiddenViews",
    "Leukaemia",
    "Simulation",
    "TwoTruths",
    "consensus_example",
    "hidden_views",
    "load_brain",
    "load_digits",
    "load_fruit",
    "load_leukaemia",
    "load_stick_figures",
    "many_views",
    "running_example",
    "single_view",
]
