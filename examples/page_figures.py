"""Draw the figures of docs/how.md, docs/tour.md and pages on samples, known, absent, new and many, into docs/images."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.spatial.distance import squareform

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import many_views, running_example
from latentsimplex.plots import (
    panels,
    plot_coassignment,
    plot_heatmap,
    plot_known,
    plot_membership_bars,
    plot_presence,
    plot_scatter,
    plot_simplex,
    plot_uncertainty,
    plot_view_patterns,
)
from latentsimplex.plots.palette import OKABE_ITO, PROBABILITY, cluster_colour
from latentsimplex.similarity import LocalScaling
from latentsimplex.uncertainty import pattern_divergences

DEFAULT = Path(__file__).parents[1] / "docs" / "images"
GROWING = re.compile(r"\| (simulated, )?[\d,]+0,000 (samples in 5 views )?\|")
NUMBER = re.compile(r"[\d.,]*\d")
"""Rows of a table of fits to more and more samples, and the first number in a cell."""
DATA = running_example(n_samples=150, separation=5, random_state=0)


def similarity() -> Figure:
    """Return a view, its similarities by local scaling, and those of the default's refinement."""
    X, truth = DATA.views[0], DATA.labels[0]
    kernels = {"local scaling": LocalScaling(), "diffusion": fitted().similarity_.kernel(X.shape[1])}
    figure, axes = panels(1, 3, width=3.0, height=3.0)
    plot_scatter(X, truth, title="a view", ax=axes[0, 0])
    axes[0, 0].set(xlabel="", ylabel="", xticks=[], yticks=[])
    for ax, (name, kernel) in zip(axes[0, 1:], kernels.items(), strict=True):
        S = squareform(np.exp(-kernel.exponents(X)))
        np.fill_diagonal(S, 1)
        plot_heatmap(S, truth, title=f"similarity S by {name}", ax=ax)
    figure.colorbar(axes[0, 2].images[0], ax=axes[0, 2], shrink=0.8)
    return figure


def simplex() -> Figure:
    """Return the memberships of a pattern in a triangle and as bars, and its co-assignments."""
    model = fitted()
    figure, axes = panels(1, 3, width=3.5, height=3.2)
    plot_simplex(model, pattern=0, title="memberships W", ax=axes[0, 0])
    plot_membership_bars(model, pattern=0, title="the same as bars", ax=axes[0, 1])
    plot_coassignment(model, pattern=0, title="co-assignment P", ax=axes[0, 2])
    return figure


def patterns() -> Figure:
    """Return how far views are from three patterns and which they follow, with the paper's divergence."""
    data = many_views(n_views=18, n_samples=100, n_patterns=3, concentration=0.1, random_state=0)
    model = LatentSimplexPosition.paper(n_clusters=3, n_patterns=3, random_state=0).fit(data.views)
    exponents = [LocalScaling().exponents(view) for view in data.views]
    K = np.stack([pattern_divergences(W, exponents) for W in model.memberships_], axis=1)
    order = np.lexsort((-model.view_responsibilities_.max(axis=1), model.view_patterns_))
    figure, axes = panels(1, 2, width=4.0, height=4.2)
    image = axes[0, 0].imshow(K[order], cmap=PROBABILITY, aspect="auto", interpolation="nearest")
    axes[0, 0].set(title="divergence K", xlabel="pattern", ylabel="view", yticks=[])
    axes[0, 0].set_xticks(range(K.shape[1]))
    figure.colorbar(image, ax=axes[0, 0], label="nats")
    plot_view_patterns(model, title="Pr(view follows pattern)", ax=axes[0, 1])
    return figure


def consensus() -> Figure:
    """Return co-assignments of a view with three clusters, one with two and one with none, and their consensus."""
    noise = np.random.default_rng(0).normal(size=(150, 10))
    views = {"three clusters": DATA.views[0], "two clusters": DATA.views[2], "noise": noise}
    model = LatentSimplexPosition(n_clusters=6, random_state=0).fit(views)
    order = np.lexsort((model.view_labels_[1], model.view_labels_[0]))
    figure, axes = panels(1, 4, width=2.4, height=2.7)
    parts = {**{name: model.coassignment(view=name) for name in views}, "consensus": model.coassignment()}
    for ax, (name, P) in zip(axes.flat, parts.items(), strict=True):
        left_out = ", left out" if name in model.consensus_.excluded else ""
        plot_heatmap(P.block(order, order), title=name + left_out, ax=ax)
    figure.colorbar(axes[0, 3].images[0], ax=axes[0, 3], shrink=0.7)
    return figure


def fitted() -> LatentSimplexPosition:
    """Return the model of the running example that the first figures show."""
    return LatentSimplexPosition(n_clusters=6, random_state=0).fit(DATA.views)


def tour() -> Figure:
    """Return what the tour's model makes of the view *expression*: who is together, and who is doubtful."""
    data = running_example(n_samples=120, separation=5, random_state=0)
    views = dict(zip(["expression", "methylation", "imaging"], data.views, strict=True))
    model = LatentSimplexPosition(n_clusters=6, random_state=0).fit(views)
    figure, axes = panels(1, 2, width=4.4, height=3.8)
    plot_coassignment(model, view="expression", ax=axes[0, 0])
    plot_uncertainty(model, data.views[0], view="expression", ax=axes[0, 1])
    return figure


def absent_samples() -> Figure:
    """Return who is where in the model of the page on absent samples, and how sure memberships are."""
    data = running_example(n_samples=120, separation=4, random_state=0)
    rng, names = np.random.default_rng(0), [f"patient{i}" for i in range(120)]
    views = {
        view: pd.DataFrame(X, index=names)[rng.random(120) > 0.3]
        for view, X in zip(["expression", "methylation", "imaging"], data.views, strict=True)
    }
    model = LatentSimplexPosition(join="outer", random_state=0).fit(views)
    figure, axes = panels(1, 2, width=5.0, height=2.8)
    plot_presence(model, ax=axes[0, 0])
    counts = model.present_[model.view_patterns_ == 0].sum(axis=0)
    places = counts + rng.uniform(-0.3, 0.3, size=len(counts))
    axes[0, 1].scatter(places, model.memberships_[0].max(axis=1), s=12, color=OKABE_ITO[0], alpha=0.6)
    axes[0, 1].set(
        title="probability of the likeliest cluster", xlabel="views of pattern 0 that have a sample"
    )
    axes[0, 1].set_xticks(np.unique(counts))
    return figure


def partial_labels() -> Figure:
    """Return the doubts about labels and links of the running example, a few of which are wrong."""
    data = running_example(n_samples=120, separation=4, random_state=0)
    rng, truth = np.random.default_rng(0), data.labels[0]
    y = ["ABC"[c] if i < 45 else None for i, c in enumerate(truth)]
    for i in (0, 20):
        y[i] = "ABC"[(truth[i] + 1) % 3]
    pairs = np.array([rng.choice(120, 2, replace=False) for _ in range(80)])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    same[:3] = ~same[:3]
    model = LatentSimplexPosition(random_state=0).fit(
        data.views, y, must_link=pairs[same], cannot_link=pairs[~same]
    )
    figure, axes = panels(1, 1, width=6.4, height=3.4)
    plot_known(model, ax=axes[0, 0])
    return figure


def new_samples() -> Figure:
    """Return a view of a fit, new samples that were placed in it, and memberships on a way out of its clusters."""
    data = running_example(n_samples=400, separation=5, random_state=0)
    model = LatentSimplexPosition(random_state=0).fit([X[:300] for X in data.views])
    strange = np.array([[6.0, 6.0], [-7.0, 5.0], [0.0, -8.0]])
    new = [np.vstack([X[300:], strange]) for X in data.views]
    W, unlike = model.predict_memberships(new, return_unlike=True)
    labels, points = W.argmax(axis=1), new[0]
    figure, axes = panels(1, 3, width=3.4, height=3.2)
    plot_scatter(data.views[0][:300], model.pattern_labels_[0], title="samples of the fit", ax=axes[0, 0])
    plot_scatter(points[~unlike], labels[~unlike], title="new samples", ax=axes[0, 1])
    axes[0, 1].scatter(*points[unlike].T, marker="x", color="black", label="unlike anything seen")
    axes[0, 1].legend(loc="lower center", fontsize="small")
    low, high = (
        np.vstack([data.views[0], strange]).min(axis=0) - 1,
        np.vstack([data.views[0], strange]).max(axis=0) + 1,
    )
    for ax in axes[0, :2]:
        ax.set(xlim=(low[0], high[0]), ylim=(low[1] - 2, high[1]), xlabel="", ylabel="")
    centres = np.array([data.views[0][:300][model.pattern_labels_[0] == k].mean(axis=0) for k in (0, 1)])
    steps = np.linspace(-0.5, 5.0, 200)
    line = centres[0] + steps[:, None] * (centres[1] - centres[0])
    for k, w in enumerate(model.predict_memberships([line, None, None]).T):
        axes[0, 2].plot(steps, w, color=cluster_colour(k), label=f"cluster {k}")
    axes[0, 2].set(title="two clusters and beyond", xlabel="way, 1 at the second centre", ylim=(0, 1))
    axes[0, 2].set_ylabel("membership")
    axes[0, 2].legend(fontsize="small")
    return figure


def many_samples() -> Figure:
    """Return core seconds and memory over the number of samples, as the page on performance has them."""
    page = (DEFAULT.parent / "performance.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:5] for line in page.splitlines() if GROWING.match(line)]
    samples, seconds, memory = (
        np.array([float(NUMBER.search(row[place])[0].replace(",", "")) for row in rows])
        for place in (0, 1, 3)
    )
    figure, axes = panels(1, 2, width=3.6, height=3.0)
    labels = ("core seconds", "peak memory (GB)")
    for ax, values, label in zip(axes[0], (seconds, memory), labels, strict=True):
        ax.loglog(samples, values, "o-", label="measured")
        ax.loglog(samples, values[-1] * samples / samples[-1], "--", color="0.6", label="in proportion")
        ax.set(xlabel="samples", ylabel=label)
        ax.set_xticks(samples, [f"{n:,.0f}" for n in samples])
        low, high = ax.get_ylim()
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= tick <= high]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


FIGURES = {
    "how_similarity": similarity,
    "how_simplex": simplex,
    "how_patterns": patterns,
    "how_consensus": consensus,
    "tour": tour,
    "absent_samples": absent_samples,
    "partial_labels": partial_labels,
    "new_samples": new_samples,
    "many_samples": many_samples,
}


def draw(folder: Path) -> list[Path]:
    """Draw all figures, and return where they are."""
    paths = []
    for name, figure in FIGURES.items():
        paths.append(folder / f"{name}.png")
        save(figure(), paths[-1])
    return paths


def save(figure: Figure, path: Path) -> None:
    """Write a PNG of 256 colours, less than half the size that full colour takes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
