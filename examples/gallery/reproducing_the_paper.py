"""
Reproducing the paper
=====================

The paper's running example, with its own settings and with the defaults. Every experiment of the paper
can be run from the command line; this one is small enough to be looked at here.
"""

# %%
# Three views, two patterns
# -------------------------
#
# Views 0 and 1 have the same three clusters, in different places; view 2 has two of its own.

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example
from latentsimplex.plots import panels, plot_scatter

data = running_example(n_samples=150, separation=6, random_state=0)
figure, axes = panels(1, 3, width=2.8, height=2.8)
for v, ax in enumerate(axes.flat):
    plot_scatter(data.views[v], data.labels[v], title=f"view {v}, true clusters", ax=ax)

# %%
# The paper's settings, and the defaults
# --------------------------------------
#
# ``LatentSimplexPosition.paper()`` has the similarity, the divergence, the penalty, the start and the
# stopping rule of the paper's text. Both models may use ten clusters and three patterns.

models = {
    "paper": LatentSimplexPosition.paper(n_clusters=10, n_patterns=3, random_state=0).fit(data.views),
    "default": LatentSimplexPosition(n_clusters=10, n_patterns=3, random_state=0).fit(data.views),
}
for name, model in models.items():
    print(f"{name:7}  patterns of the views {model.view_patterns_}, clusters in them {model.n_clusters_}")

# %%
# Both find which views go together. The plain optimiser leaves most of the ten clusters in use, where
# there are three and two; the defaults charge for clusters.

from latentsimplex.plots import plot_coassignment

figure, axes = panels(2, 2, width=4, height=3.6)
for row, (name, model) in zip(axes, models.items(), strict=True):
    for ax, v in zip(row, (0, 2), strict=True):
        plot_coassignment(model, view=v, title=f"{name}, view {v}", ax=ax)

# %%
# How far from the right probabilities
# ------------------------------------
#
# In a simulation the right probability that two samples share a cluster is known. The table has the mean
# distance from it over all pairs of each view, and the Brier score with the true clusters.

import pandas as pd

from latentsimplex.uncertainty import pair_brier, pair_deviation

rows = [
    {
        "settings": name,
        "view": v,
        "mean deviation": pair_deviation(model.coassignment(view=v), data.oracle[data.patterns[v]]).mean,
        "Brier score": pair_brier(model.coassignment(view=v), data.labels[v]),
    }
    for name, model in models.items()
    for v in range(3)
]
pd.DataFrame(rows).pivot(index="view", columns="settings").round(3)

# %%
# With the right number of clusters
# ---------------------------------
#
# Given three clusters at most, as in the paper's figures, the paper's settings find pattern 0.

given = LatentSimplexPosition.paper(n_clusters=3, n_patterns=3, random_state=0).fit(data.views)
print(f"patterns of the views {given.view_patterns_}, clusters in them {given.n_clusters_}")

# %%
# The other experiments
# ---------------------
#
# .. code-block:: sh
#
#    latentsimplex reproduce running-example --seeds 3 --out results
#
# runs this one over seeds and writes tables and figures; ``consensus-example``, ``table1``,
# ``views-50k``, ``digits``, ``brain`` and ``leukaemia`` are the others. :doc:`/results` has what they
# gave, :doc:`/fidelity` where the code departs from the text.

# sphinx_gallery_thumbnail_number = 2
