"""Cases of tables given to ``fit``: their forms, the names of their rows, and ways to cut them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import torch
import xarray as xr
from scipy import sparse

from hostile.case import PERM, TRUTH, Case, D, E, N, fit_twins
from latentsimplex.inputs import NamedTable, with_samples

SPARSE = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    **{name: lambda t, k=name: t.astype(k) for name in ("f8", "f4", "f2", "g", ">f8", ">i4")},
    **{
        name: lambda t, k=name: (5 * (t - t.min())).round().astype(k)
        for name in ("i1", "i2", "i4", "i8", "u1", "u4", "u8")
    },
    "objects": lambda t: t.astype(object),
    "objects of int": lambda t: (10 * t).astype(int).astype(object),
    "fractions": lambda t: np.vectorize(lambda x: Fraction(float(x)).limit_denominator(99), otypes=[object])(
        t
    ),
    "decimals": lambda t: np.vectorize(lambda x: Decimal(str(round(float(x), 3))), otypes=[object])(t),
    "fortran": np.asfortranarray,
    "strided": lambda t: np.repeat(np.repeat(t, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda t: t[::-1][::-1],
    "read-only": lambda t: np.frombuffer(t.tobytes()).reshape(t.shape),
    "masked": lambda t: np.ma.masked_array(t, np.zeros(t.shape, bool)),
    "matrix": lambda t: np.matrix(t),
    "lists": lambda t: t.tolist(),
    "tuples": lambda t: tuple(map(tuple, t.tolist())),
    "list of arrays": lambda t: [np.array(row) for row in t.tolist()],
    "pandas": pd.DataFrame,
    "pandas nullable": lambda t: pd.DataFrame(t).convert_dtypes(),
    "pandas arrow": lambda t: pd.DataFrame(t).astype("double[pyarrow]"),
    "pandas sparse": lambda t: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(t)),
    "pandas objects": lambda t: pd.DataFrame(t.astype(object)),
    "pandas one name": lambda t: pd.DataFrame(t, columns=["x"] * t.shape[1]),
    "polars": lambda t: pl.DataFrame(t, schema=[f"x{j}" for j in range(t.shape[1])]),
    "polars lazy": lambda t: pl.LazyFrame(t, schema=[f"x{j}" for j in range(t.shape[1])]),
    "xarray": lambda t: xr.DataArray(t, dims=("sample", "feature")),
    "torch": torch.tensor,
    "torch grad": lambda t: torch.tensor(t, requires_grad=True),
    "torch half": lambda t: torch.tensor(t, dtype=torch.float16),
    "torch bfloat": lambda t: torch.tensor(t, dtype=torch.bfloat16),
    "torch int": lambda t: torch.tensor(t).long(),
    "torch sparse": lambda t: torch.tensor(t).to_sparse(),
    "named table": lambda t: NamedTable(t, [f"x{j}" for j in range(t.shape[1])]),
    **{f"{k} array": lambda t, k=k: getattr(sparse, f"{k}_array")(t) for k in SPARSE},
    **{f"{k} matrix": lambda t, k=k: getattr(sparse, f"{k}_matrix")(t) for k in SPARSE},
}
"""One table in many forms; each of them can be fitted."""
UNSURE = {"torch sparse", "list of arrays"}
"""Forms that may be refused."""


def forms() -> Iterator[Case]:
    """Every form alone, in a list, in a dict, beside an array."""
    for name, make in FORMS.items():
        expected = "any" if name in UNSURE else "fits"
        yield Case(f"form {name}, alone", lambda make=make: fit_twins(make(D)), expected)
        yield Case(f"form {name}, list", lambda make=make: fit_twins([make(D), make(E)], n_views=2), expected)
        yield Case(
            f"form {name}, dict", lambda make=make: fit_twins({"a": D, "b": make(E)}, n_views=2), expected
        )
    for name in ("f8", "f4", "i4", "objects", "masked", "torch", "lists", "xarray", "fortran", "read-only"):
        stack = FORMS[name] if name != "xarray" else lambda t: xr.DataArray(t)
        yield Case(f"stack {name}", lambda stack=stack: fit_twins(stack(np.stack([D, E])), n_views=2), "fits")


INDICES: dict[str, Any] = {
    "range": range(N),
    "shifted": range(1, N + 1),
    "steps": range(0, 10 * N, 10),
    "backwards": range(N)[::-1],
    "text": [f"s{i}" for i in range(N)],
    "digits": [f"{i}" for i in range(N)],
    "padded": [f"{i:04d}" for i in range(N)],
    "integers": np.random.default_rng(1).permutation(1000)[:N],
    "floats": np.arange(N) + 0.5,
    "dates": pd.date_range("2024-01-01", periods=N),
    "zoned": pd.date_range("2024-01-01", periods=N, tz="Europe/Vienna"),
    "periods": pd.period_range("2024-01", periods=N, freq="M"),
    "tuples": pd.MultiIndex.from_product([list("abcdef"), range(4)]),
    "categories": pd.CategoricalIndex([f"c{i}" for i in range(N)]),
    "mixed": [i if i % 2 else f"s{i}" for i in range(N)],
    "spaces": [" " * i for i in range(N)],
    "letters": [chr(0x1F600 + i) for i in range(N)],
    "spans": pd.to_timedelta(range(N), unit="h"),
}


def indexed(index: Any, order: Any = None, table: np.ndarray = D) -> pd.DataFrame:
    """Return a frame with names of rows, in an order."""
    frame = pd.DataFrame(table, index=index if isinstance(index, pd.Index) else pd.Index(index))
    return frame if order is None else frame.iloc[order]


def names_of_rows() -> Iterator[Case]:
    """Views in several orders are one pattern; names that disagree are refused."""
    for name, index in INDICES.items():
        first = indexed(index)
        rest = {
            "same order": (lambda f=first, i=index: fit_twins({"a": f, "b": indexed(i, table=E)}), "fits"),
            "shuffled": (lambda f=first, i=index: fit_twins({"a": f, "b": indexed(i, PERM)}), "fits"),
            "first shuffled": (
                lambda f=first, i=index: fit_twins([indexed(i, PERM), f], TRUTH[PERM]),
                "fits",
            ),
            "sorted by value": (lambda f=first: fit_twins({"a": f, "b": f.sort_values(0)}), "fits"),
            "one lacks": (lambda f=first: fit_twins([f, f.iloc[1:]]), "refused"),
            "one other": (lambda f=first: fit_twins([f, f.rename(index={f.index[0]: "other"})]), "refused"),
            "beside an array": (lambda f=first: fit_twins([f, E]), "fits"),
            "shuffled beside an array": (
                lambda f=first, i=index: fit_twins([f, indexed(i, PERM), E]),
                "refused",
            ),
            "twice the same name": (
                lambda f=first, i=index: fit_twins([f, indexed(i, [0, 0, *range(2, N)])]),
                "refused",
            ),
        }
        if name == "tuples":
            del rest["one other"]
        yield from (Case(f"index {name}, {what}", do, expected) for what, (do, expected) in rest.items())
    text, digits = INDICES["text"], INDICES["digits"]
    people = pl.DataFrame({"who": text, **{f"x{j}": D[:, j] for j in range(3)}})
    shuffled = people[PERM.tolist()]
    yield Case(
        "with_samples",
        lambda: fit_twins([with_samples(people, "who"), with_samples(shuffled, "who")]),
        "fits",
    )
    yield Case(
        "with_samples beside pandas",
        lambda: fit_twins([with_samples(shuffled, "who"), indexed(text)], TRUTH[PERM]),
        "fits",
    )
    yield Case("with_samples of no column", lambda: with_samples(people, "nobody"), "refused")
    yield Case("polars with ids as text", lambda: fit_twins([people, shuffled]), "refused")
    yield Case(
        "text of numbers and numbers", lambda: fit_twins([indexed(digits), indexed(range(N), PERM)]), "fits"
    )
    yield Case("other range", lambda: fit_twins([indexed(range(N)), indexed(range(1, N + 1))]), "refused")
    yield Case(
        "missing name",
        lambda: fit_twins([indexed([None, *text[1:]]), indexed([None, *text[1:]], PERM)]),
        "any",
    )
    yield Case(
        "sorted values",
        lambda: fit_twins({"a": pd.DataFrame(D), "b": pd.DataFrame(D).sort_values(0)}),
        "fits",
    )
    for library in (pd, pl):
        numbered = library.DataFrame({"id": range(100, 100 + N), "x": D[:, 0], "y": D[:, 1]})
        other = (
            numbered.sample(frac=1, random_state=0)
            if library is pd
            else numbered.sample(N, shuffle=True, seed=0)
        )
        other = other.reset_index(drop=True) if library is pd else other
        name = library.__name__
        yield Case(f"ids in a column, {name}", lambda f=numbered: fit_twins([f, f]), "fits")
        yield Case(
            f"ids in a column, shuffled, {name}", lambda f=numbered, o=other: fit_twins([f, o]), "refused"
        )
    yield Case("reset after sorting", lambda: fit_twins([pd.DataFrame(D), pd.DataFrame(E)]), "fits")


WIDE = np.hstack([D, E])
COLUMNS = [f"g{j}" for j in range(6)]
GROUPS = ["a", "a", "a", "b", "b", "b"]
TABLES: dict[str, Callable[[], Any]] = {
    "array": lambda: WIDE,
    "pandas": lambda: pd.DataFrame(WIDE, columns=COLUMNS),
    "polars": lambda: pl.DataFrame(WIDE, schema=COLUMNS),
    "sparse": lambda: sparse.csr_array(WIDE),
    "lists": lambda: WIDE.tolist(),
}


def by_name(names: list[Any]) -> dict[str, tuple[Any, str, int | None]]:
    """Return ways to cut a table whose columns have these names, what ought to become of each, and into how many."""
    mixed = [names[j] for j in (3, 0, 5, 1, 4, 2)]
    labels = dict(zip(names, GROUPS, strict=True))
    return {
        "labels": (GROUPS, "fits", 2),
        "tuple": (tuple(GROUPS), "fits", 2),
        "array": (np.array(GROUPS), "fits", 2),
        "numbers": ([0, 0, 0, 1, 1, 1], "fits", 2),
        "polars series": (pl.Series(GROUPS), "fits", 2),
        "categories": (pd.Categorical(GROUPS), "fits", 2),
        "series": (pd.Series(GROUPS, index=names), "fits", 2),
        "series in another order": (pd.Series({name: labels[name] for name in mixed}), "fits", 2),
        "dict": (labels, "fits", 2),
        "dict in another order": ({name: labels[name] for name in mixed}, "fits", 2),
        "dict with one too many": ({**labels, "zz": "c"}, "fits", 2),
        "dict of lists": ({"a": names[:3], "b": names[3:]}, "fits", 2),
        "dict of tuples": ({"a": tuple(names[:3]), "b": tuple(names[3:])}, "fits", 2),
        "dict of arrays": ({"a": np.array(names[:3]), "b": np.array(names[3:])}, "fits", 2),
        "dict of indexes": ({"a": pd.Index(names[:3]), "b": pd.Index(names[3:])}, "fits", 2),
        "dict of sets": ({"a": set(names[:3]), "b": set(names[3:])}, "any", 2),
        "dict, one lacks": ({name: labels[name] for name in names[:5]}, "refused", None),
        "lists, one lacks": ({"a": names[:3], "b": names[3:5]}, "refused", None),
        "lists, unknown": ({"a": names[:3], "b": [*names[3:], "zz"]}, "refused", None),
        "lists, empty": ({"a": names, "b": []}, "refused", None),
        "lists, twice": ({"a": [*names, names[0]]}, "refused", None),
        "series without names": (pd.Series(GROUPS, index=list("uvwxyz")), "refused", None),
        "one label": (["a"] * 6, "fits", 1),
        "columns": ("columns", "fits", 6),
        "whole": ("whole", "fits", 1),
        "too few": (GROUPS[:5], "refused", None),
        "too many": ([*GROUPS, "b"], "refused", None),
        "none of one": ([*GROUPS[:5], None], "refused", None),
        "nan of one": ([*GROUPS[:5], np.nan], "refused", None),
        "NaT of one": ([*GROUPS[:5], pd.NaT], "refused", None),
        "lists as labels": ([[1], [1], [1], [2], [2], [2]], "refused", None),
        "two axes": (np.array([GROUPS]), "refused", None),
        "unknown word": ("column", "refused", None),
        "empty word": ("", "refused", None),
        "bytes": (b"aaabbb", "refused", None),
        "None": (None, "refused", None),
        "number": (3, "refused", None),
        "True": (True, "refused", None),
        "set": (set(GROUPS), "refused", None),
        "empty list": ([], "refused", None),
        "empty dict": ({}, "refused", None),
        "frame": (pd.DataFrame({"g": GROUPS}), "refused", None),
        "function": (len, "refused", None),
    }


def cuts() -> Iterator[Case]:
    """Every way to cut a table, of every kind of table."""
    for table, make in TABLES.items():
        names: list[Any] = COLUMNS if table in ("pandas", "polars") else list(range(6))
        for what, (views, expected, n_views) in by_name(names).items():
            yield Case(
                f"views= {what}, {table}",
                lambda make=make, views=views, n=n_views: fit_twins(make(), n_views=n, views=views),
                expected,
            )
        yield Case(
            f"views= generator, {table}",
            lambda make=make: fit_twins(make(), views=(g for g in GROUPS)),
            "refused",
        )
    levels = pd.MultiIndex.from_tuples(list(zip(GROUPS, COLUMNS, strict=True)))
    leveled = pd.DataFrame(WIDE, columns=levels)
    yield Case("levels of columns", lambda: fit_twins(leveled, n_views=2), "fits")
    yield Case("levels mixed", lambda: fit_twins(leveled.iloc[:, [3, 0, 5, 1, 4, 2]], n_views=2), "fits")
    yield Case("levels and a list", lambda: fit_twins(leveled, views=list("uuvvww"), n_views=3), "fits")
    yield Case("views of a list of tables", lambda: fit_twins([D, E], views=GROUPS), "refused")
    yield Case("views of a stack", lambda: fit_twins(np.stack([D, E]), views="columns"), "refused")


FAMILIES = (forms, names_of_rows, cuts)
