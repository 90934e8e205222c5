"""
A fit on a cluster
==================

Columns that lie in zarr, too many to hold, fitted by the workers of a Dask cluster. Here the cluster is two threads of
this machine; an address of a scheduler, or a client of any other cluster, takes its place.
"""

# %%
# The data
# --------
#
# A table of 80 samples in zarr. Of its 1,500 columns every third divides the samples in two, every third in three, and
# the others not at all.

import tempfile

import numpy as np
import zarr

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
halves, thirds = np.arange(80) % 2, np.arange(80) // 27
clusters = np.column_stack([5 * halves, 5 * thirds, np.zeros(80)])
table = np.tile(clusters, 500) + rng.normal(size=(80, 1500))
stored = zarr.create_array(f"{folder.name}/table.zarr", shape=table.shape, chunks=(80, 250), dtype=float)
stored[:] = table

# %%
# The cluster
# -----------
#
# The dashboard shows what every worker is doing, and how much memory it holds: open its address in a browser. On
# a cluster of your own, ``Client("tcp://10.0.0.1:8786")`` is all that there is to write.

from dask.distributed import Client

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
print(f"dashboard: {client.dashboard_link}")

# %%
# The fit
# -------
#
# Each worker reads its own columns. The search looks at a part of them, on one worker; then all columns take part, on
# all workers.

from latentsimplex import LatentSimplexPosition

model = LatentSimplexPosition(n_patterns=4, views="columns", engine=client, random_state=0, n_init=1)
model.fit(stored)
client.close()
for stage in model.stages_:
    print(f"{stage.name}: {stage.n_views} views")
print(f"{model.n_patterns_} patterns, clusters: {model.n_clusters_}")

# %%
# What was found
# --------------
#
# The model is like any other: nothing of it is left on the cluster.

from latentsimplex.plots import plot_coassignment

axes = plot_coassignment(model, pattern=0)
folder.cleanup()
