"""Where EM starts: near the barycentre, by spectral clustering, from groups of views, labels or a fit."""

import numpy as np
import pytest

from latentsimplex.base.condensed import pack_pairs
from latentsimplex.model.em import collect_statistics
from latentsimplex.model.problem import Schedule, State, used_columns
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.search.moves import Pattern, objective
from latentsimplex.search.states import (
    PURITY,
    RESPONSE_CLIP,
    block_means,
    label_memberships,
    make_random_state,
    make_spectral_state,
    random_memberships,
    spectral_memberships,
    state_from_fit,
    state_from_groups,
    state_from_labels,
)
from latentsimplex.search.view_groups import best_groups, make_groups
from problems import (
    HALVES,
    KINDS,
    THIRDS,
    TWO_PATTERNS,
    ArrayPairs,
    fit_to_partition,
    identities,
    make_case,
    priced_problem,
    same_partition,
    views_of_two_patterns,
)

KIND = pytest.mark.parametrize("kind", KINDS)
LEARNED = pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
N, D = 18, 4


def blocks(labels, within=0.8, between=0.05, seed=None):
    """Return similarities (m,) in blocks, a little uneven if seeded."""
    S = np.where(np.equal.outer(labels, labels), within, between)
    noise = 0.0 if seed is None else 0.02 * np.random.default_rng(seed).uniform(-1, 1, size=S.shape)
    return pack_pairs(S + noise + np.transpose(noise))


def pair_values(s, kind):
    return DIVERGENCES[kind].f(-np.log(s))


def clusters_of(W):
    return W.argmax(axis=1)


# Memberships and responses


@KIND
@pytest.mark.parametrize("sizes", [(12, 12), (20, 5, 9), (8, 8, 8, 8), (40, 30, 20, 10)], ids=str)
def test_spectral_memberships_find_separate_blocks(kind, sizes):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    g = len(sizes)
    W, B = spectral_memberships(pair_values(blocks(labels, seed=1), kind), g, DIVERGENCES[kind])
    assert W.shape == (len(labels), g)
    assert same_partition(W.argmax(axis=1), labels)
    np.testing.assert_allclose(W.max(axis=1), PURITY)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(B, B.T, rtol=1e-12)
    np.testing.assert_allclose(B, np.where(np.eye(g) == 1, 0.8, 0.05), atol=0.05)


@KIND
def test_one_cluster_has_the_mean_similarity(kind):
    s = np.random.default_rng(0).uniform(0.1, 0.9, size=45)
    W, B = spectral_memberships(pair_values(s, kind), 1, DIVERGENCES[kind])
    assert np.array_equal(W, np.ones((10, 1)))
    np.testing.assert_allclose(B, [[s.mean()]])


@KIND
@pytest.mark.parametrize(("n", "g"), [(2, 2), (3, 2), (3, 3), (9, 3), (9, 8), (9, 9), (10, 3)])
def test_as_many_clusters_as_there_are_samples(kind, n, g):
    s = np.random.default_rng(n + g).uniform(0.05, 0.95, size=n * (n - 1) // 2)
    W, B = spectral_memberships(pair_values(s, kind), g, DIVERGENCES[kind])
    assert W.shape == (n, g)
    assert len(np.unique(W.argmax(axis=1))) == g
    assert ((B >= RESPONSE_CLIP) & (B <= 1 - RESPONSE_CLIP)).all()


def test_spectral_memberships_are_a_function_of_the_similarities():
    s = np.random.default_rng(3).uniform(0.05, 0.95, size=30 * 29 // 2)
    first, again = (spectral_memberships(s.copy(), 4, DIVERGENCES["forward"]) for _ in range(2))
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])


def test_memberships_from_labels_leave_columns_beyond_theirs_empty():
    W, B = label_memberships(np.full(15, 0.3), np.repeat([0, 1, 2], 2), 5, DIVERGENCES["forward"])
    assert W.shape == (6, 5)
    assert B.shape == (5, 5)
    assert not W[:, 3:].any()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(np.sort(W[:, :3], axis=1), [[(1 - PURITY) / 2] * 2 + [PURITY]] * 6)


def test_block_means_by_hand():
    S = np.array([0.4, 0.2, 0.3, 0.6, 0.1, 0.8])
    # samples 0 and 1 in the first cluster, 2 and 3 in the second, none in the third
    B = block_means(S, np.array([0, 0, 1, 1]), 3)
    np.testing.assert_allclose(B[:2, :2], [[0.4, 0.3], [0.3, 0.8]])
    assert (B[2] == RESPONSE_CLIP).all()


def test_block_means_stay_off_zero_and_one_and_forgive_single_samples():
    S = np.array([1.0, 0.0, 0.0])
    B = block_means(S, np.array([0, 0, 1]), 2)
    assert B.tolist() == [[1 - RESPONSE_CLIP, RESPONSE_CLIP], [RESPONSE_CLIP, RESPONSE_CLIP]]


def test_random_memberships_are_near_the_barycentre():
    W = random_memberships(2, 50, 4, np.random.default_rng(0))
    assert W.shape == (2, 50, 4)
    np.testing.assert_allclose(W, 0.25, atol=0.02)
    assert W.std() > 1e-4


# The paper's start


@KIND
def test_a_random_state_has_equal_weights_and_the_papers_responses(kind):
    case = make_case(8, kind)
    problem = case.problem(schedule=Schedule(first_steps=0))
    labels = np.arange(len(problem.pairs)) % 2
    state = make_random_state(problem, labels, 3, 2, np.random.default_rng(4))
    drawn = random_memberships(2, problem.pairs.n_samples, 3, np.random.default_rng(4))
    np.testing.assert_allclose(state.W, drawn, rtol=1e-12)
    assert np.array_equal(state.B, identities(2, 3))
    assert state.lam.tolist() == [0.5, 0.5]
    assert state.rate.tolist() == [problem.schedule.rate] * 2


@KIND
def test_the_first_m_step_of_a_random_state_serves_the_views_of_each_pattern(kind):
    """By the objective of the views that k-means gave it, each pattern is better off than before."""
    case = make_case(8, kind)
    problem = case.problem(schedule=Schedule(first_steps=30))
    labels = np.arange(len(problem.pairs)) % 2
    state = make_random_state(problem, labels, 3, 2, np.random.default_rng(0))
    mass, stat = collect_statistics(problem.pairs, np.eye(2)[labels])
    for l in range(2):
        found = Pattern(state.W[l], state.B[l], mass[l], stat[l])
        middle = found._replace(W=np.full_like(found.W, 1 / 3))
        assert objective(problem, found) < objective(problem, middle)


# Spectral starts


@LEARNED
def test_a_spectral_state_has_patterns_for_views_that_are_there(learned):
    case = make_case(8, learned=learned)
    problem = case.problem(schedule=Schedule(first_steps=5))
    labels = np.zeros(len(problem.pairs), dtype=int)
    state = make_spectral_state(problem, labels, 3, 2)
    assert state.lam.tolist() == [1, 0]
    np.testing.assert_allclose(state.W[1], 1 / 3)
    np.testing.assert_allclose(state.W.sum(axis=-1), 1)
    assert np.array_equal(state.B[1], np.eye(3))
    assert np.array_equal(state.B[0], np.eye(3)) == (not learned)


# From groups of views


@KIND
@LEARNED
def test_a_state_from_groups_has_their_clusters_and_their_shares(kind, learned):
    pairs = views_of_two_patterns(kind)
    problem = priced_problem(pairs, learned=learned, kind=kind, first_steps=0)
    groups = make_groups(problem, np.eye(2)[np.where(np.arange(6) == 1, 1, 0)])
    state = state_from_groups(problem, groups, D)
    assert state.W.shape[:2] == (D, N)
    assert state.lam.tolist() == [5 / 6, 1 / 6, 0, 0]
    assert state.rate.tolist() == [problem.schedule.rate] * D
    for l, group in enumerate(groups):
        assert same_partition(clusters_of(state.W[l]), group.labels)
        assert np.array_equal(state.B[l], np.eye(state.W.shape[2])) == (not learned)
    for l in (2, 3):  # nobody follows these
        np.testing.assert_allclose(state.W[l], 1 / state.W.shape[2])
        assert np.array_equal(state.B[l], np.eye(state.W.shape[2]))


@KIND
@LEARNED
def test_a_state_from_labels_is_that_of_the_groups_they_make(kind, learned):
    """What views add up to is added up again, in whatever order their patterns come."""
    problem = priced_problem(views_of_two_patterns(kind), learned=learned, kind=kind)
    groups = best_groups(problem, np.eye(D)[TWO_PATTERNS])
    parts = [min(group.parts) for group in groups]
    views = np.array([parts.index(l) for l in TWO_PATTERNS])
    direct = state_from_groups(problem, groups, D)
    again = state_from_labels(problem, views, [group.labels for group in groups], D)
    for one, other in zip(direct, again, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9)


# From a fit, on other pairs


@LEARNED
def test_a_fit_goes_on_from_its_clusters_on_other_pairs(learned):
    """The other pairs would have other clusters, but the number and the samples of each stay at first."""
    fit = fit_to_partition(priced_problem(views_of_two_patterns(), learned=learned), TWO_PATTERNS, D)
    other = ArrayPairs(views_of_two_patterns(seed=5).F)
    state = state_from_fit(priced_problem(other, learned=learned, first_steps=0), fit)
    followed = fit.expectation.eta.argmax(axis=1)
    live = np.unique(followed)
    assert state.lam.tolist() == [0.5, 0.5, 0, 0]
    for new, old in enumerate(live):
        assert same_partition(clusters_of(state.W[new]), clusters_of(fit.state.W[old]))
        if learned:
            labels = clusters_of(state.W[new])
            same = pack_pairs(np.equal.outer(labels, labels).astype(float)) == 1
            mean = other.F[followed == old].mean(axis=0)
            # forward, the response of a cluster is the mean similarity of the new pairs
            sizes = np.bincount(labels)
            weights = sizes * (sizes - 1) / 2
            within = np.average(np.diag(state.B[new])[: len(sizes)], weights=weights)
            assert within == pytest.approx(mean[same].mean(), rel=1e-6)


def test_a_fit_goes_on_wherever_its_patterns_stand():
    """The second and the fourth pattern have views, and each goes on with its own clusters."""
    problem = priced_problem(views_of_two_patterns())
    fit = fit_to_partition(problem, TWO_PATTERNS, D)
    order = [2, 0, 3, 1]
    W, B, lam, rate = (part[order] for part in fit.state)
    moved = fit._replace(
        state=State(W, B, lam, rate),
        expectation=fit.expectation._replace(eta=fit.expectation.eta[:, order]),
    )
    here, there = (state_from_fit(problem, one) for one in (fit, moved))
    assert np.array_equal(here.W, there.W)
    assert same_partition(clusters_of(there.W[0]), HALVES)
    assert same_partition(clusters_of(there.W[1]), THIRDS)


def test_going_on_forgets_columns_that_no_sample_prefers():
    problem = priced_problem(views_of_two_patterns())
    fit = fit_to_partition(problem, TWO_PATTERNS, D)
    assert {len(used_columns(W)) for W in fit.state.W[:2]} == {2, 3}
    wide = np.concatenate([np.full((D, N, 2), 1e-9), fit.state.W], axis=2)
    state = state_from_fit(problem, fit._replace(state=fit.state._replace(W=wide)))
    assert state.W.shape == (D, N, 3)
