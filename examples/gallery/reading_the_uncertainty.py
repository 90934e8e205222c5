"""
Reading the uncertainty
=======================

What the probabilities say, in pictures: who is doubtful, what the clustering could have been, and what
the numbers do not cover. :doc:`/uncertainty` has the same in words, and more of it.
"""

# %%
# A fit with doubt in it
# ----------------------
#
# Three views of 150 samples whose clusters overlap. Expression and methylation have the same three clusters.

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example

data = running_example(n_samples=150, separation=4, random_state=0)
views = dict(zip(["expression", "methylation", "imaging"], data.views, strict=True))
model = LatentSimplexPosition(n_clusters=6, random_state=0).fit(views)
model.views_frame()

# %%
# Where the doubtful samples are
# ------------------------------
#
# On the left the data of a view: the larger a point, the less sure its cluster. On the right the same
# samples where their memberships put them: at a corner a sample is sure, on an edge it lies between two
# clusters.

from latentsimplex.plots import panels, plot_simplex, plot_uncertainty

figure, axes = panels(1, 2, width=4.6, height=4)
plot_uncertainty(model, views["expression"], view="expression", ax=axes[0, 0])
plot_simplex(model, view="expression", ax=axes[0, 1])

# %%
# A sample that looks doubtful in the picture of this view need not be: its memberships come from both views
# that follow the pattern. The table has the same in numbers. A small ``margin`` is a toss-up between two
# clusters.

from latentsimplex.uncertainty import model_uncertainty, most_uncertain

most_uncertain(model_uncertainty(model, view="expression"), 5).to_pandas().round(2)

# %%
# Every sample at once
# --------------------
#
# A bar for each sample, its colours the probabilities of the clusters.

from latentsimplex.plots import plot_membership_bars

figure, axes = panels(1, 2, width=4.4, height=3)
plot_membership_bars(model, pattern=0, ax=axes[0, 0])
plot_membership_bars(model, pattern=1, ax=axes[0, 1])

# %%
# What the clustering could have been
# -----------------------------------
#
# A draw gives each sample a cluster by its probabilities. A thousand draws say how far the truth may be
# from the best clustering: 95% of them differ from it in no more than this share of all pairs of samples.

from latentsimplex.uncertainty import credible_ball, draw_partitions, point_estimate

draws = draw_partitions(model.memberships_[0], 1000, random_state=0)
best = point_estimate(draws, random_state=0)
ball = credible_ball(draws, best.labels, distance="binder")
print(f"{best.n_clusters} clusters; with probability 0.95 within {ball.radius:.2f}")

# %%
# Any question can be put to the draws. How large is the smallest cluster?

import numpy as np

smallest = [np.bincount(draw).min() for draw in draws]
print("between", np.quantile(smallest, 0.025), "and", np.quantile(smallest, 0.975), "samples")

# %%
# Are the probabilities right?
# ----------------------------
#
# In a simulation the truth is known. Probabilities on the diagonal are right.

from latentsimplex.plots import plot_reliability
from latentsimplex.uncertainty import pair_reliability

plot_reliability(
    {name: pair_reliability(model.coassignment(view=name), data.labels[v]) for v, name in enumerate(views)}
)

# %%
# What the probabilities leave out
# --------------------------------
#
# They take the patterns and the number of clusters as found. Whether the search found the best ones is a
# doubt of its own: on the right, how far each independent start ended from the best.

from latentsimplex.plots import plot_loss

plot_loss(model)
