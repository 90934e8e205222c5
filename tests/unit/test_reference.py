"""Clouds without clusters: their covariance, and the temperature that they set."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel

from latentsimplex import reference
from latentsimplex.compute.pairs import n_pairs
from latentsimplex.compute.threads import Workers
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.profiles import profile
from latentsimplex.reference import (
    CLOUD_CLUSTERS,
    CLOUD_SAMPLES,
    CLOUDS,
    SEED,
    Request,
    batched,
    cloud,
    gains_of,
    laid_out_exponents,
    spread,
    temperature,
    temperatures,
)
from latentsimplex.similarity import (
    Diffusion,
    FunctionKernel,
    LocalScaling,
    Precomputed,
    Readings,
    clip_exponents,
)
from problems import KINDS

KIND = pytest.mark.parametrize("kind", KINDS)
FORWARD = DIVERGENCES["forward"]
LOCAL, BROAD = (Readings(scale, ((1, "as they are"),)) for scale in ("local", "broad"))


def rng(seed=0):
    return np.random.default_rng(seed)


def view(n=60, p=2, seed=0):
    """Return samples whose features are of different scales, and correlated."""
    X = rng(seed).normal(size=(n, p))
    X[:, -1] += 2 * X[:, 0]
    return 10.0 ** np.arange(p) * X + 5


# The cloud


def test_a_cloud_of_two_features_has_their_covariance():
    X = view(200)
    Y = cloud(spread(X), 40_000, rng(1))
    assert (np.abs(Y.mean(axis=0) - X.mean(axis=0)) < 0.02 * X.std(axis=0)).all()
    np.testing.assert_allclose(np.cov(Y.T), np.cov(X.T), rtol=0.03)


def test_a_cloud_of_one_feature_has_its_variance():
    X = view(100, 1)
    Y = cloud(spread(X), 40_000, rng(1))
    assert Y.shape == (40_000, 1)
    assert Y.std() == pytest.approx(X.std(), rel=0.02)


def test_a_cloud_of_many_features_has_their_two_leading_directions():
    """They are the eigenvectors of the correlations, so that units of measurement do not matter."""
    X = view(300, 4)
    Y = cloud(spread(X), 40_000, rng(1))
    values, vectors = np.linalg.eigh(np.corrcoef(X.T))
    leading = vectors[:, -2:] * values[-2:] @ vectors[:, -2:].T
    scales = X.std(axis=0)
    np.testing.assert_allclose(np.cov(Y.T) / np.outer(scales, scales), leading, atol=0.03)
    assert np.linalg.matrix_rank(Y - Y.mean(axis=0), tol=1e-6 * np.abs(Y).max()) == 2


@pytest.mark.parametrize(("n", "p"), [(5, 30), (3, 3), (2, 1), (2, 7), (40, 1), (40, 2)])
def test_a_cloud_of_any_shape(n, p):
    Y = cloud(spread(view(n, p)), 50, rng())
    assert Y.shape == (50, p)
    assert np.isfinite(Y).all()
    assert np.linalg.matrix_rank(Y - Y.mean(axis=0), tol=1e-9 * np.abs(Y).max()) <= 2


def test_a_cloud_goes_with_units_and_place():
    X = view(50, 3)
    scale, place = np.array([3.0, 0.01, 700.0]), np.array([1.0, -50.0, 0.0])
    np.testing.assert_allclose(
        cloud(spread(scale * X + place), 20, rng()),
        scale * cloud(spread(X), 20, rng()) + place,
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("constant", [7.0, 0.1])
def test_a_constant_feature_is_constant_in_the_cloud(constant):
    """And takes none of its two directions, its mean having been rounded or not."""
    X = np.column_stack([view(50, 2), np.full(50, constant)])
    Y = cloud(spread(X), 20, rng())
    np.testing.assert_allclose(Y[:, 2], constant, rtol=1e-14)
    np.testing.assert_allclose(Y[:, :2], cloud(spread(X[:, :2]), 20, rng()), rtol=1e-9)


# Its similarities


@pytest.mark.parametrize(
    "kernel", [LocalScaling(), LocalScaling(power=2, per_feature=True), Diffusion(), LOCAL, BROAD], ids=repr
)
def test_kernels_of_the_package_read_a_cloud(kernel):
    """The mean over clouds of what k = 2, 3, ... clusters explain of each, over n log k; in single precision."""
    X = view(40)
    k = np.arange(2, CLOUD_CLUSTERS + 1)
    found = []
    for generator in np.random.default_rng(SEED).spawn(CLOUDS):
        f = FORWARD.f(clip_exponents(kernel.exponents(cloud(spread(X), 40, generator))))
        found.append((profile(f, CLOUD_CLUSTERS, FORWARD).gains[1:] / (40 * np.log(k))).mean())
    assert temperature(X, kernel, FORWARD) == pytest.approx(np.mean(found), rel=1e-3)


def test_tables_of_several_shapes_are_read_in_their_order(monkeypatch):
    monkeypatch.setattr(reference, "READ_TOGETHER", 2 * 20**2)
    tables = [view(20, p, seed) for seed, p in enumerate((2, 2, 2, 1, 2))]
    requests = [Request(X, LocalScaling(), 3) for X in tables]
    assert [len(batch) for batch in batched(requests)] == [2, 1, 1, 1]
    for X, gains in zip(tables, gains_of(requests, FORWARD, Workers(1)), strict=True):
        f = FORWARD.f(clip_exponents(LocalScaling().exponents(X)))
        np.testing.assert_allclose(gains, profile(f, 3, FORWARD).gains[1:], rtol=1e-3)


def test_tables_are_read_and_cut_as_each_request_has_it():
    X = view(20)
    requests = [Request(X, kernel, most) for kernel in (LocalScaling(), BROAD) for most in (2, 4)]
    gains = gains_of(requests, FORWARD, Workers(1))
    assert [len(gain) for gain in gains] == [1, 3, 1, 3]
    assert gains[0][0] == pytest.approx(gains[1][0])
    assert gains[0][0] != pytest.approx(gains[2][0], rel=0.01)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kernel", [LocalScaling(), LocalScaling(metric="cityblock")], ids=str)
def test_temperatures_of_several_views_are_those_of_each(kernel, n_jobs):
    views = [view(30, 2), view(30, 3), view(30, 2, seed=1)]
    with Workers(n_jobs) as workers:
        found = temperatures(views, kernel, FORWARD, workers)
    assert found.tolist() == [temperature(X, kernel, FORWARD) for X in views]


class Recorded:
    """A kernel of the user's own, which remembers what it was given."""

    def __init__(self):
        self.given = []

    def exponents(self, X):
        self.given.append(X)
        return pdist(X)


def laid_out(X, kernel, n):
    """Return the exponents of a kernel that does not read clouds, and the distances that they are laid out by."""
    found = laid_out_exponents(X, kernel, n)[0]
    generator = np.random.default_rng(SEED).spawn(1)[0]
    generator.permutation(len(X))
    return found, pdist(generator.normal(size=(n, 2)))


@pytest.mark.parametrize(
    "kernel",
    [Recorded(), FunctionKernel(lambda X: rbf_kernel(X, gamma=0.01)), LocalScaling(metric="cityblock")],
    ids=["object", "function", "metric"],
)
def test_values_of_other_kernels_are_laid_out_as_a_cloud_would_have_them(kernel):
    X = view(40)
    found, distances = laid_out(X, kernel, 40)
    np.testing.assert_allclose(np.sort(found), np.sort(kernel.exponents(X)), rtol=1e-12)
    # the nearest two samples of the cloud are the most similar, and so on
    assert (np.diff(found[np.argsort(distances)]) >= 0).all()


def test_other_kernels_see_their_view_and_nothing_else():
    kernel, X = Recorded(), view(40)
    temperature(X, kernel, FORWARD)
    assert all(given is X for given in kernel.given)


def test_precomputed_similarities_are_laid_out_too():
    S = rbf_kernel(view(40) / 30)
    found, distances = laid_out(S, Precomputed(), 40)
    np.testing.assert_allclose(np.sort(np.exp(-found)), np.sort(S[np.triu_indices(40, 1)]), rtol=1e-12)
    assert (np.diff(found[np.argsort(distances)]) >= 0).all()


def test_some_samples_stand_for_all():
    kernel, X = Recorded(), view(40)
    found, _ = laid_out(X, kernel, 15)
    assert found.shape == (n_pairs(15),)
    assert np.isin(found, pdist(X)).all()


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
        rates.append(profile(f, 6, divergence).gains[1:] / (150 * np.log(k)))
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
    nats = [profile(f, 2, FORWARD).gains[1] / T[1] for f in values]
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
