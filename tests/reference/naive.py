"""The whole model in plain loops: slow, obviously right, and independent of the package.

Conventions, fixed by the package and restated here so that this file stands alone:

- Packed pairs are (0,1), (0,2), ..., (0,n-1), (1,2), ...: scipy's condensed order; m = n(n-1)/2 of them.
- A view is a packed row of similarities s = exp(-r), r = (dist_ij / sqrt(q_i q_j))**power clipped to
  [-log1p(-s_clip), -log(s_clip)]. q_i is numpy's "linear" quantile of, or the k-th smallest among, the
  distances from i to the others; where that is 0, that share of the least positive one; where none is,
  1 (r is 0).
- Divergences are "reverse" KL(P to S) and "forward" KL(S to P); p = w_i^T B w_j is clipped to
  [p_clip, 1-p_clip], B a symmetric response (g, g) or None for the identity.
- Penalties are "group", "dirichlet" (rows) and None; ``options`` are their eps, concentration and w_floor.
- A pattern whose weight lam[l] is 0 is unused: its eta is 0 and it is charged ``unused_cost`` in place of its
  penalty. alpha = 1 / d and beta = 1 / temperature.
- ``s`` is (V, m), ``K`` and ``eta`` are (V, d), ``lam`` is (d,), ``memberships`` is a list of d (n, g).
- Ties of an argmax go to the first. Kept membership columns are ordered by their sums in renormalised rows.
"""

import math

import numpy as np
from sklearn.cluster import KMeans

EPS, CONCENTRATION, W_FLOOR, P_CLIP, LAMBDA_FLOOR = 1e-3, 0.1, 1e-12, 1e-9, 1e-5


def packed_pairs(n: int) -> list:
    """List the pairs i < j in packed order."""
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def local_scale(others, quantile=None, neighbour=None) -> float:
    """Give q_i from one sample's distances to all others, by quantile or by neighbour (one of the two)."""
    assert (quantile is None) != (neighbour is None), "give exactly one of quantile and neighbour"
    values = sorted(others)
    last = len(values) - 1
    place = min(neighbour - 1, last) if quantile is None else quantile * last
    low = math.floor(place)
    q = values[low] + (place - low) * (values[min(low + 1, last)] - values[low])
    if q > 0:
        return q
    share = min(neighbour / len(values), 1.0) if quantile is None else quantile
    positive = [x for x in values if x > 0]
    return share * positive[0] if positive else 1.0


def local_scaling_exponents(X=None, *, s_clip, quantile=None, neighbour=None, power=1.0, dist=None):
    """Give the packed clipped exponents r of one view from its (n, p) data or its (n, n) distances."""
    if dist is None:
        dist = [[math.dist(a, b) for b in X] for a in X]
    n = len(dist)
    q = [local_scale([float(dist[i][j]) for j in range(n) if j != i], quantile, neighbour) for i in range(n)]
    r = [(float(dist[i][j]) / math.sqrt(q[i] * q[j])) ** power for i, j in packed_pairs(n)]
    return np.array([min(max(x, -math.log1p(-s_clip)), -math.log(s_clip)) for x in r])


def log_odds(r) -> np.ndarray:
    """Give log(s / (1 - s)) of s = exp(-r) for an array of exponents of any shape."""
    return np.array([-x - math.log(-math.expm1(-x)) for x in np.ravel(r)]).reshape(np.shape(r))


def divergence(p: float, s: float, kind: str) -> float:
    """Write out the Bernoulli divergence: KL(p || s) for "reverse", KL(s || p) for "forward"."""
    first, second = {"reverse": (p, s), "forward": (s, p)}[kind]
    return first * math.log(first / second) + (1 - first) * math.log((1 - first) / (1 - second))


def template_f(s: float, kind: str) -> float:
    """Give f(s) of the template D = h(p) - f(s) a(p) + const(s)."""
    return math.log(s / (1 - s)) if kind == "reverse" else s


def template_a(p: float, kind: str) -> float:
    """Give a(p) of the template."""
    return p if kind == "reverse" else math.log(p / (1 - p))


def template_h(p: float, kind: str) -> float:
    """Give h(p) of the template."""
    return p * math.log(p) + (1 - p) * math.log(1 - p) if kind == "reverse" else -math.log(1 - p)


def template_const(s: float, kind: str) -> float:
    """Give const(s) of the template."""
    return -math.log(1 - s) if kind == "reverse" else s * math.log(s) + (1 - s) * math.log(1 - s)


def pair_probability(W, i: int, j: int, p_clip=P_CLIP, B=None) -> float:
    """Give the clipped expected similarity of one pair: its co-assignment probability without a response."""
    g = W.shape[1]
    if B is None:
        p = sum(float(W[i, k]) * float(W[j, k]) for k in range(g))
    else:
        p = sum(float(W[i, a]) * float(B[a, b]) * float(W[j, b]) for a in range(g) for b in range(g))
    return min(max(p, p_clip), 1 - p_clip)


def column_norm(W, k: int, eps=EPS) -> float:
    """Give the norm of (log(w / eps))_+ over one column."""
    return math.sqrt(sum(math.log(w / eps) ** 2 for w in W[:, k] if w > eps))


def group_penalty(W, eps=EPS) -> float:
    """Give n times the sum of the column norms."""
    return len(W) * sum(column_norm(W, k, eps) for k in range(W.shape[1]))


def dirichlet_penalty(W, concentration=CONCENTRATION, w_floor=W_FLOOR) -> float:
    """Give minus the log density of Dirichlet rows up to a constant, entries floored."""
    return sum((1 - concentration) * math.log(max(w, w_floor)) for row in W for w in row)


def penalty_value(W, penalty, eps=EPS, concentration=CONCENTRATION, w_floor=W_FLOOR) -> float:
    """Give the penalty of one pattern by name."""
    assert penalty in ("group", "dirichlet", None)
    if penalty is None:
        return 0.0
    return group_penalty(W, eps) if penalty == "group" else dirichlet_penalty(W, concentration, w_floor)


def unused_cost(n: int, g: int, penalty, eps=EPS, concentration=CONCENTRATION, w_floor=W_FLOOR) -> float:
    """Give the least penalty that a pattern of n samples and g columns can have."""
    assert penalty in ("group", "dirichlet", None)
    if penalty is None:
        return 0.0
    if penalty == "group":
        return n**1.5 * math.log(1 / eps - g + 1)
    return n * (1 - concentration) * (g - 1) * math.log(w_floor)


def divergences_K(s, memberships, kind: str, p_clip=P_CLIP, responses=None) -> np.ndarray:
    """Sum the divergence over pairs for every view and pattern."""
    K = np.zeros((len(s), len(memberships)))
    responses = [None] * len(memberships) if responses is None else responses
    for label, W in enumerate(memberships):
        for pair, (i, j) in enumerate(packed_pairs(len(W))):
            p = pair_probability(W, i, j, p_clip, responses[label])
            for v in range(len(s)):
                K[v, label] += divergence(p, float(s[v][pair]), kind)
    return K


def shifted_terms(K_v, lam, temperature):
    """Give one view's lam exp(-beta K) divided by the largest of them, and the logarithm of that largest."""
    logs = [math.log(x) - k / temperature if x > 0 else -math.inf for k, x in zip(K_v, lam, strict=True)]
    return [math.exp(x - max(logs)) for x in logs], max(logs)


def e_step(K, lam, temperature=1.0) -> np.ndarray:
    """Give eta proportional to lam exp(-beta K) by rows, 0 for unused patterns."""
    terms = [shifted_terms(K_v, lam, temperature)[0] for K_v in K]
    return np.array([[x / sum(row) for x in row] for row in terms])


def update_lambda(eta) -> np.ndarray:
    """Give the pattern weights proportional to max(0, alpha - 1 + sum_v eta), or all mass on the largest."""
    d = eta.shape[1]
    c = [1 / d - 1 + sum(eta[:, k]) for k in range(d)]
    kept = [max(0.0, x) for x in c]
    if sum(kept) == 0:
        kept[c.index(max(c))] = 1.0
    return np.array([x / sum(kept) for x in kept])


def lambda_term(lam, lambda_floor=LAMBDA_FLOOR) -> float:
    """Sum T(lambda) = (1 - alpha) log(lambda), floored, over all patterns."""
    return sum((1 - 1 / len(lam)) * math.log(max(x, lambda_floor)) for x in lam)


def total_penalty(lam, memberships, penalty, **options) -> float:
    """Sum the penalties of used patterns and the unused cost of the others."""
    total = 0.0
    for x, W in zip(lam, memberships, strict=True):
        total += penalty_value(W, penalty, **options) if x > 0 else unused_cost(*W.shape, penalty, **options)
    return total


def loss(K, lam, memberships, penalty, temperature=1.0, lambda_floor=LAMBDA_FLOOR, **options) -> float:
    """Give the quantity that EM descends."""
    total = total_penalty(lam, memberships, penalty, **options) + temperature * lambda_term(lam, lambda_floor)
    for K_v in K:
        terms, log_largest = shifted_terms(K_v, lam, temperature)
        total -= temperature * (log_largest + math.log(sum(terms)))
    return total


def expected_loss(K, eta, lam, memberships, penalty, lambda_floor=LAMBDA_FLOOR, **options) -> float:
    """Give the text's expected RegLoss."""
    fit = sum(eta[v, k] * K[v, k] for v in range(len(K)) for k in range(len(lam)) if eta[v, k] > 0)
    return float(fit) + total_penalty(lam, memberships, penalty, **options) + lambda_term(lam, lambda_floor)


def statistics(eta, s, kind: str) -> tuple:
    """Give stat (d, m) = sum_v eta f(s) and gamma (d,) = sum_v eta."""
    stat, gamma = np.zeros((eta.shape[1], len(s[0]))), np.zeros(eta.shape[1])
    for k in range(eta.shape[1]):
        for v in range(len(s)):
            gamma[k] += eta[v, k]
            for pair in range(len(s[v])):
                stat[k, pair] += eta[v, k] * template_f(float(s[v][pair]), kind)
    return stat, gamma


def m_objective(W, stat, gamma: float, kind: str, penalty, p_clip=P_CLIP, B=None, **options) -> float:
    """Give one pattern's M-step objective; ``stat`` is its packed (m,) row."""
    total = penalty_value(W, penalty, **options)
    for pair, (i, j) in enumerate(packed_pairs(len(W))):
        p = pair_probability(W, i, j, p_clip, B)
        total += gamma * template_h(p, kind) - stat[pair] * template_a(p, kind)
    return float(total)


def penalty_gradient(W, penalty, eps=EPS, concentration=CONCENTRATION, w_floor=W_FLOOR) -> np.ndarray:
    """Give the gradient of ``penalty_value`` in W."""
    grad = np.zeros(W.shape)
    for i, k in np.ndindex(W.shape):
        if penalty == "group" and W[i, k] > eps:  # then the column's norm is positive
            grad[i, k] = len(W) * math.log(W[i, k] / eps) / (W[i, k] * column_norm(W, k, eps))
        elif penalty == "dirichlet" and W[i, k] > w_floor:
            grad[i, k] = (1 - concentration) / W[i, k]
    return grad


def m_gradient(W, stat, gamma: float, kind: str, penalty, p_clip=P_CLIP, B=None, **options) -> np.ndarray:
    """Give the gradient of ``m_objective`` in W; the slope at a clipped p is the one at the clipped value."""
    grad, g = penalty_gradient(W, penalty, **options), W.shape[1]
    for pair, (i, j) in enumerate(packed_pairs(len(W))):
        slope = pair_slope(pair_probability(W, i, j, p_clip, B), stat[pair], gamma, kind)
        for a, b in np.ndindex(g, g):
            response = float(a == b) if B is None else B[a, b]
            grad[i, a] += slope * response * W[j, b]
            grad[j, a] += slope * response * W[i, b]
    return grad


def pair_slope(p: float, stat: float, gamma: float, kind: str) -> float:
    """Give the derivative of gamma h(p) - stat a(p) in p."""
    if kind == "reverse":
        return gamma * math.log(p / (1 - p)) - stat
    return (gamma * p - stat) / (p * (1 - p))


def response_gradient(W, B, stat, gamma: float, kind: str, p_clip=P_CLIP) -> np.ndarray:
    """Give the gradient of ``m_objective`` in B as a free matrix: both orders of a pair count half each."""
    grad = np.zeros(B.shape)
    for pair, (i, j) in enumerate(packed_pairs(len(W))):
        slope = pair_slope(pair_probability(W, i, j, p_clip, B), stat[pair], gamma, kind)
        for a, b in np.ndindex(B.shape):
            grad[a, b] += slope * (W[i, a] * W[j, b] + W[j, a] * W[i, b]) / 2
    return grad


def sigmoid_gradient(B, gB) -> list:
    """Pull a gradient in B = sigmoid(phi), phi symmetric, back to phi's lower triangle, row by row."""
    g = len(B)
    return [(1 if a == b else 2) * gB[a, b] * B[a, b] * (1 - B[a, b]) for a in range(g) for b in range(a + 1)]


def softmax_gradient(W, gW) -> np.ndarray:
    """Pull a gradient in W = softmax(theta) by rows back to theta."""
    rows = [(w, g, sum(x * y for x, y in zip(w, g, strict=True))) for w, g in zip(W, gW, strict=True)]
    return np.array([[x * (y - mean) for x, y in zip(w, g, strict=True)] for w, g, mean in rows])


def natural_gradient(W, gW, gamma: float) -> np.ndarray:
    """Give a gradient in W less its mean under W, by rows, over the views' weight in the pairs of a sample.

    What is empty stays so.
    """
    rows = [(w, g, sum(x * y for x, y in zip(w, g, strict=True))) for w, g in zip(W, gW, strict=True)]
    scale = gamma * (len(W) - 1)
    return np.array(
        [
            [(y - mean) / scale if x > 1e-100 else 0.0 for x, y in zip(w, g, strict=True)]
            for w, g, mean in rows
        ]
    )


def natural_response_gradient(W, gB, gamma: float) -> list:
    """Give a gradient in B over the views' weight in the pairs of two clusters, at least one, by rows."""
    found = []
    for a in range(len(gB)):
        for b in range(a + 1):
            pairs = sum((W[i, a] * W[j, b] + W[j, a] * W[i, b]) / 2 for i, j in packed_pairs(len(W)))
            found.append(gB[a, b] / (gamma * max(pairs, 1)))
    return found


def trim_memberships(W) -> tuple:
    """Keep the columns that are some sample's largest, heaviest first; also give point-wise labels."""
    largest = [list(row).index(max(row)) for row in W]
    kept = sorted(set(largest))
    rows = [[w / sum(row[k] for k in kept) for w in row] for row in W]
    kept.sort(key=lambda k: -sum(row[k] for row in rows))  # a stable sort: ties stay in column order
    return np.array([[row[k] for k in kept] for row in rows]), np.array([kept.index(k) for k in largest])


def estimates(eta, lam, memberships) -> dict:
    """Give the estimates of section 3 for live patterns, heaviest first; x_hat and live index all d."""
    x_hat = [list(row).index(max(row)) for row in eta]
    live = sorted(set(x_hat), key=lambda k: (-lam[k], x_hat.index(k)))
    trimmed = [trim_memberships(memberships[k]) for k in live]
    responsibilities = [[row[k] / sum(row[c] for c in live) for k in live] for row in eta]
    return {
        "x_hat": np.array(x_hat),
        "live": live,
        "view_patterns": np.array([live.index(k) for k in x_hat]),
        "view_responsibilities": np.array(responsibilities),
        "pattern_weights": np.array([lam[k] / sum(lam[c] for c in live) for k in live]),
        "memberships": [W for W, _ in trimmed],
        "pointwise_labels": np.array([labels for _, labels in trimmed]),
        "n_patterns": len(live),
        "n_clusters": [W.shape[1] for W, _ in trimmed],
    }


def coassignment(W) -> np.ndarray:
    """Give the dense P = W W^T with its own diagonal, nothing clipped."""
    return np.array([[sum(x * y for x, y in zip(a, b, strict=True)) for b in W] for a in W])


def spectral_labels(P, n_clusters: int, seed=0) -> np.ndarray:
    """Cluster a dense co-assignment matrix spectrally, its diagonal kept, from many starts."""
    n = len(P)
    if n_clusters == 1:
        return np.zeros(n, dtype=int)
    root = [math.sqrt(sum(row)) for row in P]
    vectors = np.linalg.eigh([[P[i, j] / (root[i] * root[j]) for j in range(n)] for i in range(n)])[1]
    embedding = np.array([vectors[i, -n_clusters:] / root[i] for i in range(n)])  # eigh puts the largest last
    return KMeans(n_clusters=n_clusters, n_init=100, random_state=seed).fit(embedding).labels_


def consensus(view_patterns, memberships, weights=None, seed=0) -> dict:
    """Combine the views; ``view_patterns`` index ``memberships``, the trimmed ones of the live patterns."""
    n = len(memberships[0])
    g_hat = [memberships[x].shape[1] for x in view_patterns]
    given = [1.0] * len(g_hat) if weights is None else [float(x) for x in weights]
    u = [0.0 if g == 1 else weight for g, weight in zip(g_hat, given, strict=True)]
    included = [v for v in range(len(u)) if u[v] > 0]
    P_bar = np.zeros((n, n)) if included else np.ones((n, n))
    for v in included:
        P_bar += u[v] / sum(u) * coassignment(memberships[view_patterns[v]])
    n_clusters = max([g_hat[v] for v in included], default=1)
    return {
        "labels": spectral_labels(P_bar, n_clusters, seed),
        "weights": np.array(u),
        "coassignment": P_bar,
        "n_clusters": n_clusters,
        "excluded": [v for v in range(len(u)) if v not in included],
    }
