"""Figure 10: genes of the hippocampus as views of 94 aged brains, against the donors' covariates."""

from __future__ import annotations

from pathlib import Path

from latentsimplex.datasets import load_brain
from latentsimplex.datasets.allen import DOWNLOAD
from latentsimplex.experiments.gene_trial import BASELINE, CLUSTERS, PATTERNS, REACHED, SEX, Study
from latentsimplex.experiments.genes import run_study
from latentsimplex.experiments.result import Progress, Result
from latentsimplex.experiments.seeds import seeds

STUDY = Study(
    name="brain",
    figure="figure10",
    paper={
        "samples": 94.0,
        "genes": 1000.0,
        PATTERNS: 10.0,
        CLUSTERS: 4.0,
        "covariates": 11.0,
        REACHED: 4.0,
        BASELINE: 0.15,
        SEX: 0.13,
    },
    chosen=("cerad", "braak", "nincds_arda_diagnosis", "education_years"),
    notes=(
        "The paper does not name its 11 covariates nor say how it treats numbers; these are all that the files "
        "have. It finds 0.2 or more for CERAD, Braak, the diagnosis of Alzheimer's disease (here "
        "nincds_arda_diagnosis) and education, whose top genes are shown.",
        "The paper takes sex for a covariate without effect, and its MaxNMI for a second baseline.",
    ),
)


def run(
    n_seeds: int,
    out: Path,
    progress: Progress | None = None,
    *,
    n_samples: int | None = None,
    n_views: int | None = None,
    data: Path | None = None,
) -> Result:
    """Run :func:`latentsimplex.experiments.genes.run_study` on the brain data in the user's own copy.

    Parameters
    ----------
    n_seeds, out, progress, n_samples, n_views
        As there.
    data : Path
        What :func:`latentsimplex.datasets.load_brain` reads.

    Returns
    -------
    Result
    """
    seeds(n_seeds)  # a number that is not one should not wait for the data
    if data is None:
        raise ValueError(
            "The brain data may not travel with the package: give --data, a folder with the gene expression matrix "
            f"and the donor information from {DOWNLOAD}."
        )
    return run_study(STUDY, load_brain(data), n_seeds, out, progress, n_samples=n_samples, n_views=n_views)
