"""Labels compared with covariates: normalised mutual information, its maximum over labelings, what chance gives.

| symbol | name in code | shape | what it is |
|---|---|---|---|
| c^(v) | labelings | (L, n) | the distinct ones among the views' labels; views of one pattern share theirs |
| | codes | (n,) | a covariate's levels as whole numbers, -1 where it is missing |
| NMI | scores | (L,) | 2 (H(a) + H(b) - H(a, b)) / (H(a) + H(b)), the arithmetic-mean variant |
| MaxNMI | largest | | the largest NMI of a covariate over labelings, and so over views |

As in the paper numbers are compared as levels too; the comparison itself is that of
``latentsimplex.analysis.screening``. The more levels a covariate has, or a labeling, the larger is NMI between
unrelated ones. A fixed cut-off is therefore not the same test for every covariate; the permutation p-value of
MaxNMI is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentsimplex.analysis.screening import screen
from latentsimplex.base.checks import renumber_labels
from latentsimplex.base.types import Array, Indices

MOST_VALUES = 7
"""Numbers with more distinct values than this are cut at their quartiles; scores such as 0 to 6 are not."""
LEAST_PER_LEVEL = 2
"""Fewest samples per level on average; with fewer a covariate names samples, as identifiers and dates do."""
N_PERMUTATIONS = 1999
LEVEL = 0.05
MISSING = -1


@dataclass(frozen=True, eq=False)
class Levels:
    """A covariate as levels: that of each sample (n,), from 0, where -1 is missing, and what they are.

    They are "categories" of text, "values" of numbers as they are, or "quartiles", numbers cut into quarters.
    """

    codes: Indices
    kind: str

    @property
    def present(self) -> np.ndarray:
        """Which samples have a level."""
        return self.codes != MISSING

    @property
    def n_levels(self) -> int:
        """How many levels occur."""
        return len(np.unique(self.codes[self.present]))

    @property
    def usable(self) -> bool:
        """Whether there are two levels or more, and not so many that they name samples."""
        return 2 <= self.n_levels <= self.present.sum() / LEAST_PER_LEVEL


@dataclass(frozen=True, eq=False)
class Association:
    """How labelings relate to one covariate: the NMI of each (L,), over samples with a value, and what chance gives.

    The baseline is the paper's, the largest NMI of random labels. The threshold is what the largest NMI exceeds in one
    of twenty permutations of the covariate, by which it has a p-value.
    """

    scores: Array
    n_samples: int
    baseline: float
    threshold: float
    p_value: float

    @property
    def largest(self) -> float:
        """The largest NMI."""
        return float(self.scores.max())


def as_levels(column: np.ndarray) -> Levels:
    """Return a covariate as levels; nan and "" are missing.

    Text is taken as categories and numbers with few distinct values as they are. Other numbers are cut at
    their quartiles, a value on a cut going below it, so that ties can leave fewer than four groups.

    >>> as_levels(np.array(["F", "", "M"])).codes
    array([ 0, -1,  1])
    >>> as_levels(np.array([5.0, 1, 2, 3, 4, 6, 7, 8, np.nan])).codes
    array([ 2,  0,  0,  1,  1,  2,  3,  3, -1])
    """
    column = np.asarray(column)
    numeric = column.dtype.kind in "biuf"
    present = ~np.isnan(column.astype(float)) if numeric else column.astype(str) != ""
    values = column[present]
    kind = "values" if numeric else "categories"
    if numeric and len(np.unique(values)) > MOST_VALUES:
        kind = "quartiles"
        cuts = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
        values = np.searchsorted(cuts, values, side="left")
    codes = np.full(len(column), MISSING)
    codes[present] = np.unique(values, return_inverse=True)[1].reshape(-1)
    return Levels(codes, kind)


def distinct_labelings(labels: np.ndarray) -> tuple[Indices, Indices]:
    """Return the distinct partitions among rows of labels, and which of them each row is.

    The same partition under other names is the same row: its labels are numbered as they first appear.

    >>> labelings, which = distinct_labelings(np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1]]))
    >>> labelings.tolist(), which.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 0, 1])
    """
    labelings, which = np.unique(renumber_labels(labels), axis=0, return_inverse=True)
    return labelings, which.reshape(-1)


def associate(
    labelings: np.ndarray,
    which: Indices,
    levels: Levels,
    rng: np.random.Generator,
    n_permutations: int = N_PERMUTATIONS,
) -> Association:
    """Return how distinct labelings (L, n) relate to a covariate, over the samples that have a value of it.

    ``which`` (V,) is the labeling of each view: the baseline draws a random vector for each.
    """
    present = levels.present
    found = screen(
        labelings[:, present],
        which,
        {"levels": levels.codes[present]},
        categorical=["levels"],
        n_permutations=n_permutations,
        baseline=True,
        random_state=rng,
    )
    assert found.baselines is not None
    return Association(
        scores=found.statistics[:, 0],
        n_samples=int(found.n_samples[0]),
        baseline=float(found.baselines[0]),
        threshold=float(found.threshold(LEVEL)[0]),
        p_value=float(found.maxima_p_values[0]),
    )
