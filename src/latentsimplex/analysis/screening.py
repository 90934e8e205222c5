"""Screening of views against covariates (section 5.2.3, Figure 10), with p-values corrected for multiple testing.

============ ================= ========== ====================================================
symbol       name              shape      meaning
============ ================= ========== ====================================================
c^(l)        ``labels``        P x n      joint labels of the patterns; views of a pattern share them
T            ``statistics``    P x C      how patterns relate to covariates
pi           ``orders``        B x n      permutations of the samples, the same for all covariates
z                              P x C      T as a normal score, comparable over patterns and covariates
============ ================= ========== ====================================================

A categorical covariate is compared by mutual information (or the adjusted Rand index), a numeric one by the
share of the variance of its ranks that lies between clusters, epsilon^2 = H / (n - 1) with H the Kruskal-Wallis
statistic. The null hypothesis is that a covariate has nothing to do with any pattern. Shuffling the covariates
keeps the patterns, and the covariates, related to one another as they are.

The larger a table, the larger is T between unrelated partitions. Maxima over covariates are therefore those of
normal scores, see :func:`latentsimplex.analysis.permutation.normal_scores`.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from latentsimplex.analysis.permutation import (
    SHUFFLED_AT_ONCE,
    adjust_for_false_discovery,
    check_pattern_labels,
    draw_orders,
    maximum_p_values,
    normal_scores,
    permutation_p_values,
)
from latentsimplex.base.checks import check_count, make_generator
from latentsimplex.base.table import Table
from latentsimplex.base.types import Array, Indices
from latentsimplex.results.results import results_of

STATISTICS = ("nmi", "ami", "ari")
"""Normalised and adjusted mutual information (arithmetic means), and the adjusted Rand index."""
RANKS = "epsilon_squared"
PROBABILITIES = tuple(k / 10 for k in range(1, 10))
"""Chances of a one in the paper's random labels."""


@dataclass(frozen=True, eq=False)
class Covariate:
    """Codes of levels ("categorical") or centred ranks ("numeric") of the samples that are ``present`` (n,)."""

    name: str
    kind: str
    present: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Screening:
    """How the patterns of the views relate to covariates; axis 1 is in the order of ``covariates``.

    Attributes
    ----------
    covariates, kinds : tuples of str
        Names, and "categorical" or "numeric".
    n_samples : (C,) array
        Samples that have a value, which alone are compared.
    statistics : (P, C) array
        The chosen statistic, or epsilon^2 for numeric covariates.
    effects : dict of str to (P, C) array
        "nmi", "ami" and "ari" of categorical covariates, "epsilon_squared" of numeric ones; nan elsewhere.
    p_values : (P, C) array
        By permutation, of each pattern with each covariate.
    familywise : (P, C) array
        p-values of the largest normal score over all patterns and covariates (Westfall and Young's max T):
        the chance of one false finding or more among those at or below a level is at most the level.
    false_discovery : (P, C) array
        p-values adjusted by Benjamini and Hochberg: the expected share of false findings.
    maxima, maxima_p_values : (C,) arrays
        The largest statistic over views, and its p-value by permutation.
    permuted_maxima : (B, C) array
        The largest statistic over views in each permutation.
    baselines : (C,) array or None
        The paper's: the largest statistic of random labels, if asked for.
    view_names, view_patterns, certainty : (V,) arrays
    """

    covariates: tuple[str, ...]
    kinds: tuple[str, ...]
    n_samples: Indices
    statistics: Array
    p_values: Array
    familywise: Array
    false_discovery: Array
    maxima: Array
    maxima_p_values: Array
    permuted_maxima: Array
    baselines: Array | None
    view_names: np.ndarray
    view_patterns: Indices
    certainty: Array
    effects: dict[str, Array]

    def __repr__(self) -> str:
        patterns, covariates = self.statistics.shape
        return f"Screening({patterns} patterns, {covariates} covariates, {len(self.permuted_maxima):,} permutations)"

    def threshold(self, level: float = 0.05) -> Array:
        """Return for each covariate what the largest statistic over views exceeds by chance with this probability."""
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} is not valid: give a probability between 0 and 1.")
        return np.quantile(self.permuted_maxima, 1 - level, axis=0)

    def best_views(self) -> Table:
        """Return a table with a row for each covariate: the view most related to it, and what chance would give."""
        columns = np.arange(len(self.covariates))
        best = np.argmax(self.statistics, axis=0)
        surest = [np.argmax(np.where(self.view_patterns == l, self.certainty, -np.inf)) for l in best]
        rows = {
            "covariate": np.array(self.covariates),
            "kind": np.array(self.kinds),
            "n_samples": self.n_samples,
            "view": self.view_names[surest],
            "pattern": best,
            "n_views": np.bincount(self.view_patterns)[best],
            "statistic": self.maxima,
            "threshold": self.threshold(),
            "maximum_p_value": self.maxima_p_values,
            "familywise": self.familywise[best, columns],
            "false_discovery": self.false_discovery[best, columns],
        }
        return Table(rows if self.baselines is None else {**rows, "baseline": self.baselines})

    def views(self, covariate: str) -> Table:
        """Return a table with a row for each view, the most related first; ties by certainty, then by order."""
        if covariate not in self.covariates:
            listed = ", ".join(self.covariates)
            raise ValueError(f"covariate={covariate!r} was not screened: choose one of {listed}.")
        c, patterns = self.covariates.index(covariate), self.view_patterns
        table = Table(
            {
                "view": self.view_names,
                "pattern": patterns,
                "statistic": self.statistics[patterns, c],
                "p_value": self.p_values[patterns, c],
                "familywise": self.familywise[patterns, c],
                "false_discovery": self.false_discovery[patterns, c],
            }
        )
        return table.rows(np.lexsort((-self.certainty, -table["statistic"])))

    def table(self) -> Table:
        """Return a table with a row for each pattern and covariate, the smallest p-value first, with all measures."""
        P, C = self.statistics.shape
        patterns, columns = np.divmod(np.arange(P * C), C)
        table = Table(
            {
                "covariate": np.array(self.covariates)[columns],
                "pattern": patterns,
                "n_views": np.bincount(self.view_patterns)[patterns],
                **{name: values.ravel() for name, values in self.effects.items()},
                "p_value": self.p_values.ravel(),
                "familywise": self.familywise.ravel(),
                "false_discovery": self.false_discovery.ravel(),
            }
        )
        return table.rows(np.lexsort((-self.statistics.ravel(), table["p_value"])))


def screen(
    pattern_labels: Any,
    view_patterns: Any,
    covariates: Any,
    *,
    statistic: str = "nmi",
    categorical: Sequence[str] = (),
    n_permutations: int = 10_000,
    baseline: bool = False,
    view_names: Any = None,
    certainty: Any = None,
    random_state: Any = None,
) -> Screening:
    """Compare the labels of each pattern, and so of each view, with each covariate, by permutation tests.

    Parameters
    ----------
    pattern_labels : (P, n) array
        Labels of the patterns.
    view_patterns : (V,) array
        The pattern of each view; each pattern has one view or more.
    covariates : dict, Table or data frame of columns of length n
        Numbers and dates are compared by ranks; text, truth values and pandas categories as categories. None,
        nan and "" are missing: the sample is left out of that covariate's comparisons.
    statistic : "nmi", "ami" or "ari"
        Of categorical covariates. The first two have the same p-values, but not the same maxima.
    categorical : sequence of str
        Covariates with numbers that only name levels.
    n_permutations : int
    baseline : bool
        Whether to add the paper's baselines, the largest statistic of random Bernoulli labels, with chances of
        a one from 0.1 to 0.9 and each time as many vectors as views. They have two clusters and are too low
        for patterns with more.
    view_names, certainty : (V,) arrays or None
        Names of the views, and how surely each follows its pattern, which orders views of one pattern.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Screening

    Examples
    --------
    >>> labels = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], 5, axis=1)
    >>> found = screen(labels, [0, 1, 1], {"sex": ["F"] * 10 + ["M"] * 10}, n_permutations=999, random_state=0)
    >>> found.statistics.round(6).tolist(), found.familywise.tolist()
    ([[1.0], [0.0]], [[0.001], [1.0]])
    """
    labels = check_pattern_labels(pattern_labels)
    patterns = _checked_view_patterns(view_patterns, len(labels))
    if statistic not in STATISTICS:
        raise ValueError(f"statistic={statistic!r} is unknown: choose one of {', '.join(STATISTICS)}.")
    columns = read_covariates(covariates, labels.shape[1], categorical)
    n_rows = check_count("n_permutations", n_permutations) + 1
    rng = make_generator(random_state)
    orders = draw_orders(n_rows, labels.shape[1], rng)

    maxima, largest = np.empty((n_rows, len(columns))), np.full(n_rows, -np.inf)
    scores, p_values = np.empty((2, len(labels), len(columns)))
    statistics = np.empty_like(scores)
    for c, column in enumerate(columns):
        T = shuffled_statistics(labels, column, orders, statistic)
        z = normal_scores(T)
        statistics[:, c], scores[:, c] = T[0], z[0]
        p_values[:, c] = permutation_p_values(T)
        maxima[:, c] = T.max(axis=1)
        largest = np.maximum(largest, z.max(axis=1))
    return Screening(
        covariates=tuple(column.name for column in columns),
        kinds=tuple(column.kind for column in columns),
        n_samples=np.array([column.present.sum() for column in columns]),
        statistics=statistics,
        p_values=p_values,
        familywise=maximum_p_values(scores, largest),
        false_discovery=adjust_for_false_discovery(p_values, np.isfinite(scores)),
        maxima=maxima[0],
        maxima_p_values=permutation_p_values(maxima),
        permuted_maxima=maxima[1:],
        baselines=_baselines(columns, statistic, len(patterns), rng) if baseline else None,
        view_names=_one_per_view("view_names", np.arange(len(patterns)), view_names),
        view_patterns=patterns,
        certainty=_one_per_view("certainty", np.ones(len(patterns)), certainty),
        effects=_effects(labels, columns),
    )


def screen_model(model: Any, covariates: Any, **settings: Any) -> Screening:
    """Return :func:`screen` of a fitted model's patterns and views; ``settings`` are passed on.

    A data frame whose index holds the names of the model's samples is put in their order. Rows of anything
    else are taken to be in order.
    """
    results = results_of(model)
    return screen(
        results.pattern_labels,
        results.view_patterns,
        _in_order(covariates, results.sample_names),
        view_names=results.view_names,
        certainty=results.view_responsibilities.max(axis=1),
        **settings,
    )


def read_covariates(covariates: Any, n_samples: int, categorical: Sequence[str] = ()) -> list[Covariate]:
    """Return the covariates as codes or ranks, or raise ValueError for one that cannot be compared.

    >>> [(c.name, c.kind, c.values.tolist()) for c in read_covariates({"age": [60, None, 50], "sex": list("FMF")}, 3)]
    [('age', 'numeric', [0.5, -0.5]), ('sex', 'categorical', [0, 1, 0])]
    """
    names = list(covariates) if isinstance(covariates, Mapping) else list(getattr(covariates, "columns", []))
    if not names:
        raise ValueError("There are no covariates: give a dict or a data frame with a column for each.")
    unknown = sorted(set(categorical) - set(names))
    if unknown:
        raise ValueError(f"categorical has {unknown[0]!r}, which is not a covariate: name covariates.")
    return [_read(str(name), covariates[name], n_samples, name in categorical) for name in names]


def shuffled_statistics(
    labels: np.ndarray, covariate: Covariate, orders: np.ndarray, statistic: str
) -> Array:
    """Return T (B, P) of each row of labels with the covariate shuffled by each order of all samples.

    Samples without a value keep their place: those with one are shuffled among themselves, in the sequence in
    which the order has them, so that covariates with the same samples are shuffled alike.
    """
    from latentsimplex.analysis import _contingency_loops as contingency

    present, values = covariate.present, covariate.values
    labels = labels if present.all() else np.ascontiguousarray(labels[:, present])
    kept = orders[present[orders]].reshape(len(orders), len(values))
    places = (np.cumsum(present) - 1).astype(np.int32)[kept]
    if covariate.kind == "numeric":
        return contingency.shuffled_spread(labels, values, places) / np.square(values).sum()
    sums = contingency.shuffled_sums(labels, values, places, contingency.list_costs(statistic, len(values)))
    sizes = contingency.cluster_sizes(labels)
    return contingency.scale_sums(sums, sizes, np.tile(np.bincount(values), (len(sizes), 1)), statistic)


def _read(name: str, column: Any, n_samples: int, categorical: bool) -> Covariate:
    categorical = categorical or getattr(getattr(column, "dtype", None), "name", "") == "category"
    column = np.asarray(column)
    if column.shape != (n_samples,):
        raise ValueError(
            f"covariates[{name!r}] has shape {column.shape} and there are {n_samples} samples: give one value each."
        )
    present = ~np.array([_is_missing(value) for value in column])
    values = column[present]
    if not len(values):
        raise ValueError(f"covariates[{name!r}] has no values at all: leave it out.")
    if not categorical and _is_numeric(values):
        numeric = values.astype("int64" if values.dtype.kind in "mM" else np.float64)
        coded: np.ndarray = rankdata(numeric) - (len(values) + 1) / 2
    else:
        categorical = True
        coded = np.unique(values.astype(str), return_inverse=True)[1].astype(np.int32)
    if len(np.unique(coded)) == 1:
        raise ValueError(f"covariates[{name!r}] is {values[0]!s} wherever it has a value: leave it out.")
    return Covariate(name, "categorical" if categorical else "numeric", present, coded)


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value == ""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _is_numeric(values: np.ndarray) -> bool:
    if values.dtype.kind == "O":
        return all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in values)
    return values.dtype.kind in "iufmM"


def _in_order(covariates: Any, sample_names: Any) -> Any:
    """Return the rows of a frame in the order of the samples where its index holds their names."""
    index = [str(name) for name in getattr(covariates, "index", [])]
    names = [] if sample_names is None else [str(name) for name in sample_names]
    if index == names or not set(index) & set(names):
        return covariates
    counts, place = Counter(index), {name: i for i, name in enumerate(index)}
    lost = [name for name in names if counts[name] != 1]
    if lost:
        raise ValueError(f"covariates has no row, or several, for sample {lost[0]!r}: give each sample one.")
    return covariates.iloc[[place[name] for name in names]]


def _effects(labels: np.ndarray, columns: list[Covariate]) -> dict[str, Array]:
    shape, order = (len(labels), len(columns)), np.arange(labels.shape[1])[None]
    effects = {name: np.full(shape, np.nan) for name in (*STATISTICS, RANKS)}
    for c, column in enumerate(columns):
        for name in STATISTICS if column.kind == "categorical" else (RANKS,):
            effects[name][:, c] = shuffled_statistics(labels, column, order, name)[0]
    return effects


def _baselines(columns: list[Covariate], statistic: str, n_views: int, rng: np.random.Generator) -> Array:
    """Return the largest statistic of Bernoulli labels with each covariate, over chances and ``n_views`` vectors."""
    n = len(columns[0].present)
    order = np.arange(n)[None]
    largest = np.full(len(columns), -np.inf)
    step = max(1, SHUFFLED_AT_ONCE // n)
    for chance in PROBABILITIES:
        for start in range(0, n_views, step):
            labels = (rng.random((min(step, n_views - start), n)) < chance).astype(np.int32)
            found = [shuffled_statistics(labels, column, order, statistic).max() for column in columns]
            largest = np.maximum(largest, found)
    return largest


def _checked_view_patterns(view_patterns: Any, n_patterns: int) -> Indices:
    patterns = np.asarray(view_patterns)
    if patterns.ndim != 1 or not np.array_equal(np.unique(patterns), np.arange(n_patterns)):
        raise ValueError(
            f"view_patterns does not hold each of 0 to {n_patterns - 1}: give each view its row of pattern_labels, "
            "and leave out the labels of patterns that no view follows."
        )
    return patterns.astype(np.intp)


def _one_per_view(name: str, default: np.ndarray, values: Any) -> np.ndarray:
    given = default if values is None else np.asarray(values)
    if given.shape != default.shape:
        raise ValueError(f"{name} has shape {given.shape} for {len(default)} views: give one per view.")
    return given
