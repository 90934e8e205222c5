"""Labels of some samples, must-links and cannot-links, read from what the user gives and checked.

========================== ==========================================================================================
given                      read as
========================== ==========================================================================================
``y``                      a class for each sample; -1, also as text, None and missing values are unknown
``y``, a dict              classes by sample; those that it does not name are unknown
links                      pairs (m, 2), or groups of samples: a list of lists, each of two samples or more
``(links, weight)``        the same, each counted so many times as sure; one weight, or one for each pair or group
weight ``inf``             links that are kept to exactly; others may be wrong
========================== ==========================================================================================

Samples are given by their index or, where the data name them, by name. A pandas Series of classes whose index has these
names is matched by name; samples that it does not name are unknown. Names of samples that ``join="inner"`` did not keep
are passed over, and so are links of which fewer than two samples are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, shortest_path

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun, show_value
from latentsimplex.inputs.views import Views

UNKNOWN = -1
"""The class of a sample that has none."""
UNKNOWN_TEXTS = ("-1", "-1.0")
"""The same in a table of text, of whole numbers or not."""
HARD = 50.0
"""What a link that is kept to counts for beside others; it is enforced afterwards."""


class Given(NamedTuple):
    """What a fit is given beside the views: classes of some samples, links, and losses that join EM's."""

    y: Any = None
    must_link: Any = None
    cannot_link: Any = None
    losses: Any = None


NOTHING = Given()
"""What a fit to views alone is given beside them."""


class Links(NamedTuple):
    """Pairs of samples (m, 2), i < j, each once, and their weights (m,); those of infinite weight are kept to."""

    pairs: Indices
    weights: Array

    def select(self, chosen: np.ndarray) -> Links:
        """Return some of the links."""
        return Links(self.pairs[chosen], self.weights[chosen])


NO_LINKS = Links(np.empty((0, 2), dtype=np.intp), np.empty(0))


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of n samples: the names of classes, the class of each sample or -1, links, and names of samples."""

    classes: np.ndarray
    labels: Indices
    must: Links = field(default=NO_LINKS)
    cannot: Links = field(default=NO_LINKS)
    names: list[str] | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def labelled(self) -> Indices:
        """The samples that have a class."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def one_hot(self) -> Array:
        """The classes as rows (n, C), of zeros where unknown."""
        return (self.labels[:, None] == np.arange(len(self.classes))).astype(float)

    def name_sample(self, row: int) -> str:
        """Return the name of a sample, its position where samples have no names."""
        return str(row) if self.names is None else self.names[row]


def read_known(y: Any, must_link: Any, cannot_link: Any, views: Views) -> Known | None:
    """Return what is known of the samples of some views, or raise; None if that is nothing.

    >>> from latentsimplex.inputs.views import as_views
    >>> views = as_views([[0.0], [1.0], [5.0]])
    >>> known = read_known(["low", None, "high"], [(0, 1)], None, views)
    >>> known.classes.tolist(), known.labels.tolist(), known.must.pairs.tolist()
    (['high', 'low'], [1, -1, 0], [[0, 1]])
    """
    classes, labels = read_classes(y, views)
    must = read_links("must_link", must_link, views)
    cannot = read_links("cannot_link", cannot_link, views)
    if not len(classes) and not len(must.pairs) and not len(cannot.pairs):
        return None
    check_consistent(must, cannot, views)
    return Known(classes, labels, must, cannot, views.sample_names)


def read_classes(y: Any, views: Views) -> tuple[np.ndarray, Indices]:
    """Return the names of classes (C,), sorted where they can be, and the class of each sample (n,), -1 for unknown."""
    n = views.n_samples
    if y is None:
        return np.empty(0, dtype=object), np.full(n, UNKNOWN, dtype=np.intp)
    if isinstance(y, Mapping):
        find, named = _sample_finder("y", views), {}
        for sample, each in y.items():
            if sample not in views.left_out:
                named[find(sample)] = each
        y = [named.get(i) for i in range(n)]
    if isinstance(y, (str, bytes)) or not np.iterable(y):
        raise ValueError(
            f"y is {show_value(y)}: give a class for each sample, -1 or None where it is unknown, or a dict that names "
            "some samples."
        )
    values = _match_names(y, views) if hasattr(y, "index") and hasattr(y, "to_numpy") else y
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if given and all(isinstance(each, (list, np.ndarray)) and len(each) == 1 for each in given):
        given = [each[0] for each in given]  # a column is taken as a row
    if len(given) != n:
        raise ValueError(
            f"y has {len(given)} entries and there are {count_noun(n, 'sample')}: give a class for each sample, -1 or "
            "None where it is unknown."
        )
    seen = [each for each in given if not is_unknown(each)]
    try:
        distinct = list(dict.fromkeys(seen))
    except TypeError:
        raise ValueError(
            f"y holds {show_value(seen[0])}, which is no class: give numbers or text, -1 or None where it is unknown."
        ) from None
    try:
        distinct = sorted(distinct)
    except TypeError:
        distinct = sorted(distinct, key=str)
    place = {each: c for c, each in enumerate(distinct)}
    labels = np.array([UNKNOWN if is_unknown(each) else place[each] for each in given], dtype=np.intp)
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, labels


def is_unknown(value: Any) -> bool:
    """Return whether an entry of y stands for no class: None, -1, or a missing value of NumPy or pandas.

    >>> [is_unknown(value) for value in (None, -1, -1.0, "-1", float("nan"), 0, "a")]
    [True, True, True, True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip() in UNKNOWN_TEXTS
    if isinstance(value, (bool, np.bool_, bytes)):
        return False
    return bool(value != value or value == UNKNOWN)


def _match_names(y: Any, views: Views) -> Any:
    """Return the classes of a Series in the order of the samples: by name, where its index has their names.

    A Series that no one gave names has the numbers 0, 1, ... as its index: it goes by position. Samples that one with
    names does not name are unknown.
    """
    names, index = views.sample_names, [str(name) for name in y.index]
    counted = [str(i) for i in range(len(index))]
    if names is None:
        if index != counted and (
            sorted(index) == sorted(counted) or any(isinstance(i, str) for i in y.index)
        ):
            raise ValueError(
                "y is a Series with an index of its own, and the data name no samples: give frames whose index has "
                "these names, or y.to_numpy() if its classes are in the order of the samples."
            )
        return y.to_numpy()
    own = dict(zip(index, y.to_numpy(), strict=True))
    kept = [name for name in index if name not in views.left_out]
    there = set(names)
    others = [name for name in kept if name not in there]
    if others and index == counted:
        return y.to_numpy()
    if others:
        raise ValueError(
            f"y names {count_noun(len(there.intersection(kept)), 'sample')} of the data and others, such as "
            f"{others[0]!r}: name samples as the data do; those without a class may be left out."
        )
    if len(own) < len(index):
        raise ValueError("y has a name more than once in its index: name each sample once.")
    return np.array([own.get(name) for name in names], dtype=object)


def read_links(name: str, given: Any, views: Views) -> Links:
    """Return links that were given as pairs or groups of samples, with or without a weight."""
    if given is None:
        return NO_LINKS
    weight: Any = 1.0
    if isinstance(given, tuple) and len(given) == 2 and _is_weight(given):
        given, weight = given
    groups = _list_groups(name, given)
    weights = np.asarray(weight, dtype=float)
    if weights.ndim and len(weights) != len(groups):
        raise ValueError(
            f"{name} has {count_noun(len(groups), 'link')} and {count_noun(len(weights), 'weight')}: give one weight, "
            "or one for each link."
        )
    weights = np.broadcast_to(weights, (len(groups),))
    if not (weights > 0).all():
        raise ValueError(
            f"{name} has a weight of {weights.min():g}: give weights above 0, or inf for links to keep to."
        )
    find = _sample_finder(name, views)
    found: dict[tuple[int, int], float] = {}
    for group, own in zip(groups, weights.tolist(), strict=True):
        if len(group) < 2:
            raise ValueError(
                f"{name} has {show_value(group)} among its groups: give pairs of samples, or lists of two or more."
            )
        rows = [find(each) for each in group if not (isinstance(each, str) and each in views.left_out)]
        if len(set(rows)) < len(rows):
            raise ValueError(
                f"{name} links {show_value(group)}, a sample with itself: name each sample once in a group."
            )
        # those of a group that belong together are tied to its first; each two that do not are parted
        tied = [(rows[0], row) for row in rows[1:]] if name == "must_link" else combinations(rows, 2)
        for i, j in tied:
            pair = (min(i, j), max(i, j))
            found[pair] = max(own, found.get(pair, 0.0))
    if not found:
        return NO_LINKS
    return Links(np.array(list(found), dtype=np.intp), np.array(list(found.values())))


def _list_groups(name: str, given: Any) -> list[list[Any]]:
    """Return the groups of samples that were given, or raise."""
    if isinstance(given, (str, bytes)) or not np.iterable(given):
        raise ValueError(f"{name} is {show_value(given)}: give pairs of samples, or lists of two or more.")
    groups = list(given.to_numpy() if hasattr(given, "to_numpy") else given)
    for group in groups:
        if not _is_group(group):
            raise ValueError(
                f"{name} has {show_value(group)} among its groups: give pairs of samples, or lists of two or more."
            )
    return [list(group) for group in groups]


def _is_weight(given: tuple[Any, Any]) -> bool:
    """Return whether the second of two things is a weight, or weights: the first then holds groups, and is none."""
    links, weight = given
    if isinstance(links, (str, bytes)) or not np.iterable(links):
        return False
    numbers = weight if isinstance(weight, (list, tuple, np.ndarray)) and np.iterable(weight) else [weight]
    are_numbers = all(isinstance(w, (int, float, np.number)) and not isinstance(w, bool) for w in numbers)
    return are_numbers and (hasattr(links, "to_numpy") or all(_is_group(each) for each in links))


def _is_group(group: Any) -> bool:
    """Return whether samples are given together."""
    return isinstance(group, (list, tuple, set, frozenset)) or (
        isinstance(group, np.ndarray) and group.ndim == 1
    )


def _sample_finder(name: str, views: Views) -> Any:
    """Return a function from an index or a name to the index of a sample."""
    n = views.n_samples
    places: Mapping[str, int] = {str(each): i for i, each in enumerate(views.sample_names or [])}

    def find(sample: Any) -> int:
        if isinstance(sample, str) and sample in places:
            return places[sample]
        if isinstance(sample, str) and not places and sample.isdecimal():  # a file has text alone
            sample = int(sample)
        is_index = isinstance(sample, (int, np.integer)) and not isinstance(sample, (bool, np.bool_))
        if is_index and 0 <= sample < n:
            return int(sample)
        expected = f"an index from 0 to {n - 1}" + (" or the name of a sample" if places else "")
        raise ValueError(f"{name} has {show_value(sample)}, which is no sample: give {expected}.")

    return find


def check_consistent(must: Links, cannot: Links, views: Views) -> None:
    """Raise ValueError for hard links that contradict one another."""
    must, cannot = (links.select(np.isinf(links.weights)) for links in (must, cannot))
    if not len(cannot.pairs):
        return
    n = views.n_samples
    ties = coo_matrix((np.ones(len(must.pairs)), tuple(must.pairs.T)), shape=(n, n)).tocsr()
    _, group = connected_components(ties, directed=False)
    broken = np.flatnonzero(group[cannot.pairs[:, 0]] == group[cannot.pairs[:, 1]])
    if not len(broken):
        return
    i, j = cannot.pairs[broken[0]].tolist()
    _, before = shortest_path(ties, directed=False, unweighted=True, indices=[i], return_predecessors=True)
    way = [j]
    while way[-1] != i:
        way.append(int(before[0, way[-1]]))
    named = [str(row if views.sample_names is None else views.sample_names[row]) for row in way[::-1]]
    raise ValueError(
        f"cannot_link parts {named[0]} and {named[-1]}, and must_link ties them ({' - '.join(named)}), both with a "
        "weight of inf: leave out one of these links, or give one of them a finite weight."
    )
