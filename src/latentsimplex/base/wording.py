"""What users are told: numbers with their nouns, long names and values shortened, warnings that name their own line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

PACKAGE = __name__.partition(".")[0]

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


def warn_user(sentence: str) -> None:
    """Warn on behalf of the line that called the package, however deep inside of it the warning is raised.

    Of several such lines the outermost is taken: inside, frames of other libraries, such as those of context managers,
    may stand between frames of the package.
    """
    inner = user = sys._getframe()
    while (outer := inner.f_back) is not None:
        if _is_own(inner) and not _is_own(outer):
            user = outer
        inner = outer
    code, names = user.f_code, user.f_globals
    registry, module = names.setdefault("__warningregistry__", {}), names.get("__name__")
    warnings.warn_explicit(sentence, UserWarning, code.co_filename, user.f_lineno, module, registry)


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE
