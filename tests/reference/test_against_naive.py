"""The package agrees with the plain loops of naive.py: to ten digits, to five where pair values are stored.

Pair values are of single precision in a fit. What is computed from them is held to ten digits on pair values
of double precision, and those of a fit to what single precision leaves.
"""

import numpy as np
import pytest

from latentsimplex.base.threads import Workers
from latentsimplex.model import em
from latentsimplex.model import em as of_m_step
from latentsimplex.model.backends import NumbaBackend
from latentsimplex.model.em import m_step
from latentsimplex.model.penalties import (
    LAMBDA_FLOOR,
    PENALTIES,
    W_FLOOR,
    DirichletRows,
    GroupPenalty,
    membership_penalty,
    weight_penalty,
)
from latentsimplex.model.problem import (
    OPTIMIZERS,
    Patterns,
    Schedule,
    State,
    drop_unused_columns,
    most_probable_clusters,
)
from latentsimplex.pairs.divergence import DIVERGENCES, P_CLIP
from latentsimplex.results.consensus import form_consensus
from latentsimplex.results.estimates import estimate_patterns
from latentsimplex.results.joint_labels import joint_labels, spectral_labels
from latentsimplex.search.multistart import search_from_starts
from latentsimplex.similarity import LocalScaling
from latentsimplex.similarity.kernel import S_CLIP, clip_exponents
from problems import (
    KERNEL,
    KINDS,
    PENALTY_NAMES,
    TEMPERATURES,
    ArrayPairs,
    clustered_views,
    make_case,
    mixed_memberships,
    random_responses,
    same_partition,
)
from reference import naive

SEEDS = range(4)


def assert_close(actual, expected):
    """Ten digits of each entry; sums that cancel may lose what the largest entry has rounded away."""
    scale = np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-13 * scale)


def assert_single(actual, expected):
    """Five digits of the largest entry: what is left of single precision where terms cancel."""
    scale = np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5 * scale)


def naive_similarities(case):
    """Return s (V, m) of a case by the loops alone."""
    exponents = [naive.local_scaling_exponents(X, s_clip=S_CLIP, quantile=KERNEL.quantile) for X in case.data]
    return np.exp(-np.array(exponents))


def naive_pairs(case, s):
    """Return the pair values of similarities s (V, m) by the loops alone, in double precision."""
    f, const = (
        np.vectorize(lambda x, part=part: part(x, case.kind))
        for part in (naive.template_f, naive.template_const)
    )
    pairs = ArrayPairs(f(s))
    pairs.constants = const(s).sum(axis=1)
    return pairs


@pytest.fixture(params=SEEDS, name="seed")
def _seed(request):
    return request.param


@pytest.fixture(params=KINDS, name="kind")
def _kind(request):
    return request.param


@pytest.fixture(params=PENALTY_NAMES, name="penalty")
def _penalty(request):
    return request.param


@pytest.fixture(params=TEMPERATURES, name="temperature")
def _temperature(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["all used", "one unused"], name="unused")
def _unused(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["identity", "learned"], name="case")
def _case(request, seed, kind, penalty, temperature, unused):
    return make_case(seed, kind, penalty, temperature, unused, learned=request.param)


def test_the_loops_restate_the_packages_constants():
    assert (naive.P_CLIP, naive.LAMBDA_FLOOR, naive.W_FLOOR) == (P_CLIP, LAMBDA_FLOOR, W_FLOOR)
    assert (GroupPenalty().epsilon, DirichletRows().concentration) == (naive.EPS, naive.CONCENTRATION)


# Similarity


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize(
    "scale",
    [{"quantile": 0.1}, {"quantile": 0.5}, {"quantile": 0.93}, {"neighbour": 1}, {"neighbour": 7}],
    ids=str,
)
def test_local_scaling(seed, scale, power):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    for X in clustered_views(rng, n, 3):
        expected = naive.local_scaling_exponents(X, s_clip=S_CLIP, power=power, **scale)
        assert_close(clip_exponents(LocalScaling(power=power, **scale).exponents(X)), expected)


@pytest.mark.parametrize("scale", [{"quantile": 0.3}, {"neighbour": 2}, {"neighbour": 50}], ids=str)
@pytest.mark.parametrize("copies", [2, 7, 12])
def test_local_scaling_of_duplicates(copies, scale):
    X = np.random.default_rng(copies).normal(size=(12, 2))
    X[:copies] = X[0]
    expected = naive.local_scaling_exponents(X, s_clip=S_CLIP, **scale)
    assert_close(clip_exponents(LocalScaling(**scale).exponents(X)), expected)


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "chebyshev"])
def test_local_scaling_of_another_metric(metric):
    X = np.random.default_rng(0).normal(size=(9, 3))
    by_hand = {
        "cityblock": lambda a, b: np.abs(a - b).sum(),
        "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
        "chebyshev": lambda a, b: np.abs(a - b).max(),
    }[metric]
    dist = [[by_hand(a, b) if a is not b else 0.0 for b in X] for a in X]
    expected = naive.local_scaling_exponents(dist=dist, s_clip=S_CLIP, quantile=0.4)
    assert_close(clip_exponents(LocalScaling(quantile=0.4, metric=metric).exponents(X)), expected)


def test_log_odds_without_exp_then_log():
    r = np.logspace(-12, np.log10(50), 60)
    assert_close(DIVERGENCES["reverse"].f(r), naive.log_odds(r))


# Divergences and penalties


def test_divergence_template(kind):
    p, s = np.meshgrid([1e-6, 0.01, 0.3, 0.5, 0.77, 0.999], [1e-4, 0.02, 0.3, 0.5, 0.9, 0.9999])
    divergence, r = DIVERGENCES[kind], -np.log(s)
    a, h = divergence.a_and_h(p)
    parts = {
        "template_f": (divergence.f(r), s),
        "template_const": (divergence.const(r), s),
        "template_a": (a, p),
        "template_h": (h, p),
    }
    for name, (actual, argument) in parts.items():
        expected = np.vectorize(lambda x, name=name: getattr(naive, name)(x, kind))(argument)
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-14)
    expected = np.vectorize(lambda x, y: naive.divergence(x, y, kind))(p, s)
    # the terms cancel where p is near s, so digits are those of the terms
    np.testing.assert_allclose(
        h - divergence.f(r) * a + divergence.const(r), expected, rtol=1e-10, atol=1e-14
    )


def test_penalties_and_their_gradients(seed, penalty):
    rng = np.random.default_rng(seed)
    W = np.array([mixed_memberships(rng, 8, 3) for _ in range(2)])
    values, gradient = PENALTIES[penalty].value_and_gradient(W)
    assert_close(values, [naive.penalty_value(w, penalty) for w in W])
    assert_close(gradient, np.array([naive.penalty_gradient(w, penalty) for w in W]))


@pytest.mark.parametrize(("n", "g"), [(6, 2), (15, 4), (100, 10)])
def test_charge_for_an_unused_pattern(penalty, n, g):
    assert_close(PENALTIES[penalty].least_value(n, g), naive.unused_cost(n, g, penalty))


def test_weight_penalty():
    for lam in ([1.0], [0.2, 0.8], [0.5, 0.5, 0.0]):
        assert_close(weight_penalty(np.array(lam)), naive.lambda_term(lam))


def test_total_penalty(case):
    W, _, lam, _ = case.state
    actual = membership_penalty(W, lam > 0, case.model.penalty)
    assert_close(actual, naive.total_penalty(lam, list(W), case.penalty))


# EM


def test_e_step(case):
    W, B, lam, _ = case.state
    s = naive_similarities(case)
    K = naive.divergences_K(s, list(W), case.kind, responses=B)
    temperature = case.model.temperature
    eta = naive.e_step(K, lam, temperature)
    stat, gamma = naive.statistics(eta, s, case.kind)

    for pairs, agree in ((naive_pairs(case, s), assert_close), (case.pairs(), assert_single)):
        found = case.e_step(pairs)
        agree(found.eta, eta)
        agree(found.gamma, gamma)
        agree(found.stat, stat[lam > 0])
        agree(found.loss, naive.loss(K, lam, list(W), case.penalty, temperature))
        agree(found.expected_loss, naive.expected_loss(K, eta, lam, list(W), case.penalty))
        agree(em.update_weights(found.gamma), naive.update_lambda(eta))
        agree(found.mass, gamma)


def test_pair_values_and_constants_of_a_fit(case):
    """In the paper's divergence f and const have no bound near s = 1: digits are those of the exponent."""
    pairs, expected = case.pairs(), naive_pairs(case, naive_similarities(case))
    F = np.concatenate([F for _, F in pairs.blocks()])
    assert F.dtype == np.float32
    assert_single(F, expected.F)
    assert_single(pairs.constants, expected.constants)


def test_e_step_of_views_with_weights(case):
    """A view of weight u counts as if its divergence from every pattern were u times as large."""
    W, B, lam, _ = case.state
    s = naive_similarities(case)
    u = np.linspace(0.4, 1.7, len(s))
    K = u[:, None] * naive.divergences_K(s, list(W), case.kind, responses=B)
    temperature = case.model.temperature
    eta = naive.e_step(K, lam, temperature)
    stat, mass = naive.statistics(u[:, None] * eta, s, case.kind)

    for pairs, agree in ((naive_pairs(case, s), assert_close), (case.pairs(), assert_single)):
        pairs.weights = u
        found = case.e_step(pairs)
        agree(found.eta, eta)
        agree(found.gamma, eta.sum(axis=0))
        agree(found.mass, mass)
        agree(found.stat, stat[lam > 0])
        agree(found.loss, naive.loss(K, lam, list(W), case.penalty, temperature))
        agree(found.expected_loss, naive.expected_loss(K, eta, lam, list(W), case.penalty))
        for actual, expected in zip(em.collect_statistics(pairs, eta), (mass, stat), strict=True):
            agree(actual, expected)


@pytest.mark.parametrize("eta", [[[0.7, 0.3], [0.9, 0.1]], [[0.5, 0.3, 0.2]], [[0.2, 0.4, 0.4]]], ids=str)
def test_weights_update_where_patterns_die(eta):
    eta = np.array(eta)
    assert_close(em.update_weights(eta.sum(axis=0)), naive.update_lambda(eta))


def m_step_terms(case):
    """Return W, B, gamma (d,) and naive statistics (d, m) of the patterns that are in use."""
    W, B, lam, _ = case.state
    live = lam > 0
    s = naive_similarities(case)
    K = naive.divergences_K(s, list(W), case.kind, responses=B)
    stat, gamma = naive.statistics(naive.e_step(K, lam, case.model.temperature), s, case.kind)
    return W[live], B[live], gamma[live], stat[live]


def test_m_step_objective_and_gradients_in_memberships_and_responses(case):
    W, B, gamma, stat = m_step_terms(case)
    backend = NumbaBackend(W.shape[1], Workers(1))
    value, dW, dB = backend.pair_objective(gamma, stat, case.model.divergence)[0](W, B)
    R, dR = case.model.penalty.value_and_gradient(W)
    for l, (w, b) in enumerate(zip(W, B, strict=True)):
        arguments = (stat[l], gamma[l], case.kind)
        assert_close(value[l] + R[l], naive.m_objective(w, *arguments, case.penalty, B=b))
        assert_close(dW[l] + dR[l], naive.m_gradient(w, *arguments, case.penalty, B=b))
        assert_close(dB[l], naive.response_gradient(w, b, *arguments))


def test_divergences_of_views_from_patterns(case):
    """K = H - F A^T + const, which the E step only shows through eta and the loss."""
    W, B, _, _ = case.state
    s = naive_similarities(case)
    pairs = naive_pairs(case, s)
    A, H = pairs.backend.pair_terms(W, B, case.model.divergence)
    K = np.concatenate([H - pairs.multiply(F, A) + pairs.constants[rows, None] for rows, F in pairs.blocks()])
    expected = naive.divergences_K(s, list(W), case.kind, responses=B)
    # terms of the size of H cancel where a pattern is close to a view
    np.testing.assert_allclose(K, expected, rtol=1e-10, atol=1e-12 * np.abs(H).max())


def m_step_slopes(monkeypatch, case, schedule):
    """Return the values and directions that the M step's descent sees at its start, where it must stay."""
    W, B, gamma, stat = m_step_terms(case)
    seen = {}

    def descend(start, slopes, n_steps, rate, caps=None):
        seen["value"], seen["direction"] = slopes(start)
        return start, rate

    monkeypatch.setattr(of_m_step, schedule.optimizer, descend)
    monkeypatch.setattr(NumbaBackend, "descend", None)  # the compiled form has tests of its own
    problem, rate = case.problem(schedule=schedule), np.full(len(W), 0.1)
    unmoved, same_response, _ = m_step(problem, Patterns(W, B, gamma, stat), 1, rate)
    assert_close(unmoved, W)
    assert_close(same_response, B)
    return seen["value"], seen["direction"]


def test_m_step_objective_and_gradient_in_theta_and_phi(case, monkeypatch):
    W, B, gamma, stat = m_step_terms(case)
    value, gradient = m_step_slopes(monkeypatch, case, Schedule(**OPTIMIZERS["adam"]))
    for l, (w, b) in enumerate(zip(W, B, strict=True)):
        arguments = (stat[l], gamma[l], case.kind)
        assert_close(value[l], naive.m_objective(w, *arguments, case.penalty, B=b))
        dW = naive.m_gradient(w, *arguments, case.penalty, B=b)
        expected = naive.softmax_gradient(w, dW).ravel().tolist()
        if case.model.learned_response:
            expected += naive.sigmoid_gradient(b, naive.response_gradient(w, b, *arguments))
        assert_close(gradient[l], expected)


def test_m_step_objective_and_natural_gradient(case, monkeypatch):
    """The gradient over what each weighs: gamma (n - 1) a sample, gamma and its pairs a pair of clusters."""
    W, B, gamma, stat = m_step_terms(case)
    value, direction = m_step_slopes(monkeypatch, case, Schedule(**OPTIMIZERS["mirror"]))
    for l, (w, b) in enumerate(zip(W, B, strict=True)):
        arguments = (stat[l], gamma[l], case.kind)
        assert_close(value[l], naive.m_objective(w, *arguments, case.penalty, B=b))
        dW = naive.m_gradient(w, *arguments, case.penalty, B=b)
        expected = naive.natural_gradient(w, dW, gamma[l]).ravel().tolist()
        if case.model.learned_response:
            expected += naive.natural_response_gradient(
                w, naive.response_gradient(w, b, *arguments), gamma[l]
            )
        assert_close(direction[l], expected)


def test_loss_at_the_end_of_a_search(seed, kind, penalty, temperature):
    case = make_case(seed, kind, penalty, temperature)
    schedule = Schedule(max_iter=15, first_steps=20)
    d, _, g = case.state.W.shape
    d = min(d, len(case.data))
    problem = case.problem(schedule=schedule)
    fit = search_from_starts(problem, g, d, 1, np.random.default_rng(seed)).fit

    memberships, lam = list(fit.state.W), fit.state.lam
    s = naive_similarities(case)
    K = naive.divergences_K(s, memberships, kind)
    eta = naive.e_step(K, lam, temperature)
    # pair values of a fit are of single precision
    assert_single(fit.expectation.eta, eta)
    assert_single(fit.loss_curve[-1], naive.loss(K, lam, memberships, penalty, temperature))
    assert_single(fit.expected_loss_curve[-1], naive.expected_loss(K, eta, lam, memberships, penalty))
    # EM drives some p to within 1e-8 of 1, where one rounding of p shows in the ninth digit of log(1 - p)
    loose = {"rtol": 1e-9, "atol": 1e-12}
    found = case.e_step(naive_pairs(case, s), fit.state)
    np.testing.assert_allclose(found.eta, eta, rtol=1e-7, atol=1e-12)
    expected = naive.loss(K, lam, memberships, penalty, temperature)
    np.testing.assert_allclose(found.loss, expected, **loose)
    expected = naive.expected_loss(K, eta, lam, memberships, penalty)
    np.testing.assert_allclose(found.expected_loss, expected, **loose)


# Estimates and consensus


@pytest.mark.parametrize("seed", range(12))
def test_estimates(seed):
    rng = np.random.default_rng(seed)
    V, d, n, g = rng.integers(2, 6), 3, rng.integers(6, 16), rng.integers(2, 5)
    eta = rng.dirichlet(np.full(d, 0.5), size=V)
    lam = np.full(d, 1 / d) if seed % 3 == 0 else rng.dirichlet(np.ones(d))
    W = np.array([mixed_memberships(rng, n, g) for _ in range(d)])
    if seed % 2:  # the last column is no sample's largest, and no row has ties
        W *= rng.uniform(0.9, 1.1, size=W.shape)
        W[..., -1] *= 1e-4
        W /= W.sum(axis=-1, keepdims=True)
    B = random_responses(rng, d, g)
    found = estimate_patterns(eta, State(W, B, lam, np.ones(d)))
    expected = naive.estimates(eta, lam, list(W))

    assert found.view_patterns.tolist() == expected["view_patterns"].tolist()
    assert_close(found.responsibilities, expected["view_responsibilities"])
    assert_close(found.weights, expected["pattern_weights"])
    assert len(found.memberships) == expected["n_patterns"]
    for l, (actual, wanted) in enumerate(zip(found.memberships, expected["memberships"], strict=True)):
        assert_close(actual, wanted)
        assert most_probable_clusters(actual).tolist() == expected["pointwise_labels"][l].tolist()
        # each kept column of W brings its row and its column of B
        columns = [
            W[expected["live"][l]].argmax(axis=1)[np.argmax(wanted.argmax(axis=1) == k)]
            for k in range(wanted.shape[1])
        ]
        assert np.array_equal(found.responses[l], B[expected["live"][l]][np.ix_(columns, columns)])


@pytest.mark.parametrize("seed", range(12))
def test_spectral_labels(seed):
    rng = np.random.default_rng(seed)
    W = drop_unused_columns(mixed_memberships(rng, int(rng.integers(6, 16)), int(rng.integers(2, 5))))
    expected = naive.spectral_labels(naive.coassignment(W), W.shape[1])
    assert same_partition(spectral_labels(W, W.shape[1]), expected)
    assert same_partition(joint_labels(W), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_consensus(seed, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 16))
    memberships = [drop_unused_columns(mixed_memberships(rng, n, g)) for g in (2, 3, 4)] + [np.ones((n, 1))]
    view_patterns = np.array([0, 3, 1, 0, 2][: 3 + seed % 3])
    one_cluster = view_patterns == 3
    weights = np.where(one_cluster, 0.0, rng.uniform(0.5, 2, len(view_patterns))) if weighted else None
    names = [f"v{v}" for v in range(len(view_patterns))]

    found = form_consensus(view_patterns, memberships, names, weights)
    expected = naive.consensus(view_patterns, memberships, weights)
    assert_close(found.weights, expected["weights"])
    assert_close(found.coassignment.toarray(), expected["coassignment"])
    assert same_partition(found.labels, expected["labels"])
    assert found.n_clusters == expected["n_clusters"]
    assert found.excluded == [names[v] for v in expected["excluded"]]


def test_consensus_of_views_without_clusters():
    memberships = [np.ones((7, 1))]
    found = form_consensus(np.zeros(3, dtype=int), memberships, ["a", "b", "c"])
    expected = naive.consensus([0, 0, 0], memberships)
    assert_close(found.coassignment.toarray(), expected["coassignment"])
    assert found.labels.tolist() == expected["labels"].tolist() == [0] * 7
    assert found.weights.tolist() == expected["weights"].tolist() == [0.0] * 3
    assert found.excluded == ["a", "b", "c"]
