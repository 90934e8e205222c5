"""Numbers and names as text in the report: rounded, but never to more than is known."""

from __future__ import annotations

from typing import Any

from latentsimplex.base.wording import shorten_middle

LONGEST_NAME = 200


def number(x: float) -> str:
    """Return a number in at most six figures, thousands set apart.

    >>> number(1234567.0), number(0.5), number(1.5e12)
    ('1,234,570', '0.5', '1.5e+12')
    """
    if abs(x) >= 1e9:
        return f"{x:.6g}"
    return f"{float(f'{x:.6g}'):,.6g}" if abs(x) < 1e5 else f"{float(f'{x:.6g}'):,.0f}"


def short(x: float) -> str:
    """Return a number of the data in four figures.

    >>> short(123456.0), short(0.000123456), short(-2.0)
    ('123500', '0.0001235', '-2')
    """
    return f"{float(f'{x:.4g}'):g}"


def change(x: float) -> str:
    """Return the size of a change in two decimals that never round to none.

    >>> change(0.0), change(0.001), change(0.4265), change(12.0)
    ('0', '<0.01', '0.43', '12.00')
    """
    return "0" if x == 0 else "<0.01" if x < 0.005 else f"{x:.2f}"


def probability(p: float | None) -> str:
    """Return two decimals that never round to certainty, or a dash for what is not known.

    >>> probability(0.734), probability(0.999), probability(1.0), probability(0.001), probability(None)
    ('0.73', '>0.99', '1', '<0.01', '–')
    """
    if p is None:
        return "–"
    if p >= 0.995:
        return "1" if p >= 1 else ">0.99"
    return "0" if p <= 0 else "<0.01" if p < 0.005 else f"{p:.2f}"


def percent(share: float | None) -> str:
    """Return a share in whole percent that never rounds to none or all.

    >>> percent(0.123), percent(0.0), percent(0.001), percent(0.999), percent(None)
    ('12%', '0%', '<1%', '>99%', '–')
    """
    if share is None:
        return "–"
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def show_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name from the data as text that UTF-8 can hold, without its middle where it is too long to show.

    >>> show_name("gene"), show_name("/a/long/way/to.csv", longest=11), show_name(7)
    ('gene', '/a/lo…o.csv', '7')
    """
    # half of a pair of UTF-16, which is no character, is shown as a replacement for one
    text = str(name).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return shorten_middle(text, longest)
