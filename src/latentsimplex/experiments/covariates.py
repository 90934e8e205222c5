"""Labels against covariates: normalised mutual information, its maximum over labelings, and what chance gives.

| symbol | name in code | shape | what it is |
|---|---|---|---|
| c^(v) | labelings | (L, n) | the distinct ones among the views' labels; views of one pattern share theirs |
| | codes | (n,) | a covariate's levels as whole numbers, -1 where it is missing |
| NMI | | (L, B) | 2 (H(a) + H(b) - H(a, b)) / (H(a) + H(b)), the arithmetic-mean variant |
| MaxNMI | largest | | the largest NMI of a covariate over labelings, and so over views |

The more levels a covariate has, or a labeling, the larger is NMI between unrelated ones. A fixed cut-off is
therefore not the same test for every covariate; the permutation p-value of MaxNMI is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latentsimplex._types import Array, Indices

MOST_VALUES = 7
"""Numbers with more distinct values than this are cut at their quartiles; scores such as 0 to 6 are not."""
LEAST_PER_LEVEL = 2
"""Fewest samples per level on average; with fewer a covariate names samples, as identifiers and dates do."""
PROBABILITIES = tuple(round(0.1 * k, 1) for k in range(1, 10))
"""Chances of a one in the paper's random labels."""
N_PERMUTATIONS = 1999
LEVEL = 0.05
MISSING = -1

_BLOCK = 2_000_000
"""Most cells of contingency tables at a time."""


@dataclass(frozen=True, eq=False)
class Levels:
    """A covariate as levels.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        The level of each sample, from 0; -1 is missing.
    kind : str
        "categories" for text, "values" for numbers as they are, "quartiles" for numbers cut into quarters.
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
    """How labelings relate to one covariate.

    Attributes
    ----------
    scores : ndarray, shape (L,)
        NMI of each labeling with the covariate.
    best : int
        The first labeling with the largest NMI.
    n_samples : int
        Samples with a value, which alone are compared.
    baseline : float
        The paper's: the largest NMI of random labels with the covariate.
    threshold : float
        What the largest NMI exceeds in one of twenty permutations of the covariate.
    p_value : float
        Of the largest NMI, by permutation.
    """

    scores: Array
    best: int
    n_samples: int
    baseline: float
    threshold: float
    p_value: float

    @property
    def largest(self) -> float:
        """The largest NMI."""
        return float(self.scores[self.best])


def as_levels(column: np.ndarray, most_values: int = MOST_VALUES) -> Levels:
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
    if numeric and len(np.unique(values)) > most_values:
        kind = "quartiles"
        cuts = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
        values = np.searchsorted(cuts, values, side="left")
    codes = np.full(len(column), MISSING)
    codes[present] = np.unique(values, return_inverse=True)[1].reshape(-1)
    return Levels(codes, kind)


def distinct_labelings(labels: np.ndarray) -> tuple[Indices, Indices]:
    """Return the distinct partitions among rows of labels, and which of them each row is.

    Labels are numbered by first appearance, so that the same partition under other names is the same row.

    >>> labelings, which = distinct_labelings(np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1]]))
    >>> labelings.tolist(), which.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 0, 1])
    """
    renamed = np.empty(labels.shape, dtype=np.intp)
    for row, own in zip(renamed, labels, strict=True):
        _, first, inverse = np.unique(own, return_index=True, return_inverse=True)
        row[:] = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    labelings, which = np.unique(renamed, axis=0, return_inverse=True)
    return labelings, which.reshape(-1)


def nmi_table(labelings: np.ndarray, others: np.ndarray) -> Array:
    """Return the NMI of each of L labelings with each of B others, over the same n samples.

    All contingency tables come from products of indicator matrices, in blocks of ``others``. Two labelings
    without any split have NMI 1, as in scikit-learn.

    Parameters
    ----------
    labelings : (L, n) array
    others : (B, n) array

    Returns
    -------
    (L, B) array

    Examples
    --------
    >>> nmi_table(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.array([[7, 7, 3, 3]]))
    array([[1.],
           [0.]])
    """
    n = labelings.shape[1]
    one, two = _indicators(labelings), _indicators(others)
    nlogn = np.arange(n + 1) * np.log(np.maximum(np.arange(n + 1), 1))
    sums = _sums(one, nlogn)[:, None] + _sums(two, nlogn)[None, :]
    table = np.empty((len(one), len(two)))
    step = max(1, _BLOCK // (one.shape[0] * one.shape[1] * two.shape[1]))
    for start in range(0, len(two), step):
        block = two[start : start + step]
        # whole numbers below 2^24 are exact in single precision
        counts = one.reshape(-1, n) @ block.reshape(-1, n).T
        terms = nlogn[counts.astype(np.intp)].reshape(*one.shape[:2], *block.shape[:2])
        joint = terms.sum(axis=(1, 3))
        table[:, start : start + step] = _normalised(sums[:, start : start + step], joint, float(nlogn[n]))
    return table


def random_baseline(
    codes: np.ndarray,
    n_views: int,
    rng: np.random.Generator,
    probabilities: Sequence[float] = PROBABILITIES,
) -> float:
    """Return the paper's baseline of MaxNMI, the largest NMI of random labels with a covariate.

    For each probability ``n_views`` vectors of independent Bernoulli labels are drawn, one for each view.
    They have two clusters at most, so against labelings with more the baseline is too low.
    """
    draws = rng.random((len(probabilities), n_views, len(codes)))
    vectors = draws < np.array(probabilities)[:, None, None]
    return max(float(nmi_table(labels, codes[None]).max()) for labels in vectors)


def permuted_maxima(
    labelings: np.ndarray, codes: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> Array:
    """Return MaxNMI over the labelings for each of ``n_permutations`` shuffles of a covariate's samples.

    Permuting the covariate leaves the labelings together, so the maxima are those of labelings that are
    related to one another as they are here, and to the covariate not at all.
    """
    shuffled = rng.permuted(np.tile(codes, (n_permutations, 1)), axis=1)
    return nmi_table(labelings, shuffled).max(axis=0)


def permutation_p(observed: float, maxima: np.ndarray) -> float:
    """Return the share of maxima that reach what was observed, which itself counts as one of them.

    >>> permutation_p(0.3, np.array([0.1, 0.2, 0.3]))
    0.5
    """
    # equal tables can differ in the last digits, because their terms are summed in another order
    reached = np.sum(maxima >= observed - 1e-9)
    return float((1 + reached) / (1 + len(maxima)))


def associate(
    labelings: np.ndarray,
    levels: Levels,
    n_views: int,
    rng: np.random.Generator,
    n_permutations: int = N_PERMUTATIONS,
) -> Association:
    """Return how labelings relate to a covariate, over the samples that have a value of it.

    Parameters
    ----------
    labelings : (L, n) array
        Distinct ones: repeated rows would only repeat the same numbers.
    levels : Levels
    n_views : int
        How many views the labelings stand for, and so how many random vectors the baseline draws.
    rng : Generator
    n_permutations : int

    Returns
    -------
    Association
    """
    present = levels.present
    labelings, codes = labelings[:, present], levels.codes[present]
    scores = nmi_table(labelings, codes[None])[:, 0]
    best = int(scores.argmax())
    maxima = permuted_maxima(labelings, codes, n_permutations, rng)
    return Association(
        scores=scores,
        best=best,
        n_samples=len(codes),
        baseline=random_baseline(codes, n_views, rng),
        threshold=float(np.quantile(maxima, 1 - LEVEL)),
        p_value=permutation_p(float(scores[best]), maxima),
    )


def ranked_views(scores: np.ndarray, certainty: np.ndarray) -> Indices:
    """Return the views by score, largest first; ties by how surely a view follows its pattern, then in order.

    >>> ranked_views(np.array([0.1, 0.4, 0.4, 0.4]), np.array([1.0, 0.6, 0.9, 0.6]))
    array([2, 1, 3, 0])
    """
    return np.lexsort((-certainty, -scores))


def _indicators(labelings: np.ndarray) -> np.ndarray:
    """Return (L, K, n) ones and zeros: whether sample i has label k in labeling l."""
    names, codes = np.unique(labelings, return_inverse=True)
    codes = codes.reshape(labelings.shape)
    return (codes[:, None, :] == np.arange(len(names))[:, None]).astype(np.float32)


def _sums(indicators: np.ndarray, nlogn: Array) -> Array:
    """Return the sum over clusters of size times log size, for each labeling."""
    return nlogn[indicators.sum(axis=2).astype(np.intp)].sum(axis=1)


def _normalised(sums: Array, joint: Array, whole: float) -> Array:
    """Return NMI from sums of count times log count: both labelings', the table's, and n log n.

    With these sums n H = n log n - sum for each of the three entropies.
    """
    entropies = 2 * whole - sums
    information = entropies - (whole - joint)
    least = 1e-12 * max(whole, 1)  # what is smaller is rounding
    score = 2 * np.where(information > least, information, 0) / np.maximum(entropies, least)
    return np.where(entropies > least, score, 1.0)
