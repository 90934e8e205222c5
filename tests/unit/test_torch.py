"""Tensors give what arrays give: the same code twice over, and the loops that are written twice."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, _arrays, em, plan
from latentsimplex.compute import add_statistics, cpu, pair_objective, pair_products, pair_terms, prepared
from latentsimplex.compute.pairs import MOST_INDEXED, n_pairs, pack, unpack
from latentsimplex.compute.threads import Workers
from latentsimplex.descent import adam, mirror
from latentsimplex.divergence import DIVERGENCES
from latentsimplex.engines import engine_on
from latentsimplex.objective import PENALTIES, ClusterPrice, Scaled
from latentsimplex.profiles import profile, spectral_coordinates
from latentsimplex.similarity import Diffusion, LocalScaling, Readings, clip_exponents, tables_exponents
from latentsimplex.similarity.local_scaling import FEW_FEATURES
from latentsimplex.views import as_views
from problems import (
    KERNEL,
    KINDS,
    block_values,
    identities,
    interior_memberships,
    make_problem,
    mixed_memberships,
    random_responses,
    same_partition,
)

torch = pytest.importorskip("torch")

KIND = pytest.mark.parametrize("kind", KINDS)


def tensor(x, dtype=None):
    return torch.as_tensor(np.asarray(x), dtype=dtype)


def assert_same(found, expected, rtol=1e-12, atol=1e-12):
    """The tensor holds what the array holds."""
    assert _arrays.is_tensor(found)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=rtol, atol=atol)


# Arrays of either kind


def test_which_module_and_which_kind():
    assert _arrays.namespace(torch.zeros(2)) is torch
    assert _arrays.namespace(np.zeros(2)) is np
    assert _arrays.is_tensor(torch.zeros(2))
    assert not _arrays.is_tensor(np.zeros(2))
    assert not _arrays.is_tensor([torch.zeros(2)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_like_takes_library_and_precision(dtype):
    values = _arrays.like(np.array([1.0, 2.5]), torch.zeros(3, dtype=dtype))
    assert values.dtype == dtype
    assert values.tolist() == [1.0, 2.5]
    assert _arrays.like([1, 2], np.zeros(1, dtype=np.float32)).dtype == np.float32


def test_on_host_is_double_precision():
    for x in (torch.ones(2, dtype=torch.float32), np.ones(2, dtype=np.float32), torch.ones(2)):
        assert isinstance(_arrays.on_host(x), np.ndarray)
        assert _arrays.on_host(x).dtype == np.float64


@pytest.mark.parametrize("name", ["softmax", "sigmoid", "diagonals"])
def test_functions_of_square_tables(name):
    x = 5 * np.random.default_rng(0).normal(size=(3, 6, 6))
    function = getattr(_arrays, name)
    assert_same(function(tensor(x)), function(x))


@pytest.mark.parametrize("k", range(6))
def test_numbers_by_rank(k):
    x = np.random.default_rng(k).integers(0, 4, size=(50, 6)).astype(float)  # many ties
    rows = np.sort(x, axis=-1)
    assert_same(_arrays.ranked(tensor(x), k), rows[:, k])
    for found, expected in zip(_arrays.ranked_pair(tensor(x), k), (k, min(k + 1, 5)), strict=True):
        assert_same(found, rows[:, expected])


def test_softmax_and_sigmoid_survive_large_numbers():
    x = np.array([[1e4, -1e4, 0.0], [-800.0, -800.0, -801.0]])
    for name in ("softmax", "sigmoid"):
        assert np.isfinite(getattr(_arrays, name)(x)).all()
        assert_same(getattr(_arrays, name)(tensor(x)), getattr(_arrays, name)(x))


def test_diagonals_are_views():
    x = torch.zeros(2, 3, 3)
    _arrays.diagonals(x)[:] = 4.0
    assert torch.equal(x, 4.0 * torch.eye(3).expand(2, 3, 3))


def test_stacked_vectors():
    rows = [np.arange(3.0), np.ones(3)]
    assert_same(_arrays.stacked([tensor(row) for row in rows]), _arrays.stacked(rows))


@pytest.mark.parametrize("n", [2, 5, MOST_INDEXED + 1])
def test_packing_and_unpacking(n):
    square = np.random.default_rng(n).normal(size=(2, n, n)).astype(np.float32)
    square += square.swapaxes(-1, -2)
    rows, columns = np.triu_indices(n, 1)
    for x in (square, tensor(square)):
        assert np.array_equal(np.asarray(pack(x)), square[:, rows, columns])
        assert np.array_equal(np.asarray(pack(x[0])), square[0, rows, columns])
    np.testing.assert_array_equal(unpack(pack(tensor(square[0])), 7.0).numpy(), unpack(pack(square[0]), 7.0))


# Similarities


def tables():
    """Return tables with and without clusters, with samples that coincide, and a constant one."""
    made = np.random.default_rng(0).normal(size=(5, 30, 3))
    made[1] += 6 * (np.arange(30) % 3)[:, None]
    made[2, :12] = made[2, 0]
    made[3] = np.round(made[3])
    made[4] = 2.0
    return made


KERNELS = [
    LocalScaling(),
    LocalScaling(quantile=0.3, power=2.0, standardise=True),
    LocalScaling(neighbour=3, per_feature=True),
    Diffusion(mean=0.3),
    Diffusion(neighbours=3, mean=0.15, balance=True),
    Diffusion(neighbours="sqrt", standardise=False, per_feature=True),
    Readings("broad", ((3, "as they are"),)),
]


@pytest.mark.parametrize("n_features", [1, 3, 9])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exponents_of_tensors(kernel, n_features):
    """In double precision; where exponents are large similarities are 0 to rounding, as clipping has it.

    In many features distances that tie do so to rounding alone, so the table with ties is left out.
    """
    data = np.tile(tables(), 3)[..., :n_features]
    data = np.delete(data, 3, axis=0) if n_features > FEW_FEATURES else data
    found = kernel.exponents(tensor(data))
    assert found.dtype == torch.float64
    assert_same(clip_exponents(found), clip_exponents(kernel.exponents(data)), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exponents_of_tables_on_a_device(kernel):
    """In single precision, as in a fit."""
    data = 1e3 * tables() + 1e6
    found = tables_exponents(kernel, tensor(data), str)
    assert found.dtype == torch.float32
    assert_same(
        clip_exponents(found), clip_exponents(tables_exponents(kernel, data, str)), rtol=2e-3, atol=2e-4
    )


def test_a_kernel_of_ones_own_reads_arrays():
    class Squares:
        def exponents(self, X):
            assert isinstance(X, np.ndarray)
            return pack((X - X.T) ** 2)

    data = tables()[..., :1]
    expected = tables_exponents(Squares(), data, str)
    assert np.array_equal(tables_exponents(Squares(), tensor(data), str), expected)


# Divergences and penalties


@KIND
def test_divergences(kind):
    divergence = DIVERGENCES[kind]
    rng = np.random.default_rng(0)
    r, p, stat = rng.uniform(1e-4, 9, size=50), rng.uniform(1e-6, 1 - 1e-6, size=50), rng.normal(size=50)
    assert_same(divergence.f(tensor(r)), divergence.f(r))
    assert_same(divergence.const(tensor(r)), divergence.const(r))
    assert_same(divergence.mean(divergence.f(tensor(r))), divergence.mean(divergence.f(r)))
    for found, expected in (
        (divergence.a_h(tensor(p)), divergence.a_h(p)),
        (divergence.value_slope(tensor(p), 2.5, tensor(stat)), divergence.value_slope(p, 2.5, stat)),
    ):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, rtol=1e-10)


@pytest.mark.parametrize(
    "penalty", [*PENALTIES.values(), ClusterPrice((1.0, 2.0, 4.0)), Scaled(PENALTIES["group"], 0.1)], ids=str
)
def test_penalties(penalty):
    rng = np.random.default_rng(0)
    W = np.array([mixed_memberships(rng, 8, 3) for _ in range(4)])
    for found, expected in zip(penalty.value_gradient(tensor(W)), penalty.value_gradient(W), strict=True):
        assert_same(found, expected)


# The loops that are written twice


@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
@KIND
def test_pairs_of_patterns(kind, learned):
    """Tensors of double precision, and probabilities away from 1, where the clip of single precision is wider."""
    rng = np.random.default_rng(1)
    d, n, g = 3, 15, 3
    W = interior_memberships(rng, d, n, g)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    gamma, stat = np.array([1.0, 2.0, 7.0]), rng.normal(size=(d, n_pairs(n)))
    arguments = [tensor(x) for x in (W, B, gamma)]
    found = pair_objective(*arguments, prepared(tensor(stat)), DIVERGENCES[kind], Workers(1))
    expected = pair_objective(W, B, gamma, prepared(stat), DIVERGENCES[kind], Workers(1))
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other, rtol=1e-9, atol=1e-9)

    class Home:
        home, workers = torch.empty(0, dtype=torch.float64), Workers(1)

    A, H = pair_terms(W, B, DIVERGENCES[kind], Home)
    expected_A, expected_H = cpu.pair_terms(W, B, DIVERGENCES[kind], Workers(1))
    assert_same(A, expected_A, rtol=1e-10)
    np.testing.assert_allclose(H, expected_H, rtol=1e-12)


def test_products_and_statistics():
    rng = np.random.default_rng(2)
    F, A, eta = rng.normal(size=(5, 36)), rng.normal(size=(3, 36)), rng.uniform(size=(5, 3))
    for one in (A, tensor(A)):
        np.testing.assert_allclose(pair_products(tensor(F), one, Workers(1)), F @ A.T, rtol=1e-12)
    stat = torch.ones((3, 36), dtype=torch.float64)
    add_statistics(stat, eta, tensor(F), Workers(1))
    assert_same(stat, 1 + eta.T @ F)


@pytest.mark.parametrize("descend", [adam, mirror])
def test_descent(descend):
    start, rate = np.random.default_rng(0).normal(size=(4, 3)), np.array([0.1, 0.3, 0.9, 2.0])

    def slopes(x):
        return (x**4 + x**2).sum(-1), 4 * x**3 + 2 * x

    found, expected = descend(tensor(start), slopes, 12, tensor(rate)), descend(start, slopes, 12, rate)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other, rtol=1e-10)


# Hard clusters


@KIND
def test_profiles(kind):
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(36) % 4)
    f = block_values(truth, kind, noise=0.3, rng=rng)
    found, expected = profile(tensor(f), 5, DIVERGENCES[kind]), profile(f, 5, DIVERGENCES[kind])
    np.testing.assert_allclose(found.gains[:4], expected.gains[:4], rtol=1e-5)
    assert same_partition(found.labels[3], truth)
    for k in range(4):
        assert same_partition(found.labels[k], expected.labels[k])


def test_spectral_coordinates_up_to_signs():
    rng = np.random.default_rng(0)
    S = unpack(DIVERGENCES["forward"].f(-np.log(rng.uniform(0.1, 0.9, size=n_pairs(20)))))
    found, expected = spectral_coordinates(tensor(S), 4), spectral_coordinates(S, 4)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8)


# EM


@pytest.fixture(params=[False, True], ids=["M steps on the host", "M steps on the device"])
def at_home(request, monkeypatch):
    """Have M steps on either side, whatever the number of pairs."""
    from latentsimplex.engines import device

    monkeypatch.setattr(device, "HOST_PAIRS", 0 if request.param else 1 << 30)
    return request.param


def pairs_of(problem, keep=True):
    return engine_on("torch")(as_views(problem.data), KERNEL, problem.model.divergence, Workers(1), keep)


@KIND
def test_pair_values(kind, at_home):
    problem = make_problem(0, kind)
    found, expected = pairs_of(problem), problem.pairs()
    assert len(found) == len(expected)
    assert _arrays.is_tensor(found.home) == at_home
    assert np.array_equal(found.informative, expected.informative)
    np.testing.assert_allclose(found.constants, expected.constants, rtol=1e-5)
    F = np.concatenate([F for _, F in expected.blocks()])
    assert_same(torch.cat([F for _, F in found.blocks()]), F, rtol=1e-4, atol=1e-5)
    for v in range(len(found)):
        assert_same(found.values(v), F[v], rtol=1e-4, atol=1e-5)


@KIND
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_e_steps(kind, learned, at_home):
    for seed in range(4):
        problem = make_problem(seed, kind, learned=learned, temperature=30.0)
        found = em.e_step(pairs_of(problem), problem.state, problem.model)
        expected = em.e_step(problem.pairs(), problem.state, problem.model)
        # single precision keeps q off 1 by 1e-7, arrays by 1e-9: certain rows show it in the loss
        np.testing.assert_allclose(found.eta, expected.eta, atol=2e-3)
        np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-3)
        assert _arrays.is_tensor(found.stat) == at_home
        scale = np.abs(expected.stat).max()
        np.testing.assert_allclose(_arrays.on_host(found.stat), expected.stat, atol=2e-3 * scale)


@KIND
@pytest.mark.parametrize("optimizer", ["adam", "mirror"])
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_m_steps(kind, optimizer, learned):
    rng = np.random.default_rng(4)
    d, n, g = 2, 20, 3
    W = interior_memberships(rng, d, n, g)
    B = random_responses(rng, d, g) if learned else identities(d, g)
    gamma = np.array([2.0, 9.0])
    stat = gamma[:, None] * DIVERGENCES[kind].f(-np.log(rng.uniform(0.05, 0.95, size=(d, n_pairs(n)))))
    model = em.Model(DIVERGENCES[kind], PENALTIES[None], learned_response=learned)
    schedule = em.Schedule(**em.OPTIMIZERS[optimizer])

    def m_step(stat):
        return em.m_step(W, B, gamma, stat, model, Workers(1), schedule, 6, np.full(d, schedule.rate))

    for found, expected in zip(m_step(tensor(stat)), m_step(stat), strict=True):
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_computing_pair_values_again_gives_the_same():
    problem = make_problem(1)
    kept, computed = (
        em.e_step(pairs_of(problem, keep), problem.state, problem.model) for keep in (True, False)
    )
    assert np.array_equal(kept.eta, computed.eta)
    assert kept.loss == computed.loss


def test_what_does_not_fit_on_a_device_waits_outside(monkeypatch):
    from latentsimplex.engines import device

    problem = make_problem(1)
    expected = em.e_step(pairs_of(problem), problem.state, problem.model)
    monkeypatch.setattr(device, "free_bytes", lambda device: 100.0)
    monkeypatch.setattr(device, "BLOCK_VALUES", 1)
    found = em.e_step(pairs_of(problem), problem.state, problem.model)
    np.testing.assert_allclose(found.eta, expected.eta, atol=1e-6)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)


# A whole fit


@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize(
    "settings", [{}, {"similarity": "local-scaling", "divergence": "reverse"}], ids=["default", "given"]
)
def test_a_fit_finds_the_same(settings, at_home):
    rng = np.random.default_rng(0)
    labels = [np.arange(30) % 3, np.arange(30) % 2]
    data = [8.0 * np.eye(3)[labels[v % 2]] + rng.normal(size=(30, 3)) for v in range(6)]
    common = {"n_clusters": 4, "n_patterns": 3, "n_init": 2, "max_iter": 30, "random_state": 0, **settings}
    model = LatentSimplexPosition(**common, device="torch").fit(data)
    expected = LatentSimplexPosition(**common).fit(data)
    assert model.similarity_ == expected.similarity_ or settings == {}
    assert same_partition(model.view_patterns_, expected.view_patterns_)
    assert model.n_clusters_.tolist() == expected.n_clusters_.tolist()
    assert same_partition(model.view_patterns_, np.arange(6) % 2)
    for v in range(6):
        assert same_partition(model.view_labels_[v], labels[v % 2])
    assert model.loss_ == pytest.approx(expected.loss_, rel=0.01)
    assert all(isinstance(W, np.ndarray) and W.dtype == np.float64 for W in model.memberships_)


@pytest.mark.usefixtures("one_cloud")
def test_more_views_than_a_search_looks_at(monkeypatch):
    monkeypatch.setattr(plan, "SEARCHED_VIEWS", 5)
    rng = np.random.default_rng(0)
    labels = [np.arange(24) % 3, np.arange(24) // 12]
    data = [8.0 * np.eye(3)[labels[v % 2]] + rng.normal(size=(24, 3)) for v in range(30)]
    settings = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "random_state": 0}
    model = LatentSimplexPosition(**settings, similarity="local-scaling", device="torch").fit(data)
    assert (model.initial_view_patterns_ >= 0).sum() == 10
    assert same_partition(model.view_patterns_, np.arange(30) % 2)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(
        ValueError, match=rf'device="{device}" needs .*this machine shows none: leave device="cpu"'
    ):
        LatentSimplexPosition(device=device).fit(np.eye(6))
