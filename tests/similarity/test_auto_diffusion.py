"""The automatic similarity: one scale for all views, features by kind of view, and what refines clusters."""

import numpy as np
import pytest

from latentsimplex.similarity import AutoDiffusion, Diffusion, Kernel
from latentsimplex.similarity.auto_diffusion import (
    COMPARISONS,
    MOST_KINDS,
    SCALES,
    SEARCH_COMPARISONS,
    SEARCH_SCALES,
    list_candidates,
    space_kinds,
)
from latentsimplex.similarity.kernel import accepts_batches

X = np.random.default_rng(0).normal(size=(30, 4))
ONE = ((1, "as they are"),)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("features", COMPARISONS)
def test_it_is_the_diffusion_of_its_scale_and_features(scale, features):
    similarity = AutoDiffusion(scale, ((4, features),))
    kernel = Diffusion(**SCALES[scale], **COMPARISONS[features])
    assert isinstance(similarity, Kernel)
    assert accepts_batches(similarity) == (features != "as shares")  # which centring would change
    assert similarity.kernel(4) == kernel
    table = np.abs(X)  # shares are not negative
    assert np.array_equal(similarity.exponents(table), kernel.exponents(table))
    both = np.stack([table, X**2])
    assert np.array_equal(similarity.batch_exponents(both), kernel.batch_exponents(both))


def test_scales_and_features_differ():
    found = [AutoDiffusion(scale, ((4, name),)).kernel(4) for scale in SCALES for name in COMPARISONS]
    assert len(set(found)) == len(SCALES) * len(COMPARISONS)
    assert not any(AutoDiffusion(scale, ONE).kernel(1).balance for scale in ("local", "broad", "fine"))
    assert AutoDiffusion("mixed", ONE).kernel(1).balance


def test_views_are_compared_like_the_nearest_kind_by_ratio():
    similarity = AutoDiffusion("local", ((1, "as they are"), (10, "standardised"), (1000, "one by one")))
    kinds = {"as they are": [1, 2, 3], "standardised": [4, 10, 99], "one by one": [101, 1000, 10**6]}
    for name, counts in kinds.items():
        for count in counts:
            expected = AutoDiffusion("local", ((count, name),)).kernel(count)
            assert similarity.kernel(count) == expected, (name, count)


def test_the_number_of_features_of_a_view_decides():
    similarity = AutoDiffusion("broad", ((1, "as they are"), (4, "one by one")))
    assert np.array_equal(similarity.exponents(X[:, :1]), similarity.kernel(1).exponents(X[:, :1]))
    assert np.array_equal(similarity.exponents(X), similarity.kernel(4).exponents(X))
    assert not np.array_equal(similarity.exponents(X), similarity.kernel(1).exponents(X))


def test_a_mean_takes_the_place_of_the_scales_own():
    assert AutoDiffusion("broad", ONE).kernel(1).mean == SCALES["broad"]["mean"]
    assert AutoDiffusion("broad", ONE, mean=0.35).kernel(1).mean == 0.35


def test_local_walks_are_refined_by_mixing_as_much_as_samples_are_co_assigned():
    refined = AutoDiffusion("local", ((1, "as they are"), (4, "one by one"))).for_refinement(0.37)
    assert refined == AutoDiffusion("mixed", ((1, "as they are"), (4, "one by one")), 0.37)
    s = np.exp(-refined.exponents(X))
    assert s.mean() == pytest.approx(0.37, abs=0.02)


def test_broad_walks_give_way_to_fine_ones():
    broad = AutoDiffusion("broad", ((4, "standardised"),))
    assert broad.for_refinement(0.37) == AutoDiffusion("fine", ((4, "standardised"),))


def test_lists_of_a_file_become_tuples():
    from_file = AutoDiffusion("local", [[1, "as they are"], [np.int64(4), "standardised"]])
    assert from_file == AutoDiffusion("local", ((1, "as they are"), (4, "standardised")))
    assert len({from_file, AutoDiffusion("local", ((1, "as they are"), (4, "standardised")))}) == 1


@pytest.mark.parametrize(
    ("scale", "features"),
    [("vast", ONE), ("local", ()), ("local", ((1, "backwards"),)), ("", ONE)],
    ids=str,
)
def test_what_is_no_similarity(scale, features):
    with pytest.raises(ValueError, match="is no similarity: choose the scale from local, broad, mixed, fine"):
        AutoDiffusion(scale, features)


# Candidates


def test_candidates_are_each_search_scale_with_each_comparison():
    found = list_candidates([5, 3, 5])
    assert list(found) == [3, 5]
    for p, candidates in found.items():
        assert candidates == [
            AutoDiffusion(scale, ((p, name),)) for scale in SEARCH_SCALES for name in SEARCH_COMPARISONS
        ]


def test_one_feature_can_be_compared_in_one_way_alone():
    assert list_candidates([1]) == {1: [AutoDiffusion(scale, ONE) for scale in SEARCH_SCALES]}


def test_clusters_are_searched_at_scales_that_can_be_refined():
    assert set(SEARCH_SCALES) < set(SCALES)
    for candidates in list_candidates([1, 4]).values():
        for candidate in candidates:
            assert candidate.for_refinement(0.5).scale not in SEARCH_SCALES


@pytest.mark.parametrize("n_kinds", [1, 2, MOST_KINDS, MOST_KINDS + 1, 40])
def test_kinds_are_a_few_evenly_spaced_numbers_of_features(n_kinds):
    widths = np.random.default_rng(0).permutation(np.repeat(3 * np.arange(1, n_kinds + 1), 2))
    found = space_kinds(widths)
    assert len(found) == len(set(found)) == min(n_kinds, MOST_KINDS)
    assert found == sorted(found)
    assert set(found) <= set(widths.tolist())
    assert {min(widths), max(widths)} <= set(found)
    assert all(type(p) is int for p in found)
    if n_kinds > 1:
        gaps = np.diff(found)
        assert gaps.max() - gaps.min() <= 3
    assert list(list_candidates(widths)) == found


def test_kinds_need_not_have_even_numbers_of_features():
    """Spaced by their rank, not by their size: a hundred views of few features are not one kind."""
    assert space_kinds([*range(1, 15), 10**6]) == [1, 3, 5, 7, 9, 11, 13, 10**6]
