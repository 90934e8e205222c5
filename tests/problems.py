"""Small random problems, as the package's objects and as the plain arrays they were made from."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, softmax

from latentsimplex.base.condensed import pack_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import as_views
from latentsimplex.model import em
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import Fit, Model, Problem, Schedule, State
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import BlockPasses, InMemoryPairs, ViewReader
from latentsimplex.search import runs
from latentsimplex.search.states import make_spectral_state, state_from_groups, state_from_labels
from latentsimplex.search.view_groups import find_structure, make_groups
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import clip_exponents

KINDS = ["reverse", "forward"]
PENALTY_NAMES = ["group", "dirichlet", None]
TEMPERATURES = [1.0, 4.0]
KERNEL = LocalScaling(quantile=0.3)
HALVES, THIRDS = np.repeat([0, 1], 9), np.tile([0, 1, 2], 6)
TWO_PATTERNS = np.array([0, 1, 0, 0, 1, 1])
"""Which of two patterns each of the :func:`views_of_two_patterns` follows."""


def read_pairs(views, kernel, divergence, workers=None, keep="whole", **settings):
    """Return the pair values of views in memory, with the backend that suits them."""
    workers, views = workers or Workers(1), as_views(views)
    backend = choose_backend(None, views.n_samples, workers)
    return InMemoryPairs(ViewReader(views, kernel, divergence, workers), backend, keep, **settings)


@dataclass(frozen=True)
class Case:
    """Views, a state of EM that need not be good, and the model that judges it."""

    data: list
    state: State
    model: Model
    kind: str
    penalty: str | None

    def pairs(self, keep="whole"):
        """Return the pair values, kept or computed again in each pass."""
        return read_pairs(self.data, KERNEL, self.model.divergence, keep=keep)

    def problem(self, pairs=None, schedule=None):
        """Return what EM is given, with pair values of these views unless others are given."""
        return Problem(pairs or self.pairs(), self.model, schedule or Schedule())

    def e_step(self, pairs=None, state=None):
        """Return the E step of the state."""
        return em.e_step(self.problem(pairs), state or self.state)

    def exact_pairs(self, block=2):
        """Return the pair values in double precision, in blocks of so many views."""
        r = clip_exponents(np.array([KERNEL.exponents(X) for X in self.data]))
        pairs = ArrayPairs(self.model.divergence.f(r), block)
        pairs.constants = self.model.divergence.const(r).sum(axis=1)
        return pairs


def make_case(seed, kind="reverse", penalty="group", temperature=1.0, unused=False, learned=False):
    """Return a case of 6 to 15 samples, 2 to 5 views, 2 or 3 patterns and 2 to 4 clusters.

    With ``unused`` the last pattern has weight 0; with ``learned`` responses are any symmetric matrices.
    """
    rng = np.random.default_rng(seed)
    n, V, d, g = rng.integers(6, 16), rng.integers(2, 6), rng.integers(2, 4), rng.integers(2, 5)
    lam = rng.dirichlet(np.full(d, 3.0))
    if unused:
        lam[-1] = 0
        lam /= lam.sum()
    W = np.array([mixed_memberships(rng, n, g) for _ in range(d)])
    model = Model(DIVERGENCES[kind], PENALTIES[penalty], temperature, learned)
    data = clustered_views(rng, n, V)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    return Case(data, State(W, B, lam, np.full(d, 0.1)), model, kind, penalty)


def identities(d, g):
    """Return the paper's responses (d, g, g)."""
    return np.tile(np.eye(g), (d, 1, 1))


def random_responses(rng, d, g):
    """Return symmetric responses (d, g, g) with entries between 0 and 1."""
    B = rng.uniform(0.05, 0.95, size=(d, g, g))
    return (B + B.transpose(0, 2, 1)) / 2


def clustered_views(rng, n, n_views):
    """Return views of 1 to 3 features, each with two or three groups of its own."""
    views = []
    for _ in range(n_views):
        groups = rng.integers(rng.integers(2, 4), size=n)
        views.append(4 * groups[:, None] + rng.normal(size=(n, rng.integers(1, 4))))
    return views


def mixed_memberships(rng, n, g):
    """Return memberships (n, g) of all sorts: mixed rows, rows with entries below epsilon, certain rows."""
    W = softmax(1.5 * rng.normal(size=(n, g)), axis=1)
    W[0] = np.eye(g)[0]
    W[1] = np.eye(g)[1]
    W[2] = np.full(g, 5e-4)
    W[2, -1] = 1 - 5e-4 * (g - 1)
    return W


def interior_memberships(rng, d, n, g):
    """Return memberships (d, n, g) away from every kink and clip, where gradients exist."""
    return softmax(rng.normal(size=(d, n, g)), axis=-1)


def same_partition(a, b):
    """Return whether two label vectors describe the same partition."""
    return np.array_equal(np.equal.outer(a, a), np.equal.outer(b, b))


class ArrayPairs(BlockPasses):
    """Pair values given as an array (V, m), handed out in blocks of any size."""

    def __init__(self, F, block=2):
        self.F, self.block = np.asarray(F, dtype=float), block
        self.n_samples = int((1 + np.sqrt(1 + 8 * self.F.shape[1])) / 2)
        self.constants = np.arange(len(F), dtype=float)
        self.weights = np.ones(len(F))
        self.workers = Workers(1)
        self.backend = choose_backend(None, self.n_samples, self.workers)

    def __len__(self):
        return len(self.F)

    def blocks(self):
        for start in range(0, len(self.F), self.block):
            rows = slice(start, min(start + self.block, len(self.F)))
            yield rows, self.F[rows]

    def values(self, v):
        return self.F[v]

    def zeros(self, d):
        return np.zeros((d, self.F.shape[1]))

    def multiply(self, F, A):
        return F @ A.T

    def add_statistics(self, stat, eta, F):
        stat += eta.T @ F


def block_values(labels, kind, within=0.8, between=0.1, noise=0.0, rng=None):
    """Return f(s) (m,) for similarities that are one number within clusters and another between them.

    With noise, log-odds differ from pair to pair.
    """
    s = pack_pairs(np.where(np.equal.outer(labels, labels), within, between).astype(float))
    if noise:
        s = expit(logit(s) + noise * rng.normal(size=s.shape))
    return DIVERGENCES[kind].f(-np.log(s))


def run_with_moves(problem, labels, n_clusters, n_patterns, callback=None):
    """Run EM with moves from a partition of the views, as one start of a search does."""
    roughly = runs.until_settled(problem, single_precision=True)
    if isinstance(problem.model.penalty, ClusterPrice):
        state = state_from_labels(roughly, *find_structure(roughly, labels, n_patterns), n_patterns)
    else:
        state = make_spectral_state(roughly, labels, n_clusters, n_patterns)
    return runs.run_with_moves(problem, state, callback)


def views_of_two_patterns(kind="forward", block=2, seed=0):
    """Return six views of 18 samples: two clusters in the first, third and fourth, three in the others."""
    rng = np.random.default_rng(seed)
    clusters = (HALVES, THIRDS)
    values = [block_values(clusters[l], kind, 0.95, 0.03, noise=0.3, rng=rng) for l in TWO_PATTERNS]
    return ArrayPairs(values, block)


def priced_problem(pairs, learned=True, kind="forward", temperature=1.0, n_clusters=4, **schedule):
    """Return a problem in which labels have a price, for at most so many clusters."""
    prices = ClusterPrice(label_prices(pairs.n_samples, n_clusters, temperature))
    model = Model(DIVERGENCES[kind], prices, temperature, learned)
    return Problem(pairs, model, Schedule(**{"max_iter": 10, "first_steps": 40, **schedule}))


def fit_to_partition(problem, partition, n_patterns, clusters=None):
    """Return a fit in which views follow patterns as a partition has it, wherever EM would go from there.

    ``clusters`` are the labels of each pattern's samples, those that are worth most unless given.
    """
    eta = np.eye(n_patterns)[np.asarray(partition)]
    groups = make_groups(problem, eta)
    if clusters is not None:
        groups = [group._replace(labels=labels) for group, labels in zip(groups, clusters, strict=True)]
    state = state_from_groups(problem, groups, n_patterns)
    mass, stat = em.collect_statistics(problem.pairs, eta)
    found = em.e_step(problem, state)
    found = found._replace(eta=eta, gamma=eta.sum(axis=0), mass=mass, stat=stat[state.lam > 0])
    return Fit(state, found, [found.loss], [found.expected_loss], False)
