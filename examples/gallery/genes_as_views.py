"""
Genes as views
==============

Expression of genes in 128 leukaemia patients. Each gene by itself divides the patients in some way. Which
genes divide them alike, and are these divisions related to anything known about the patients?
"""

# %%
# The data
# --------
#
# A thousand genes are bundled. To be quick, every second one is taken here. With ``views="columns"`` each
# column of a table is a view.

import pandas as pd

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_leukaemia

leukaemia = load_leukaemia()
expression = pd.DataFrame(leukaemia.expression, index=leukaemia.samples, columns=leukaemia.genes).iloc[:, ::2]
model = LatentSimplexPosition(views="columns", random_state=0).fit(expression)
print(f"{expression.shape[1]} genes, {model.n_patterns_} patterns, clusters: {model.n_clusters_}")

# %%
# Which genes belong together
# ---------------------------
#
# A row for each gene and a column for each pattern. Most genes follow the heaviest pattern, which pools
# what hundreds of them share; small patterns are where a few genes say something else, and clearly.

from latentsimplex.plots import plot_view_patterns

plot_view_patterns(model)

# %%
# ``views_frame`` lists the genes; here are those of the smallest pattern.

genes = model.views_frame()
genes[genes["pattern"] == model.n_patterns_ - 1]

# %%
# What the patterns are related to
# --------------------------------
#
# Sex, age, and whether the leukaemia is of B or T cells were not used in the fit. Screening compares each
# of them with the clusters of each pattern, and says what chance would give: patients are shuffled 10,000
# times.

from latentsimplex.analysis import screen_model
from latentsimplex.plots import plot_screening

known = leukaemia.covariates
patients = pd.DataFrame(
    {"sex": known["sex"], "age": known["age"], "cells": [stage[:1] for stage in known["BT"]]},
    index=leukaemia.samples,
)
found = screen_model(model, patients, random_state=0)
plot_screening(found)

# %%
# One pattern divides B cells from T cells without an error. Another, of a few genes, goes with the
# patients' sex:

found.best_views().to_pandas()[["covariate", "view", "n_views", "statistic", "maximum_p_value"]]

# %%
# A pattern, patient by patient
# -----------------------------
#
# The genes that tell B from T cells, and how sure each patient is of the cluster.

from latentsimplex.plots import panels, plot_coassignment, plot_membership_bars

cells = int(found.best_views().to_pandas().set_index("covariate").loc["cells", "pattern"])
figure, axes = panels(1, 2, width=4.5, height=4)
plot_coassignment(model, pattern=cells, ax=axes[0, 0])
plot_membership_bars(model, pattern=cells, ax=axes[0, 1])

# %%
# The heaviest pattern deserves care: real genes share continuous structure, and pooled over hundreds of
# them it is cut into clusters (:doc:`known limits </defaults>`). Look at ``start_agreement_`` too, which says
# how far independent starts agree:

model.start_agreement_.round(2)

# sphinx_gallery_thumbnail_number = 2
