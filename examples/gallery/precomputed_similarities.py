"""
Similarities of your own
========================

Not everything is a table of numbers. Here the views are the words that people use, the messages between
them, and where they sit. Each becomes similarities in its own way, and the model does the rest.
"""

# %%
# Three kinds of data
# -------------------
#
# Ninety people work in three teams and on two floors. Teams show in words and in messages, floors in
# places; the model is told neither.

import numpy as np

rng = np.random.default_rng(0)
team = rng.permutation(np.repeat([0, 1, 2], 30))
floor = rng.permutation(np.repeat([0, 1], 45))

own_words = np.repeat(np.eye(3), 20, axis=1)[team]  # twenty words are those of a team
words = rng.random((90, 60)) < 0.05 + 0.45 * own_words
messages = rng.poisson(np.where(team[:, None] == team, 2.0, 0.3))
places = np.array([[0, 0], [4, 1]])[floor] + rng.normal(size=(90, 2))

# %%
# Similarities
# ------------
#
# A similarity is symmetric, lies in [0, 1], and is high for two samples that are likely to belong
# together. Sets of words are compared by the share that they have in common, messages by the cosine
# between those that two people exchange with everybody, places by distance.

from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import cosine_similarity

similarities = {
    "words": 1 - pairwise_distances(words, metric="jaccard"),
    "messages": np.clip(cosine_similarity(messages + messages.T), 0, 1),
    "places": np.exp(-pairwise_distances(places) / 2),
}

# %%
# The fit
# -------

from latentsimplex import LatentSimplexPosition

model = LatentSimplexPosition(n_clusters=6, similarity="precomputed", random_state=0).fit(similarities)
model.views_frame()

# %%
# Each view has a pattern of its own. Do words and messages tell different stories, then? They do not: adjusted
# mutual information is 1 where two clusterings are equal.

from latentsimplex.analysis import associate_model

associate_model(model, random_state=0).table().to_pandas().iloc[:, :5]

# %%
# One scale for views that are to be compared
# -------------------------------------------
#
# Views of one pattern share what the model expects within clusters and between them. Two people of a team
# have similarities of about 0.3 by words and 0.8 by messages, and even people of different teams have 0.2 by
# messages: too far apart for one pattern. Any increasing function keeps the order of similarities. The square
# brings messages close enough to words:

similarities["messages"] = similarities["messages"] ** 2
model = LatentSimplexPosition(n_clusters=6, similarity="precomputed", random_state=0).fit(similarities)
model.views_frame()

# %%
# What each view says, and what the model makes of it:

from latentsimplex.plots import panels, plot_heatmap

figure, axes = panels(2, 3, width=2.6, height=2.6)
for v, (name, S) in enumerate(similarities.items()):
    labels, P = model.view_labels_[v], model.coassignment(view=v)
    plot_heatmap(S, labels, title=f"{name}: similarity", ax=axes[0, v])
    plot_heatmap(P.toarray(), labels, title="co-assignment", ax=axes[1, v])

# %%
# Teams and floors are found:

from sklearn.metrics import normalized_mutual_info_score

for name, labels, truth in zip(similarities, model.view_labels_, (team, team, floor), strict=True):
    score = normalized_mutual_info_score(truth, labels)
    print(f"{name:8}  {labels.max() + 1} clusters, NMI with the truth {score:.2f}")

# %%
# Distances in place of similarities, functions and kernel objects are described in :doc:`/similarity`.
