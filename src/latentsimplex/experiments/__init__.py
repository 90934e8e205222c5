"""The paper's experiments, each run over seeds and written as tables and figures.

>>> list(EXPERIMENTS)
['running-example', 'consensus-example', 'table1', 'views-50k', 'digits', 'brain', 'leukaemia']
"""

from latentsimplex.base.table import Table
from latentsimplex.experiments import consensus_example, digits, genes, running_example, table1, views_50k
from latentsimplex.experiments.result import Experiment, Result

EXPERIMENTS: dict[str, Experiment] = {
    "running-example": Experiment(
        "Figures 1 to 5: three views, two patterns, and the two penalties on memberships", running_example.run
    ),
    "consensus-example": Experiment(
        "Figure 6: ten views, eight of them noise, and their consensus", consensus_example.run
    ),
    "table1": Experiment(
        "Table 1 and the appendix: six single-view settings against nine clusterers, and the limit case",
        table1.run,
    ),
    "views-50k": Experiment(
        "Figure 8: 50,000 views of 150 samples, five patterns of three clusters",
        views_50k.run,
        options=("n_views",),
    ),
    "digits": Experiment(
        "Table 2 and Figure 9: handwritten digits in six views, against spectral clustering", digits.run
    ),
    "brain": Experiment(
        "Figure 10: genes as views of aged brains against covariates; needs the Allen Institute's data",
        genes.run_brain,
        options=("n_views", "data"),
    ),
    "leukaemia": Experiment(
        "The same with the bundled leukaemia data", genes.run_leukaemia, options=("n_views",)
    ),
}

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Table"]
