"""What must hold for any data: simplex, symmetry, descent, equivariance, the same numbers on any way."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentsimplex import LatentSimplexPosition
from latentsimplex.base import condensed
from latentsimplex.base.condensed import count_pairs, cut_into_tiles, unpack_pairs
from latentsimplex.model import backends as numba_backend
from latentsimplex.model import em
from latentsimplex.model.problem import Model, Problem, Schedule, State
from latentsimplex.pairs import in_memory
from latentsimplex.pairs.in_memory import InMemoryPairs
from problems import KINDS, PENALTY_NAMES, Case, clustered_views, make_case

SINGLE = 1e-7
"""What a number of single precision is rounded by."""

several = settings(max_examples=30, deadline=None, derandomize=True)
few = settings(max_examples=12, deadline=None, derandomize=True)
very_few = settings(max_examples=5, deadline=None, derandomize=True)

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(KINDS)
penalties = st.sampled_from(PENALTY_NAMES)
temperatures = st.sampled_from([1.0, 4.0, 30.0])
cases = st.builds(make_case, seeds, kinds, penalties, temperatures, st.booleans(), st.booleans())


@st.composite
def small_data(draw):
    """Return views of 2 to 16 samples, some with duplicates."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(2, 16))
    data = clustered_views(rng, n, draw(st.integers(1, 5)))
    if draw(st.booleans()):
        data[0][: n // 2] = data[0][0]
    return data


@st.composite
def estimators(draw):
    moves = draw(st.booleans())
    return LatentSimplexPosition(
        search="moves" if moves else "plain",
        response=draw(st.sampled_from(["identity", "learned"])) if moves else "identity",
        similarity=draw(st.sampled_from(["local-scaling", "diffusion"])),
        optimizer=draw(st.sampled_from(["auto", "adam"] if moves else ["auto", "adam", "mirror"])),
        n_clusters=draw(st.integers(1, 5)),
        n_patterns=draw(st.integers(1, 4)),
        divergence=draw(kinds),
        penalty=draw(st.sampled_from([*PENALTY_NAMES, "labels"] if moves else PENALTY_NAMES)),
        temperature=draw(temperatures),
        n_init=draw(st.integers(1, 2)),
        max_iter=15,
        n_jobs=1,
        random_state=draw(seeds),
    )


@st.composite
def default_estimators(draw):
    """Return estimators that leave to the data what the data can choose."""
    return LatentSimplexPosition(
        n_clusters=draw(st.integers(1, 4)),
        n_patterns=draw(st.integers(1, 4)),
        divergence=draw(st.sampled_from(["auto", *KINDS])),
        response=draw(st.sampled_from(["auto", "identity", "learned"])),
        n_init=draw(st.integers(1, 2)),
        max_iter=15,
        n_jobs=1,
        random_state=draw(seeds),
    )


def rounding(reference, share=1e-10):
    """Return the tolerances within which two ways to compute the same array may differ."""
    return {"rtol": share, "atol": share * np.max(np.abs(reference), initial=1e-300)}


def square(stat):
    return np.array([unpack_pairs(row) for row in stat])


@contextmanager
def pieces(**sizes):
    """Cut the work into pieces of other sizes; with SMALL_PAIRS more pairs than that are many."""
    places = {
        "BLOCK_VALUES": (InMemoryPairs, "block_values"),
        "BATCH_ENTRIES": (in_memory, "BATCH_ENTRIES"),
        "TILE_PAIRS": (condensed, "TILE_PAIRS"),
        "CHUNK_PAIRS": (in_memory, "CHUNK_PAIRS"),
        "SMALL_PAIRS": (numba_backend, "TILE_PAIRS"),
    }
    with pytest.MonkeyPatch.context() as patch:
        # small problems go the way of large ones
        for place, name, size in (
            (numba_backend, "THREADED", 0),
            (numba_backend, "THREADED_SINGLES", 0),
            (in_memory, "THREADED_VALUES", 0),
            (in_memory, "LEAST_PAIRS", 1),
            (in_memory, "FEW_VIEWS", 0),
        ):
            patch.setattr(place, name, size)
        for name, size in sizes.items():
            patch.setattr(*places[name], size)
        cut_into_tiles.cache_clear()
        yield
    cut_into_tiles.cache_clear()


def assert_same_fit(a, b):
    """The same fit to the last bit."""
    for name in ("loss_curve_", "expected_loss_curve_", "labels_", "view_labels_", "view_patterns_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("view_responsibilities_", "pattern_weights_", "start_losses_", "initial_view_patterns_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.array_equal(a.start_agreement_, b.start_agreement_)
    assert (a.similarity_, a.temperature_) == (b.similarity_, b.temperature_)
    for name in ("memberships_", "responses_"):
        for one, other in zip(getattr(a, name), getattr(b, name), strict=True):
            assert np.array_equal(one, other), name


# Simplex, symmetry, descent


@several
@given(estimators(), small_data())
def test_a_fit_of_anything(model, data):
    check_fit(model.fit(data))


@very_few
@given(default_estimators(), small_data())
def test_a_default_fit_of_anything(model, data):
    check_fit(model.fit(data))
    assert model.temperature_ > 0


def check_fit(model):
    """Assert what must hold of any fit."""
    # pair values are of single precision, and the terms of a loss that come of them may cancel
    rises = np.diff(model.loss_curve_)
    n_values = len(model.view_patterns_) * count_pairs(model.n_samples_)
    assert (rises <= 1e-9 * np.abs(model.loss_curve_[1:]) + SINGLE * n_values).all()
    np.testing.assert_allclose(model.view_responsibilities_.sum(axis=1), 1)
    for l, W in enumerate(model.memberships_):
        assert (W >= 0).all()
        np.testing.assert_allclose(W.sum(axis=1), 1)
        B = model.responses_[l]
        assert B.shape == (W.shape[1], W.shape[1])
        np.testing.assert_allclose(B, B.T, rtol=1e-12)
        assert ((B >= 0) & (B <= 1)).all()
        if model.response == "identity":
            assert np.array_equal(B, np.eye(len(B)))
        P = model.coassignment(pattern=l).toarray()
        assert np.array_equal(P, P.T)
        assert (P >= 0).all()
        assert (P <= 1 + 1e-12).all()
    P = model.coassignment().toarray()
    np.testing.assert_allclose(P, P.T, rtol=1e-14)
    assert ((P >= 0) & (P <= 1 + 1e-12)).all()
    assert model.labels_.max() + 1 == model.consensus_.n_clusters
    assert ((model.start_agreement_ >= 0) & (model.start_agreement_ <= 1 + 1e-12)).all()
    assert model.start_agreement_[model.start_losses_.argmin()] == pytest.approx(1)


@few
@given(cases, st.integers(1, 10))
def test_every_iteration_descends_from_any_state(case, steps):
    schedule = Schedule(max_iter=6, steps=steps)
    fit = em.run(case.problem(case.exact_pairs(), schedule), case.state)
    curve = np.array(fit.loss_curve)
    assert (np.diff(curve) <= 1e-9 * np.abs(curve[1:])).all()
    assert curve[-1] < curve[0]
    np.testing.assert_allclose(fit.state.W.sum(axis=-1), 1, rtol=1e-12)
    assert fit.state.lam.sum() == pytest.approx(1)


@few
@given(cases)
def test_the_expected_loss_bounds_the_loss_at_temperature_one(case):
    """Jensen: -log sum_l lambda exp(-K) is at most sum_l eta K plus the divergence of eta from lambda."""
    model = Model(case.model.divergence, case.model.penalty, 1.0)
    found = em.e_step(Problem(case.pairs(), model, Schedule()), case.state)
    live = case.state.lam > 0
    eta, lam = found.eta[:, live], case.state.lam[live]
    prior = (eta * (np.log(np.maximum(eta, 1e-300)) - np.log(lam))).sum()
    np.testing.assert_allclose(found.expected_loss + prior, found.loss, **rounding(found.loss, 1e-9))


# Equivariance


def permuted(case, samples=None, views=None, patterns=None, clusters=None):
    """Return the same case with its parts in another order."""
    (W, B, lam, rate), data = case.state, case.data
    B = B[patterns] if patterns is not None else B
    B = B[:, clusters][:, :, clusters] if clusters is not None else B
    W = W[patterns] if patterns is not None else W
    lam = lam[patterns] if patterns is not None else lam
    W = W[:, samples] if samples is not None else W
    W = W[:, :, clusters] if clusters is not None else W
    data = [X[samples] for X in data] if samples is not None else data
    data = [data[v] for v in views] if views is not None else data
    return Case(data, State(W, B, lam, rate), case.model, case.kind, case.penalty)


def orders(case, seed):
    rng = np.random.default_rng(seed)
    d, n, g = case.state.W.shape
    return {
        "samples": rng.permutation(n),
        "views": rng.permutation(len(case.data)),
        "patterns": rng.permutation(d),
        "clusters": rng.permutation(g),
    }


@few
@given(cases, seeds)
def test_e_step_follows_every_permutation(case, seed):
    found = case.e_step(case.exact_pairs())
    live = case.state.lam > 0
    for name, order in orders(case, seed).items():
        other = permuted(case, **{name: order})
        again = other.e_step(other.exact_pairs())
        eta, stat = found.eta, square(found.stat)
        if name == "samples":
            stat = stat[:, order][:, :, order]
        elif name == "views":
            eta = eta[order]
        elif name == "patterns":
            eta = eta[:, order]
            rows = np.cumsum(live) - 1
            stat = stat[rows[order[live[order]]]]
        np.testing.assert_allclose(again.eta, eta, err_msg=name, **rounding(eta))
        np.testing.assert_allclose(square(again.stat), stat, err_msg=name, **rounding(stat))
        np.testing.assert_allclose(again.loss, found.loss, err_msg=name, **rounding(found.loss))
        np.testing.assert_allclose(
            again.expected_loss, found.expected_loss, err_msg=name, **rounding(found.loss)
        )


@few
@given(cases, seeds)
def test_pair_values_follow_permutations_of_samples_and_views(case, seed):
    """In single precision, whatever the order."""
    F = np.concatenate([F for _, F in case.pairs().blocks()])
    order = orders(case, seed)
    by_sample, by_view = (
        np.concatenate([F for _, F in permuted(case, **{name: order[name]}).pairs().blocks()])
        for name in ("samples", "views")
    )
    expected = square(F)[:, order["samples"]][:, :, order["samples"]]
    np.testing.assert_allclose(square(by_sample), expected, **rounding(F, 1e-5))
    assert np.array_equal(by_view, F[order["views"]])


@few
@given(cases, seeds)
def test_gradient_follows_every_permutation(case, seed):
    def gradient(case):
        W, B, lam, _ = case.state
        everywhere = case.state._replace(lam=np.full(len(lam), 1 / len(lam)))
        pairs = case.exact_pairs()
        found = case.e_step(pairs, everywhere)
        evaluate, _ = pairs.backend.pair_objective(found.mass, found.stat, case.model.divergence)
        return evaluate(W, B)[1]

    expected = gradient(case)
    axes = {"patterns": 0, "samples": 1, "clusters": 2}
    for name, order in orders(case, seed).items():
        wanted = np.take(expected, order, axis=axes[name]) if name in axes else expected
        np.testing.assert_allclose(
            gradient(permuted(case, **{name: order})), wanted, err_msg=name, **rounding(wanted, 1e-8)
        )


# The same numbers however computed


@few
@given(cases, st.integers(1, 300), st.integers(1, 60), st.integers(1, 40))
def test_pieces_of_any_size_give_the_whole(case, block, tile, chunk):
    """To ten digits in double precision; products of single precision differ by its rounding."""

    def results(pairs):
        found = case.e_step(pairs)
        live = case.state.lam > 0
        evaluate, _ = pairs.backend.pair_objective(found.mass[live], found.stat, case.model.divergence)
        terms = evaluate(case.state.W[live], case.state.B[live])
        return found.eta, found.stat, np.array([found.loss, found.expected_loss]), *terms

    whole, single = results(case.exact_pairs(len(case.data))), results(case.pairs())
    with pieces(BLOCK_VALUES=block, TILE_PAIRS=tile, CHUNK_PAIRS=chunk):
        views = 1 + block % len(case.data)
        parts, single_parts = results(case.exact_pairs(views)), results(case.pairs())
    for actual, expected in zip(parts, whole, strict=True):
        np.testing.assert_allclose(actual, expected, **rounding(expected))
    for actual, expected in zip(single_parts, single, strict=True):
        np.testing.assert_allclose(actual, expected, **rounding(expected, 1e-4))


@few
@given(cases, st.integers(1, 300))
def test_pair_values_are_the_same_bits_in_blocks_and_batches_of_any_size(case, block):
    whole = case.pairs()
    with pieces(BLOCK_VALUES=block, BATCH_ENTRIES=block):
        parts = case.pairs()
        F = np.concatenate([F for _, F in parts.blocks()])
    assert np.array_equal(F, np.concatenate([F for _, F in whole.blocks()]))
    assert np.array_equal(parts.constants, whole.constants)


@few
@given(cases, st.integers(1, 300))
def test_keeping_or_recomputing_gives_the_same_bits(case, block):
    with pieces(BLOCK_VALUES=block):
        kept, computed = (
            em.run(case.problem(case.pairs(keep), Schedule(max_iter=3)), case.state)
            for keep in ("whole", "nowhere")
        )
    assert kept.loss_curve == computed.loss_curve
    assert np.array_equal(kept.state.W, computed.state.W)
    assert np.array_equal(kept.expectation.eta, computed.expectation.eta)


@very_few
@given(estimators(), small_data())
def test_threads_give_the_same_bits(model, data):
    with pieces(TILE_PAIRS=20, SMALL_PAIRS=20, CHUNK_PAIRS=16, BLOCK_VALUES=150):
        one, two = (clone_with(model, n_jobs=n).fit(data) for n in (1, 2))
    assert_same_fit(one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_give_the_same_bits_at_working_size(kind):
    data = clustered_views(np.random.default_rng(0), 400, 4)
    settings = {"n_clusters": 3, "n_patterns": 3, "n_init": 1, "max_iter": 3, "random_state": 0}
    one, two = (LatentSimplexPosition.paper(**settings, divergence=kind, n_jobs=n).fit(data) for n in (1, 2))
    assert len(cut_into_tiles(400)) > 1
    assert_same_fit(one, two)


@pytest.mark.usefixtures("one_cloud")
def test_what_the_data_choose_is_the_same_on_any_number_of_threads():
    data = clustered_views(np.random.default_rng(0), 40, 3)
    settings = {"n_clusters": 3, "n_patterns": 3, "n_init": 2, "max_iter": 5, "random_state": 0}
    with pieces(TILE_PAIRS=100, SMALL_PAIRS=100, CHUNK_PAIRS=64, BLOCK_VALUES=1600):
        one, two = (LatentSimplexPosition(**settings, n_jobs=n).fit(data) for n in (1, 2))
    assert_same_fit(one, two)


@very_few
@given(estimators(), small_data())
def test_a_seed_fixes_everything(model, data):
    assert_same_fit(clone_with(model).fit(data), clone_with(model).fit(data))


def test_another_seed_is_another_start():
    data = clustered_views(np.random.default_rng(1), 12, 4)
    curves = [
        LatentSimplexPosition.paper(3, 2, n_init=1, max_iter=3, random_state=seed).fit(data).loss_curve_[0]
        for seed in range(3)
    ]
    assert len(set(curves)) == 3


def clone_with(model, **changes):
    return LatentSimplexPosition(**{**model.get_params(), **changes})
