"""Numbers and names as a reader wants them."""

import numpy as np
import pytest

from latentsimplex.base.wording import SHOWN_LETTERS, count_noun, shorten_middle, show_value


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 views"), (1, "1 view"), (2, "2 views"), (999, "999 views"), (1000, "1,000 views")],
)
def test_a_number_with_its_noun(number, expected):
    assert count_noun(number, "view") == expected


@pytest.mark.parametrize("most", range(1, 12))
def test_a_short_name_is_as_long_as_it_may_be_and_keeps_both_ends(most):
    text = "abcdefghijkl"
    short = shorten_middle(text, most)
    assert len(short) == most
    start, _, end = short.partition("…")
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(start) - len(end) in (0, 1)


@pytest.mark.parametrize("text", ["", "a", "abcdefghijkl"])
def test_a_name_that_is_short_enough_stays(text):
    assert shorten_middle(text, 12) == text


def test_no_space_is_left_beside_what_was_left_out():
    assert shorten_middle("many words in a row", 12) == "many w…a row"
    assert shorten_middle("a few words in a row", 12) == "a few…a row"


def test_values_are_shown_on_one_line_and_not_at_length():
    assert show_value("a") == "'a'"
    assert show_value(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert len(show_value(list(range(1000)))) == SHOWN_LETTERS
