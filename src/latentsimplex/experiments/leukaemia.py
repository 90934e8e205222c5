"""The stand-in for Figure 10: genes as views of 128 leukaemia patients, against their clinical covariates."""

from __future__ import annotations

from pathlib import Path

from latentsimplex.datasets import load_leukaemia
from latentsimplex.experiments.gene_trial import Study
from latentsimplex.experiments.genes import run_study
from latentsimplex.experiments.result import Progress, Result

STUDY = Study(
    name="leukaemia",
    figure="leukaemia",
    paper={},
    chosen=(),
    notes=(
        "The bundled stand-in for the paper's brain data, which may not travel with the package: the paper "
        "reports nothing for it. The second panel has the four covariates with the smallest p.",
    ),
)


def run(
    n_seeds: int,
    out: Path,
    progress: Progress | None = None,
    *,
    n_samples: int | None = None,
    n_views: int | None = None,
) -> Result:
    """Run :func:`latentsimplex.experiments.genes.run_study` on the bundled leukaemia data; parameters as there."""
    return run_study(STUDY, load_leukaemia(), n_seeds, out, progress, n_samples=n_samples, n_views=n_views)
