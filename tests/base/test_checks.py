"""Arguments, checked: what is right comes back, what is wrong is named with what to give in its place."""

import numpy as np
import pytest

from latentsimplex.base.checks import (
    PROBABILITY_ROUNDING,
    as_numbers,
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_labels,
    check_memberships,
    check_number,
    check_one_per_sample,
    make_generator,
    renumber_labels,
)

# Options


@pytest.mark.parametrize("value", ["group", None])
def test_a_choice_is_one_of_several(value):
    assert check_choice("penalty", value, ["group", None]) is value


@pytest.mark.parametrize("value", ["groups", "", 0, True, ["group"], np.array(["group"])], ids=repr)
def test_another_choice_is_refused_with_those_there_are(value):
    with pytest.raises(ValueError, match=r"penalty=.* is unknown: choose one of 'group', None\."):
        check_choice("penalty", value, ["group", None])


@pytest.mark.parametrize("value", [1, 7, np.int64(3), np.uint8(2)])
def test_a_count_is_a_whole_number(value):
    found = check_count("n_init", value)
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True, np.nan, [1]], ids=repr)
def test_what_is_no_count(value):
    with pytest.raises(ValueError, match=r"n_init=.* is not valid: give a whole number of at least 1\."):
        check_count("n_init", value)


def test_a_count_may_have_another_least_value():
    assert check_count("k", 0, least=0) == 0
    with pytest.raises(ValueError, match=r"k=1 is not valid: give a whole number of at least 2\."):
        check_count("k", 1, least=2)


@pytest.mark.parametrize("value", [1e-9, 3, np.float32(0.5), np.int64(2)])
def test_a_number_is_finite_and_large_enough(value):
    found = check_number("tol", value, above=0)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, "1", None, [1.0]], ids=repr)
def test_what_is_no_number(value):
    with pytest.raises(ValueError, match=r"tol=.* is not valid: give a number greater than 0\."):
        check_number("tol", value, above=0)


@pytest.mark.parametrize(("value", "expected"), [(None, None), (-1, None), (1, 1), (np.int64(4), 4)])
def test_numbers_of_threads(value, expected):
    assert check_jobs(value) == expected


@pytest.mark.parametrize("value", [0, -2, 1.5, True, "all"], ids=repr)
def test_what_is_no_number_of_threads(value):
    with pytest.raises(ValueError, match=r"n_jobs=.* is not valid: give a whole number of at least 1"):
        check_jobs(value)


def test_generators_of_every_kind_of_seed():
    given = np.random.default_rng(3)
    assert make_generator(given) is given
    for seed in (5, np.int64(5)):
        assert make_generator(seed).random() == make_generator(5).random()
    assert make_generator(5).random() != make_generator(6).random()
    legacy = [make_generator(np.random.RandomState(2)).random() for _ in range(2)]
    assert legacy[0] == legacy[1]
    assert 0 <= make_generator(None).random() < 1


def test_a_seed_that_is_none():
    with pytest.raises(ValueError, match="is no seed: give a whole number"):
        make_generator("seed")


# Memberships and labels


def test_memberships_come_back_as_numbers():
    found = check_memberships([[1, 0], [0, 1]])
    assert found.dtype == np.float64
    assert found.tolist() == [[1, 0], [0, 1]]


def test_memberships_may_be_off_by_rounding():
    near = np.array([[0.5, 0.5 + 0.9 * PROBABILITY_ROUNDING]])
    assert np.array_equal(check_memberships(near), near)
    with pytest.raises(ValueError, match="do not add up to 1 in each row: give probabilities"):
        check_memberships([[0.5, 0.5 + 1.1 * PROBABILITY_ROUNDING]])


@pytest.mark.parametrize(
    "W",
    [[[1.5, -0.5]], [[np.nan, 1.0]], [[np.inf, 0.0]], [[0.4, 0.4]]],
    ids=["negative", "nan", "inf", "0.8"],
)
def test_what_are_no_probabilities(W):
    with pytest.raises(
        ValueError, match="Answers are negative, not finite, or do not add up to 1 in each row"
    ):
        check_memberships(W, name="Answers")


@pytest.mark.parametrize(
    "W", [[0.5, 0.5], np.zeros((0, 2)), np.zeros((3, 0)), np.ones((2, 2, 1))], ids=np.shape
)
def test_memberships_of_another_shape(W):
    with pytest.raises(
        ValueError, match=r"Memberships have shape \(.*\): give one row per sample and one column"
    ):
        check_memberships(W)


def test_one_entry_per_sample():
    assert check_one_per_sample(["b", "a"], 2).tolist() == ["b", "a"]
    with pytest.raises(
        ValueError, match=r"labels has shape \(3,\) and there are 2 samples: give one entry per sample\."
    ):
        check_one_per_sample([1, 2, 3], 2)
    with pytest.raises(ValueError, match=r"colour has shape \(2, 1\) and there are 2 samples"):
        check_one_per_sample([[1], [2]], 2, name="colour")


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64])
def test_labels_are_whole_numbers(kind):
    found = check_labels(np.array([0, 2, 1], dtype=kind), 3, n_clusters=3)
    assert found.dtype == np.intp
    assert found.tolist() == [0, 2, 1]


@pytest.mark.parametrize("labels", [[0.0, 1.0], ["a", "b"], [-1, 0], [True, False]], ids=repr)
def test_what_are_no_labels(labels):
    with pytest.raises(
        ValueError, match="something else than whole numbers of 0 or more: number the clusters"
    ):
        check_labels(labels, 2)


def test_labels_beyond_the_clusters_there_are():
    with pytest.raises(
        ValueError, match=r"labels holds 4 and there are 4 clusters: number them from 0 to 3\."
    ):
        check_labels([0, 4], 2, n_clusters=4)
    assert check_labels([0, 4], 2).tolist() == [0, 4]
    with pytest.raises(ValueError, match="give one entry per sample"):
        check_labels([0, 1], 3)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 3, 1, 3, 0], [0, 0, 1, 0, 2]),
        (["b", "a", "b"], [0, 1, 0]),
        ([[7, 7, 2], [1, 0, 1]], [[0, 0, 1], [0, 1, 0]]),
        (np.arange(8).reshape(2, 2, 2), [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]),
        (np.array([5]), [0]),
    ],
    ids=str,
)
def test_clusters_are_numbered_as_they_first_appear(labels, expected):
    found = renumber_labels(labels)
    assert found.dtype == np.intp
    assert found.tolist() == expected


def test_renumbered_labels_are_the_same_partition():
    labels = np.random.default_rng(0).integers(5, size=40)
    found = renumber_labels(labels)
    assert np.array_equal(np.equal.outer(found, found), np.equal.outer(labels, labels))
    assert np.array_equal(renumber_labels(found), found)


# What users give in their place


@pytest.mark.parametrize("value", [True, 0, 2, np.bool_(False), np.int64(1)])
def test_a_flag_is_true_or_false_or_a_whole_number(value):
    assert check_flag("verbose", value) is bool(value)


@pytest.mark.parametrize("value", [None, "yes", 1.5, [], np.array([1, 2])], ids=repr)
def test_another_flag_is_refused(value):
    with pytest.raises(ValueError, match=r"verbose=.* is not valid: give True or False"):
        check_flag("verbose", value)


@pytest.mark.parametrize(
    "check", [lambda v: check_number("tol", v, 0), lambda v: check_jobs([v]), make_generator]
)
def test_very_large_integers_and_lists_are_refused_in_a_short_sentence(check):
    with pytest.raises(ValueError, match="give a") as raised:
        check(10**400)
    assert len(str(raised.value)) < 200


def test_arrays_are_no_number_of_jobs():
    with pytest.raises(ValueError, match=r"n_jobs=.* is not valid"):
        check_jobs(np.array([1, 2]))


@pytest.mark.parametrize(
    "values", ["text", ["a"], [[1], [2, 3]], {}, [10**400], object()], ids=lambda values: str(type(values))
)
def test_what_holds_no_numbers_is_refused(values):
    with pytest.raises(ValueError, match=r"weights is .*: give an array of numbers\."):
        as_numbers(values, "weights")
