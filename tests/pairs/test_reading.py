"""Views read into pair values: in batches that do not show, and as one of 256 levels to save memory."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.datasets import many_views
from latentsimplex.inputs.views import as_views
from latentsimplex.pairs import in_memory as reading
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.in_memory import ViewReader, dequantise, quantise
from latentsimplex.similarity import Diffusion, FunctionKernel, LocalScaling
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT, clip_exponents, read_exponents

torch = pytest.importorskip("torch")

KIND = pytest.mark.parametrize("kind", DIVERGENCES)


def some_views(V=12, n=20):
    return np.asarray(many_views(V, n_samples=n, random_state=0).views)


def mixed_views(widths=(2, 2, 1, 1, 1, 3, 2), n=20):
    rng = np.random.default_rng(0)
    return as_views([rng.normal(size=(n, p)) for p in widths])


def read(reader, members):
    F = np.empty((len(members), count_pairs(reader.n_samples)), dtype=np.float32)
    return F, *reader.read(members, F)


@KIND
@pytest.mark.parametrize("kernel", [Diffusion(), LocalScaling(power=2.0)], ids=["diffusion", "local scaling"])
def test_pair_values_are_f_of_the_kernels_exponents(kind, kernel):
    views, divergence = mixed_views(), DIVERGENCES[kind]
    F, constants, informative = read(ViewReader(views, kernel, divergence, Workers(1)), np.arange(7))
    assert informative.all()
    for v in range(7):
        r = clip_exponents(read_exponents(kernel, views[v][None], str)[0].astype(np.float64))
        np.testing.assert_allclose(F[v], divergence.f(r), rtol=1e-5, atol=1e-5)
        assert constants[v] == pytest.approx(divergence.const(r).sum(), rel=1e-5)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("entries", [1, 20 * 20, 3 * 20 * 20, 1 << 20])
def test_batches_and_threads_do_not_show(n_jobs, entries, monkeypatch):
    views, divergence = mixed_views(), DIVERGENCES["forward"]
    alone = [
        read(ViewReader(views, Diffusion(), divergence, Workers(1)), np.array([v]))[:2]
        for v in (6, 0, 1, 3, 2, 5)
    ]
    monkeypatch.setattr(reading, "BATCH_ENTRIES", entries)
    monkeypatch.setattr("latentsimplex.pairs.memory_budget.SCRATCH_BYTES", 0)  # a few batches at once
    with Workers(n_jobs) as workers:
        F, constants, _ = read(
            ViewReader(views, Diffusion(), divergence, workers), np.array([6, 0, 1, 3, 2, 5])
        )
    np.testing.assert_array_equal(F, np.concatenate([f for f, _ in alone]))
    np.testing.assert_array_equal(constants, np.concatenate([c for _, c in alone]))


def test_batches_are_runs_of_views_with_one_number_of_features():
    reader = ViewReader(mixed_views(), LocalScaling(), DIVERGENCES["forward"], Workers(1))
    found = reader.cut_into_batches(np.arange(7), 2 * 20 * 20)
    assert found == [slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
    assert reader.cut_into_batches(np.array([0, 1, 6, 2]), 1 << 20) == [slice(0, 3), slice(3, 4)]
    assert reader.cut_into_batches(np.arange(3), 1) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_tables_wider_than_long_are_counted_by_their_entries():
    reader = ViewReader(mixed_views((100, 100, 100, 100)), LocalScaling(), DIVERGENCES["forward"], Workers(1))
    assert reader.cut_into_batches(np.arange(4), 2 * 20 * 100) == [slice(0, 2), slice(2, 4)]


def test_constant_views_are_told_apart():
    X = some_views(4)
    X[[1, 2]] = 3.0
    reader = ViewReader(as_views(X), LocalScaling(), DIVERGENCES["reverse"], Workers(1))
    assert read(reader, np.arange(4))[2].tolist() == [True, False, False, True]
    own = ViewReader(as_views(X), FunctionKernel(lambda X: X @ X.T * 0 + 1), reader.divergence, Workers(1))
    assert not read(own, np.arange(4))[2].any()


def test_errors_name_the_view():
    views = as_views({"colour": np.eye(9), "sound": 2 * np.eye(9)})
    reader = ViewReader(views, FunctionKernel(lambda X: X), DIVERGENCES["forward"], Workers(1))
    assert reader.name_views(np.array([1, 0]))(0) == "view 'sound'"
    with pytest.raises(ValueError, match=r"view 'sound': .*must lie in"):
        read(reader, np.array([0, 1]))


def test_tables_are_those_of_the_views_in_a_row_or_not():
    X = some_views()
    views = as_views(X)
    for members in ([2, 3, 4], [0, 4, 5], [7], [5, 4]):
        np.testing.assert_array_equal(views.tables(np.array(members)), X[members])


def test_a_function_cannot_change_the_data():
    X = some_views(3)

    def similarity(view):
        view -= view[0]
        return np.exp(
            -np.abs(view - view.T) if view.shape[1] == 1 else -((view[:, None] - view) ** 2).sum(-1)
        )

    before = X.copy()
    LatentSimplexPosition(2, 2, similarity=similarity, temperature=5.0, random_state=0, n_init=1).fit(X)
    np.testing.assert_array_equal(X, before)


# Levels


@KIND
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_values_become_one_of_256_levels_and_come_back_within_half_a_level(kind, library):
    divergence = DIVERGENCES[kind]
    r = np.geomspace(LEAST_EXPONENT, MOST_EXPONENT, 5000)
    F = divergence.f(r).astype(np.float32)
    levels = quantise(F if library == "numpy" else torch.as_tensor(F), divergence)
    back = dequantise(levels, divergence)
    assert str(levels.dtype).endswith("uint8")
    assert str(back.dtype).endswith("float32")
    assert (int(levels.min()), int(levels.max())) == (0, 255)
    step = np.ptp(F) / 255
    assert np.abs(np.asarray(back) - F).max() <= step / 2 * (1 + 1e-4)
    ends = np.asarray(back)[[0, -1]]
    np.testing.assert_allclose(ends, F[[0, -1]], atol=1e-4 * step)  # the ends are levels themselves


@KIND
def test_levels_of_tensors_are_those_of_arrays(kind):
    divergence = DIVERGENCES[kind]
    F = divergence.f(np.random.default_rng(0).uniform(LEAST_EXPONENT, MOST_EXPONENT, 1000)).astype(np.float32)
    levels = quantise(F, divergence)
    np.testing.assert_array_equal(quantise(torch.as_tensor(F), divergence).numpy(), levels)
    np.testing.assert_array_equal(
        dequantise(torch.as_tensor(levels), divergence).numpy(), dequantise(levels, divergence)
    )


@KIND
def test_levels_stay_what_they_are(kind):
    """All 256 of them: what comes back has the level that it came from."""
    levels = np.arange(256).astype(np.uint8)
    assert np.array_equal(quantise(dequantise(levels, DIVERGENCES[kind]), DIVERGENCES[kind]), levels)
