"""Small random problems, as the package's objects and as the plain arrays they were made from."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, softmax

from latentsimplex.compute.pairs import pack
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.em import Model, State
from latentsimplex.engines.local import LocalPairs
from latentsimplex.known import Known
from latentsimplex.objective import PENALTIES
from latentsimplex.search import beginning, moved_on
from latentsimplex.similarity import LocalScaling, clip_exponents
from latentsimplex.views import as_views

KINDS = ["reverse", "forward"]
PENALTY_NAMES = ["group", "dirichlet", None]
TEMPERATURES = [1.0, 4.0]
KERNEL = LocalScaling(quantile=0.3)


@dataclass(frozen=True)
class Problem:
    """Views, a state of EM that need not be good, and the model that judges it."""

    data: list
    state: State
    model: Model
    kind: str
    penalty: str | None

    def pairs(self, keep=True):
        """Return the pair values, kept or computed again in each pass."""
        return LocalPairs(as_views(self.data), KERNEL, self.model.divergence, Workers(1), keep)

    def exact_pairs(self, block=2):
        """Return the pair values in double precision, in blocks of so many views."""
        r = clip_exponents(np.array([KERNEL.exponents(X) for X in self.data]))
        pairs = ArrayPairs(self.model.divergence.f(r), block)
        pairs.constants = self.model.divergence.const(r).sum(axis=1)
        return pairs


def make_problem(seed, kind="reverse", penalty="group", temperature=1.0, unused=False, learned=False):
    """Return a problem of 6 to 15 samples, 2 to 5 views, 2 or 3 patterns and 2 to 4 clusters.

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
    return Problem(data, State(W, B, lam, np.full(d, 0.1)), model, kind, penalty)


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


class ArrayPairs:
    """Pair values given as an array (V, m), handed out in blocks of any size."""

    def __init__(self, F, block=2):
        self.F, self.block = np.asarray(F, dtype=float), block
        self.n_samples = int((1 + np.sqrt(1 + 8 * self.F.shape[1])) / 2)
        self.constants = np.arange(len(F), dtype=float)
        self.weights = np.ones(len(F))
        self.workers = Workers(1)
        self.profiles = Known(1 << 20)
        self.home = np.empty(0)

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

    def homed(self, stat):
        return stat


def block_values(labels, kind, within=0.8, between=0.1, noise=0.0, rng=None):
    """Return f(s) (m,) for similarities that are one number within clusters and another between them.

    With noise, log-odds differ from pair to pair.
    """
    s = pack(np.where(np.equal.outer(labels, labels), within, between).astype(float))
    if noise:
        s = expit(logit(s) + noise * rng.normal(size=s.shape))
    return DIVERGENCES[kind].f(-np.log(s))


def run_with_moves(pairs, labels, n_clusters, n_patterns, model, schedule, callback=None):
    """Run EM with moves from a partition of the views, as one start of a search does."""
    _, begin = beginning(pairs, labels, n_clusters, n_patterns, model, schedule)
    return moved_on(pairs, begin(), model, schedule, callback)
