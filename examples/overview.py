"""Draw docs/images/overview.png: three views, their similarities, and what the model makes of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from PIL import Image
from scipy.spatial.distance import squareform

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example
from latentsimplex.similarity import LocalScaling

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])
COLUMNS = ["data, coloured by cluster", "similarity S", "co-assignment P", "memberships W"]
DEFAULT = Path(__file__).parents[1] / "docs" / "images" / "overview.png"


def draw(path: Path) -> None:
    """Fit the running example and draw one row of panels for each view."""
    data = running_example(n_samples=150, separation=6, random_state=0)
    model = LatentSimplexPosition(n_clusters=3, n_patterns=3, random_state=0).fit(data.views)
    figure = Figure(figsize=(9.6, 7.3), dpi=100, layout="constrained")
    axes = figure.subplots(3, 4)
    for v, row in enumerate(axes):
        pattern = model.view_patterns_[v]
        W = model.memberships_[pattern]
        # Views of one pattern keep one order of samples, so that their rows can be compared.
        order = np.lexsort((-W.max(axis=1), W.argmax(axis=1)))
        scatter(row[0], data.views[v], W)
        row[0].set_ylabel(f"view {v}, pattern {pattern}", fontsize=11)
        S = squareform(np.exp(-LocalScaling().exponents(data.views[v]))) + np.eye(len(W))
        image = heatmap(row[1], S[np.ix_(order, order)])
        heatmap(row[2], model.coassignment(view=v).block(order, order))
        bars(row[3], W[order])
    for ax, title in zip(axes[0], COLUMNS, strict=True):
        ax.set_title(title, fontsize=11)
    figure.colorbar(image, ax=axes[:, 1:3], location="bottom", shrink=0.5, aspect=40, label="probability")
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a PNG of 200 colours, less than half the size that full colour takes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(200).save(path, optimize=True)


def scatter(ax: Axes, view: np.ndarray, W: np.ndarray) -> None:
    """Draw the samples of one view; the less sure of its cluster a sample is, the paler."""
    certainty = (W.max(axis=1) * W.shape[1] - 1) / (W.shape[1] - 1)
    ax.scatter(*view.T, s=14, c=COLOURS[W.argmax(axis=1)], alpha=np.clip(certainty, 0.15, 1), linewidths=0)
    ax.set(xticks=[], yticks=[], box_aspect=1)


def heatmap(ax: Axes, matrix: np.ndarray) -> AxesImage:
    """Draw a matrix of probabilities."""
    ax.set(xticks=[], yticks=[])
    return ax.imshow(matrix, vmin=0, vmax=1, cmap="viridis", interpolation="nearest")


def bars(ax: Axes, W: np.ndarray) -> None:
    """Draw each sample's memberships as one stacked bar."""
    tops = W.cumsum(axis=1)
    for k in range(W.shape[1]):
        ax.bar(range(len(W)), W[:, k], bottom=tops[:, k] - W[:, k], width=1, color=COLOURS[k])
    ax.set(xlim=(-0.5, len(W) - 0.5), ylim=(0, 1), xticks=[], yticks=[0, 1], box_aspect=1)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
