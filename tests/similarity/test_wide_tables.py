"""Wide tables as narrow ones: what kernels see in them is what they see in the whole table."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from latentsimplex import LatentSimplexPosition
from latentsimplex.auto import temperatures
from latentsimplex.auto.gaussian_clouds import join_directions, measure_shape
from latentsimplex.base import wide_table
from latentsimplex.base.threads import Workers
from latentsimplex.base.wide_table import WideTable
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.placing import comparison
from latentsimplex.similarity import Diffusion, LocalScaling
from latentsimplex.similarity.auto_diffusion import COMPARISONS, AutoDiffusion
from latentsimplex.similarity.kernel import FunctionKernel, narrow_tables, read_exponents
from latentsimplex.similarity.wide_tables import compare_one_by_one, compare_together

FORMS = [np.array, sparse.csc_array, sparse.csc_matrix]
KERNELS = [
    Diffusion(),
    Diffusion(standardise=False),
    Diffusion(standardise=False, per_feature=True),
    Diffusion(standardise=False, as_shares=True),
    LocalScaling(),
    LocalScaling(standardise=True),
    LocalScaling(per_feature=True),
    LocalScaling(metric="cityblock"),
    AutoDiffusion("local", ((2, "as they are"), (200, "standardised"))),
    AutoDiffusion("local", ((2, "as they are"), (200, "as shares"))),
    FunctionKernel(lambda X: np.exp(-np.abs(X[:, :1] - X[:, 0]))),
]


@pytest.fixture(scope="module")
def X():
    """A table of 30 samples, two of which coincide: features that are full, with outliers, thin, constant and all 0."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < 0.05)
    table[:, :30] = rng.standard_t(2, size=(30, 30))
    table[:, 30], table[:, 31] = 3.0, 0.0
    table[8] = table[7]
    return table


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    for module in (wide_table, comparison):
        monkeypatch.setattr(module, "PART_ENTRIES", 30 * 11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_a_kernel_sees_the_same(X, kernel, form):
    X = np.abs(X) if "'as shares'" in str(kernel) or "as_shares=True" in str(kernel) else X
    narrower, tables = narrow_tables(kernel, WideTable(form(X)))
    found = read_exponents(narrower, tables, lambda i: "a view")
    np.testing.assert_allclose(
        found, read_exponents(kernel, X[None], lambda i: "a view"), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_numbers_may_be_of_any_size(X, form, size):
    expected = compare_together(WideTable(X), False)
    found = compare_together(WideTable(form(size * X)), False)
    distances = [np.linalg.norm(each[:, None] - each, axis=-1) for each in (expected, found)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=1e-6, atol=1e-7)


def test_a_constant_table_has_one_constant_coordinate():
    table = WideTable(np.ones((4, 9)))
    assert not compare_together(table, True).any()
    assert compare_together(table, False).shape == compare_one_by_one(table).shape == (4, 1)


def test_of_very_many_features_some_are_compared_one_by_one(X, monkeypatch):
    monkeypatch.setattr("latentsimplex.similarity.wide_tables.LEAST_FEATURES", 5)
    monkeypatch.setattr("latentsimplex.similarity.wide_tables.PART_ENTRIES", 30 * 40)
    assert compare_one_by_one(WideTable(X)).shape == (30, 40)


@pytest.mark.parametrize("form", FORMS)
def test_a_cloud_has_the_shape_of_the_whole_table(X, form):
    wide, whole = measure_shape(WideTable(form(X))), measure_shape(X)
    products = [shape.directions @ shape.directions.T for shape in (wide, whole)]
    np.testing.assert_allclose(np.abs(products[0]), np.abs(products[1]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_clouds_like_a_wide_table_are_worth_the_same(X, form, name, monkeypatch):
    """But for the signs of directions, which are anyone's choice."""
    X = np.abs(X) if name == "as shares" else X
    kernel = AutoDiffusion("broad", ((1, "as they are"), (200, name)))

    def temperature(table, sign):
        shape = measure_shape(table)
        turned = shape._replace(directions=shape.directions * np.array([[1.0], [sign]]))
        monkeypatch.setattr(temperatures, "measure_shape", lambda X: turned)
        return temperatures.measure_temperatures([table], kernel, DIVERGENCES["forward"], Workers(1))[0]

    found, expected = (
        [temperature(table, sign) for sign in (1.0, -1.0)] for table in (WideTable(form(X)), X)
    )
    assert sorted(found) == pytest.approx(sorted(expected), rel=1e-3)


def test_joined_directions_keep_their_squares():
    directions = np.random.default_rng(0).normal(size=(2, 5000))
    joined = join_directions(directions, 100)
    assert joined.shape == (2, 100)
    np.testing.assert_allclose(joined @ joined.T, directions @ directions.T, rtol=1e-2, atol=20)
    assert join_directions(directions[:, :7], 100).shape == (2, 7)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_a_sparse_and_wide_fit_makes_nothing_dense(form, words, monkeypatch):
    """The fit is that to the dense table, of which no whole copy is made; words are compared as shares."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 10)
    X = rng.random((30, 900)) * (rng.random((30, 900)) < 0.05)
    X[np.arange(30), 300 * groups] = 9.0
    X[:, :3] += (0 if words else rng.normal(size=(30, 3))) + 6 * np.eye(3)[groups]
    settings = {"n_clusters": 4, "n_patterns": 1, "n_init": 1, "random_state": 0}
    expected = LatentSimplexPosition(**settings).fit(X)
    assert ("as shares" in str(expected.similarity_)) == words
    monkeypatch.setattr(wide_table, "WIDE_ENTRIES", 1000)
    monkeypatch.setattr(form, "toarray", limited(form.toarray))
    found = LatentSimplexPosition(**settings).fit(form(X))
    assert adjusted_rand_score(found.labels_, expected.labels_) == 1


def limited(toarray):
    """Return a way to make a matrix dense that refuses to do so with a whole table."""

    def checked(self, *arguments, **settings):
        assert self.shape != (30, 900)
        return toarray(self, *arguments, **settings)

    return checked
