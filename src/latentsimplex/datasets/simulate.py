"""The simulations of the paper, each with its true clusters and the oracle's probabilities.

======  ============  ===========  =================================================
symbol  name here     shape        what it is
======  ============  ===========  =================================================
y^(v)   views         V of (n, p)  the data of view v
c^(v)   labels        (V, n)       the true cluster of each sample in view v
x^(v)   patterns      (V,)         the pattern that view v follows
W^(l)   oracle        d of (n, k)  memberships under pattern l, rows on the simplex
P^(l)   coassignment  (n, n)       W W^T, chances that two samples share a cluster
======  ============  ===========  =================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from scipy.stats import cauchy, expon, norm, weibull_max

# weibull_max with shape 1 is the mirrored exponential, -Exp(1).
_MIRRORED_EXPON = weibull_max(1)

# Per setting, per cluster: the laws of the two coordinates, which are independent given the cluster.
_SETTINGS = {
    "a": ((norm(0), norm(0)), (norm(10), norm(10))),
    "b": ((norm(0), norm(0)), (norm(3), norm(3))),
    "c": ((norm(0), norm(0)), (norm(2), norm(2))),
    "d": ((expon(-4), expon(-4)), (_MIRRORED_EXPON, _MIRRORED_EXPON)),
    "e": ((expon(0), expon(0, 10)), (expon(2), expon(15, 10))),
    "f": ((cauchy(0), cauchy(0)), (cauchy(3), cauchy(3))),
    "overlap": ((norm(0), norm(0)), (norm(1), norm(1))),
}

_NOISE_VIEWS = 8

# Bounds the temporaries of many_views to about ten megabytes, whatever the number of views.
_BLOCK_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated views together with the truth behind them.

    Attributes
    ----------
    views : list of ndarray, V of shape (n_samples, n_features)
        The data. From :func:`many_views` it is one array of shape (V, n_samples, 2) instead.
    labels : ndarray of int, shape (V, n_samples)
        The true cluster of each sample in each view.
    patterns : ndarray of int, shape (V,)
        The true pattern of each view.
    oracle : list of ndarray, one per pattern, shape (n_samples, n_clusters of that pattern)
        Membership probabilities that a perfect method would report. Each simulation says which these are.
    """

    views: list[np.ndarray] | np.ndarray
    labels: np.ndarray
    patterns: np.ndarray
    oracle: list[np.ndarray]

    @property
    def bayes_labels(self) -> np.ndarray:
        """Most probable cluster of each sample under the oracle, shape (n_patterns, n_samples).

        No method can be expected to agree better with the true labels, though on one sample it may.
        """
        return np.stack([memberships.argmax(axis=1) for memberships in self.oracle])

    def coassignment(self, pattern: int = 0) -> np.ndarray:
        """Probability that two samples share a cluster under a pattern, the matrix W W^T of its oracle W.

        The diagonal is that of the product, sum_k w_ik^2, the chance that two independent draws for one
        sample agree: below 1 wherever its cluster is in doubt.

        Parameters
        ----------
        pattern : int

        Returns
        -------
        ndarray, shape (n_samples, n_samples)
        """
        memberships = self.oracle[pattern]
        return memberships @ memberships.T


def running_example(
    n_samples: int = 300, separation: float = 4.0, random_state: int | np.random.Generator | None = None
) -> Simulation:
    """Three views in the plane: two that share three clusters and one with two clusters of its own.

    Clusters are Gaussian with unit variance. The three centres stand on an equilateral triangle, which view 1
    turns by a right angle. The paper shows this example but does not state its centres.

    The oracle is Pr(c_i = k | y_i^(0), y_i^(1)) for pattern 0, which two views inform, and
    Pr(c_i = k | y_i^(2)) for pattern 1.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 3; clusters are as equal in size as that allows.
    separation : float
        Distance between neighbouring centres, in standard deviations.
    random_state : int, Generator or None

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = running_example(n_samples=30, random_state=0)
    >>> [view.shape for view in simulation.views], simulation.patterns
    ([(30, 2), (30, 2), (30, 2)], array([0, 0, 1]))
    """
    _check_at_least("n_samples", n_samples, 3)
    _check_at_least("separation", separation, 0)
    rng = np.random.default_rng(random_state)
    three, two = _balanced_labels(rng, n_samples, 3), _balanced_labels(rng, n_samples, 2)
    labels = np.stack([three, three, two])
    centres = [
        separation * _triangle(turn=0.0),
        separation * _triangle(turn=math.pi / 2),
        separation * np.array([[-0.5, 0.0], [0.5, 0.0]]),
    ]
    views = [_gaussian_view(rng, mine, mu) for mine, mu in zip(labels, centres, strict=True)]
    first, second, third = (_gaussian_log_density(view, mu) for view, mu in zip(views, centres, strict=True))
    oracle = [softmax(first + second, axis=1), softmax(third, axis=1)]
    return Simulation(views, labels, np.array([0, 0, 1]), oracle)


def consensus_example(
    n_samples: int = 300, separation: float = 1.0, random_state: int | np.random.Generator | None = None
) -> Simulation:
    """Ten one-dimensional views: two clusters in view 0, three in view 1, none in the other eight.

    View 0 mixes N(0, 1) and N(2, 1); view 1 mixes N(0, 1), N(1, 1) and N(2, 1); views 2 to 9 are N(0, 1).
    The paper reports a consensus of three clusters but leaves open how the two clusterings relate. Here view
    0 merges the first two of view 1's clusters, so that a consensus of three exists; its two clusters
    therefore hold two thirds and one third of the samples.

    The oracle of patterns 0 and 1 is Pr(c_i = k | y_i) given that pattern's own view alone; that of pattern
    2, which the noise views share, is a single column of ones.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 3; view 1's clusters are as equal in size as that allows.
    separation : float
        Factor on the centres: 1 is the paper's, where clusters overlap heavily; more pulls them apart.
    random_state : int, Generator or None

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = consensus_example(n_samples=30, random_state=0)
    >>> simulation.patterns
    array([0, 1, 2, 2, 2, 2, 2, 2, 2, 2])
    >>> [memberships.shape for memberships in simulation.oracle]
    [(30, 2), (30, 3), (30, 1)]
    """
    _check_at_least("n_samples", n_samples, 3)
    _check_at_least("separation", separation, 0)
    rng = np.random.default_rng(random_state)
    fine = _balanced_labels(rng, n_samples, 3)
    coarse = np.where(fine == 2, 1, 0)
    coarse_centres = separation * np.array([[0.0], [2.0]])
    fine_centres = separation * np.array([[0.0], [1.0], [2.0]])
    two, three = _gaussian_view(rng, coarse, coarse_centres), _gaussian_view(rng, fine, fine_centres)
    noise = rng.standard_normal((_NOISE_VIEWS, n_samples, 1))
    return Simulation(
        views=[two, three, *noise],
        labels=np.stack([coarse, fine] + [np.zeros_like(fine)] * _NOISE_VIEWS),
        patterns=np.array([0, 1] + [2] * _NOISE_VIEWS),
        oracle=[
            softmax(_gaussian_log_density(two, coarse_centres) + np.log([2 / 3, 1 / 3]), axis=1),
            softmax(_gaussian_log_density(three, fine_centres), axis=1),
            np.ones((n_samples, 1)),
        ],
    )


def single_view(
    setting: str, n_samples: int = 400, random_state: int | np.random.Generator | None = None
) -> Simulation:
    """Two equal clusters in the plane, from one of the settings of the paper's Table 1.

    ========  ============================  =============================
    setting   first cluster                 second cluster
    ========  ============================  =============================
    a         N(0, 1), N(0, 1)              N(10, 1), N(10, 1)
    b         N(0, 1), N(0, 1)              N(3, 1), N(3, 1)
    c         N(0, 1), N(0, 1)              N(2, 1), N(2, 1)
    d         Exp(1) - 4, Exp(1) - 4        -Exp(1), -Exp(1)
    e         Exp(1), Exp(10)               Exp(1) + 2, Exp(10) + 15
    f         Cauchy, Cauchy                Cauchy + 3, Cauchy + 3
    overlap   N(0, 1), N(0, 1)              N(1, 1), N(1, 1)
    ========  ============================  =============================

    Exp(m) has mean m: with rate 10 instead, setting e would be trivial, which the paper's scores rule out.

    The oracle is Pr(c_i = k | y_i) under the true densities, with weights one half.

    Parameters
    ----------
    setting : {"a", "b", "c", "d", "e", "f", "overlap"}
        Which pair of clusters.
    n_samples : int
        Number of samples, at least 2; an odd one goes to the first cluster.
    random_state : int, Generator or None

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = single_view("b", n_samples=10, random_state=0)
    >>> np.bincount(simulation.labels[0])
    array([5, 5])
    """
    if setting not in _SETTINGS:
        raise ValueError(f"setting {setting!r} is unknown: choose one of {', '.join(_SETTINGS)}.")
    _check_at_least("n_samples", n_samples, 2)
    rng = np.random.default_rng(random_state)
    labels = _balanced_labels(rng, n_samples, 2)
    clusters = _SETTINGS[setting]
    # Both clusters draw a point for every sample; its label says which of the two it keeps.
    draws = np.array([[law.rvs(n_samples, random_state=rng) for law in laws] for laws in clusters])
    view = draws[labels, :, np.arange(n_samples)]
    log_density = np.array([x_law.logpdf(view[:, 0]) + y_law.logpdf(view[:, 1]) for x_law, y_law in clusters])
    return Simulation([view], labels[None], np.array([0]), [softmax(log_density.T, axis=1)])


def many_views(
    n_views: int = 50_000,
    n_samples: int = 150,
    n_patterns: int = 5,
    n_clusters: int = 3,
    concentration: float = 0.3,
    random_state: int | np.random.Generator | None = None,
) -> Simulation:
    """A great many views in the plane, each following one of a few patterns.

    Under each pattern every sample has a main cluster, and its memberships are drawn once as
    w_i ~ Dirichlet(one-hot of the main cluster + concentration). Each view picks a pattern uniformly, draws
    every sample's cluster from its w_i, and then y_i ~ N(mu_k, I) with centres (0, 0), (2, 2), (-2, -2) and
    so on outwards along that line. The paper sorts the samples by cluster for display; here their order is
    random, and main clusters are independent between patterns.

    The oracle is the true W of each pattern: the chances from which every view's clusters are drawn, which no
    single view could reveal.

    Parameters
    ----------
    n_views : int
        Number of views. At the default sizes the data take 120 MB.
    n_samples : int
        Number of samples, at least `n_clusters`; main clusters are as equal in size as that allows.
    n_patterns, n_clusters : int
        Number of patterns, and of clusters in each.
    concentration : float
        How far memberships spread beyond the main cluster: 0 leaves no doubt at all.
    random_state : int, Generator or None

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = many_views(n_views=100, n_samples=12, random_state=0)
    >>> simulation.views.shape, len(simulation.oracle), simulation.oracle[0].shape
    ((100, 12, 2), 5, (12, 3))
    """
    for name, count in (("n_views", n_views), ("n_patterns", n_patterns), ("n_clusters", n_clusters)):
        _check_at_least(name, count, 1)
    _check_at_least("n_samples", n_samples, n_clusters)
    _check_at_least("concentration", concentration, 0)
    rng = np.random.default_rng(random_state)
    main = np.stack([_balanced_labels(rng, n_samples, n_clusters) for _ in range(n_patterns)])
    # Gamma draws over their sum are a Dirichlet draw, here for all rows at once.
    memberships = rng.standard_gamma(np.eye(n_clusters)[main] + concentration)
    memberships /= memberships.sum(axis=-1, keepdims=True)
    # The last threshold is 1 but for rounding; without it no draw can fall beyond the last cluster.
    thresholds = memberships.cumsum(axis=-1)[..., :-1]
    steps = np.arange(n_clusters)
    positions = 2.0 * ((steps + 1) // 2) * np.where(steps % 2, 1, -1)

    patterns = rng.integers(n_patterns, size=n_views)
    labels = np.empty((n_views, n_samples), dtype=np.intp)
    views = np.empty((n_views, n_samples, 2))
    block_size = max(1, _BLOCK_ENTRIES // (n_samples * n_clusters))
    for start in range(0, n_views, block_size):
        block = slice(start, start + block_size)
        uniform = rng.random((len(patterns[block]), n_samples, 1))
        labels[block] = (uniform >= thresholds[patterns[block]]).sum(axis=-1)
        rng.standard_normal(out=views[block])
        views[block] += positions[labels[block]][..., None]
    return Simulation(views, labels, patterns, list(memberships))


def _check_at_least(name: str, value: float, least: float) -> None:
    """Raise unless `value` is finite and no smaller than `least`."""
    if not least <= value < math.inf:
        raise ValueError(f"{name} is {value}: choose a finite value of at least {least}.")


def _balanced_labels(rng: np.random.Generator, n_samples: int, n_clusters: int) -> np.ndarray:
    """Labels in random order, each as frequent as the others to within one."""
    return rng.permutation(np.arange(n_samples) % n_clusters)


def _triangle(turn: float) -> np.ndarray:
    """Corners of the equilateral triangle of side 1 around the origin, turned by an angle."""
    angles = turn + 2 * np.pi * np.arange(3) / 3
    return np.column_stack([np.cos(angles), np.sin(angles)]) / math.sqrt(3)


def _gaussian_view(rng: np.random.Generator, labels: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Unit-variance Gaussian samples around the centres of their clusters."""
    return centres[labels] + rng.standard_normal((len(labels), centres.shape[1]))


def _gaussian_log_density(view: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Log density of each sample under each cluster, up to a constant that all clusters share."""
    return -0.5 * np.square(view[:, None, :] - centres).sum(axis=-1)
