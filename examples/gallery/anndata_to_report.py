"""
AnnData and MuData to a report
==============================

Single-cell and multi-omics data often come as AnnData (one table with annotations) or MuData (several such
tables of the same samples). Fit them as they are, keep the results inside them, and write a report. This needs
``pip install "latentsimplex[containers]"``.
"""

# %%
# One table
# ---------
#
# Expression of 1,000 genes in 128 leukaemia patients, as an AnnData. What is known about the patients is in
# ``obs`` and takes no part in the fit.

import pandas as pd
from anndata import AnnData

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits, load_leukaemia
from latentsimplex.results import write_results

leukaemia = load_leukaemia()
cells = pd.Categorical([stage[0] for stage in leukaemia.covariates["BT"]])
adata = AnnData(
    pd.DataFrame(leukaemia.expression, index=leukaemia.samples, columns=leukaemia.genes),
    obs=pd.DataFrame({"cells": cells}, index=leukaemia.samples),
)
patients = LatentSimplexPosition(random_state=0).fit(adata)

# %%
# X is one view here. With ``views="columns"`` each gene would be one, and with the name of a column of ``var``
# each group of genes.
#
# ``write_results`` adds labels and how sure they are to ``obs``, and memberships to ``obsm``, so that they are
# saved with the data and other tools can draw them. Beside what is known: B cells and T cells.

write_results(patients, adata)
pd.crosstab(adata.obs["cells"], adata.obs["lsp_labels"])

# %%
# Which genes set the clusters apart? The first probe set belongs to CD3D, a gene of T cells.

patients.describe_clusters(adata).head(3).round(2)

# %%
# What was added to the AnnData:

print(adata)

# %%
# Several tables
# --------------
#
# A MuData has a table for each modality. Handwritten digits stand in for cells here, and sets of features for
# modalities. Rows are matched by name, so that modalities may have the samples in different orders.

from mudata import MuData, set_options

digits = load_digits()
names = [f"digit{i:03d}" for i in range(400)]
modalities = {
    name: AnnData(pd.DataFrame(digits.views[name][:400], index=names).add_prefix(name))
    for name in ("fou", "kar", "zer", "mor")
}
with set_options(pull_on_update=False):  # which is to be mudata's default
    mdata = MuData(modalities)
model = LatentSimplexPosition(n_clusters=12, random_state=0).fit(mdata)
model.views_frame()

# %%
# Each modality is a view. All of them follow one pattern. Results go to the MuData itself, not into its
# modalities:

write_results(model, mdata)
mdata.obs[["lsp_labels", "lsp_confidence"]].head()

# %%
# ``lsp_confidence`` is how probable it is, on average, that a sample shares a cluster with the others of its
# own. Some clusters are less sure of themselves than others.

mdata.obs.groupby("lsp_labels", observed=True)["lsp_confidence"].describe()[["count", "min", "mean"]].round(2)

# %%
# A picture
# ---------
#
# Left: how probable it is that two samples share a cluster. Right: the cluster of each sample, as far as it is sure.

from latentsimplex.plots import panels, plot_coassignment, plot_membership_bars

figure, axes = panels(1, 2, width=4.5, height=4)
plot_coassignment(model, ax=axes[0, 0])
plot_membership_bars(model, pattern=0, ax=axes[0, 1])

# %%
# The report
# ----------
#
# One HTML page about the fit, which can be sent to someone who has no Python. Given the data again, it also shows
# them, coloured by cluster, and the features that set clusters apart. Here it goes to a temporary folder; in its
# place give a path of your own.

from pathlib import Path
from tempfile import TemporaryDirectory

with TemporaryDirectory() as folder:
    report = Path(folder) / "report.html"
    model.report(report, mdata)
    print(f"{report.name}: {report.stat().st_size / 1e6:.1f} MB")

# %%
# In short it says:

from latentsimplex.report import describe, summarise

print(describe(summarise(model)))

# %%
# From a file, ``latentsimplex fit digits.h5mu --out fit`` does all of this at once. The folder ``fit`` then
# has the report, tables, and a copy of the data with the results in it.
