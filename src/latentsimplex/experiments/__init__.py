"""The paper's experiments, each run over seeds and written as tables and figures.

>>> list(EXPERIMENTS)
['running-example', 'consensus-example', 'table1']
"""

from latentsimplex.experiments import consensus_example, running_example, table1
from latentsimplex.experiments.result import Experiment, Result
from latentsimplex.experiments.table import Table

EXPERIMENTS: dict[str, Experiment] = {
    "running-example": Experiment(
        "Figures 1 to 5: three views, two patterns, and the two penalties on memberships",
        running_example.run,
    ),
    "consensus-example": Experiment(
        "Figure 6: ten views, eight of them noise, and their consensus",
        consensus_example.run,
    ),
    "table1": Experiment(
        "Table 1 and the appendix: six single-view settings against nine clusterers, and the limit case",
        table1.run,
    ),
}

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Table"]
