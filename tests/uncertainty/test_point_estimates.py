"""Point estimates against every partition there is, and credible balls against brute force."""

from functools import lru_cache

import numpy as np
import pytest

from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty import point_estimates
from latentsimplex.uncertainty.partition_losses import (
    binder_loss,
    draw_partitions,
    expected_binder,
    expected_vi,
    expected_vi_bound,
    variation_of_information,
)
from latentsimplex.uncertainty.point_estimates import credible_ball, point_estimate

CASES = 30


@lru_cache
def all_partitions(n):
    """Every partition of n samples, clusters numbered as they appear."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, k] for labels in found for k in range(max(labels) + 2)]
    return np.array(found)


def joined(labels):
    """Which pairs (partitions, n, n) share a cluster."""
    return labels[..., :, None] == labels[..., None, :]


def every_expected_vi(partitions, draws, a, b):
    """The mean loss of each partition, by the sizes of each sample's clusters."""
    c, z = joined(partitions), joined(draws)
    both = np.einsum("cij,zij->czi", c.astype(float), z.astype(float))
    own = b * np.log(c.sum(axis=2)).mean(axis=1) + a * np.log(z.sum(axis=2)).mean()
    return own - (a + b) * np.log(both).mean(axis=(1, 2))


def every_expected_binder(partitions, P, a, b):
    upper = np.triu_indices(len(P), 1)
    c, p = joined(partitions)[:, *upper], P[upper]
    return np.where(c, b * (1 - p), a * p).mean(axis=1)


def every_bound(partitions, P, a, b):
    P = P.copy()
    np.fill_diagonal(P, 1.0)
    c = joined(partitions)
    own = b * np.log(c.sum(axis=2)) + a * np.log(P.sum(axis=1))
    return (own - (a + b) * np.log((c * P).sum(axis=2))).mean(axis=1)


def costs_of(case):
    return [(1.0, 1.0), (1.0, 1.0), (0.4, 1.5), (2.0, 1.0)][case % 4]


def random_draws(rng, case):
    """Draws of five to eight samples: from memberships, or labels at random, which agree on nothing."""
    n = 5 + case % 4
    if case % 3 == 0:
        return rng.integers(0, 4, size=(15, n))
    return draw_partitions(rng.dirichlet([0.3] * 4, size=n), 15, random_state=rng)


def random_pairs(rng, case):
    """Co-assignments of five to eight samples: memberships, or any symmetric matrix."""
    n = 5 + case % 4
    if case % 2:
        return CoAssignment(rng.dirichlet([0.3] * 4, size=n))
    P = rng.random((n, n))
    return (P + P.T) / 2


def check_minimum(found, partitions, losses, limit):
    allowed = partitions.max(axis=1) < limit
    assert found.expected_loss == pytest.approx(losses[allowed].min(), abs=1e-9)
    where = np.flatnonzero((partitions == found.labels).all(axis=1))[0]
    assert losses[where] == pytest.approx(found.expected_loss, abs=1e-9)
    assert found.n_clusters <= limit
    assert found.expected_loss == found.start_losses.min()


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_draws_lead_to_the_best_of_all_partitions(loss):
    rng = np.random.default_rng(0)
    for case in range(CASES):
        draws, (a, b) = random_draws(rng, case), costs_of(case)
        n = draws.shape[1]
        partitions = all_partitions(n)
        if loss == "vi":
            losses = every_expected_vi(partitions, draws, a, b)
        else:
            losses = every_expected_binder(partitions, joined(draws).mean(axis=0), a, b)
        found = point_estimate(draws, loss, costs=(a, b), max_clusters=n, random_state=case, n_jobs=1)
        check_minimum(found, partitions, losses, n)


@pytest.mark.parametrize("loss", ["binder", "vi-bound"])
def test_co_assignments_lead_to_the_best_of_all_partitions(loss):
    rng = np.random.default_rng(1)
    every = {"binder": every_expected_binder, "vi-bound": every_bound}[loss]
    for case in range(CASES):
        source, (a, b) = random_pairs(rng, case), costs_of(case)
        partitions = all_partitions(len(source))
        losses = every(partitions, np.array(source), a, b)
        found = point_estimate(source, loss, costs=(a, b), random_state=case, n_jobs=1)
        check_minimum(found, partitions, losses, len(source))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_best_of_the_partitions_into_a_few_clusters(limit):
    rng = np.random.default_rng(2)
    for case in range(6):
        draws, source = random_draws(rng, case), random_pairs(rng, case)
        partitions = all_partitions(5 + case % 4)
        options = {"max_clusters": limit, "random_state": case, "n_jobs": 1}
        found = point_estimate(draws, **options)
        check_minimum(found, partitions, every_expected_vi(partitions, draws, 1.0, 1.0), limit)
        for loss, every in [("binder", every_expected_binder), ("vi-bound", every_bound)]:
            found = point_estimate(source, loss, **options)
            check_minimum(found, partitions, every(partitions, np.array(source), 1.0, 1.0), limit)


def test_draws_limit_the_number_of_clusters_to_their_own():
    rng = np.random.default_rng(3)
    draws = rng.integers(0, 2, size=(15, 7))
    partitions = all_partitions(7)
    found = point_estimate(draws, "binder", random_state=0)
    losses = every_expected_binder(partitions, joined(draws).mean(axis=0), 1.0, 1.0)
    check_minimum(found, partitions, losses, 2)


def test_the_loss_of_an_estimate_is_that_of_its_labels():
    """At a size where the sweeps' running sums have many steps to drift in."""
    W = np.random.default_rng(4).dirichlet([0.1] * 5, size=200)
    co, draws = CoAssignment(W), draw_partitions(W, 100, random_state=0)
    for source, loss, expected in [
        (draws, "vi", expected_vi),
        (draws, "binder", expected_binder),
        (co, "binder", expected_binder),
        (co.toarray(), "binder", expected_binder),
        (co, "vi-bound", expected_vi_bound),
        (co.toarray(), "vi-bound", expected_vi_bound),
    ]:
        for costs in [(1.0, 1.0), (1.0, 3.0)]:
            found = point_estimate(source, loss, costs=costs, n_init=4, random_state=0)
            assert found.expected_loss == pytest.approx(expected(found.labels, source, costs), rel=1e-10)


def test_a_factor_and_its_matrix_give_the_same_estimate():
    co = CoAssignment(np.random.default_rng(5).dirichlet([0.1] * 3, size=60))
    for loss in ("binder", "vi-bound"):
        low_rank = point_estimate(co, loss, n_init=4, random_state=0)
        dense = point_estimate(co.toarray(), loss, n_init=4, random_state=0)
        assert low_rank.expected_loss == pytest.approx(dense.expected_loss)


def test_clear_clusters_are_found():
    truth = np.repeat(np.arange(4), 25)
    W = 0.04 / 4 + 0.96 * np.eye(4)[truth]
    draws = draw_partitions(W, 100, random_state=0)
    for source, loss in [
        (draws, "vi"),
        (draws, "binder"),
        (CoAssignment(W), "binder"),
        (CoAssignment(W), "vi-bound"),
    ]:
        assert point_estimate(source, loss, random_state=0).labels.tolist() == truth.tolist()


def test_no_draw_is_better_than_the_estimate():
    draws = draw_partitions(np.random.default_rng(6).dirichlet([0.05] * 6, size=80), 60, random_state=0)
    for loss, expected in [("vi", expected_vi), ("binder", expected_binder)]:
        found = point_estimate(draws, loss, random_state=0)
        assert found.expected_loss <= min(expected(draw, draws) for draw in draws) + 1e-9


def test_a_seed_fixes_the_estimate_for_any_number_of_threads():
    draws = np.random.default_rng(7).integers(0, 5, size=(30, 40))
    one, two = (point_estimate(draws, n_init=6, random_state=3, n_jobs=jobs) for jobs in (1, 2))
    assert (one.labels == two.labels).all()
    assert (one.start_losses == two.start_losses).all()


def test_dissolving_clusters_finds_what_single_moves_do_not(monkeypatch):
    """Without it some start of these ends higher, and with it none does."""
    rng = np.random.default_rng(8)
    sources = [rng.integers(0, 4, size=(10, 12)) for _ in range(10)]

    def losses():
        return np.array(
            [point_estimate(z, n_init=1, random_state=0, n_jobs=1).expected_loss for z in sources]
        )

    with_it = losses()
    monkeypatch.setattr(point_estimates, "REBUILT_CLUSTERS", 0)
    assert (with_it <= losses() + 1e-12).all()
    assert (with_it < losses() - 1e-6).any()


def test_refused_questions():
    draws, co = np.zeros((4, 5), dtype=int), CoAssignment(np.ones((5, 1)))
    for source, loss, message in [
        (draws, "vi-bound", 'cannot be read off draws: choose "vi" or "binder"'),
        (co, "vi", "cannot be read off co-assignments"),
        (co, "nmi", "cannot be read off co-assignments"),
    ]:
        with pytest.raises(ValueError, match=message):
            point_estimate(source, loss)
    for name, value in [("n_init", 0), ("max_clusters", 0), ("n_jobs", 0)]:
        with pytest.raises(ValueError, match=f"{name}=0 is not valid"):
            point_estimate(draws, **{name: value})
    for level in (0.0, 1.1):
        with pytest.raises(ValueError, match=f"level={level} is not valid"):
            credible_ball(draws, draws[0], level)
    with pytest.raises(ValueError, match="distance='nmi' is unknown"):
        credible_ball(draws, draws[0], distance="nmi")


def brute_force_ball(partitions, counts, far, level):
    """The ball by its definition over distinct partitions, each with how many draws it has."""
    seen = counts > 0
    for radius in np.unique(far[seen].round(9)):
        inside = seen & (far <= radius + 1e-9)
        if counts[inside].sum() >= level * counts.sum() - 1e-9:
            break
    clusters = partitions.max(axis=1) + 1

    def most_distant(among):
        return set(np.flatnonzero(among & (far >= far[among].max() - 1e-9)).tolist())

    fewest, most = clusters[inside].min(), clusters[inside].max()
    return (
        radius,
        counts[inside].sum() / counts.sum(),
        set(np.flatnonzero(inside).tolist()),
        most_distant(inside),
        most_distant(inside & (clusters == fewest)),
        most_distant(inside & (clusters == most)),
    )


@pytest.mark.parametrize(("distance", "metric"), [("vi", variation_of_information), ("binder", binder_loss)])
def test_balls_over_every_partition(distance, metric):
    """Posteriors over all partitions of four to six samples, as draws that repeat each as often as it counts."""
    rng = np.random.default_rng(9)
    for case in range(12):
        partitions = all_partitions(4 + case % 3)
        counts = rng.multinomial(150, rng.dirichlet([0.2] * len(partitions)))
        which = rng.permutation(np.repeat(np.arange(len(partitions)), counts))
        # a draw's clusters may have any names
        draws = np.array([rng.permutation(20)[partitions[k]] for k in which])
        center = partitions[rng.integers(len(partitions))]
        far = metric(center, partitions)
        for level in (0.3, 0.5, 0.9, 1.0):
            ball = credible_ball(draws, center, level, distance)
            radius, probability, members, horizontal, upper, lower = brute_force_ball(
                partitions, counts, far, level
            )
            assert ball.radius == pytest.approx(radius, abs=1e-8)
            assert ball.probability == pytest.approx(probability)
            assert set(which[ball.members].tolist()) == members
            assert len(ball.members) == round(probability * len(draws))
            for found, expected in [(ball.horizontal, horizontal), (ball.upper, upper), (ball.lower, lower)]:
                assert sorted(which[found].tolist()) == sorted(expected)
            assert (ball.labels == center).all()


@pytest.mark.parametrize("distance", ["vi", "binder"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_fresh_draws_fall_into_the_ball_as_often_as_it_says(distance, level):
    W = np.random.default_rng(10).dirichlet([0.2] * 4, size=40)
    draws, fresh = draw_partitions(W, 1500, random_state=1), draw_partitions(W, 1500, random_state=2)
    ball = credible_ball(draws, W.argmax(axis=1), level, distance)
    metric = {"vi": variation_of_information, "binder": binder_loss}[distance]
    inside = np.mean(metric(ball.labels, fresh) <= ball.radius + 1e-9)
    # two samples of draws, one for the radius and one that is counted
    assert abs(inside - ball.probability) < 4 * np.sqrt(2 * level * (1 - level) / 1500)
