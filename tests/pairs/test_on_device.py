"""Pair values as tensors: what arrays have, kept where there is room, and fits that find the same."""

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition, stages
from latentsimplex.base.arrays import is_tensor, to_host
from latentsimplex.base.condensed import count_pairs
from latentsimplex.base.threads import Workers
from latentsimplex.inputs.views import as_views
from latentsimplex.model import backends, em
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.problem import Problem, Schedule
from latentsimplex.pairs import on_device
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.on_device import SHARE_OF_FREE, DevicePairs, DeviceReader, find_device
from latentsimplex.similarity import Diffusion, FunctionKernel, LocalScaling
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT
from problems import KERNEL, KINDS, clustered_views, make_case, read_pairs, same_partition

torch = pytest.importorskip("torch")

KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(
    name="on_the_device", params=[False, True], ids=["M steps on the host", "M steps on the device"]
)
def _on_the_device(request, monkeypatch):
    """Have M steps on either side, whatever the number of pairs."""
    monkeypatch.setattr(backends, "HOST_PAIRS", 0 if request.param else 1 << 30)
    return request.param


def read_on_device(views, kernel, divergence, keep="whole", device="cpu", **settings):
    """Return the pair values of views as tensors, with the backend that suits them."""
    views, workers = as_views(views), Workers(1)
    reader = DeviceReader(device, views, kernel, divergence, workers)
    return DevicePairs(reader, choose_backend("cpu", views.n_samples, workers), keep, **settings)


def pairs_of(case, keep="whole", **settings):
    return read_on_device(case.data, KERNEL, case.model.divergence, keep, **settings)


def all_blocks(pairs):
    return np.concatenate([np.asarray(F) for _, F in pairs.blocks()])


def assert_same(found, expected, rtol=1e-12, atol=1e-12):
    """The tensor holds what the array holds."""
    assert is_tensor(found)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=atol)


# What is read


@KIND
@pytest.mark.parametrize("keep", ["whole", "nowhere"])
def test_pair_values(kind, keep):
    case = make_case(0, kind)
    found, expected = pairs_of(case, keep), case.pairs()
    assert len(found) == len(expected)
    assert np.array_equal(found.informative, expected.informative)
    np.testing.assert_allclose(found.constants, expected.constants, rtol=1e-5)
    F = np.concatenate([F for _, F in expected.blocks()])
    assert_same(torch.cat([F for _, F in found.blocks()]), F, rtol=1e-4, atol=1e-5)
    for v in range(len(found)):
        assert_same(found.values(v), F[v], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [Diffusion(mean=0.3), FunctionKernel(lambda X: np.exp(-abs(X - X.T)))],
    ids=["of ours", "of the user's"],
)
def test_constant_views_between_others(kernel, monkeypatch):
    monkeypatch.setattr(DevicePairs, "block_values", 3 * 190)
    X = np.random.default_rng(0).normal(size=(8, 20, 1))
    X[[1, 2, 5]] = 3.0
    whole, nowhere = (
        read_on_device(X, kernel, DIVERGENCES["forward"], keep) for keep in ("whole", "nowhere")
    )
    expected = read_pairs(X, kernel, DIVERGENCES["forward"])
    for pairs in (whole, nowhere):
        assert pairs.informative.tolist() == [0, 3, 4, 6, 7]
        np.testing.assert_allclose(
            all_blocks(pairs), np.concatenate([F for _, F in expected.blocks()]), atol=1e-4
        )
    # torch multiplies a batch without constant views in another order: rounding alone may differ
    np.testing.assert_allclose(all_blocks(nowhere), all_blocks(whole), rtol=2e-6, atol=1e-6)


def test_views_that_must_not_be_written_to_are_read():
    X = np.random.default_rng(0).normal(size=(3, 20, 2))
    expected = all_blocks(read_on_device(X, LocalScaling(), DIVERGENCES["forward"]))
    X.flags.writeable = False
    assert np.array_equal(all_blocks(read_on_device(X, LocalScaling(), DIVERGENCES["forward"])), expected)


def test_batches_do_not_show(monkeypatch):
    views = clustered_views(np.random.default_rng(0), 20, 5)
    expected = all_blocks(read_on_device(views, LocalScaling(), DIVERGENCES["reverse"]))
    monkeypatch.setattr(on_device, "BATCH_ENTRIES", 1)
    found = all_blocks(read_on_device(views, LocalScaling(), DIVERGENCES["reverse"]))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_products_and_statistics():
    pairs = read_on_device(
        clustered_views(np.random.default_rng(0), 9, 2), LocalScaling(), DIVERGENCES["forward"]
    )
    rng = np.random.default_rng(2)
    F, A, eta = rng.normal(size=(5, 36)), rng.normal(size=(3, 36)), rng.uniform(size=(5, 3))
    for one in (A, torch.as_tensor(A)):
        assert_same(pairs.multiply(torch.as_tensor(F), one), F @ A.T)
    stat = torch.ones((3, 36), dtype=torch.float64)
    pairs.add_statistics(stat, eta, torch.as_tensor(F))
    assert_same(stat, 1 + eta.T @ F)
    assert pairs.multiply(torch.as_tensor(F).float(), A).dtype == torch.float64


def test_statistics_are_added_up_on_the_device():
    pairs = pairs_of(make_case(0))
    zeros = pairs.zeros(3)
    assert is_tensor(zeros)
    assert zeros.shape == (3, count_pairs(pairs.n_samples))
    assert zeros.dtype == torch.float32
    assert not zeros.any()


# How it is kept


def level_of(divergence):
    return abs(np.subtract(*divergence.f(np.array([LEAST_EXPONENT, MOST_EXPONENT])))) / 255


@KIND
def test_blocks_on_the_processor_are_kept_as_budgeted(kind, monkeypatch):
    """The processor's memory is ours: there is no other memory in which blocks could stay whole."""
    monkeypatch.setattr(DevicePairs, "block_values", 2 * 190)
    views, divergence = clustered_views(np.random.default_rng(0), 20, 5), DIVERGENCES[kind]
    whole, in_bytes, nowhere = (
        read_on_device(views, KERNEL, divergence, keep) for keep in ("whole", "bytes", "nowhere")
    )
    assert {block.dtype for block in whole._kept} == {torch.float32}
    assert {block.dtype for block in in_bytes._kept} == {torch.uint8}
    assert sum(block.nbytes for block in in_bytes._kept) == 5 * 190
    assert nowhere._kept == []
    F, coarse = all_blocks(whole), all_blocks(in_bytes)
    assert np.array_equal(all_blocks(nowhere), F)
    assert coarse.dtype == np.float32
    assert 0 < np.abs(coarse - F).max() <= level_of(divergence) / 2 * (1 + 1e-4)
    for v in range(5):
        np.testing.assert_array_equal(in_bytes.values(v).numpy(), coarse[v])
    expected = read_pairs(views, KERNEL, divergence, keep="bytes")
    near = np.concatenate([F for _, F in expected.blocks()])
    assert np.abs(coarse - near).max() <= level_of(divergence) * (1 + 1e-4)


class Card(str):
    """The name of a GPU for which the processor stands in."""

    def startswith(self, prefix):
        return prefix == "cuda"


@pytest.fixture(name="card")
def _card(monkeypatch):
    """A GPU with room for the pair values of three views of twenty samples; return what is pinned."""
    pinned = []

    def pin(tensor):
        pinned.append(tensor)
        return tensor

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(on_device, "free_gpu_bytes", lambda device: 3.5 * 190 * 4 / SHARE_OF_FREE)
    monkeypatch.setattr(DevicePairs, "block_values", 190)
    return pinned


@KIND
def test_what_does_not_fit_on_a_gpu_waits_in_our_memory_as_budgeted(kind, card):
    views, divergence = clustered_views(np.random.default_rng(0), 20, 5), DIVERGENCES[kind]
    expected = all_blocks(read_on_device(views, KERNEL, divergence))
    pairs = read_on_device(views, KERNEL, divergence, "bytes", device=Card("cpu"))
    assert [block.dtype for block in pairs._kept] == [torch.float32] * 3 + [torch.uint8] * 2
    assert [block.dtype for block in card] == [torch.uint8] * 2
    found = all_blocks(pairs)
    assert np.array_equal(found[:3], expected[:3])
    assert 0 < np.abs(found[3:] - expected[3:]).max() <= level_of(divergence) / 2 * (1 + 1e-4)
    assert np.array_equal(pairs.values(4).numpy(), found[4])


def test_what_may_be_kept_whole_waits_whole(card):
    views = clustered_views(np.random.default_rng(0), 20, 5)
    expected = all_blocks(read_on_device(views, KERNEL, DIVERGENCES["forward"]))
    pairs = read_on_device(views, KERNEL, DIVERGENCES["forward"], "whole", device=Card("cpu"))
    assert {block.dtype for block in pairs._kept} == {torch.float32}
    assert len(card) == 2
    assert np.array_equal(all_blocks(pairs), expected)


def test_what_is_kept_nowhere_is_not_kept_on_a_gpu_either(card):
    views = clustered_views(np.random.default_rng(0), 20, 5)
    expected = all_blocks(read_on_device(views, KERNEL, DIVERGENCES["forward"]))
    pairs = read_on_device(views, KERNEL, DIVERGENCES["forward"], "nowhere", device=Card("cpu"))
    assert pairs._kept == []
    assert not card
    assert np.array_equal(all_blocks(pairs), expected)


def test_the_processor_is_not_asked_for_the_memory_of_a_gpu(monkeypatch):
    monkeypatch.setattr(on_device, "free_gpu_bytes", lambda device: pytest.fail("there is no GPU"))
    pairs_of(make_case(0))


# EM


@KIND
@pytest.mark.parametrize("learned", [False, True], ids=["identity", "learned"])
def test_e_steps(kind, learned, on_the_device):
    for seed in range(4):
        case = make_case(seed, kind, learned=learned, temperature=30.0)
        found, expected = case.e_step(pairs_of(case)), case.e_step()
        # single precision keeps q off 1 by 1e-7, arrays by 1e-9: certain rows show it in the loss
        np.testing.assert_allclose(found.eta, expected.eta, atol=2e-3)
        np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-3)
        assert is_tensor(found.stat) == on_the_device
        scale = np.abs(expected.stat).max()
        np.testing.assert_allclose(to_host(found.stat), expected.stat, atol=2e-3 * scale)


def test_computing_pair_values_again_gives_the_same():
    case = make_case(1)
    kept, computed = (case.e_step(pairs_of(case, keep)) for keep in ("whole", "nowhere"))
    assert np.array_equal(kept.eta, computed.eta)
    assert kept.loss == computed.loss


def test_an_e_step_over_blocks_that_wait_outside_is_that_of_all_on_the_device(card):
    case = make_case(1)
    expected = case.e_step(pairs_of(case))
    pairs = pairs_of(case, device=Card("cpu"))
    found = case.e_step(pairs)
    np.testing.assert_allclose(found.eta, expected.eta, atol=1e-6)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)


def test_a_lone_pattern_keeps_its_statistics_on_the_device(on_the_device):
    case = make_case(0)
    pairs, state = pairs_of(case), case.state._replace(lam=np.eye(len(case.state.lam))[0])
    problem = Problem(pairs, case.model, Schedule())
    first = em.e_step(problem, state)
    assert is_tensor(first.stat) == on_the_device
    assert em.e_step(problem, state, first).stat is first.stat


# A whole fit


@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize(
    "settings", [{}, {"similarity": "local-scaling", "divergence": "reverse"}], ids=["default", "given"]
)
def test_a_fit_finds_the_same(settings, on_the_device):
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
    monkeypatch.setattr(stages, "SEARCHED_VIEWS", 5)
    rng = np.random.default_rng(0)
    labels = [np.arange(24) % 3, np.arange(24) // 12]
    data = [8.0 * np.eye(3)[labels[v % 2]] + rng.normal(size=(24, 3)) for v in range(30)]
    settings = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "random_state": 0}
    model = LatentSimplexPosition(**settings, similarity="local-scaling", device="torch").fit(data)
    assert (model.initial_view_patterns_ >= 0).sum() == 10
    assert same_partition(model.view_patterns_, np.arange(30) % 2)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_fit_on_a_device_that_is_not_there(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(
        ValueError, match=rf'device="{device}" needs .*this machine shows none: leave device="cpu"'
    ):
        LatentSimplexPosition(device=device).fit(np.eye(6))


# On a GPU, where there is one

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA card here")


@NEEDS_CUDA
@KIND
def test_blocks_beyond_the_memory_of_a_gpu_are_pinned_bytes(kind, monkeypatch):
    monkeypatch.setattr(on_device, "free_gpu_bytes", lambda device: 3.5 * 190 * 4 / SHARE_OF_FREE)
    monkeypatch.setattr(DevicePairs, "block_values", 190)
    views, divergence = clustered_views(np.random.default_rng(0), 20, 5), DIVERGENCES[kind]
    pairs = read_on_device(views, KERNEL, divergence, "bytes", device=find_device("cuda"))
    assert [(block.dtype, block.is_cuda) for block in pairs._kept] == [(torch.float32, True)] * 3 + [
        (torch.uint8, False)
    ] * 2
    assert all(block.is_pinned() for block in pairs._kept[3:])
    expected = read_pairs(views, KERNEL, divergence)
    F = np.concatenate([F for _, F in expected.blocks()])
    found = torch.cat([F for _, F in pairs.blocks()])
    assert found.is_cuda
    np.testing.assert_allclose(found[:3].cpu().numpy(), F[:3], rtol=1e-4, atol=1e-4)
    assert np.abs(found[3:].cpu().numpy() - F[3:]).max() <= level_of(divergence) * (1 + 1e-3)
