"""Classes and links as they may be given: what is unknown, names, weights, contradictions."""

import numpy as np
import pandas as pd
import pytest

from latentsimplex.inputs.views import as_views
from latentsimplex.known.known_samples import read_known

VIEWS = as_views(np.arange(10.0).reshape(5, 2))
NAMED = as_views(pd.DataFrame({"x": np.arange(5.0), "y": np.ones(5)}, index=list("abcde")))


def read(y=None, must=None, cannot=None, views=VIEWS):
    return read_known(y, must, cannot, views)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, -1, 1, -1],
        np.array([0.0, 1.0, np.nan, 1.0, -1.0]),
        [0, 1, None, 1, None],
        pd.Series([0, 1, None, 1, None], dtype="Int64"),
        np.array([[0], [1], [-1], [1], [-1]]),
        {0: 0, "1": 1, 3: 1, 4: "-1"},
        [0, 1, "-1", 1, "-1.0"],
    ],
)
def test_unknown_classes(y):
    known = read(y)
    assert known.labels.tolist() == [0, 1, -1, 1, -1]
    assert known.classes.tolist() == [0, 1]
    assert known.labelled.tolist() == [0, 1, 3]


def test_classes_may_be_text():
    known = read(["cat", None, "ant", "cat", np.nan])
    assert known.classes.tolist() == ["ant", "cat"]
    assert known.labels.tolist() == [1, -1, 0, 1, -1]
    assert known.one_hot[:2].tolist() == [[0, 1], [0, 0]]


def test_a_series_is_matched_by_name():
    y = pd.Series([1, 0, -1, -1, 0], index=list("edcba"))
    assert read(y, views=NAMED).labels.tolist() == [0, -1, -1, 0, 1]
    assert read(y[list("ebd")], views=NAMED).labels.tolist() == [-1, -1, -1, 0, 1]  # others are unknown
    with pytest.raises(ValueError, match="y names 4 samples of the data and others, such as 'z'"):
        read(y.rename({"e": "z"}), views=NAMED)


@pytest.mark.parametrize("index", [[4, 3, 2, 1, 0], list("edcba")])
def test_a_series_in_an_order_that_the_data_do_not_know_is_refused(index):
    with pytest.raises(ValueError, match=r"the data name no samples: .* or y\.to_numpy\(\)"):
        read(pd.Series([0, 1, 2, 3, -1], index=index))
    part = pd.Series([0, 1, 2, 3, -1], index=[7, 3, 9, 1, 0])  # of a larger Series, as splits of data give
    assert read(part).labels.tolist() == [0, 1, 2, 3, -1]


def test_a_series_is_matched_by_name_where_names_are_numbers():
    """One that nobody gave names goes by position, unless its numbers are the names of the samples."""
    frame = pd.DataFrame({"x": np.arange(5.0)}, index=[4, 3, 2, 1, 0])
    assert read(pd.Series([0, 1, 2, 3, -1]), views=as_views(frame)).labels.tolist() == [-1, 3, 2, 1, 0]
    assert read(pd.Series([0, 1, 2, 3, -1]), views=NAMED).labels.tolist() == [0, 1, 2, 3, -1]


def test_samples_that_a_join_left_out_are_passed_over():
    frames = [pd.DataFrame({"x": np.arange(4.0)}, index=list(names)) for names in ("abcd", "bcde")]
    views = as_views(frames, join="inner")
    assert read({"a": 1, "b": 0, "e": 2}, views=views).labels.tolist() == [0, -1, -1]
    assert read(must=[("a", "b"), ("a", "c", "d")], views=views).must.pairs.tolist() == [[1, 2]]
    assert read(cannot=([("a", "e")], np.inf), views=views) is None
    with pytest.raises(ValueError, match="y has 'z', which is no sample"):
        read({"z": 1}, views=views)
    with pytest.raises(ValueError, match="must_link has 'z', which is no sample"):
        read(must=[("a", "z")], views=views)


def test_nothing_known_is_none():
    assert read() is None
    assert read([-1] * 5) is None
    assert read([None] * 5, must=[], cannot=[]) is None


def test_pairs_groups_and_names():
    assert read(must=[(0, 1), [2, 3, 4]]).must.pairs.tolist() == [[0, 1], [2, 3], [2, 4]]
    assert read(cannot=[[2, 3, 4]]).cannot.pairs.tolist() == [[2, 3], [2, 4], [3, 4]]
    assert read(must=np.array([[1, 0], [0, 1]])).must.pairs.tolist() == [[0, 1]]
    assert read(must=[("b", "a"), (2, "e")], views=NAMED).must.pairs.tolist() == [[0, 1], [2, 4]]


def test_weights():
    assert read(must=[(0, 1)]).must.weights.tolist() == [1]
    assert read(must=([(0, 1), (2, 3)], 2.5)).must.weights.tolist() == [2.5, 2.5]
    assert read(must=([(0, 1), (2, 3)], [1.0, np.inf])).must.weights.tolist() == [1, np.inf]
    assert read(must=([(0, 1)], float("inf"))).must.weights.tolist() == [np.inf]
    assert read(must=([(0, 1), (2, 3)], [1, 2])).must.weights.tolist() == [1, 2]
    assert read(must=(np.array([[0, 1], [2, 3]]), np.array([1, 2]))).must.weights.tolist() == [1, 2]
    assert read(must=([(0, 1), (2, 3, 4)], 2)).must.weights.tolist() == [2, 2, 2]
    assert read(must=(pd.DataFrame([[0, 1], [2, 3]]), 3)).must.weights.tolist() == [3, 3]
    assert read(must=((0, 1), (2, 3))).must.pairs.tolist() == [
        [0, 1],
        [2, 3],
    ]  # a tuple of pairs has no weight


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [0, 1]}, "y has 2 entries and there are 5 samples"),
        ({"y": [[0], [1, 2], [1], [1], [1]]}, "which is no class"),
        ({"y": 3}, "y is 3: give a class for each sample"),
        ({"y": "aabbc"}, "y is 'aabbc': give a class for each sample"),
        ({"must": 3}, "must_link is 3: give pairs of samples"),
        ({"must": (0, 1)}, "must_link has 0 among its groups: give pairs of samples"),
        ({"must": ([(0, 1), (2, 3)], [1, 2, 3])}, "must_link has 2 links and 3 weights: give one weight"),
        ({"must": [(0, 9)]}, "must_link has 9, which is no sample: give an index from 0 to 4"),
        ({"must": [([0], 1)]}, r"must_link has \[0\], which is no sample"),
        ({"must": [("a", 1)]}, "must_link has 'a', which is no sample"),
        ({"cannot": [(1, 1)]}, "a sample with itself"),
        ({"must": [(1,)]}, "give pairs of samples, or lists of two or more"),
        ({"must": ([(0, 1)], -1.0)}, "must_link has a weight of -1: give weights above 0"),
        ({"must": ([(0, 1), (1, 2)], np.inf), "cannot": ([(0, 2)], np.inf)}, r"ties them \(0 - 1 - 2\)"),
    ],
)
def test_what_cannot_be_read(given, message):
    with pytest.raises(ValueError, match=message):
        read(**given)


def test_soft_links_may_contradict_one_another():
    known = read(must=[(0, 1), (1, 2)], cannot=([(0, 2)], np.inf))
    assert len(known.must.pairs) == 2


def test_a_dict_names_some_samples():
    assert read({"a": "x", "d": "y", "e": None}, views=NAMED).labels.tolist() == [0, -1, -1, 1, -1]
    assert read({"0": "x", 3: "y"}).labels.tolist() == [0, -1, -1, 1, -1]
    with pytest.raises(ValueError, match="y has 'z', which is no sample"):
        read({"z": 1}, views=NAMED)
