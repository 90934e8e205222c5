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
the power of its weight. These are mean-field equations, which are solved by repetition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentsimplex.base.arrays import softmax
from latentsimplex.base.types import Array
from latentsimplex.known.hard_links import keep_to_links
from latentsimplex.known.known_samples import Known, Links
from latentsimplex.known.spoken_pattern import ERROR
from latentsimplex.model.joint_losses import LEAST, PRIOR_CLASS

PRIOR_LABELS = 20
"""Labels that the share of wrong ones is believed to come from, before there are any."""
VOUCHED = 1.0
"""Labels of a class in a cluster of others that may all be wrong. Without it, wrong labels pass as classes that
clusters have a share of: of digits with a tenth of 200 labels wrong, 4% were found wrong then, and 8% now."""
ROUNDS, LINK_ROUNDS, DAMPING = 30, 60, 0.5
"""Rounds in which the errors of labels settle, rounds of the mean-field equations, and how far each one goes."""
HARD = 50.0
"""What a link that is kept to counts for in mean-field equations and in a search; it is enforced afterwards."""


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
    q = softmax(logs)
    kinds = [(known.must, True), (known.cannot, False)]
    if not any(len(links.pairs) for links, _ in kinds):
        return q, np.empty(0), np.empty(0), 0.0
    error, doubts = ERROR, [np.zeros(len(links.pairs)) for links, _ in kinds]
    for _ in range(LINK_ROUNDS):
        total = logs.copy()
        messages = [send_messages(q, links, together, error) for links, together in kinds]
        for (links, _), (to_first, to_second) in zip(kinds, messages, strict=True):
            np.add.at(total, links.pairs[:, 0], to_first)
            np.add.at(total, links.pairs[:, 1], to_second)
        q = softmax((1 - DAMPING) * np.log(np.maximum(q, LEAST)) + DAMPING * total)
        doubts = [
            doubt_links(q, links, together, error, sent)
            for (links, together), sent in zip(kinds, messages, strict=True)
        ]
        m = sum(map(len, doubts))
        wrong = sum(float(each.sum()) for each in doubts)
        error = float((wrong + ERROR * PRIOR_LABELS) / (m + PRIOR_LABELS))
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
