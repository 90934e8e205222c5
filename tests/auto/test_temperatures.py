"""The temperature of a view: what clusters explain of clouds like it, one at a time or many at once."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from latentsimplex.auto import explained_divergence
from latentsimplex.auto import temperatures as of_temperatures
from latentsimplex.auto.explained_divergence import (
    Request,
    cut_into_batches,
    explain,
    explain_tables,
    gains_up_to,
)
from latentsimplex.auto.gaussian_clouds import CLOUD_SAMPLES, N_CLOUDS, SEED, draw_cloud, measure_shape
from latentsimplex.auto.temperatures import (
    CLOUD_CLUSTERS,
    VIEWS_OF_A_KIND,
    measure_temperatures,
    reads_clouds,
    sample_views,
    temperature_from_gains,
    view_temperatures,
)
from latentsimplex.base.threads import Workers
from latentsimplex.base.wide_table import WideTable
from latentsimplex.inputs.views import as_views
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.similarity import AutoDiffusion, Diffusion, FunctionKernel, LocalScaling, Precomputed
from latentsimplex.similarity.auto_diffusion import MOST_KINDS
from latentsimplex.similarity.kernel import clip_exponents
from problems import KINDS

KIND = pytest.mark.parametrize("kind", KINDS)
FORWARD = DIVERGENCES["forward"]
LOCAL, BROAD = (AutoDiffusion(scale, ((1, "as they are"),)) for scale in ("local", "broad"))


def rng(seed=0):
    return np.random.default_rng(seed)


def view(n=60, p=2, seed=0):
    """Return samples whose features are of different scales, and correlated."""
    X = rng(seed).normal(size=(n, p))
    X[:, -1] += 2 * X[:, 0]
    return 10.0 ** np.arange(p) * X + 5


def temperature(X, kernel, divergence, name="a view"):
    """Return the temperature of one view."""
    return measure_temperatures([X], kernel, divergence, Workers(1), [name])[0]


# What clusters explain of tables


@pytest.mark.parametrize(
    "kernel", [LocalScaling(), LocalScaling(power=2, per_feature=True), Diffusion(), LOCAL, BROAD], ids=repr
)
def test_kernels_of_the_package_read_a_cloud(kernel):
    """The mean over clouds of what k = 2, 3, ... clusters explain, over n log k; in single precision."""
    X = view(40)
    k = np.arange(2, CLOUD_CLUSTERS + 1)
    found = []
    for generator in np.random.default_rng(SEED).spawn(N_CLOUDS):
        f = FORWARD.f(clip_exponents(kernel.exponents(draw_cloud(measure_shape(X), 40, generator))))
        found.append((explain(f, CLOUD_CLUSTERS, FORWARD).gains[1:] / (40 * np.log(k))).mean())
    assert temperature(X, kernel, FORWARD) == pytest.approx(np.mean(found), rel=1e-3)


def test_tables_of_several_shapes_are_read_in_their_order(monkeypatch):
    monkeypatch.setattr(explained_divergence, "READ_TOGETHER", 2 * 20**2)
    tables = [view(20, p, seed) for seed, p in enumerate((2, 2, 2, 1, 2))]
    requests = [Request(X, LocalScaling(), 3) for X in tables]
    assert [len(batch) for batch in cut_into_batches(requests)] == [2, 1, 1, 1]
    for X, gains in zip(tables, explain_tables(requests, FORWARD, Workers(1)), strict=True):
        f = FORWARD.f(clip_exponents(LocalScaling().exponents(X)))
        np.testing.assert_allclose(gains, explain(f, 3, FORWARD).gains[1:], rtol=1e-3)


def test_tables_are_read_and_cut_as_each_request_has_it():
    X = view(20)
    requests = [Request(X, kernel, most) for kernel in (LocalScaling(), BROAD) for most in (2, 4)]
    gains = explain_tables(requests, FORWARD, Workers(1))
    assert [len(gain) for gain in gains] == [1, 3, 1, 3]
    assert gains[0][0] == pytest.approx(gains[1][0])
    assert gains[0][0] != pytest.approx(gains[2][0], rel=0.01)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kernel", [LocalScaling(), LocalScaling(metric="cityblock")], ids=str)
def test_temperatures_of_several_views_are_those_of_each(kernel, n_jobs):
    views = [view(30, 2), view(30, 3), view(30, 2, seed=1)]
    with Workers(n_jobs) as workers:
        found = measure_temperatures(views, kernel, FORWARD, workers)
    assert found.tolist() == [temperature(X, kernel, FORWARD) for X in views]


def test_shares_have_the_clouds_of_their_roots():
    counts = rng().poisson(3.0, size=(40, 30)).astype(float)
    roots = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    expected = temperature(roots, Diffusion(standardise=False), FORWARD)
    shares = Diffusion(standardise=False, as_shares=True)
    assert temperature(counts, shares, FORWARD) == pytest.approx(expected)
    assert temperature(WideTable(sparse.csc_array(counts)), shares, FORWARD) == pytest.approx(
        expected, rel=0.05
    )
    with pytest.raises(ValueError, match=r"a view: .* negative"):
        temperature(counts - 1, shares, FORWARD)


def test_views_are_compared_each_in_its_own_way():
    """One view of words does not change how the temperature of another is measured."""
    words = rng().poisson(3.0, size=(40, 30)).astype(float)
    both = AutoDiffusion("local", ((2, "standardised"), (30, "as shares")))
    found = measure_temperatures([view(40), words], both, FORWARD, Workers(1))
    alone = AutoDiffusion("local", ((2, "standardised"),))
    assert found[0] == temperature(view(40), alone, FORWARD)


class Recorded:
    """A kernel of the user's own, which remembers what it was given."""

    def __init__(self):
        self.given = []

    def exponents(self, X):
        self.given.append(X)
        return pdist(X)


def test_other_kernels_see_their_view_and_nothing_else():
    kernel, X = Recorded(), view(40)
    temperature(X, kernel, FORWARD)
    assert all(np.array_equal(given, X) for given in kernel.given)


def test_a_view_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"view 'colour': .*must lie in"):
        temperature(3 * np.ones((9, 9)), Precomputed(), FORWARD, "view 'colour'")


# The temperature


@KIND
@pytest.mark.parametrize("kernel", [LocalScaling(), LOCAL, BROAD], ids=["local scaling", "local", "broad"])
def test_the_temperature_grows_with_the_number_of_samples(kind, kernel):
    small, large = (temperature(view(n), kernel, DIVERGENCES[kind]) / n for n in (100, 300))
    assert small > 0
    assert 0.6 < large / small < 1.6


def test_beyond_the_size_of_a_cloud_the_temperature_is_in_proportion():
    X = view(CLOUD_SAMPLES)
    once, twice = (temperature(np.tile(X, (k, 1)), LocalScaling(), FORWARD) for k in (1, 2))
    assert twice / once == pytest.approx(2, rel=0.01)


@KIND
@pytest.mark.parametrize("kernel", [LocalScaling(), BROAD], ids=["local scaling", "broad"])
def test_each_nat_of_labels_explains_about_the_same_for_any_number_of_clusters(kind, kernel):
    """What k pieces of a cloud explain is in proportion to log k, so that one number serves them all."""
    divergence, k = DIVERGENCES[kind], np.arange(2, 7)
    rates = []
    for seed in range(3):
        f = divergence.f(clip_exponents(kernel.exponents(rng(seed).normal(size=(150, 2)))))
        rates.append(explain(f, 6, divergence).gains[1:] / (150 * np.log(k)))
    mean = np.mean(rates, axis=0)
    assert mean.max() / mean.min() < 1.5
    assert temperature(rng(9).normal(size=(150, 2)), kernel, divergence) == pytest.approx(
        mean.mean(), rel=0.2
    )


def test_of_two_views_with_the_same_covariance_the_one_with_clusters_has_the_same_temperature():
    """It is a yardstick: clusters are measured by it, and must not stretch it."""
    clustered = rng(0).normal(size=(100, 2)) + 12 * (np.arange(100) % 2)[:, None]
    plain = rng(1).normal(size=(100, 2))
    plain = (plain - plain.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(plain.T))).T
    plain = plain @ np.linalg.cholesky(np.cov(clustered.T)).T
    np.testing.assert_allclose(np.cov(plain.T), np.cov(clustered.T))
    T = [temperature(X, LocalScaling(), FORWARD) for X in (plain, clustered)]
    assert T[1] == pytest.approx(T[0], rel=0.15)
    values = [FORWARD.f(clip_exponents(LocalScaling().exponents(X))) for X in (plain, clustered)]
    nats = [explain(f, 2, FORWARD).gains[1] / T[1] for f in values]
    assert nats[0] < 1.25 * 100 * np.log(2) < nats[1]


@pytest.mark.parametrize(
    "kernel", [LocalScaling(), Diffusion(), BROAD], ids=["scaling", "diffusion", "broad"]
)
def test_units_and_place_do_not_matter(kernel):
    X = view(40)
    assert temperature(1000 * X - 7, kernel, FORWARD) == pytest.approx(
        temperature(X, kernel, FORWARD), rel=1e-6
    )


def test_the_temperature_belongs_to_the_view():
    np.random.seed(1)  # noqa: NPY002
    first = temperature(view(30), LOCAL, FORWARD)
    np.random.seed(2)  # noqa: NPY002
    assert temperature(view(30), LOCAL, FORWARD) == first


@KIND
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_very_few_samples_have_a_temperature(kind, n):
    for kernel in (LocalScaling(), LOCAL, BROAD):
        T = temperature(view(n, 1), kernel, DIVERGENCES[kind])
        assert 1e-3 < T < 10
    assert temperature(view(2, 1), LOCAL, DIVERGENCES[kind]) == 1


@KIND
@pytest.mark.parametrize("n", [3, 5, 20, 100])
def test_where_no_cut_gains_anything_rounding_is_no_temperature(kind, n):
    """All pairs are equally similar: what a cut seems to gain is what sums lose in their last digits."""
    assert temperature(np.full((n, n), 0.5), Precomputed(), DIVERGENCES[kind]) == 1


# Which views are looked at


def widths_of(counts):
    """Return views of so many samples as the counts' sum has, one for each number of features."""
    rng = np.random.default_rng(0)
    return as_views([rng.normal(size=(4, p)) for p in counts])


def test_views_are_taken_by_kind():
    views = widths_of([1, 3, 1, 1, 3, 2])
    found = sample_views(views)
    assert {p: sorted(members) for p, members in found.items()} == {1: [0, 2, 3], 2: [5], 3: [1, 4]}


def test_a_few_views_decide_for_all_of_a_kind():
    found = sample_views(widths_of([1] * 100))
    assert len(found[1]) == len(set(found[1])) == VIEWS_OF_A_KIND < 100
    assert max(found[1]) > VIEWS_OF_A_KIND  # not simply the first ones


def test_a_few_kinds_decide_for_all():
    found = sample_views(widths_of(range(1, 41)))
    assert len(found) == MOST_KINDS
    assert {1, 40} <= set(found)
    assert sorted(found) == list(found)


def test_constant_views_tell_nothing():
    flat, X = np.ones((6, 2)), np.random.default_rng(0).normal(size=(6, 2))
    assert sample_views(as_views([flat, X, flat, X + 1])) in ({2: [1, 3]}, {2: [3, 1]})
    assert sample_views(as_views([flat, np.zeros((6, 1))])) == {}


# The temperatures of all views


SCALING = LocalScaling()


def temperatures(data, kernel=SCALING, n_jobs=1):
    with Workers(n_jobs) as workers:
        return view_temperatures(as_views(data), kernel, FORWARD, workers)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_of_a_few_views_has_the_temperature_of_its_cloud(n_jobs):
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(30, p)) for p in (1, 3, 2)]
    expected = [temperature(X, LocalScaling(), FORWARD) for X in data]
    assert temperatures(data, n_jobs=n_jobs).tolist() == expected
    assert len(set(expected)) == 3


def test_views_beyond_a_few_have_the_mean_of_their_kind(monkeypatch):
    monkeypatch.setattr(of_temperatures, "VIEWS_WITH_CLOUDS", 2)
    rng = np.random.default_rng(0)
    found = temperatures([rng.normal(size=(20, p)) for p in (2, 2, 2, 2, 1)])
    sampled = sample_views(widths_of([2, 2, 2, 2, 1]))[2][:2]
    others = np.setdiff1d(np.arange(4), sampled)
    np.testing.assert_allclose(found[others], found[sampled].mean())
    assert found[sampled[0]] != found[sampled[1]]
    assert not np.isclose(found[4], found[others]).any()


def test_constant_views_have_no_part_in_the_temperatures_of_others():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = temperatures([np.ones((30, 2)), X, np.zeros((30, 1))])
    assert (found == temperature(X, LocalScaling(), FORWARD)).all()
    assert temperatures(np.ones((30, 2))).tolist() == [1]


def test_of_several_views_the_one_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"view 'sound': .*must lie in"):
        temperatures({"colour": np.eye(9), "sound": 3 * np.ones((9, 9)) - np.eye(9)}, Precomputed())


def test_kernels_that_read_no_clouds_need_no_shapes(monkeypatch):
    monkeypatch.setattr(of_temperatures, "measure_shape", lambda X: pytest.fail("nobody reads clouds"))
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert temperatures(X, LocalScaling(metric="cityblock")) > 0


# One number of many gains


def test_a_temperature_is_a_mean_over_clouds_and_numbers_of_clusters():
    rng = np.random.default_rng(0)
    gains = [rng.uniform(1, 2, size=5) for _ in range(3)]
    k = np.arange(2, 7)
    expected = np.mean([np.mean(gain / (40 * np.log(k))) for gain in gains])
    assert temperature_from_gains(gains, 40, 40) == pytest.approx(expected, rel=1e-12)
    assert temperature_from_gains(gains, 40, 120) == pytest.approx(3 * expected, rel=1e-12)


@pytest.mark.parametrize(
    "gains", [[np.empty(0)], [np.zeros(3)], [np.full(3, 1e-12)]], ids=["none", "0", "rounding"]
)
def test_without_a_gain_there_is_no_temperature(gains):
    assert temperature_from_gains(gains, 10, 10) == 1.0


@pytest.mark.parametrize(
    ("n", "most", "n_gains"), [(2, 6, 0), (3, 6, 1), (5, 6, 3), (20, 6, 5), (20, 1, 0), (20, 2, 1)]
)
def test_there_are_fewer_clusters_than_samples(n, most, n_gains):
    r = np.random.default_rng(0).uniform(0.1, 3, size=n * (n - 1) // 2)
    (found,) = gains_up_to(most, r[None], FORWARD)
    assert len(found) == n_gains
    if n_gains:
        assert np.array_equal(found, explain(FORWARD.f(r), n_gains + 1, FORWARD).gains[1:])


class Derived(Diffusion):
    """A kernel made of one of ours, which is asked for each cloud."""

    def exponents(self, X):
        return 5.0 * super().exponents(X)


def test_kernels_that_compare_features_by_their_differences_read_clouds():
    for kernel in (LocalScaling(), Diffusion(), LOCAL, Derived()):
        assert reads_clouds(kernel)
    for kernel in (LocalScaling(metric="cosine"), Precomputed(), FunctionKernel(np.cov), Recorded()):
        assert not reads_clouds(kernel)


def test_a_derived_kernel_reads_clouds_in_its_own_way():
    X = view(30)
    stretched = temperature(X, Derived(mean=0.4), FORWARD)
    assert stretched != pytest.approx(temperature(X, Diffusion(mean=0.4), FORWARD), rel=0.01)
    found = []
    for generator in np.random.default_rng(SEED).spawn(N_CLOUDS):
        r = 5.0 * Diffusion(mean=0.4).exponents(draw_cloud(measure_shape(X), 30, generator))
        (gains,) = gains_up_to(CLOUD_CLUSTERS, r[None], FORWARD)
        found.append((gains / (30 * np.log(np.arange(2, CLOUD_CLUSTERS + 1)))).mean())
    assert stretched == pytest.approx(np.mean(found), rel=1e-3)
