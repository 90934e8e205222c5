"""Weights of joint losses that are found: what tells of the clusters counts, what does not is left out."""

from types import SimpleNamespace

import numpy as np
import pytest

from latentsimplex.model.joint_loss_weights import choose_weights, fit_weights, hide_and_ask, weigh_losses
from latentsimplex.model.joint_losses import BlockModel, CovariatePrior

N, CLUSTERS = 120, 3


def draw(seed):
    """The truth of a seed, and memberships that views with some overlap would give."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % CLUSTERS
    seen = np.where(rng.random(N) < 0.9, truth, (truth + 1) % CLUSTERS)
    return rng, truth, (0.9 * np.eye(CLUSTERS)[seen] + 0.1 / CLUSTERS)[None]


def graph(rng, communities, within, between, weight="auto"):
    P = np.where(communities[:, None] == communities, within, between)
    edges = np.triu(rng.random(P.shape) < P, 1)
    return BlockModel(edges + edges.T, weight)


def found_weights(losses, W):
    return [other.weight for other in weigh_losses(tuple(losses), W)]


@pytest.mark.parametrize("seed", range(10))
def test_what_tells_of_clusters_counts_and_what_does_not_is_left_out(seed):
    rng, truth, W = draw(seed)
    own_communities = rng.integers(CLUSTERS, size=N)
    good = [graph(rng, truth, 0.2, 0.03), CovariatePrior(truth + 0.3 * rng.normal(size=N), "auto")]
    useless = [
        graph(rng, truth, 0.1, 0.1),
        graph(rng, own_communities, 0.3, 0.02),
        CovariatePrior(rng.normal(size=(N, 3)), "auto"),
    ]
    assert all(weight > 0.1 for other in good for weight in found_weights([other], W))
    assert [found_weights([other], W) for other in useless].count([0.0]) >= 2
    together = found_weights([good[0], useless[1]], W)
    assert together[0] > 0.1
    assert together[1] < 0.1


def test_weights_that_are_given_stay():
    rng, truth, W = draw(0)
    heavy, faint = graph(rng, truth, 0.2, 0.03, weight=3.0), graph(rng, truth, 0.2, 0.03, weight=0.0)
    assert weigh_losses((heavy, faint), W) == (heavy, faint)
    found = weigh_losses((heavy, graph(rng, truth, 0.2, 0.03)), W)
    assert found[0] is heavy
    assert 0 <= found[1].weight <= 1


def test_what_a_loss_of_given_weight_has_said_is_not_counted_again():
    """The same covariate twice: where one has its full weight, the other has nothing to add."""
    rng, truth, W = draw(1)
    told = truth + 0.8 * rng.normal(size=N)
    alone = found_weights([CovariatePrior(told, "auto")], W)[0]
    beside = found_weights([CovariatePrior(told, alone), CovariatePrior(told, "auto")], W)[1]
    assert alone > 0.1
    assert beside == 0


def test_without_clusters_nothing_has_a_weight():
    rng, truth, _ = draw(2)
    assert found_weights([graph(rng, truth, 0.2, 0.03)], None) == [0.0]
    assert found_weights([graph(rng, truth, 0.2, 0.03)], np.ones((1, N, 1))) == [0.0]


def test_a_hidden_sample_does_not_tell_of_itself():
    """What is asked of the samples of a part depends on no membership in it: the part's rows are replaced."""
    _, _, W = draw(3)

    def give_back(V):
        return np.zeros(1), -V

    echo = SimpleNamespace(weight="auto", value_and_gradient=give_back, take=None)
    messages = hide_and_ask((echo,), W)
    np.testing.assert_allclose(messages[0], np.broadcast_to(W.mean(axis=1, keepdims=True), W.shape))
    assert choose_weights((echo,), W).tolist() == [0.0]


def test_weights_are_the_best_there_are():
    """Against a grid; and the slope against finite differences, by the optimum being where the grid has it."""
    rng, _, W = draw(4)
    base = np.zeros_like(W)
    messages = np.array([np.log(W) + 0.5 * rng.normal(size=W.shape)])

    def lack(weight):
        logs = weight * messages[0]
        return -(W * (logs - np.log(np.exp(logs).sum(axis=2, keepdims=True)))).sum()

    weights, least = fit_weights(base, messages, W)
    grid = np.linspace(0, 1, 1001)
    values = [lack(weight) for weight in grid]
    assert weights[0] == pytest.approx(grid[int(np.argmin(values))], abs=2e-3)
    assert least == pytest.approx(min(values), abs=1e-3)


def test_a_weighted_loss_is_the_loss_of_some_samples():
    rng, truth, W = draw(5)
    (found,) = weigh_losses((graph(rng, truth, 0.2, 0.03),), W)
    rows = np.arange(0, N, 2)
    part = found.take(rows)
    assert part.weight == found.weight
    values, gradient = part.value_and_gradient(W[:, rows])
    expected, slope = found.loss.take(rows).value_and_gradient(W[:, rows])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(gradient, slope)
