"""Cases of methods, too early or with wrong arguments, of containers, and of models in files."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anndata
import matplotlib
import mudata
import numpy as np
import pandas as pd
from matplotlib import pyplot
from scipy import sparse
from sklearn.base import clone

from hostile.case import PERM, TRUTH, Case, D, E, N, Nonsense, fit, fit_twins
from latentsimplex import LatentSimplexPosition, analysis, load, plots, uncertainty
from latentsimplex.inputs import views_of
from latentsimplex.results import write_results

matplotlib.use("Agg")


@cache
def fitted() -> LatentSimplexPosition:
    """Return a model with names, fitted once."""
    index = [f"s{i}" for i in range(N)]
    return fit({"a": pd.DataFrame(D, index), "b": pd.DataFrame(E, index)})


def given() -> dict[str, pd.DataFrame]:
    """Return the data of that model."""
    index = [f"s{i}" for i in range(N)]
    return {"a": pd.DataFrame(D, index), "b": pd.DataFrame(E, index)}


def too_early() -> Iterator[Case]:
    """Everything that needs a fit, before it."""
    calls: dict[str, Any] = {
        "coassignment": lambda m: m.coassignment(),
        "consensus": lambda m: m.consensus(),
        "score": lambda m: m.score(),
        "save": lambda m: m.save("never"),
        "report": lambda m: m.report("never"),
        "describe": lambda m: m.describe_clusters(D),
        "labels_frame": lambda m: m.labels_frame(),
        "memberships_frame": lambda m: m.memberships_frame(),
        "views_frame": lambda m: m.views_frame(),
        "evidence_frame": lambda m: m.evidence_frame(),
        "view_labels_": lambda m: m.view_labels_,
        "labels_": lambda m: m.labels_,
        "results_": lambda m: m.results_,
        "write_results": lambda m: write_results(m, anndata.AnnData(D)),
        "predict": lambda m: m.predict(D),
    }
    calls |= {f"plots.{name}": getattr(plots, name) for name in MODEL_PLOTS}
    calls |= {name: call for name, call in OF_MODELS.items() if name != "plot_loss"}
    for name, call in calls.items():
        yield Case(f"before fit: {name}", lambda c=call: c(LatentSimplexPosition()), "refused")
        if name.startswith(("plots", "of")):
            for what, value in {"None": None, "text": "fit.model", "list": [], "table": D}.items():
                yield Case(f"{name} of {what}", lambda c=call, v=value: c(v), "any")


MODEL_PLOTS = (
    "plot_coassignment",
    "plot_consensus",
    "plot_loss",
    "plot_memberships",
    "plot_membership_bars",
    "plot_similarity",
    "plot_simplex",
    "plot_uncertainty",
    "plot_view_patterns",
    "plot_weights",
)
OF_MODELS: dict[str, Any] = {
    "of model_uncertainty": uncertainty.model_uncertainty,
    "of audit_consensus": analysis.audit_consensus,
    "of associate_model": lambda m: analysis.associate_model(m, 99),
    "of consensus_weights": analysis.consensus_weights,
    "of screen_model": lambda m: analysis.screen_model(m, {"sex": TRUTH}, n_permutations=99),
    "of pac_bayes": lambda m: uncertainty.pac_bayes(m, [D, E], 0.1),
}


def after_fit() -> Iterator[Case]:
    """Methods of a fitted model with arguments that are right, and wrong."""
    good = {
        "coassignment": lambda m: m.coassignment("a"),
        "consensus": lambda m: m.consensus([1, 2]),
        "score": lambda m: m.score(given()),
        "describe": lambda m: m.describe_clusters(given()),
        "polars": lambda m: m.labels_frame("polars"),
        "memberships": lambda m: m.memberships_frame(0),
        "views": lambda m: m.views_frame(),
        "evidence": lambda m: m.evidence_frame(),
        "report": lambda m: m.report(place("r.html"), given()),
        "shuffled data": same_description,
        "twice": lambda m: clone(m).fit(given()),
        "similarity without data": lambda m: plots.plot_similarity(m),
    }
    good |= {f"plots.{name}": getattr(plots, name) for name in MODEL_PLOTS} | OF_MODELS
    for name, call in good.items():
        expected = (
            "any"
            if name
            in ("of associate_model", "of pac_bayes", "plots.plot_similarity", "similarity without data")
            else "fits"
        )
        yield Case(f"fitted: {name}", lambda c=call: closing(c), expected)
    bad: dict[str, Any] = {
        **{
            f"coassignment(view={v!r})": lambda m, v=v: m.coassignment(v)
            for v in (99, -5, "nope", 1.5, [0], b"a")
        },
        **{
            f"coassignment(pattern={v!r})": lambda m, v=v: m.coassignment(pattern=v)
            for v in (99, -5, "nope", 1.5, [0])
        },
        "both": lambda m: m.coassignment("a", 0),
        **{
            f"consensus({w!r})": lambda m, w=w: m.consensus(w)
            for w in (
                [1],
                [1, 2, 3],
                [-1, 1],
                [0, 0],
                [np.nan, 1],
                ["a", "b"],
                "ab",
                3,
                [[1, 1]],
                [np.inf, 1],
            )
        },
        "score of others": lambda m: m.score([D[1:], E[1:]]),
        "score of one view": lambda m: m.score(D),
        "describe others": lambda m: m.describe_clusters(D[1:]),
        "describe None": lambda m: m.describe_clusters(None),
        "describe pattern 9": lambda m: m.describe_clusters(given(), 9),
        "describe pattern x": lambda m: m.describe_clusters(given(), "x"),
        "backend x": lambda m: m.labels_frame("x"),
        "backend 3": lambda m: m.labels_frame(3),
        "memberships 9": lambda m: m.memberships_frame(9),
        "memberships x": lambda m: m.memberships_frame("x"),
        "save nowhere": lambda m: m.save(place("no/such/folder")),
        "save a folder": lambda m: m.save(place(".")),
        "save None": lambda m: m.save(None),
        "save 3": lambda m: m.save(3.5),
        "save empty": lambda m: m.save(""),
        "report nowhere": lambda m: m.report(place("no/such/folder")),
        "report None": lambda m: m.report(None),
        "report of others": lambda m: m.report(place("r.html"), [D[1:], E[1:]]),
        "report of text": lambda m: m.report(place("r.html"), "x"),
        "swapped": lambda m: write_results(anndata.AnnData(D), m),
        "write into array": lambda m: write_results(m, D),
        "write into None": lambda m: write_results(m, None),
        "write into others": lambda m: write_results(m, anndata.AnnData(D[1:])),
        "write twice swapped": lambda m: write_results(m, m),
        "write under 3": lambda m: write_results(m, named_anndata(), 3),
        "views_of an array": lambda m: views_of(D),
        "views_of a model": lambda m: views_of(m),
        "load None": lambda m: load(None),
        "load nothing": lambda m: load(place("nothing")),
        "load a folder": lambda m: load(place(".")),
        "load 3.5": lambda m: load(3.5),
        "load a list": lambda m: load([]),
        "load empty": lambda m: load(""),
        "load NUL": lambda m: load("a\0b"),
    }
    for name, call in bad.items():
        yield Case(f"fitted: {name}", lambda c=call: closing(c), "refused")
    P, W = lambda m: m.coassignment(), lambda m: m.memberships_[0]
    inner: dict[str, Any] = {
        "draw_partitions -1": lambda m: uncertainty.draw_partitions(W(m), -1),
        "draw_partitions of model": lambda m: uncertainty.draw_partitions(m, 3),
        "draw_partitions of 1-D": lambda m: uncertainty.draw_partitions(TRUTH, 3),
        "draw nan": lambda m: uncertainty.draw_partitions(W(m) * np.nan, 3),
        "point_estimate of text": lambda m: uncertainty.point_estimate("x"),
        "credible_ball level 2": lambda m: uncertainty.credible_ball([TRUTH] * 3, TRUTH, 2),
        "credible_ball others": lambda m: uncertainty.credible_ball([TRUTH] * 3, TRUTH[1:]),
        "most_uncertain by x": lambda m: uncertainty.most_uncertain(uncertainty.model_uncertainty(m), by="x"),
        "pair_brier others": lambda m: uncertainty.pair_brier(P(m), TRUTH[1:]),
        "pair_brier swapped": lambda m: uncertainty.pair_brier(TRUTH, P(m)),
        "reliability of text": lambda m: uncertainty.reliability_curve(["a"], ["b"]),
        "uncertain_pairs -1": lambda m: uncertainty.uncertain_pairs(P(m), -1),
        "screen others": lambda m: analysis.screen_model(m, {"sex": TRUTH[1:]}),
        "screen nothing": lambda m: analysis.screen_model(m, {}),
        "screen None": lambda m: analysis.screen_model(m, None),
        "screen dates": lambda m: analysis.screen_model(m, {"day": pd.date_range("2024", periods=N)}),
        "audit weights": lambda m: analysis.audit_consensus(m, [1]),
        "p-values above 1": lambda m: analysis.adjust_for_false_discovery([2.0]),
        "P[99, 0]": lambda m: P(m)[99, 0],
        "P[0.5]": lambda m: P(m)[0.5],
        "P.row(99)": lambda m: P(m).row(99),
        "P @ short": lambda m: P(m) @ np.ones(3),
        "P.block of text": lambda m: P(m).block("a", "b"),
    }
    for name, call in inner.items():
        yield Case(f"inner: {name}", lambda c=call: closing(c), "any")


def closing(call: Any) -> None:
    """Do something with the fitted model, and close what it drew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        call(fitted())
    pyplot.close("all")


@cache
def folder() -> Path:
    """Return a folder of this process."""
    return Path(tempfile.mkdtemp(prefix="hostile-"))


def place(name: str) -> Path:
    return folder() / name


def same_description(model: LatentSimplexPosition) -> None:
    """The features of clusters do not depend on the order in which the data come back."""
    straight = model.describe_clusters(given())
    shuffled = model.describe_clusters({name: frame.iloc[PERM] for name, frame in given().items()})
    if not straight.equals(shuffled):
        raise Nonsense("features of clusters depend on the order of rows")


def named_anndata(X: Any = D, order: Any = None) -> Any:
    """Return an AnnData with layers, tables in obsm, and groups of variables."""
    names = np.array([f"p{i}" for i in range(N)])
    obs = pd.DataFrame({"group": TRUTH.astype(str)}, index=names)
    var = pd.DataFrame({"set": ["u", "u", "v"]}, index=["g0", "g1", "g2"])
    data = anndata.AnnData(
        X, obs=obs, var=var, layers={"counts": np.abs(E), "scaled": D}, obsm={"X_pca": E, "X_umap": D[:, :2]}
    )
    return data if order is None else data[order].copy()


def containers() -> Iterator[Case]:
    """AnnData and MuData of all sorts, cut in all ways."""
    for form, X in {
        "dense": D,
        "sparse": sparse.csr_matrix(D),
        "float32": D.astype("f4"),
        "integers": (9 * D).astype(int),
    }.items():
        ways = {"whole": 1, "columns": 3, "set": 2, "layers": 2, "obsm": 2}
        for views, n_views in ways.items():
            yield Case(
                f"AnnData {form}, {views}",
                lambda X=X, v=views, n=n_views: fit_twins(named_anndata(X), n_views=n, views=v),
                "fits",
            )
        yield Case(f"MuData {form}", lambda X=X: fit_twins(multi(X), n_views=2), "fits")
        yield Case(f"MuData {form}, shuffled", lambda X=X: fit_twins(multi(X, PERM), n_views=2), "fits")
    for views in ("nope", "obs", "group", "X_pca", 3, None, ["u", "v"], {"g0": "u"}):
        yield Case(f"AnnData, views={views!r}", lambda v=views: fit(named_anndata(), views=v), "refused")
    good: dict[str, Any] = {
        "labels": lambda: fit_twins(named_anndata(), views=["u", "v", "v"], n_views=2),
        "written before": written_before,
        "a view": lambda: fit_twins(named_anndata()[:, :2]),
        "in a list": lambda: fit_twins([named_anndata(), named_anndata(order=PERM)], n_views=2),
        "views_of": lambda: fit_twins(views_of(named_anndata(), "whole", "scaled")),
        "backed": backed,
        "modalities": lambda: fit_twins(multi(D), views="modalities", n_views=2),
    }
    bad: dict[str, Any] = {
        "no X": lambda: fit(anndata.AnnData(obs=pd.DataFrame(index=list("ab")))),
        "no obsm": lambda: fit(anndata.AnnData(D), views="obsm"),
        "no layers": lambda: fit(anndata.AnnData(D), views="layers"),
        "nan": lambda: fit(named_anndata(D * np.nan)),
        "unknown layer": lambda: views_of(named_anndata(), "whole", "nope"),
        "both": lambda: views_of(named_anndata(), "layers", "scaled"),
        "MuData in a list": lambda: fit([multi(D), D]),
        "MuData, columns": lambda: fit(multi(D), views="columns"),
        "empty": lambda: fit(anndata.AnnData(np.empty((0, 0)))),
        "one sample": lambda: fit(named_anndata()[:1]),
        "lacking samples": lambda: fit(multi(D, PERM[:10])),
    }
    yield from (Case(f"containers: {name}", do, "fits") for name, do in good.items())
    yield from (Case(f"containers: {name}", do, "refused") for name, do in bad.items())


def multi(X: Any, order: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData({"one": named_anndata(X), "two": named_anndata(E, order)})


def written_before() -> None:
    """Results of an earlier fit never become views."""
    data = named_anndata()
    for key in ("lsp", "other"):
        write_results(fit_twins(data, views="obsm", n_views=2), data, key)
    fit_twins(data, views="obsm", n_views=2)


def backed() -> None:
    path = place("backed.h5ad")
    named_anndata().write(path)
    fit_twins(anndata.read_h5ad(path, backed="r"))


def round_trips() -> Iterator[Case]:
    """Models of many fits come back from their files as they were."""
    data: dict[str, tuple[Any, dict[str, Any]]] = {
        "list": ([D, E], {}),
        "names": ({"ä": D, "名": E}, {}),
        "frames": (given(), {}),
        "columns": (pd.DataFrame(D), {"views": "columns"}),
        "labels": (np.hstack([D, E]), {"views": list("aaabbb")}),
        "dict": (np.hstack([D, E]), {"views": {"a": [0, 1, 2], "b": [3, 4, 5]}}),
        "series": (pd.DataFrame(D, columns=list("uvw")), {"views": pd.Series({"w": 1, "u": 2, "v": 1})}),
        "one": (D, {}),
        "constant": (np.ones((N, 2)), {}),
        "two samples": (D[:2], {}),
        "generator": (D, {"random_state": np.random.default_rng(3)}),
        "memory": (D, {"memory_limit": "1GB"}),
        "tuple of labels": (np.hstack([D, E]), {"views": tuple("aaabbb")}),
        "own similarity": (D, {"similarity": lambda x: np.exp(-np.abs(x[:, None] - x[None]).sum(axis=2))}),
        "dates as labels": (np.hstack([D, E]), {"views": list(pd.date_range("2024", periods=2).repeat(3))}),
        "missing": (pd.DataFrame({"a": [np.nan, *D[1:, 0]], "b": D[:, 1]}), {"missing": "pairwise"}),
        "int names": ({1: D, 2: E}, {}),
        "tuple names": ({("a", 1): D, ("a", 2): E}, {}),
        "long names": ({"x" * 5000: D, "y": E}, {}),
        "control letters": ({"a\nb\t\x00": D, "\x1b[2J": E}, {}),
        "containers": (named_anndata(), {"views": "set"}),
        "precomputed": (np.eye(N) * 0.5 + 0.5, {"similarity": "precomputed"}),
    }
    for name, (views, settings) in data.items():
        yield Case(f"round trip: {name}", lambda v=views, s=settings: come_back(v, s), "fits")


def come_back(data: Any, settings: dict[str, Any]) -> None:
    model = fit(data, **settings)
    path = place("model")
    model.save(path)
    again = load(path)
    if not np.array_equal(again.labels_, model.labels_) or list(again.view_names_in_) != list(
        model.view_names_in_
    ):
        raise Nonsense("a model that is another one after a round trip")
    again.report(place("again.html"))
    repr(again)


FAMILIES = (too_early, after_fit, containers, round_trips)
