"""What people may pass to ``fit``: hundreds of inputs and settings. Each is fitted or refused with one clear sentence.

A case says whether it is to be fitted or refused. Refused is a ValueError, a TypeError or a MemoryError that the
package raised itself, in one sentence that says what to do; anything else is a fault.
"""

import warnings
from collections import UserDict, deque, namedtuple
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling, Precomputed

N = 12
FITTED, REFUSED = "fitted", "refused"
NUMBERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS += ["float16", "float32", "float64", "longdouble"]
RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(N // 2, 3)), RNG.normal(size=(N // 2, 3)) + 6])
Y = X[:, :2] ** 2
QUICK = {"n_clusters": 3, "n_init": 1, "max_iter": 20, "random_state": 0, "n_jobs": 1}


def changed(value, place=(0, 0), table=X):
    """Return a table with one cell changed."""
    table = table.astype(np.float64) if not isinstance(value, str) else table.astype(object)
    table[place] = value
    return table


def similarity():
    """Return similarities (n, n) of two groups."""
    groups = np.arange(N) < N // 2
    S = np.where(np.equal.outer(groups, groups), 0.9, 0.1)
    np.fill_diagonal(S, 1.0)
    return S


def array_cases():
    """Yield arrays of every type, shape and layout."""
    for kind in (*NUMBERS, "bool"):
        yield f"type-{kind}", (10 * abs(X)).astype(kind), FITTED
        yield f"view-type-{kind}", [(10 * abs(X)).astype(kind), Y], FITTED
    for kind in ("complex64", "complex128", "datetime64[D]", "timedelta64[s]", "U5", "S5", "V8"):
        array = np.zeros((N, 2), dtype=kind)
        yield f"type-{kind}", array, REFUSED
        yield f"view-type-{kind}", [X, array], REFUSED
        yield f"dict-type-{kind}", {"a": X, "b": array}, REFUSED
    yield "type-record", np.zeros((N,), dtype=[("a", float), ("b", int)]), REFUSED
    for name, shape, outcome in [
        ("0d", (), REFUSED),
        ("1d", (N,), REFUSED),
        ("4d", (2, N, 3, 2), REFUSED),
        ("no-samples", (0, 3), REFUSED),
        ("one-sample", (1, 3), REFUSED),
        ("no-features", (N, 0), REFUSED),
        ("no-views", (0, N, 3), REFUSED),
        ("views-of-no-features", (2, N, 0), REFUSED),
        ("views-of-one-sample", (2, 1, 3), REFUSED),
        ("two-samples", (2, 3), FITTED),
        ("three-samples", (3, 1), FITTED),
        ("one-feature", (N, 1), FITTED),
        ("stack", (4, N, 2), FITTED),
        ("stack-of-one", (1, N, 1), FITTED),
        ("wide", (5, 3000), FITTED),
    ]:
        yield f"shape-{name}", RNG.normal(size=shape), outcome
    for name, value, outcome in [
        ("nan", np.nan, REFUSED),
        ("inf", np.inf, REFUSED),
        ("minus-inf", -np.inf, REFUSED),
        ("text", "a", REFUSED),
        ("huge", 1e200, REFUSED),
        ("tiny", 1e-320, FITTED),
        ("minus-zero", -0.0, FITTED),
    ]:
        table = changed(value)
        yield f"cell-{name}", table, outcome
        yield f"cell-{name}-in-a-view", [X, table], outcome
        yield f"cell-{name}-in-a-dict", {"a": X, "b": table}, outcome
        yield f"cell-{name}-last", changed(value, (-1, -1)), outcome
        if outcome == REFUSED and name != "text":
            yield f"cell-{name}-in-a-stack", np.stack([X, table]), outcome
            yield f"cell-{name}-in-a-sparse", sparse.csr_matrix(table), outcome
    for name, scale in [("1e-300", 1e-300), ("1e-30", 1e-30), ("1e30", 1e30), ("1e140", 1e140)]:
        outcome = REFUSED if scale < 1e-150 else FITTED  # squares vanish
        yield f"scale-{name}", scale * X, outcome
        yield f"scale-{name}-of-a-view", [X, scale * Y], outcome
    yield "scale-1e308", changed(1.7e308), None
    yield "offset-1e9", X + 1e9, FITTED
    yield "offset-1e15", X + 1e15, FITTED
    for name, array in [
        ("fortran", np.asfortranarray(X)),
        ("reversed", X[::-1, ::-1]),
        ("every-other", np.repeat(X, 2, axis=0)[::2]),
        ("transposed", np.ascontiguousarray(X.T).T),
        ("big-endian", X.astype(">f8")),
        ("masked", np.ma.masked_array(X, mask=False)),
        ("object-numbers", X.astype(object)),
        ("object-ints", (10 * X).astype(int).astype(object)),
        ("fractions", np.array([[Fraction(int(10 * x), 3) for x in row] for row in X], dtype=object)),
        ("decimals", np.array([[Decimal(str(round(x, 3))) for x in row] for row in X], dtype=object)),
        ("duplicates", np.repeat(X[:3], 4, axis=0)),
        ("constant-column", np.column_stack([X, np.ones(N)])),
    ]:
        yield f"layout-{name}", array, FITTED
        yield f"layout-{name}-in-a-list", [array, Y], FITTED
    read_only = X.copy()
    read_only.flags.writeable = False
    yield "layout-read-only", read_only, FITTED
    yield "masked-cell", np.ma.masked_array(X, mask=np.eye(N, 3, dtype=bool)), REFUSED
    yield "constant", np.ones((N, 2)), FITTED
    yield "constant-view", [X, np.ones((N, 2))], FITTED
    yield "all-constant-views", np.ones((3, N, 2)), FITTED
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
        for kind in ("matrix", "array"):
            made = getattr(sparse, f"{form}_{kind}")(X)
            yield f"sparse-{form}-{kind}", made, FITTED
            yield f"sparse-{form}-{kind}-in-a-list", [made, Y], FITTED
    yield "sparse-empty", sparse.csr_matrix((N, 0)), REFUSED
    yield "sparse-zeros", sparse.csr_matrix((N, 3)), FITTED
    yield "sparse-complex", sparse.csr_matrix(X + 1j), REFUSED


def container_cases():
    """Yield collections of every kind."""
    Pair = namedtuple("Pair", "a b")
    for name, data, outcome in [
        ("list", [X, Y], FITTED),
        ("tuple", (X, Y), FITTED),
        ("namedtuple", Pair(X, Y), FITTED),
        ("dict", {"a": X, "b": Y}, FITTED),
        ("dict-of-ints", {0: X, 1: Y}, FITTED),
        ("mapping-proxy", MappingProxyType({"a": X}), FITTED),
        ("user-dict", UserDict({"a": X, "b": Y}), FITTED),
        ("nested-lists", X.tolist(), FITTED),
        ("list-of-nested-lists", [X.tolist(), Y.tolist()], FITTED),
        ("tuples", tuple(map(tuple, X.tolist())), FITTED),
        ("mixed", [X, sparse.csr_matrix(Y), Y.tolist()], FITTED),
        ("one-view", [X], FITTED),
        ("empty-list", [], REFUSED),
        ("empty-tuple", (), REFUSED),
        ("empty-dict", {}, REFUSED),
        ("empty-view", [X, []], REFUSED),
        ("view-none", [X, None], REFUSED),
        ("view-text", [X, "b"], REFUSED),
        ("view-number", [X, 3], REFUSED),
        ("view-dict", [X, {"a": Y}], REFUSED),
        ("view-set", [X, {1, 2}], REFUSED),
        ("none", None, REFUSED),
        ("number", 3, REFUSED),
        ("text", "data.csv", REFUSED),
        ("bytes", b"data", REFUSED),
        ("path", Path("data.csv"), REFUSED),
        ("set", {1, 2, 3}, REFUSED),
        ("range", range(12), REFUSED),
        ("function", len, REFUSED),
        ("class", np.ndarray, REFUSED),
        ("object", object(), REFUSED),
        ("date", date(2020, 1, 1), REFUSED),
        ("model", LatentSimplexPosition(), REFUSED),
        ("ragged", [[1.0, 2.0], [3.0]], REFUSED),
        ("ragged-view", [X, [[1.0], [2.0, 3.0]]], REFUSED),
        ("list-of-texts", [["a", "b"]] * N, REFUSED),
        ("list-of-dates", [[date(2020, 1, 1)]] * N, REFUSED),
        ("list-of-none", [[None, 1.0]] * N, REFUSED),
        ("huge-integers", [[10**400, 1]] * N, REFUSED),
        ("long-view", [X, np.vstack([Y, Y])], REFUSED),
        ("short-view", [X, Y[:-1]], REFUSED),
        ("long-view-in-a-dict", {"a": X, "b": Y[:-1]}, REFUSED),
        ("1d-view", [X, Y[:, 0]], REFUSED),
        ("3d-view", [X, Y[None]], REFUSED),
    ]:
        yield f"container-{name}", data, outcome
    yield "container-generator", (view for view in [X, Y]), None
    yield "container-deque", deque([X, Y]), None
    yield "container-dict-values", {"a": X, "b": Y}.values(), None
    for n_views in (1, 2, 5, 30):
        yield f"views-{n_views}", [X + v for v in range(n_views)], FITTED


def frame_cases():
    """Yield frames of pandas and polars with columns and rows of every kind."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    D = pandas.DataFrame(X, columns=list("abc"))
    E = pandas.DataFrame(Y, columns=list("xy"))
    names = [f"s{i}" for i in range(N)]
    for name, index in [
        ("names", names),
        ("integers", [10 * i for i in range(N)]),
        ("floats", [i / 2 for i in range(N)]),
        ("dates", pandas.date_range("2020-01-01", periods=N)),
        ("multi", pandas.MultiIndex.from_product([["a", "b"], range(N // 2)])),
        ("categories", pandas.Categorical(names)),
    ]:
        yield f"index-{name}", D.set_axis(index), FITTED
        yield f"index-{name}-views", [D.set_axis(index), E.set_axis(index)], FITTED
        yield f"index-{name}-in-another-order", [D.set_axis(index), E.set_axis(index).iloc[::-1]], FITTED
        yield f"index-{name}-beside-an-array", [D.set_axis(index), Y], FITTED
        yield (
            f"index-{name}-of-other-samples",
            [D.set_axis(index), E.set_axis([f"t{i}" for i in range(N)])],
            REFUSED,
        )
        yield f"index-{name}-twice", D.set_axis([index[0], index[0], *index[2:]]), None
    yield "index-shifted", [D, E.set_axis(range(1, N + 1))], REFUSED
    yield "index-part", [D.set_axis(names), E.set_axis(names).iloc[1:]], REFUSED
    for name, column, outcome in [
        ("int64", pandas.Series(range(N)), FITTED),
        ("Int64", pandas.Series(range(N), dtype="Int64"), FITTED),
        ("Float64", pandas.Series(range(N), dtype="Float64"), FITTED),
        ("boolean", pandas.Series([True, False] * (N // 2)), FITTED),
        ("Boolean", pandas.Series([True, False] * (N // 2), dtype="boolean"), FITTED),
        ("object-numbers", pandas.Series(range(N), dtype=object), FITTED),
        ("category", pandas.Series(["a", "b"] * (N // 2), dtype="category"), FITTED),
        ("text", pandas.Series(["a", "b"] * (N // 2)), FITTED),
        ("names", pandas.Series(names), REFUSED),
        ("date", pandas.Series(pandas.date_range("2020-01-01", periods=N)), REFUSED),
        ("date-zone", pandas.Series(pandas.date_range("2020-01-01", periods=N, tz="UTC")), REFUSED),
        ("timedelta", pandas.Series([timedelta(days=i) for i in range(N)]), REFUSED),
        ("period", pandas.Series(pandas.period_range("2020-01", periods=N, freq="M")), REFUSED),
        ("complex", pandas.Series(np.arange(N) + 1j), REFUSED),
        ("mixed", pandas.Series([1, "a"] * (N // 2), dtype=object), REFUSED),
        ("lists", pandas.Series([[1, 2]] * N, dtype=object), REFUSED),
        ("dates-as-objects", pandas.Series([date(2020, 1, 1)] * N, dtype=object), REFUSED),
        ("missing", pandas.Series([None, *range(N - 1)], dtype="Int64"), REFUSED),
        ("nan", pandas.Series([np.nan, *range(N - 1)]), REFUSED),
        ("NaT", pandas.Series([pandas.NaT] * N), REFUSED),
        ("missing-text", pandas.Series([None, *["a", "b"] * (N // 2)][:N], dtype=object), REFUSED),
    ]:
        yield f"pandas-{name}", D.assign(d=column), outcome
        yield f"pandas-{name}-in-a-view", [X, D.assign(d=column)], outcome
        yield f"pandas-{name}-in-a-dict", {"a": D, "b": D.assign(d=column)}, outcome
        yield f"pandas-{name}-alone", pandas.DataFrame({"d": column}), outcome
    yield "pandas-no-columns", D[[]], REFUSED
    yield "pandas-no-rows", D.iloc[:0], REFUSED
    yield "pandas-series", D["a"], REFUSED
    yield "pandas-same-column-twice", D[["a", "a", "b"]], None
    yield "pandas-sparse", pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)), FITTED
    P = polars.DataFrame(X, schema=list("abc"))
    for name, column, outcome in [
        ("ints", polars.Series("d", list(range(N))), FITTED),
        ("bools", polars.Series("d", [True, False] * (N // 2)), FITTED),
        ("text", polars.Series("d", ["a", "b"] * (N // 2)), FITTED),
        ("category", polars.Series("d", ["a", "b"] * (N // 2), dtype=polars.Categorical), FITTED),
        ("names", polars.Series("d", names), REFUSED),
        ("date", polars.Series("d", [date(2020, 1, 1 + i) for i in range(N)]), REFUSED),
        ("duration", polars.Series("d", [timedelta(days=i) for i in range(N)]), REFUSED),
        ("missing", polars.Series("d", [None, *range(N - 1)]), REFUSED),
        ("lists", polars.Series("d", [[1, 2]] * N), REFUSED),
        ("object", polars.Series("d", [object()] * N, dtype=polars.Object), REFUSED),
    ]:
        yield f"polars-{name}", P.with_columns(column), outcome
        yield f"polars-{name}-in-a-view", [X, P.with_columns(column)], outcome
        yield f"polars-{name}-in-a-dict", {"a": P, "b": P.with_columns(column)}, outcome
    yield "polars", P, FITTED
    yield "polars-lazy", P.lazy(), None
    yield "polars-series", P["a"], REFUSED


def setting_cases():
    """Yield settings with values of every kind."""
    words = {
        "divergence": ("auto", "reverse", "forward"),
        "response": ("auto", "identity", "learned"),
        "penalty": ("auto", "labels", "group", "dirichlet", None),
        "optimizer": ("auto", "adam", "mirror"),
        "search": ("auto", "moves"),
        "missing": ("raise", "pairwise"),
        "device": ("cpu",),
    }
    wrong = [0, -1, 1.5, True, None, "", "x", [], {}, np.nan, object(), len]
    for name, values in words.items():
        for value in values:
            yield f"{name}-{value}", X, {name: value}, FITTED
        for i, value in enumerate(wrong):
            if value not in values:
                yield f"{name}-wrong-{i}", X, {name: value}, REFUSED
    counts = [0, -1, 1.5, None, "", "x", [], {}, np.nan, np.inf, object(), np.array([1, 2])]
    for name in ("n_clusters", "n_patterns", "n_init", "max_iter"):
        for value in (1, 2, np.int64(2), np.uint8(2)):
            yield f"{name}-{value!r}", X, {name: value}, FITTED
        for i, value in enumerate(counts):
            yield f"{name}-wrong-{i}", X, {name: value}, REFUSED
    for name in ("n_clusters", "n_patterns"):
        yield f"{name}-many", X, {name: 10**9}, FITTED
    for value in (1e-3, 1, np.float32(0.1)):
        yield f"tol-{value!r}", X, {"tol": value}, FITTED
        yield f"temperature-{value!r}", X, {"temperature": value}, FITTED
    for i, value in enumerate([0, -1.0, np.nan, np.inf, None, "x", "", [], {}, object()]):
        yield f"tol-wrong-{i}", X, {"tol": value}, REFUSED
        yield f"temperature-wrong-{i}", X, {"temperature": value}, REFUSED
    for value in (1, 2, -1, None, np.int64(1)):
        yield f"n_jobs-{value!r}", X, {"n_jobs": value}, FITTED
    for i, value in enumerate([0, 1.5, "x", [], object()]):
        yield f"n_jobs-wrong-{i}", X, {"n_jobs": value}, REFUSED
    for i, value in enumerate([0, None, np.random.default_rng(0), np.random.RandomState(0), np.int64(3)]):
        yield f"random_state-{i}", X, {"random_state": value}, FITTED
    for i, value in enumerate([-1, 1.5, "x", [], object()]):
        yield f"random_state-wrong-{i}", X, {"random_state": value}, REFUSED
    for value in (None, "1GB", "500 MB", 10**9):
        yield f"memory_limit-{value}", X, {"memory_limit": value}, FITTED
    for i, value in enumerate([0, -1, "x", "", "GB", "1XB", np.nan, [], object(), 10, "1KB"]):
        yield f"memory_limit-wrong-{i}", X, {"memory_limit": value}, REFUSED
    kernels = [
        "auto",
        "local-scaling",
        "diffusion",
        LocalScaling(),
        Diffusion(3),
        LocalScaling(metric="cosine"),
    ]
    kernels += [
        AutoDiffusion("broad", ((3, "as they are"),)),
        LocalScaling(per_feature=True),
        lambda X: similarity(),
    ]
    for i, value in enumerate(kernels):
        yield f"similarity-{i}", X, {"similarity": value}, FITTED
    functions = [lambda X: 2 * similarity(), lambda X: X, lambda X: None]
    for i, value in enumerate(["", "x", 1, None, [], LocalScaling, *functions]):
        yield f"similarity-wrong-{i}", X, {"similarity": value}, REFUSED
    S = similarity()
    wrong_similarities = [-S, 2 * S, X, np.triu(S), S.astype(complex), changed(np.nan, (0, 1), S), [S, X]]
    precomputed = [(value, FITTED) for value in (S, [S, S], np.stack([S, S]))]
    precomputed += [(value, REFUSED) for value in wrong_similarities]
    for i, (value, outcome) in enumerate(precomputed):
        yield f"precomputed-{i}", value, {"similarity": "precomputed"}, outcome
        yield f"precomputed-kernel-{i}", value, {"similarity": Precomputed()}, outcome
    for name, views, outcome in [
        ("whole", "whole", FITTED),
        ("columns", "columns", FITTED),
        ("labels", ["a", "b", "a"], FITTED),
        ("integers", [1, 1, 2], FITTED),
        ("array", np.array([0, 1, 1]), FITTED),
        ("tuple", ("a", "b", "c"), FITTED),
        ("few", ["a", "b"], REFUSED),
        ("many", list("abcd"), REFUSED),
        ("word", "rows", REFUSED),
        ("empty", [], REFUSED),
        ("none", None, REFUSED),
        ("number", 3, REFUSED),
        ("unhashable", [[1], [2], [3]], REFUSED),
        ("generator", (v for v in "aba"), REFUSED),
        ("object", object(), REFUSED),
    ]:
        yield f"cut-{name}", X, {"views": views}, outcome
        yield (
            f"views-{name}-of-a-collection",
            [X, Y],
            {"views": views},
            FITTED if name == "whole" else REFUSED,
        )


CASES = [
    (name, data, {}, outcome) for name, data, outcome in [*array_cases(), *container_cases(), *frame_cases()]
]
CASES += list(setting_cases())


def test_there_are_hundreds_of_cases_with_names_of_their_own():
    names = [name for name, *_ in CASES]
    assert len(names) == len(set(names)) > 600


@pytest.mark.parametrize(
    ("data", "settings", "outcome"), [pytest.param(*case, id=name) for name, *case in CASES]
)
def test_each_case_is_fitted_or_refused_in_a_sentence(data, settings, outcome):
    model, error = LatentSimplexPosition(**{**QUICK, **settings}), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(data)
        except (ValueError, TypeError, MemoryError, FileNotFoundError) as refusal:
            error = refusal
    if error is None:
        assert outcome != REFUSED, "fitted"
        check_results(model)
    else:
        assert outcome != FITTED, f"refused: {error}"
        check_refusal(error)


def check_refusal(error):
    """A refusal is raised by the package, and is one or two sentences that a person wrote."""
    at = error.__traceback__
    while at.tb_next is not None:
        at = at.tb_next
    assert "latentsimplex" in at.tb_frame.f_code.co_filename or error.__cause__ is not None, (
        f"raised in {at.tb_frame.f_code.co_filename}: {error}"
    )
    message = str(error)
    assert 20 <= len(message) <= 500, message
    assert "\n" not in message
    assert message.rstrip().endswith((".", "'", '"')), message


def check_results(model):
    """Results are whole: labels of all samples, memberships on the simplex, probabilities of pairs."""
    n = len(model.labels_)
    assert model.labels_.min() >= 0
    assert len(np.unique(model.labels_)) <= max(model.n_clusters_)
    for W in model.memberships_:
        assert W.shape[0] == n
        np.testing.assert_allclose(W.sum(axis=1), 1)
        assert (W >= 0).all()
    P = model.coassignment().toarray()
    assert np.isfinite(P).all()
    assert ((P > -1e-9) & (P < 1 + 1e-9)).all()
    assert np.isfinite(model.loss_)
