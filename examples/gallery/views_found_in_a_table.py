"""
Views found in a table
======================

A wide table whose columns nobody has grouped: which of them show clusters together, which show others, and which are
noise?
"""

# %%
# The data
# --------
#
# 200 samples. Three views of three to eight columns are hidden among 20 columns of noise and six that are correlated
# without any clusters. No column alone says much of the clusters of its view, and the views have nothing in common.

import pandas as pd
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import hidden_views

hidden = hidden_views(200, n_views=3, n_noise=20, n_columns=(3, 8), blocks=(6,), random_state=0)

# %%
# The fit
# -------
#
# ``view_columns_`` has the columns of each view that was found. The table below counts them by the view that they were
# drawn from; -1 is noise.

model = LatentSimplexPosition(views="discover", random_state=0).fit(hidden.table)
columns = model.columns_frame("pandas")
found = pd.crosstab(pd.Series(hidden.views, name="drawn from"), columns["view"].rename("found in"))
found.head()

# %%
# What the clusters of each view explain of each column:

from latentsimplex.plots import plot_columns

axes = plot_columns(model)

# %%
# The clusters
# ------------
#
# Each view has a pattern of its own, whose clusters are nearly those that were hidden (NMI, patterns in columns).

agreement = pd.DataFrame(
    [[normalized_mutual_info_score(truth, own) for own in model.pattern_labels_] for truth in hidden.labels]
)
agreement.round(2)
