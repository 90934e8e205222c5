"""
Labels of some samples
======================

Somebody has looked at a few of the samples and named what they saw, and was wrong once or twice. What do these labels
change, which of them are doubtful, and are there classes that nobody named?
"""

# %%
# The data
# --------
#
# 800 handwritten digits in three of their views. Of the digits 0 to 8, ten each are labelled; nobody has labelled a 9.
# Four of the labels are wrong.

import numpy as np
import pandas as pd

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits

digits = load_digits()
views = {name: digits.views[name][:800] for name in ("kar", "zer", "mor")}
truth = digits.labels[:800]
rng = np.random.default_rng(0)
labelled = np.concatenate(
    [rng.choice(np.flatnonzero(truth == digit), 10, replace=False) for digit in range(9)]
)
y = np.full(800, -1)
y[labelled] = truth[labelled]
wrong = rng.choice(labelled, 4, replace=False)
y[wrong] = (y[wrong] + rng.integers(1, 9, size=4)) % 9

# %%
# The fit
# -------
#
# -1 and None stand for unknown. ``known_`` says which pattern the labels speak of, and what each cluster is. A cluster
# in which nothing is known may be a new class.

model = LatentSimplexPosition(random_state=0).fit(views, y)
known = model.known_
pd.DataFrame(
    {
        "class": known.cluster_classes,
        "labelled": [int((model.labels_[labelled] == k).sum()) for k in range(model.n_clusters_[0])],
        "samples": np.bincount(model.labels_),
        "mostly": [np.bincount(truth[model.labels_ == k]).argmax() for k in range(model.n_clusters_[0])],
    }
)

# %%
# Labels in doubt
# ---------------
#
# Each label is compared with what the views and all other labels say. Those that were changed should come first.

doubts = model.doubts_frame("pandas").head(8)
doubts.assign(changed=doubts["sample"].isin(wrong), truth=truth[doubts["sample"]])

# %%
# Links
# -----
#
# Instead of a class one may know that two samples belong together, or do not. With a weight of ``inf`` links are kept
# to exactly, whatever the views say.

together, apart = (
    np.flatnonzero(truth == 3)[:4],
    [np.flatnonzero(truth == 3)[0], np.flatnonzero(truth == 5)[0]],
)
linked = LatentSimplexPosition(random_state=0).fit(
    views, must_link=([together], np.inf), cannot_link=([apart], np.inf)
)
linked.labels_[together], linked.labels_[apart]

# %%
# How sure the fit is of all samples, labelled or not, by cluster:

from latentsimplex.plots import plot_memberships

axes = plot_memberships(model)
