"""Numbers, names and values as text: numbers with their nouns, what is long shortened."""

from __future__ import annotations

from typing import Any

SHOWN_LETTERS = 60
"""Of a value in an error: enough to know it again."""


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_noun(1, "view"), count_noun(50_000, "view")
    ('1 view', '50,000 views')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten_middle(text: str, most: int) -> str:
    """Return text of at most so many letters, its middle left out where it is longer: long names differ at their ends.

    >>> shorten_middle("gene", 11), shorten_middle("/a/long/way/to.csv", 11)
    ('gene', '/a/lo…o.csv')
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"


def show_value(value: Any) -> str:
    """Return a value as Python writes it, on one line and not too long, for errors about it.

    >>> show_value([1, "a"]), len(show_value(10**400))
    ("[1, 'a']", 60)
    """
    return shorten_middle(" ".join(repr(value).split()), SHOWN_LETTERS)
