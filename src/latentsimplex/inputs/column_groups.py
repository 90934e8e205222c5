"""How ``views=`` groups the columns of one table into views.

==================================== ===================================================================
``views``                            views
==================================== ===================================================================
list, array, polars Series           the view of each column, in the order of the columns
dict or pandas Series column -> view the same, columns found by name; it may name columns that are not there
dict view -> columns                 the columns of each view, by name
==================================== ===================================================================

Columns of arrays are named 0, 1, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from typing import Any

from latentsimplex.base.wording import show_value
from latentsimplex.inputs.numbers import is_missing


def is_word(views: Any, *words: str) -> bool:
    """Return whether ``views`` is one of some words; it may also be an array, which has no truth.

    >>> is_word("whole", "whole", "columns"), is_word(["a", "b"], "whole")
    (True, False)
    """
    return isinstance(views, str) and views in words


def check_grouping(views: Any) -> None:
    """Raise ValueError for a way to cut a table that there is not."""
    if is_word(views, "whole", "columns"):
        return
    if isinstance(views, (str, bytes)) or not isinstance(views, Iterable):
        raise ValueError(
            f'views={show_value(views)} is unknown: use "whole", "columns", "discover" or one group label per column '
            "(or a dict)."
        )
    if isinstance(views, Set) or not isinstance(views, Sized):
        why = "has no order" if isinstance(views, Set) else "can be read only once"
        raise ValueError(
            f"views= is a {type(views).__name__}, which {why}: give one group label per column, as a list."
        )


def group_columns(labels: Iterable[Any]) -> dict[Any, list[int]]:
    """Return the columns of each label, labels in the order in which they appear.

    >>> group_columns(["late", "early", "late"])
    {'late': [0, 2], 'early': [1]}
    """
    groups: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        groups.setdefault(label, []).append(j)
    return groups


def read_groups(views: Any, columns: Sequence[Any]) -> dict[Any, list[int]]:
    """Return the columns of each view, or raise ValueError where ``views`` does not fit the columns.

    >>> read_groups({"c": "late", "a": "early", "b": "early"}, ["a", "b", "c"])
    {'early': [0, 1], 'late': [2]}
    >>> read_groups({"late": ["c"], "early": ["a", "b"]}, ["a", "b", "c"])
    {'late': [2], 'early': [0, 1]}
    """
    names = [str(name) for name in columns]
    pairs = pairs_of(views)
    if pairs is not None:
        if any(_is_several(value) for _, value in pairs):
            return _find_columns(dict(pairs), names)
        labels = _align_labels(pairs, names)
    else:
        labels = views.tolist() if hasattr(views, "tolist") else list(views)
        if len(labels) != len(names):
            raise ValueError(
                f"views= has {len(labels)} group labels and the table has {len(names)} columns: give one label per "
                "column."
            )
    for name, label in zip(names, labels, strict=True):
        _check_label(name, label)
    return group_columns(labels)


def pairs_of(views: Any) -> list[tuple[Any, Any]] | None:
    """Return what a dict or a pandas Series says of each of its keys; None for a list, which has none."""
    has_keys = isinstance(views, Mapping) or (hasattr(views, "index") and hasattr(views, "items"))
    return list(views.items()) if has_keys else None


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _align_labels(pairs: list[tuple[Any, Any]], names: list[str]) -> list[Any]:
    """Return the view of each column, of pairs of a column and its view."""
    view_of = {str(column): view for column, view in pairs}
    if len(view_of) < len(pairs):
        raise ValueError("views= names some columns more than once: give each column one view.")
    if lacking := [name for name in names if name not in view_of]:
        raise ValueError(
            f"views= gives no view for {len(lacking)} of the {len(names)} columns, such as {lacking[0]!r}: name each "
            "column of the table, or give a list of labels in the order of the columns."
        )
    return [view_of[name] for name in names]


def _find_columns(columns_of: Mapping[Any, Any], names: list[str]) -> dict[Any, list[int]]:
    """Return the places of the columns of each view, of a dict of their names."""
    places, groups = group_columns(names), {}
    for view, members in columns_of.items():
        wanted = [str(name) for name in (members if _is_several(members) else [members])]
        if unknown := [name for name in wanted if name not in places]:
            raise ValueError(
                f"views= puts a column {unknown[0]!r} into the view {str(view)!r}, and the table has none of that "
                "name: correct it."
            )
        if not wanted or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"views= gives the view {str(view)!r} no columns, or one of them twice: correct it."
            )
        groups[view] = [j for name in wanted for j in places[name]]
    used = {j for members in groups.values() for j in members}
    if lacking := [name for j, name in enumerate(names) if j not in used]:
        raise ValueError(
            f"views= puts {len(lacking)} of the {len(names)} columns into no view, such as {lacking[0]!r}: add them, "
            "or drop them from the table."
        )
    return groups


def _check_label(name: str, label: Any) -> None:
    try:
        hash(label)
    except TypeError:
        raise ValueError(
            f"views= gives the column {name!r} the label {show_value(label)}, a {type(label).__name__}: use text or "
            "numbers as labels."
        ) from None
    if is_missing(label) or type(label).__name__ == "NaTType":
        raise ValueError(f"views= gives the column {name!r} no label ({label}): name its view, or drop it.")
