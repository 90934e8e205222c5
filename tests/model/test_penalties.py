"""Penalties: their gradients, their least values, and what they are for."""

import numpy as np
import pytest

from latentsimplex.model.cluster_prices import ClusterPrice
from latentsimplex.model.penalties import (
    LAMBDA_FLOOR,
    PENALTIES,
    DirichletRows,
    GroupPenalty,
    NoPenalty,
    ScaledPenalty,
    membership_penalty,
    soften,
    weight_penalty,
)
from problems import PENALTY_NAMES, interior_memberships, mixed_memberships

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", PENALTY_NAMES)
def test_gradient_against_finite_differences(name):
    W = interior_memberships(np.random.default_rng(0), 2, 6, 3)
    _, gradient = PENALTIES[name].value_and_gradient(W)
    step = 1e-6
    for index in np.ndindex(W.shape):
        moved = np.zeros_like(W)
        moved[index] = step
        above, _ = PENALTIES[name].value_and_gradient(W + moved)
        below, _ = PENALTIES[name].value_and_gradient(W - moved)
        difference = (above - below)[index[0]] / (2 * step)
        assert gradient[index] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", PENALTY_NAMES)
@pytest.mark.parametrize("g", [1, 2, 5])
def test_no_memberships_cost_less_than_an_unused_pattern(name, g):
    rng, n = np.random.default_rng(g), 9
    least = PENALTIES[name].least_value(n, g)
    one_column = np.full((n, g), 1e-3)
    one_column[:, 0] = 1 - 1e-3 * (g - 1)
    certain = np.eye(g)[np.zeros(n, dtype=int)]
    several = [rng.dirichlet(np.full(g, a), size=n) for a in (0.01, 0.3, 1, 10) for _ in range(20)]
    values, _ = PENALTIES[name].value_and_gradient(np.array([one_column, certain, *several]))
    assert (values >= least - 1e-12 * max(1, abs(least))).all()
    assert values[:2].min() == pytest.approx(least, abs=1e-12)


def test_unused_group_costs_nothing_when_columns_fit_under_epsilon():
    """With more than 1/eps columns the uniform row lies below eps everywhere."""
    penalty = GroupPenalty(epsilon=0.25)
    values, _ = penalty.value_and_gradient(np.full((1, 6, 7), 1 / 7))
    assert values[0] == penalty.least_value(6, 7) == 0
    assert GroupPenalty().least_value(2000, 1500) == 0


def test_group_penalty_ignores_columns_below_epsilon():
    W = np.full((1, 5, 3), 4e-4)
    W[..., 0] = 1 - 8e-4
    value, gradient = GroupPenalty().value_and_gradient(W)
    assert value[0] == pytest.approx(5 * np.sqrt(5) * np.log((1 - 8e-4) / 1e-3))
    assert (gradient[..., 1:] == 0).all()
    assert (gradient[..., 0] > 0).all()


def test_group_penalty_prefers_one_column_to_two():
    shared = np.full((1, 8, 2), 0.5)
    alone = np.tile([1.0, 0.0], (1, 8, 1))
    values, _ = GroupPenalty().value_and_gradient(np.concatenate([shared, alone]))
    assert values[1] < values[0]


def test_dirichlet_rows_are_finite_at_zero():
    value, gradient = DirichletRows().value_and_gradient(np.array([[[1.0, 0.0]]]))
    assert np.isfinite(value).all()
    assert gradient.tolist() == [[[0.9, 0.0]]]


def test_no_penalty_is_zero():
    value, gradient = PENALTIES[None].value_and_gradient(np.full((2, 3, 4), 0.25))
    assert value.tolist() == [0, 0]
    assert not gradient.any()


def test_penalties_do_not_change_what_they_are_given():
    W = mixed_memberships(np.random.default_rng(0), 6, 3)[None]
    before = W.copy()
    for penalty in PENALTIES.values():
        penalty.value_and_gradient(W)
    assert np.array_equal(W, before)


def test_weight_penalty_is_floored_and_zero_for_one_pattern():
    assert weight_penalty(np.array([1.0])) == 0
    assert weight_penalty(np.array([1.0, 0.0])) == pytest.approx(0.5 * np.log(LAMBDA_FLOOR))


def test_unused_patterns_pay_their_charge_whatever_is_left_in_them():
    W = interior_memberships(np.random.default_rng(1), 3, 6, 2)
    penalty, live = GroupPenalty(), np.array([True, False, False])
    paid = membership_penalty(W, live, penalty)
    values, _ = penalty.value_and_gradient(W)
    assert paid == pytest.approx(values[0] + 2 * penalty.least_value(6, 2))
    W[1:] = 0.5
    assert membership_penalty(W, live, penalty) == paid


# Shares of a penalty


@pytest.mark.parametrize("name", PENALTY_NAMES)
def test_a_share_of_a_penalty(name):
    W = interior_memberships(np.random.default_rng(0), 2, 6, 3)
    value, gradient = PENALTIES[name].value_and_gradient(W)
    share = ScaledPenalty(PENALTIES[name], 0.25)
    np.testing.assert_allclose(share.value_and_gradient(W)[0], value / 4)
    np.testing.assert_allclose(share.value_and_gradient(W)[1], gradient / 4)
    assert share.least_value(6, 3) == pytest.approx(PENALTIES[name].least_value(6, 3) / 4)


@pytest.mark.parametrize("penalty", [GroupPenalty(0.01), DirichletRows(0.3)])
def test_a_penalty_comes_in_from_nothing_to_all_of_it(penalty):
    W = interior_memberships(np.random.default_rng(0), 1, 6, 3)
    first, *_, last = soften(penalty)
    assert first == NoPenalty()
    assert last is penalty
    sizes = [abs(step.value_and_gradient(W)[0][0]) for step in soften(penalty)]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == len(sizes) > 2


@pytest.mark.parametrize("penalty", [NoPenalty(), ClusterPrice((1.0, 2.0))])
def test_a_penalty_without_slope_is_not_softened(penalty):
    assert soften(penalty) == [penalty]


def test_penalties_say_whether_they_have_a_slope():
    assert [penalty.sloped for penalty in PENALTIES.values()] == [True, True, False]
    assert ScaledPenalty(GroupPenalty(), 0.1).sloped
    assert not ClusterPrice((1.0,)).sloped
    W = interior_memberships(np.random.default_rng(0), 1, 6, 3)
    for penalty in PENALTIES.values():
        assert penalty.value_and_gradient(W)[1].any() == penalty.sloped


# Tensors


@pytest.mark.parametrize(
    "penalty",
    [*PENALTIES.values(), ClusterPrice((1.0, 2.0, 4.0)), ScaledPenalty(PENALTIES["group"], 0.1)],
    ids=str,
)
def test_penalties_of_tensors(penalty):
    rng = np.random.default_rng(0)
    W = np.array([mixed_memberships(rng, 8, 3) for _ in range(4)])
    for found, expected in zip(
        penalty.value_and_gradient(torch.as_tensor(W)), penalty.value_and_gradient(W), strict=True
    ):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
