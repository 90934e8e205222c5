"""References for placing new samples in a model file: arrays named ``references/...``, columns in the header.

Views are joined, so that thousands of them are a few arrays: coordinates side by side, features one behind the other.
A file is data from elsewhere, so all of it is checked before references are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from latentsimplex.base.checks import PROBABILITY_ROUNDING
from latentsimplex.base.types import Array
from latentsimplex.inputs.mixed_columns import ColumnEncoding, GivenColumns
from latentsimplex.inputs.numbers import LARGEST
from latentsimplex.placing.comparison import FARTHEST, Comparison, Way
from latentsimplex.placing.references import References, list_placing_views
from latentsimplex.placing.sample_memberships import SHARPNESSES, THINNEST, Neighbourhood, crowded_views
from latentsimplex.results.zip_archive import require

ARRAYS: dict[str, tuple[str, int]] = {
    "rows": ("i", 1),
    "places": ("i", 1),
    "kept": ("i", 1),
    "ways": ("i", 2),
    "widths": ("i", 2),
    "scales": ("f", 1),
    "centres": ("f", 1),
    "factors": ("f", 1),
    "coordinates": ("f", 2),
}
"""The kind and the number of axes of each array that all references have."""
MOST_WEIGHT, MOST_DISTANCE = 1e6, 1e30
"""What no opinion and no squared distance of a fit comes near."""


def collect_references(references: References) -> dict[str, np.ndarray]:
    """Return references as arrays by name."""
    kept = sorted(references.comparisons)
    comparisons = [references.comparisons[v] for v in kept]
    coordinates = {
        v: Z
        for known, own in zip(references.neighbourhoods, references.members, strict=True)
        if known is not None
        for v, Z in zip(own.tolist(), known.coordinates, strict=True)
    }
    m = len(references.rows)
    places = [own.places for own in references.given]
    arrays = {
        "rows": references.rows,
        "places": np.array([j for own in places for j in own or []], dtype=np.int64),
        "kept": np.array(kept, dtype=np.int64),
        "ways": np.array([each.way for each in comparisons], dtype=np.int64).reshape(-1, len(Way._fields)),
        "widths": np.array(
            [
                (len(each.centre), coordinates[v].shape[1], each.axes is not None)
                for v, each in zip(kept, comparisons, strict=True)
            ],
            dtype=np.int64,
        ).reshape(-1, 3),
        "scales": np.array([each.scale for each in comparisons], dtype=np.float64),
        "centres": _join([each.centre for each in comparisons]),
        "factors": _join([each.factor for each in comparisons]),
        "coordinates": np.hstack([np.empty((m, 0), np.float32), *(coordinates[v] for v in kept)]),
    }
    arrays |= {
        f"axes/{v}": each.axes for v, each in zip(kept, comparisons, strict=True) if each.axes is not None
    }
    for l, known in enumerate(references.neighbourhoods):
        if known is not None:
            crowded = crowded_views(known.coordinates)
            thin = [own for own, wanted in zip(known.thinness, crowded, strict=True) if wanted]
            arrays[f"thinness/{l}"] = np.array(thin, dtype=np.float32).reshape(-1, m)
            arrays[f"numbers/{l}"] = np.array([*known.weights, known.far, known.sharpness])
            arrays[f"parts/{l}"] = known.parts
    return {f"references/{name}": array for name, array in arrays.items()}


def describe_columns(references: References) -> list[Any]:
    """Return the columns that views were given as, as JSON values: how many, their names, how they were encoded."""
    return [
        [own.n_columns, own.names, None if own.encodings is None else [list(each) for each in own.encodings]]
        for own in references.given
    ]


def restore_references(
    described: Any,
    arrays: dict[str, np.ndarray],
    view_patterns: np.ndarray,
    memberships: Sequence[Array],
    n_columns: int | None = None,
) -> References:
    """Return the references that a file holds, given what it says of columns and the results in it.

    ``n_columns`` are those of the table that views were found in; None where all its columns are in views.
    """
    n, n_views = len(memberships[0]), len(view_patterns)
    own = {
        name.removeprefix("references/"): each
        for name, each in arrays.items()
        if name.startswith("references/")
    }
    for name, (kind, n_axes) in ARRAYS.items():
        require(name in own, f"references/{name} is missing")
        require(
            own[name].dtype.kind == kind and own[name].ndim == n_axes, f"references/{name} is something else"
        )
    members = list_placing_views(view_patterns, len(memberships))
    clustered = [W.shape[1] > 1 for W in memberships]
    rows, kept = own["rows"], own["kept"]
    require(
        len(rows) >= 2 and _rises(rows) and rows[0] >= 0 and rows[-1] < n, "references/rows are no samples"
    )
    wanted = np.sort(
        np.concatenate([each for each, has in zip(members, clustered, strict=True) if has] or [kept[:0]])
    )
    require(np.array_equal(kept, wanted), "references/kept are not views with clusters")
    given = _restore_given(described, own["places"], n_views, n_columns)
    comparisons, coordinates = _restore_comparisons(own, given, len(rows))
    neighbourhoods = [
        _restore_neighbourhood(own, l, [coordinates[v] for v in each.tolist()], W, rows) if has else None
        for l, (each, W, has) in enumerate(zip(members, memberships, clustered, strict=True))
    ]
    return References(rows, given, comparisons, partial(list, neighbourhoods), members)


def _restore_given(
    described: Any, places: np.ndarray, n_views: int, n_columns: int | None
) -> list[GivenColumns]:
    require(isinstance(described, list) and len(described) == n_views, "it lists no columns of views")
    given = []
    for each in described:
        require(isinstance(each, list) and len(each) == 3, "columns of a view are something else")
        count, names, encodings = each
        require(type(count) is int and count >= 1, f"a view has {count!r} columns")
        require(names is None or _are_texts(names, count), "names of columns are something else")
        known = None if encodings is None else [*_restore_encodings(encodings, count)]
        given.append(GivenColumns(count, names, known))
    total = sum(own.n_columns for own in given)
    require(len(places) in (0, total), "references/places has another length")
    if not len(places):
        return given
    most = total if n_columns is None else n_columns
    require((places >= 0).all() and bool((places < most).all()), "references/places is out of range")
    ends = np.cumsum([own.n_columns for own in given])
    return [
        own._replace(places=places[end - own.n_columns : end].tolist())
        for own, end in zip(given, ends, strict=True)
    ]


def _restore_encodings(encodings: Any, count: int) -> Iterator[ColumnEncoding]:
    require(
        isinstance(encodings, list) and len(encodings) == count, "encodings of columns are something else"
    )
    for each in encodings:
        require(isinstance(each, list) and len(each) == 3, "the encoding of a column is something else")
        levels, centre, scale = each
        require(levels is None or _are_texts(levels, None), "categories of a column are something else")
        require(type(centre) is float and type(scale) is float, "a column has no scale")
        require(
            abs(centre) <= LARGEST and 1 / LARGEST <= scale <= LARGEST,
            "the scale of a column is out of range",
        )
        yield ColumnEncoding(levels, centre, scale)


def _are_texts(names: Any, count: int | None) -> bool:
    return (
        isinstance(names, list)
        and count in (None, len(names))
        and all(isinstance(name, str) for name in names)
    )


def _restore_comparisons(
    own: dict[str, np.ndarray], given: list[GivenColumns], m: int
) -> tuple[dict[int, Comparison], dict[int, np.ndarray]]:
    kept, ways, widths, scales = (own[name] for name in ("kept", "ways", "widths", "scales"))
    require(
        ways.shape == (len(kept), len(Way._fields))
        and widths.shape == (len(kept), 3)
        and len(scales) == len(kept),
        "references disagree in views",
    )
    require(
        np.isin(ways, (0, 1)).all() and np.isin(widths[:, 2], (0, 1)).all(), "references/ways is out of range"
    )
    require((widths[:, :2] >= 1).all() and (scales > 0).all(), "references/widths or scales are out of range")
    require((widths[:, 1] <= widths[:, 0]).all(), "references have more coordinates than features")
    features, coordinates = np.cumsum(widths[:, 0]), np.cumsum(widths[:, 1])
    total = (int(features[-1]), int(coordinates[-1])) if len(kept) else (0, 0)
    require(
        own["centres"].shape == own["factors"].shape == (total[0],), "references/centres has another length"
    )
    require(own["coordinates"].shape == (m, total[1]), "references/coordinates has another shape")
    for name in ("centres", "factors", "scales"):
        require(np.isfinite(own[name]).all(), f"references/{name} holds numbers that are not finite")
    for name, low in (("centres", -LARGEST), ("factors", 0.0)):
        require(((own[name] >= low) & (own[name] <= LARGEST)).all(), f"references/{name} is out of range")
    require(not (np.abs(own["coordinates"]) > FARTHEST).any(), "references/coordinates is out of range")
    comparisons, found = {}, {}
    for i, v in enumerate(kept.tolist()):
        p, r, has_axes = widths[i].tolist()
        encodings = given[v].encodings
        expected = given[v].n_columns if encodings is None else sum(each.width for each in encodings)
        require(p == expected and (has_axes or p == r), f"references of view {v} have {p} features")
        axes = own[f"axes/{v}"] if has_axes else None
        if axes is not None:
            require(axes.shape == (p, r), f"references/axes/{v} has another shape")
            require(np.isfinite(axes).all(), f"references/axes/{v} holds numbers that are not finite")
        part = slice(features[i] - p, features[i])
        way = Way(*(bool(flag) for flag in ways[i]))
        comparisons[v] = Comparison(way, own["centres"][part], own["factors"][part], axes, float(scales[i]))
        found[v] = np.ascontiguousarray(
            own["coordinates"][:, coordinates[i] - r : coordinates[i]], np.float32
        )
    return comparisons, found


def _restore_neighbourhood(
    own: dict[str, np.ndarray], l: int, coordinates: list[np.ndarray], W: Array, rows: np.ndarray
) -> Neighbourhood:
    crowded = crowded_views(coordinates)
    for name, shape in {
        f"thinness/{l}": (sum(crowded), len(rows)),
        f"numbers/{l}": (4,),
        f"parts/{l}": (len(coordinates),),
    }.items():
        require(name in own and own[name].dtype.kind == "f", f"references/{name} is missing")
        require(
            own[name].shape == shape and np.isfinite(own[name]).all(), f"references/{name} is something else"
        )
    c, b, far, sharpness = own[f"numbers/{l}"].tolist()
    thin, parts = own[f"thinness/{l}"], own[f"parts/{l}"]
    in_range = 0 <= c <= MOST_WEIGHT and 0 <= b <= MOST_WEIGHT and 0 <= far <= MOST_DISTANCE
    require(in_range and sharpness in SHARPNESSES, f"references/numbers/{l} is out of range")
    adds_up = abs(parts.sum() - 1) < PROBABILITY_ROUNDING
    require((parts >= 0).all() and adds_up, f"references/parts/{l} are no shares")
    require(
        ((thin > 0) & (thin <= 1 / THINNEST * (1 + PROBABILITY_ROUNDING))).all(),
        f"references/thinness/{l} is out of range",
    )
    flat, each = np.ones(len(rows), dtype=np.float32), iter(thin.astype(np.float32))
    thinness = [next(each) if wanted else flat for wanted in crowded]
    return Neighbourhood(
        coordinates, W[rows], W.mean(axis=0), thinness, np.array([c, b]), sharpness, far, parts
    )


def _rises(values: np.ndarray) -> bool:
    return bool((np.diff(values) > 0).all())


def _join(arrays: list[Array]) -> Array:
    return np.concatenate([np.empty(0), *arrays])
