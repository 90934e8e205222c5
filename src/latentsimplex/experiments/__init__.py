"""The paper's experiments, each run over seeds and written as tables and figures.

Those of its discussion, for which it has no numbers, come last.

>>> list(EXPERIMENTS)[:7]
['running-example', 'consensus-example', 'table1', 'views-50k', 'digits', 'brain', 'leukaemia']
>>> list(EXPERIMENTS)[7:]
['found-views', 'some-labels', 'graph-beside-views']
"""

from latentsimplex.base.table import Table
from latentsimplex.experiments import (
    consensus_example,
    digits,
    found_views,
    genes,
    graph_beside_views,
    running_example,
    some_labels,
    table1,
    views_50k,
)
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
    "found-views": Experiment(
        "Section 6: views found among the columns of one table, against columns as views", found_views.run
    ),
    "some-labels": Experiment(
        "Section 6: labels of some samples, against none and against label spreading", some_labels.run
    ),
    "graph-beside-views": Experiment(
        "Section 6: a graph beside the views that tells of clusters, and two that do not",
        graph_beside_views.run,
    ),
}

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Table"]
