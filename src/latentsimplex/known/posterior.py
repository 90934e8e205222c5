"""Posterior memberships given labels and links, and which labels and links are probably wrong.

============ =============== ========== ============================================================================
symbol       name            shape      meaning
============ =============== ========== ============================================================================
w            ``W``           n x g      memberships by the views
T            ``T``           g x C      Pr(class c | cluster k)
eps          ``error``                  share of labels that are wrong, estimated; of links, likewise
p_i(c)       ``predicted``   m x C      class of a known sample by its memberships and all other labels
q            ``q``           n x g      memberships given all that is known
============ =============== ========== ============================================================================

A label is a message through a noisy channel. With T_kc the shares of classes among the known samples of a cluster,

    Pr(y_i | k) = (1 - eps) T_k,y + eps (1 - T_k,y) / (C - 1),        q_ik ~ w_ik Pr(y_i | k),

and what is known of a sample leaves the others as they are: their memberships have learnt from labels where clusters
were cut and joined. A label is wrong with probability

    eps (1 - p_i(y)) / (C - 1)  /  [ (1 - eps) p_i(y) + eps (1 - p_i(y)) / (C - 1) ].

A must-link multiplies q_i by (1 - eps) q_jk + eps (1 - q_jk), a cannot-link by the same with 1 - q_jk for q_jk, each to
the power of its weight. These are mean-field equations, which are solved by repetition. Where links are many they have
several solutions: samples that are tied may settle in different clusters, each held there by its own neighbours. So
they are solved twice, from what the views say and from clusters that were chosen for whole chunks of samples
(:mod:`latentsimplex.known.placed_chunks`), and the solution is kept whose most probable clusters z have the larger

    sum_i log w_i,z_i  +  sum over links, weight times log (1 - eps), or log eps where z disagrees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from latentsimplex.base.arrays import softmax
from latentsimplex.base.types import Array, Indices
from latentsimplex.known.hard_links import keep_to_links
from latentsimplex.known.known_samples import HARD, Known, Links
from latentsimplex.known.labelled_pattern import ERROR
from latentsimplex.known.placed_chunks import place_chunks
from latentsimplex.model.joint_losses import LEAST, PRIOR_CLASS

PRIOR_LABELS = 20
"""Labels that the share of wrong ones is believed to come from, before there are any."""
VOUCHED = 1.0
"""Labels of a class in a cluster of others that may all be wrong. Without it, wrong labels pass as classes that
clusters have a share of: of digits with a tenth of 200 labels wrong, 4% were found wrong then, and 8% now."""
ROUNDS, LINK_ROUNDS, DAMPING, SETTLED = 30, 60, 0.5, 1e-6
"""Rounds in which the errors of labels settle, rounds of the mean-field equations, how far each one goes, and the
change of a probability below which they end."""


class Informed(NamedTuple):
    """Memberships given what is known (n, g), and the probability that each label (n,) and link (m,) is wrong.

    ``table`` is Pr(class | cluster) (g, C), ``label_error`` and ``link_error`` the shares of wrong ones. Doubts of
    samples without a label are nan; those of links are of must-links, then of cannot-links.
    """

    W: Array
    table: Array
    label_doubts: Array
    predicted: Array
    must_doubts: Array
    cannot_doubts: Array
    label_error: float
    link_error: float


def inform_memberships(W: Array, known: Known) -> Informed:
    """Return memberships (n, g) given what is known, and doubts about it.

    >>> W = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]])
    >>> informed = inform_memberships(W, Known(np.array(["a", "b"]), np.array([0, 0, 1, 1, 1])))
    >>> bool(informed.W[4, 1] > 0.8), np.isnan(informed.label_doubts).any().item()
    (True, False)
    """
    n = len(W)
    table, doubts, predicted, error = doubt_labels(W, known)
    logs = np.log(np.maximum(W, LEAST))
    rows = known.labelled
    if len(rows):
        logs[rows] += np.log(read_channel(table, error)[:, known.labels[rows]].T)
    q, must_doubts, cannot_doubts, link_error = solve_links(logs, known)
    every = np.full(n, np.nan)
    every[rows] = doubts
    named = np.unique(np.concatenate([rows, known.must.pairs.ravel(), known.cannot.pairs.ravel()]))
    found = W.copy()
    found[named] = q[named]
    found = keep_to_links(found, known)
    return Informed(found, table, every, predicted, must_doubts, cannot_doubts, error, link_error)


def doubt_labels(W: Array, known: Known) -> tuple[Array, Array, Array, float]:
    """Return T (g, C), the probability that each label is wrong (m,), p (m, C), and the share of wrong labels.

    Each label is predicted without itself; those in doubt count less in T.
    """
    rows, C = known.labelled, len(known.classes)
    own, Y = W[rows], known.one_hot[rows]
    if C < 2:
        return np.ones((W.shape[1], C)), np.zeros(len(rows)), np.ones((len(rows), C)), 0.0
    right, error, of_label = np.ones(len(rows)), ERROR, own
    table, p = np.empty((W.shape[1], C)), np.empty((len(rows), C))
    for _ in range(ROUNDS):
        less = of_label * right[:, None]
        counts = less.T @ Y
        table = share_classes(counts)
        p = np.einsum("ik,ikc->ic", own, share_classes(counts[None] - less[:, :, None] * Y[:, None, :]))
        agreed = (p * Y).sum(axis=1)
        wrong = error * (1 - agreed) / (C - 1)
        right = 1 - wrong / ((1 - error) * agreed + wrong)
        error = float(((1 - right).sum() + ERROR * PRIOR_LABELS) / (len(rows) + PRIOR_LABELS))
        of_label = own * (read_channel(table, error) @ Y.T).T
        of_label /= of_label.sum(axis=1, keepdims=True)
    return table, 1 - right, p, error


def share_classes(counts: Array) -> Array:
    """Return Pr(class | cluster), given how many samples of each class are known in each cluster (..., g, C).

    A class that is not the first of a cluster takes more than one label, which may be wrong, to be there at all.

    >>> share_classes(np.array([[8.7, 1.0, 0.0]])).round(2).tolist()
    [[0.98, 0.01, 0.01]]
    """
    is_first = counts == counts.max(axis=-1, keepdims=True)
    vouched = np.where(is_first, counts, np.maximum(counts - VOUCHED, 0)) + PRIOR_CLASS
    return np.asarray(vouched / vouched.sum(axis=-1, keepdims=True))


def read_channel(table: Array, error: float) -> Array:
    """Return Pr(label | cluster) (g, C), given Pr(class | cluster) and the share of labels that are wrong.

    >>> read_channel(np.array([[1.0, 0.0, 0.0]]), 0.1).round(3).tolist()
    [[0.9, 0.05, 0.05]]
    """
    return (1 - error) * table + error * (1 - table) / max(table.shape[1] - 1, 1)


def judge_memberships(W: Array, known: Known) -> float:
    """Return how well memberships (n, g) tell what is known: log-likelihoods of labels, each by the others, and links.

    >>> known = Known(np.array(["a", "b"]), np.array([0, 0, 1, 1]))
    >>> judge_memberships(np.eye(2)[[0, 0, 1, 1]], known) > judge_memberships(np.eye(2)[[0, 1, 0, 1]], known)
    True
    """
    total, rows = 0.0, known.labelled
    if len(known.classes) > 1:
        _, _, predicted, error = doubt_labels(W, known)
        agreed = predicted[np.arange(len(rows)), known.labels[rows]]
        wrong = (1 - agreed) / (len(known.classes) - 1)
        total += float(np.log((1 - error) * agreed + error * wrong).sum())
    for links, together in ((known.must, True), (known.cannot, False)):
        p = (W[links.pairs[:, 0]] * W[links.pairs[:, 1]]).sum(axis=1)
        agreed = p if together else 1 - p
        total += float(np.log((1 - ERROR) * agreed + ERROR * (1 - agreed)).sum())
    return total


def solve_links(logs: Array, known: Known) -> tuple[Array, Array, Array, float]:
    """Return memberships given links, the doubts about must-links and about cannot-links, and the share of wrong ones.

    ``logs`` (n, g) are the logarithms of memberships without links.
    """
    if not len(known.must.pairs) and not len(known.cannot.pairs):
        return softmax(logs), np.empty(0), np.empty(0), 0.0
    starts = [softmax(logs), place_chunks(logs, known, np.log((1 - ERROR) / ERROR))]
    solutions = [repeat_equations(logs, start, known) for start in starts]
    scores = [score_clusters(logs, solved[0].argmax(axis=1), known) for solved in solutions]
    return solutions[int(np.argmax(scores))]


def score_clusters(logs: Array, clusters: Indices, known: Known) -> float:
    """Return how well clusters (n,) agree with views and links, in nats, the share of wrong links being the prior one.

    >>> known = Known(np.array([]), np.full(2, -1), Links(np.array([[0, 1]]), np.ones(1)))
    >>> score_clusters(np.zeros((2, 2)), np.array([0, 0]), known) > score_clusters(np.zeros((2, 2)), [0, 1], known)
    True
    """
    total, clusters = float(logs[np.arange(len(logs)), clusters].sum()), np.asarray(clusters)
    for links, together in ((known.must, True), (known.cannot, False)):
        agrees = (clusters[links.pairs[:, 0]] == clusters[links.pairs[:, 1]]) == together
        total += float(np.minimum(links.weights, HARD) @ np.log(np.where(agrees, 1 - ERROR, ERROR)))
    return total


def repeat_equations(logs: Array, q: Array, known: Known) -> tuple[Array, Array, Array, float]:
    """Return the solution of the mean-field equations that repetition leads to from memberships ``q`` (n, g)."""
    kinds = [(known.must, True), (known.cannot, False)]
    error, doubts = ERROR, [np.zeros(len(links.pairs)) for links, _ in kinds]
    ends = np.concatenate([links.pairs[:, end] for links, _ in kinds for end in (0, 1)])
    receivers = csr_matrix((np.ones(len(ends)), (ends, np.arange(len(ends)))), shape=(len(logs), len(ends)))
    for _ in range(LINK_ROUNDS):
        before, error_before = q, error
        messages = [send_messages(q, links, together, error) for links, together in kinds]
        total = logs + receivers @ np.vstack([each for sent in messages for each in sent])
        q = softmax((1 - DAMPING) * np.log(np.maximum(q, LEAST)) + DAMPING * total)
        doubts = [
            doubt_links(q, links, together, error, sent)
            for (links, together), sent in zip(kinds, messages, strict=True)
        ]
        m = sum(map(len, doubts))
        wrong = sum(float(each.sum()) for each in doubts)
        error = float((wrong + ERROR * PRIOR_LABELS) / (m + PRIOR_LABELS))
        if max(np.abs(q - before).max(), abs(error - error_before)) < SETTLED:
            break
    return q, doubts[0], doubts[1], error


def send_messages(q: Array, links: Links, together: bool, error: float) -> tuple[Array, Array]:
    """Return the logarithms (m, g) of what links multiply memberships of their first and second samples by."""
    weights = np.minimum(links.weights, HARD)[:, None]

    def message(end: int) -> Array:
        own = q[links.pairs[:, end]]
        agreed = own if together else 1 - own
        return weights * np.log((1 - error) * agreed + error * (1 - agreed))

    return message(1), message(0)


def doubt_links(q: Array, links: Links, together: bool, error: float, sent: tuple[Array, Array]) -> Array:
    """Return the probability that each link is wrong (m,), by all that is known but the link itself; 0 if kept to."""
    without = [softmax(np.log(np.maximum(q[links.pairs[:, end]], LEAST)) - sent[end]) for end in (0, 1)]
    p = (without[0] * without[1]).sum(axis=1)
    agreed = p if together else 1 - p
    wrong = error * (1 - agreed)
    return np.where(np.isinf(links.weights), 0.0, wrong / ((1 - error) * agreed + wrong))
