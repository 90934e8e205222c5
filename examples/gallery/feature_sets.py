"""
Six feature sets of the same samples
====================================

Handwritten digits, described by six sets of features. Do the sets agree, how many clusters are there, and
which digits are doubtful?
"""

# %%
# The data
# --------
#
# The bundled digits have 2,000 samples. To be quick, this example takes the first 500, which are in
# random order. Each set of features is a view; a dict gives the views their names.

import pandas as pd

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits

digits = load_digits()
views = {name: view[:500] for name, view in digits.views.items()}
truth = digits.labels[:500]
pd.Series(digits.view_descriptions, name="what the features are").to_frame()

# %%
# The fit
# -------
#
# Twelve clusters and ten patterns are allowed, which is more than there are. The true digits are not used.

model = LatentSimplexPosition(n_clusters=12, random_state=0).fit(views)
model.views_frame()

# %%
# All six sets follow one pattern: they tell the same story. Beside the truth, most clusters are a digit,
# and most digits a cluster.

pd.crosstab(truth, model.labels_, rownames=["digit"], colnames=["cluster"])

# %%
# Who is together
# ---------------
#
# The consensus gives each pair of samples a probability of sharing a cluster. Off the diagonal, pale
# blocks are clusters that run into one another.

from latentsimplex.plots import plot_coassignment

plot_coassignment(model)

# %%
# The doubtful ones
# -----------------
#
# Here are the twelve samples that are least sure of their cluster. The features in ``pix`` are the pixels
# themselves, 16 rows of 15, so that they can be looked at.

from latentsimplex.plots import panels
from latentsimplex.uncertainty import model_uncertainty, most_uncertain

doubtful = most_uncertain(model_uncertainty(model, pattern=0), 12)
figure, axes = panels(2, 6, width=1.3, height=1.6)
for ax, i, probability in zip(axes.flat, doubtful["sample"], doubtful["probability"], strict=True):
    ax.imshow(views["pix"][i].reshape(16, 15), cmap="Greys")
    ax.set(xticks=[], yticks=[], xlabel=f"a {truth[i]}, sure to {probability:.2f}")

# %%
# Are the probabilities right?
# ----------------------------
#
# The truth is known here, so that they can be checked. Pairs that are given a probability of 0.3 should
# be together in 3 of 10 cases. Above the diagonal the model is more cautious than it needs to be.

from latentsimplex.plots import plot_reliability

plot_reliability(model, truth)

# %%
# The Brier score, the mean squared difference between probabilities and truth, is well below that of giving
# all pairs the same probability:

from latentsimplex.uncertainty import constant_brier, pair_brier

print(f"{pair_brier(model.coassignment(), truth):.3f}, and {constant_brier(truth):.3f} for all pairs alike")

# %%
# With all 2,000 samples the fit takes a few seconds, and more digits find their cluster:
# :doc:`/results` has the numbers.
