"""Losses that join that of the views: gradients, which pattern they speak of, and EM that descends with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from latentsimplex.model import em
from latentsimplex.model.joint_losses import (
    BlockModel,
    CovariatePrior,
    PartialLabels,
    SampleLinks,
    check_losses,
    join_gradients,
    settle_with_losses,
    share_losses,
)
from latentsimplex.model.problem import Schedule
from problems import interior_memberships, make_case

N = 8


def random_graph(rng, n=N):
    A = np.triu(rng.integers(0, 3, size=(n, n)), 1)
    return A + A.T


def make_losses(seed=0, n=N):
    rng = np.random.default_rng(seed)
    pairs = np.array([[0, 1], [2, 5], [1, 4], [0, 3]])
    return {
        "labels": PartialLabels(rng.integers(-1, 3, size=n), 3),
        "links": SampleLinks(pairs, np.array([True, False, True, False]), np.array([1.0, 2.0, 0.5, 1.0])),
        "graph": BlockModel(random_graph(rng, n), weight=0.3),
        "covariates": CovariatePrior(rng.normal(size=(n, 2)), weight=1.0),
    }


NAMES = list(make_losses())


@pytest.mark.parametrize("name", NAMES)
def test_gradients_against_finite_differences(name):
    loss, step = make_losses()[name], 1e-5
    W = interior_memberships(np.random.default_rng(1), 2, N, 3)
    _, gradient = loss.value_and_gradient(W)
    for index in np.ndindex(W.shape):
        moved = np.zeros_like(W)
        moved[index] = step
        above, below = (loss.value_and_gradient(W + way * moved)[0] for way in (1, -1))
        assert gradient[index] == pytest.approx((above - below)[index[0]] / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_patterns_are_valued_one_by_one(name):
    loss = make_losses()[name]
    W = interior_memberships(np.random.default_rng(2), 3, N, 2)
    values, gradient = loss.value_and_gradient(W)
    for l in range(3):
        alone, slope = loss.value_and_gradient(W[l : l + 1])
        np.testing.assert_allclose(alone[0], values[l], rtol=1e-6)
        np.testing.assert_allclose(slope[0], gradient[l], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_the_samples_is_what_it_would_be_alone(name):
    """Samples that are left out count no more: their labels, links, edges and covariates are gone."""
    rows = np.array([0, 1, 2, 4, 5])
    part = make_losses()[name].take(rows)
    W = interior_memberships(np.random.default_rng(3), 1, len(rows), 2)
    value, gradient = part.value_and_gradient(W)
    assert np.isfinite(value).all()
    assert gradient.shape == W.shape
    if name == "links":
        assert part.pairs.tolist() == [[0, 1], [2, 4], [1, 3]]
    if name == "graph":
        np.testing.assert_array_equal(
            part.adjacency.toarray(), make_losses()[name].adjacency.toarray()[np.ix_(rows, rows)]
        )


def test_labels_cost_what_their_classes_do_given_clusters():
    """With certain memberships the loss is the entropy of classes in clusters, by hand."""
    labels = np.array([0, 0, 1, -1])
    certain = np.eye(2)[[[0, 0, 1, 1]]]
    value, gradient = PartialLabels(labels, 2).value_and_gradient(certain)
    counts = np.array([[2.1, 0.1], [0.1, 1.1]])
    logs = np.log(counts / counts.sum(axis=1, keepdims=True))
    assert value[0] == pytest.approx(-(counts * logs).sum())
    assert gradient[0, 0].tolist() == pytest.approx((-logs[:, 0]).tolist())
    assert gradient[0, 3].tolist() == [0, 0]


def test_blockmodel_is_the_profile_likelihood_of_labels():
    """Karrer and Newman: sum over pairs of blocks of m_kl log(m_kl / (K_k K_l)), by loops."""
    rng = np.random.default_rng(4)
    A, labels = random_graph(rng), np.arange(N) % 2
    edges, degrees = np.zeros((2, 2)), np.zeros(2)
    for i in range(N):
        degrees[labels[i]] += A[i].sum()
        for j in range(N):
            edges[labels[i], labels[j]] += A[i, j]
    expected = -(edges * np.log(edges / np.outer(degrees, degrees))).sum() / 2
    value, _ = BlockModel(sparse.csr_matrix(A)).value_and_gradient(np.eye(2)[labels][None])
    assert value[0] == pytest.approx(expected)


def test_shares_say_which_pattern_a_loss_speaks_of():
    labels = np.tile([0, 1], 4)
    right, wrong = np.eye(2)[labels], np.eye(2)[np.repeat([0, 1], 4)]
    losses = (PartialLabels(labels, 2), PartialLabels(np.repeat([0, 1], 4), 2, weight=2.0))
    W = np.array([right, wrong])
    total, shares = share_losses(losses, W)
    assert shares[0, 0] > 0.95
    assert shares[1, 1] > 0.95
    values = [loss.value_and_gradient(W)[0] for loss in losses]
    assert total == pytest.approx(
        sum(loss.weight * -logsumexp(-own, b=0.5) for loss, own in zip(losses, values, strict=True))
    )


def test_the_joint_gradient_is_that_of_the_joint_loss():
    """The gradient of -log mean exp(-L) is the shares times the gradients: by finite differences."""
    losses, step = tuple(make_losses().values()), 1e-5
    W = interior_memberships(np.random.default_rng(5), 2, N, 2)
    _, shares = share_losses(losses, W)
    _, gradient = join_gradients(losses, shares, W)
    for index in [(0, 0, 0), (1, 3, 1), (0, 5, 1), (1, 7, 0)]:
        moved = np.zeros_like(W)
        moved[index] = step
        above, below = (share_losses(losses, W + way * moved)[0] for way in (1, -1))
        assert gradient[index] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("optimizer", ["adam", "mirror"])
@pytest.mark.parametrize("penalty", ["group", None])
@pytest.mark.parametrize("name", NAMES)
def test_every_iteration_descends_with_a_joint_loss(name, penalty, optimizer):
    case = make_case(3, penalty=penalty, temperature=4.0)
    n = case.state.W.shape[1]
    schedule = Schedule(max_iter=6, optimizer=optimizer, rate=0.1 if optimizer == "adam" else 1.0)
    problem = replace(case.problem(case.exact_pairs(), schedule), losses=(make_losses(n=n)[name],))
    fit = em.run(problem, case.state)
    curve = np.array(fit.loss_curve)
    assert (np.diff(curve) <= 1e-9 * np.abs(curve[1:])).all()
    assert curve[-1] < curve[0]


def test_a_heavy_loss_is_obeyed():
    """Labels that count a thousandfold decide the memberships of their samples."""
    case = make_case(3, penalty=None)
    n = case.state.W.shape[1]
    labels = np.arange(n) % 2
    loss = PartialLabels(labels, 2, weight=1000.0)
    schedule = Schedule(max_iter=60, rate=0.3)
    alone, joined = (
        em.run(replace(case.problem(case.exact_pairs(), schedule), losses=losses), case.state)
        for losses in ((), (loss,))
    )
    before, _ = loss.value_and_gradient(alone.state.W)
    after, _ = loss.value_and_gradient(joined.state.W)
    assert after.min() < 0.5 * before.min()
    assert joined.expectation.shares.shape == (1, len(case.state.lam))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([3], TypeError, r"losses\[0\] is a int: give a BlockModel"),
        ([BlockModel(np.zeros((4, 4)))], ValueError, r"losses\[0\] does not fit 5 samples"),
        ([BlockModel(np.zeros((5, 5)), -1.0)], ValueError, r"losses\[0\] has the weight -1.0: give a number"),
        (
            [BlockModel(np.zeros((5, 5)), "much")],
            ValueError,
            r"losses\[0\] has the weight 'much': give a num",
        ),
        (
            [BlockModel(np.zeros((5, 5)), np.inf)],
            ValueError,
            r"losses\[0\] has the weight inf: give a number",
        ),
    ],
)
def test_losses_that_cannot_join(given, error, message):
    with pytest.raises(error, match=message):
        check_losses(given, 5)


def test_one_loss_is_a_list_of_one():
    loss = CovariatePrior(np.arange(5.0))
    assert check_losses(loss, 5) == (loss,)


def test_graphs_and_covariates_that_are_none():
    with pytest.raises(ValueError, match=r"adjacency has the shape \(2, 3\)"):
        BlockModel(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="adjacency holds negative or missing numbers"):
        BlockModel(-np.ones((2, 2)))
    with pytest.raises(ValueError, match="covariates holds missing numbers"):
        CovariatePrior([1.0, np.nan])


def test_memberships_settle_with_losses():
    """At the end w is the prior times exp(-gradient), and a cluster that was empty stays so."""
    prior = np.zeros((1, N, 3))
    prior[0, :, :2] = interior_memberships(np.random.default_rng(6), 1, N, 2)[0]
    losses = (make_losses()["covariates"],)
    found = settle_with_losses(losses, prior)
    _, gradient = losses[0].value_and_gradient(found)
    expected = prior * np.exp(-gradient)
    np.testing.assert_allclose(found, expected / expected.sum(axis=2, keepdims=True), atol=1e-3)
    assert found[:, :, 2].max() == 0


def test_edges_pull_a_sample_to_its_neighbours():
    A = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    prior = np.array([[[0.95, 0.05]] * 3 + [[0.4, 0.6]] + [[0.05, 0.95]] * 4])
    assert settle_with_losses((BlockModel(A, weight=1.0),), prior)[0, 3, 0] > 0.9
