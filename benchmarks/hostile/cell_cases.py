"""Cases of cells in tables given to ``fit``: kinds of values, sizes of numbers, few samples, and data that are none."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import torch
import xarray as xr
from scipy import sparse

from hostile.case import TRUTH, Case, D, E, N, draw_table, fit, fit_twins

BAD_CELLS: dict[str, tuple[Any, str]] = {
    "date": (datetime.datetime(2024, 5, 1), "refused"),
    "day": (datetime.date(2024, 5, 1), "refused"),
    "time": (datetime.time(5), "refused"),
    "span": (datetime.timedelta(1), "refused"),
    "timestamp": (pd.Timestamp("2024-05-01"), "refused"),
    "zoned": (pd.Timestamp("2024-05-01", tz="UTC"), "refused"),
    "NaT": (pd.NaT, "refused"),
    "datetime64": (np.datetime64("2024-05-01"), "refused"),
    "timedelta64": (np.timedelta64(1, "D"), "refused"),
    "complex": (1 + 2j, "refused"),
    "complex64": (np.complex64(1j), "refused"),
    "bytes": (b"one", "refused"),
    "word": ("one", "any"),
    "digits": ("12.5", "refused"),
    "dict": ({"a": 1}, "refused"),
    "list": ([1, 2], "refused"),
    "set": ({1}, "refused"),
    "array": (np.arange(2), "refused"),
    "function": (len, "refused"),
    "object": (object(), "refused"),
    "period": (pd.Period("2024-05"), "refused"),
    "interval": (pd.Interval(0, 1), "refused"),
    "inf": (np.inf, "refused"),
    "-inf": (-np.inf, "refused"),
    "1e308": (1e308, "refused"),
    "-1e200": (-1e200, "refused"),
    "10**400": (10**400, "refused"),
    "2**70": (2**70, "any"),
    "decimal nan": (Decimal("nan"), "any"),
    "decimal huge": (Decimal("1e400"), "refused"),
    "None": (None, "any"),
    "NaN": (np.nan, "any"),
    "NA": (pd.NA, "any"),
    "True": (True, "fits"),
    "1e-320": (1e-320, "fits"),
    "longdouble": (np.longdouble("1e4000"), "refused"),
}


def with_cell(value: Any) -> list[list[Any]]:
    """Return a table with another value in one cell."""
    rows: list[list[Any]] = D.tolist()
    rows[3][1] = value
    return rows


def as_objects(rows: list[list[Any]]) -> np.ndarray:
    """Return rows as an array of objects, also where one of them is a list."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            array[i, j] = value
    return array


def as_frame(rows: list[list[Any]]) -> pd.DataFrame:
    """Return rows as a frame whose columns have types of their own, where pandas knows one."""
    try:
        return pd.DataFrame({j: list(column) for j, column in enumerate(zip(*rows, strict=True))})
    except OverflowError:  # of pandas itself, which has no type for such integers
        return pd.DataFrame(as_objects(rows))


def cells() -> Iterator[Case]:
    """A cell, or a whole column, that is no number, in every kind of table."""
    ways: dict[str, Callable[[list[list[Any]]], Any]] = {
        "lists": lambda rows: rows,
        "objects": as_objects,
        "pandas": as_frame,
        "polars": lambda rows: pl.DataFrame(
            {f"x{j}": pl.Series([row[j] for row in rows], strict=False) for j in range(3)}
        ),
    }
    for (what, (value, expected)), (way, make) in ((c, w) for c in BAD_CELLS.items() for w in ways.items()):
        missing = what in ("None", "NaN", "NA", "decimal nan")
        if way == "polars" and what not in ("inf", "1e308", "None", "NaN", "True", "-1e200", "1e-320"):
            continue  # polars itself refuses columns of several types
        yield Case(
            f"cell {what}, {way}",
            lambda m=make, v=value: fit(m(with_cell(v))),
            "refused" if missing else expected,
        )
        if missing:
            yield Case(
                f"cell {what}, {way}, pairwise",
                lambda m=make, v=value: fit_twins(m(with_cell(v)), missing="pairwise"),
                "fits",
            )
    start = datetime.datetime(2024, 1, 1)
    columns: dict[str, tuple[Any, str]] = {
        "dates": ([start + datetime.timedelta(i) for i in range(N)], "refused"),
        "days": ([(start + datetime.timedelta(i)).date() for i in range(N)], "refused"),
        "dates with gaps": ([None, *(start + datetime.timedelta(i) for i in range(N - 1))], "refused"),
        "times": ([datetime.time(i) for i in range(N)], "refused"),
        "spans": ([datetime.timedelta(i) for i in range(N)], "refused"),
        "booleans": ((TRUTH == 1).tolist(), "fits"),
        "booleans with gaps": ([None, *(TRUTH == 1).tolist()[1:]], "refused"),
        "two words": ([("low", "high")[k] for k in TRUTH], "fits"),
        "six words": ([f"w{i % 3}{k}" for i, k in enumerate(TRUTH)], "fits"),
        "other words": ([f"w{i}" for i in range(N)], "refused"),
        "one word": (["same"] * N, "fits"),
        "words with gaps": ([None, *(("low", "high")[k] for k in TRUTH[1:])], "refused"),
        "digits": ([str(i) for i in range(N)], "refused"),
        "nothing": ([None] * N, "refused"),
        "decimals": ([Decimal(i) / 7 for i in range(N)], "fits"),
        "lists": ([[i] for i in range(N)], "refused"),
        "dicts": ([{"a": i} for i in range(N)], "refused"),
        "bytes": ([b"%d" % i for i in range(N)], "refused"),
        "numbers": (list(range(N)), "fits"),
    }
    frames: dict[str, Callable[[list[Any]], Any]] = {
        "pandas": lambda c: pd.DataFrame({"x": D[:, 0], "y": D[:, 1], "c": c}),
        "pandas arrow": lambda c: pd.DataFrame({"x": D[:, 0], "y": D[:, 1], "c": c}).convert_dtypes(
            dtype_backend="pyarrow"
        ),
        "polars": lambda c: pl.DataFrame({"x": D[:, 0], "y": D[:, 1], "c": c}),
    }
    for (what, (column, expected)), (way, make) in ((c, f) for c in columns.items() for f in frames.items()):
        yield Case(f"column of {what}, {way}", lambda m=make, c=column: fit_twins(m(c)), expected)
    categories = {
        "text": pd.Categorical([("low", "high")[k] for k in TRUTH]),
        "integers": pd.Categorical(TRUTH),
        "ordered": pd.Categorical(
            [("low", "high")[k] for k in TRUTH], ["low", "high", "never"], ordered=True
        ),
        "with gaps": pd.Categorical([None, *(("low", "high")[k] for k in TRUTH[1:])]),
    }
    for what, column in categories.items():
        table = pd.DataFrame({"x": D[:, 0], "y": D[:, 1], "c": column})
        yield Case(
            f"categories {what}", lambda t=table: fit_twins(t), "refused" if what == "with gaps" else "fits"
        )
        yield Case(f"categories {what}, pairwise", lambda t=table: fit_twins(t, missing="pairwise"), "fits")
        yield Case(f"categories {what}, alone", lambda t=table: fit(t[["c"]], missing="pairwise"), "any")
        yield Case(
            f"categories {what}, columns", lambda t=table: fit(t, views="columns", missing="pairwise"), "any"
        )


def sizes() -> Iterator[Case]:
    """Few samples, few features, no variation, very large and very small numbers, in every similarity."""
    rng = np.random.default_rng(0)
    holed = np.where(rng.random(D.shape) < 0.2, np.nan, D)
    holed[:, 0] = D[:, 0]
    scaled = {
        f"times {scale:g}": (D * scale, "fits") for scale in (1e-140, 1e-100, 1e-30, 1e10, 1e100, 1e140)
    }
    tables: dict[str, tuple[Any, str]] = {
        **scaled,
        "columns of all scales": (D * [1e-100, 1.0, 1e100], "any"),
        **{f"times {scale:g}": (D * scale, "refused") for scale in (1e-300, 1e-200)},
        "far from 0": (D + 1e9, "fits"),
        "very far from 0": (D + 1e15, "any"),
        "one outlier": (np.vstack([D[1:], [[1e100] * 3]]), "any"),
        "smallest numbers": (TRUTH[:, None] * np.array([[5e-324, 1e-323]]), "any"),
        "largest numbers": ((2 * TRUTH[:, None] - 1) * np.full((1, 2), 1e150), "any"),
        "beyond the largest": (D * 1e150, "refused"),
        "two values": (np.repeat(TRUTH[:, None] * 1.0, 2, 1), "any"),
        "constant": (np.ones((N, 3)), "any"),
        "zeros": (np.zeros((N, 3)), "any"),
        "a constant column": (np.column_stack([D, np.ones(N)]), "fits"),
        "one feature": (D[:, :1], "any"),
        "duplicates": (np.repeat(D[:4], 6, axis=0), "any"),
        "integers of 8 bits": ((TRUTH * 200 + rng.integers(9, size=N)).astype(np.uint8)[:, None], "fits"),
        "0 samples": (D[:0], "refused"),
        "1 sample": (D[:1], "refused"),
        "2 samples": (D[:2], "any"),
        "3 samples": (D[:3], "any"),
        "4 samples": (D[:4], "any"),
        "5 samples": (D[:5], "any"),
        "0 features": (D[:, :0], "refused"),
        "holes": (holed, "refused"),
        "more features than samples": (np.hstack([draw_table(k, 40) for k in range(5)]), "fits"),
        "1 axis": (D[:, 0], "refused"),
        "no axis": (np.array(1.0), "refused"),
        "4 axes": (D[None, None], "refused"),
    }
    for (what, (table, expected)), kind in (
        (t, s) for t in tables.items() for s in ("auto", "local-scaling", "diffusion")
    ):
        check = fit_twins if expected == "fits" else fit
        yield Case(f"{what}, {kind}", lambda t=table, s=kind, c=check: c(t, similarity=s), expected)
        if kind != "local-scaling" and table.ndim == 2 and len(table) == N and expected != "refused":
            yield Case(
                f"{what} beside another, {kind}", lambda t=table, s=kind: fit([D, t], similarity=s), expected
            )
    for kind in ("auto", "local-scaling", "diffusion"):
        yield Case(
            f"holes, pairwise, {kind}",
            lambda s=kind: fit_twins(holed, similarity=s, missing="pairwise"),
            "fits",
        )
        yield Case(
            f"holes in one view, {kind}",
            lambda s=kind: fit_twins([D, holed], similarity=s, missing="pairwise"),
            "fits",
        )
    empty_row, empty_column = holed.copy(), holed.copy()
    empty_row[2], empty_column[:, 1] = np.nan, np.nan
    apart = np.full((N, 2), np.nan)
    apart[:12, 0], apart[12:, 1] = D[:12, 0], D[12:, 1]
    for what, table in {"sample": empty_row, "feature": empty_column, "shared feature": apart}.items():
        expected = "any" if what == "shared feature" else "refused"
        yield Case(f"no value of a {what}", lambda t=table: fit(t, missing="pairwise"), expected)
    odd: dict[str, Any] = {
        "None": None,
        "text": "data.csv",
        "number": 3,
        "nan": np.nan,
        "empty list": [],
        "empty dict": {},
        "set": {1, 2},
        "generator": (row for row in D),
        "function": len,
        "model": fit,
        "bytes": b"12",
        "list of None": [None, None],
        "list of text": ["a", "b"],
        "list of numbers": [1.0, 2.0],
        "ragged": [[1, 2], [3]],
        "ragged views": [D, E[1:]],
        "empty view": [D, E[:, :0]],
        "None beside": [D, None],
        "dict of None": {"a": None},
        "nested": [[D, E], [D, E]],
        "list of empties": [[], []],
        "dict of dicts": {"a": {"b": D}},
        "series": pd.Series(D[:, 0]),
        "polars series": pl.Series(D[:, 0]),
        "4-D DataArray": xr.DataArray(D[None, None]),
        "records": np.zeros(N, "f8,f8"),
        "dates": np.arange(N).astype("datetime64[D]")[:, None],
        "text array": np.array([["a", "b"]] * N),
        "complex": D + 1j,
        "complex sparse": sparse.csr_array(D + 1j),
        "void": np.zeros((N, 2), "V4"),
        "sparse 1-D": sparse.coo_array(D[:, 0]),
        "torch complex": torch.tensor(D + 1j),
        "torch meta": torch.zeros(N, 2, device="meta"),
        "torch 0-D": torch.tensor(1.0),
        "iterator": iter([D, E]),
        "zip": zip(D, E, strict=True),
        "dict keys": {"a": 1}.keys(),
        "dict of columns": {"a": [1.0] * N},
        "pairs": list(zip("ab", (D, E), strict=True)),
        "path": __file__,
        "type": np.ndarray,
        "sparse with nan": sparse.csr_array(holed),
        "sparse with inf": sparse.csr_array(D * np.inf),
        "masked cells": np.ma.masked_less(D, -11),
        "group by": pd.DataFrame(D).groupby(0),
        "lazy faulty": pl.LazyFrame(D).select("nothing"),
        "nested frames": pd.DataFrame({"a": [D]}),
    }
    for what, value in odd.items():
        yield Case(f"data: {what}", lambda v=value: fit(v), "refused")
    stack3 = xr.DataArray(np.stack([D, E]), dims=("view", "sample", "feature"))
    yield Case("3-D DataArray", lambda: fit_twins(stack3, n_views=2), "fits")
    similarity = np.exp(-np.square(D[:, None] - D[None]).sum(axis=2) / 50)
    matrices: dict[str, tuple[Any, str]] = {
        "whole": (similarity, "fits"),
        "stack": (similarity[None], "fits"),
        "frame": (pd.DataFrame(similarity), "fits"),
        "negative": (-similarity, "refused"),
        "above 1": (2 * similarity, "refused"),
        "not symmetric": (np.triu(similarity), "refused"),
        "not square": (similarity[:, 1:], "refused"),
        "nan": (similarity * np.nan, "refused"),
        "distances": (1e3 - 1e3 * similarity, "refused"),
        "sparse": (sparse.csr_array(similarity), "fits"),
        "ones": (np.ones((N, N)), "any"),
        "identity": (np.eye(N), "any"),
        "zeros": (np.zeros((N, N)), "any"),
    }
    for what, (matrix, expected) in matrices.items():
        yield Case(f"precomputed {what}", lambda m=matrix: fit(m, similarity="precomputed"), expected)


FAMILIES = (cells, sizes)
