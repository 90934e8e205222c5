"""How sure a model is: doubtful samples in the plane, and reliability curves, for calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from scipy.special import ndtri

from latentsimplex.base.checks import check_one_per_sample
from latentsimplex.base.types import Array
from latentsimplex.plots.canvas import axes_or_new
from latentsimplex.plots.marks import (
    draw_legend_beside,
    faint_line,
    make_legend_dot,
    remove_frame,
    write_small_print,
)
from latentsimplex.plots.model_parts import FittedModel, find_part, is_model, refuse_part
from latentsimplex.plots.palette import cluster_colour, ink, style_numbers
from latentsimplex.plots.simplex import simplex_corners
from latentsimplex.plots.thinned import explain_selection, select_samples
from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.uncertainty.calibration import Reliability, pair_reliability, reliability_curve
from latentsimplex.uncertainty.doubtful_samples import UNSURE, model_uncertainty, sample_of_pairs

SPREAD = 0.14
"""The radius of the largest cluster's disc, where corners are at a distance of 1 from the middle."""
MEASURES = {"affinity": "mean co-assignment with its cluster", "probability": "probability of its cluster"}
"""What tells how sure a sample is: the consensus has no memberships."""
LEVELS = (1.0, 0.75, 0.5, 0.25)
"""What the legend shows the sizes of."""
LEAST_SHARE = 1e-3
"""A bin with a smaller share of the forecasts is left out: its frequency is an accident of a few pairs."""
LEVEL = 0.95


def plot_uncertainty(
    source: FittedModel | Array,
    positions: Array | None = None,
    labels: np.ndarray | None = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw samples in the plane, coloured by cluster, larger the less sure; outlined where less than 0.8 sure.

    Of more than 5,000 samples an even selection is drawn, and the figure says so.

    Parameters
    ----------
    source : fitted LatentSimplexPosition or (n,) array
        An array holds how sure each sample is, from 0 to 1.
    positions : (n, 2) array or None
        Where samples lie, such as a t-SNE or UMAP of the data. None is :func:`affinity_positions`, for a model.
    labels : (n,) array or None
        What the colours are; None is the clusters of a model, and an array needs them.
    view, pattern : int, str or None
        Which part of a model; without either it is the consensus.
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    own = positions is None
    if is_model(source):
        part = find_part(source, view, pattern)
        table = model_uncertainty(source, view, pattern)
        column = "affinity" if view is None and pattern is None else "probability"
        sureness, measure = table[column], MEASURES[column]
        positions = affinity_positions(part.values, table["cluster"]) if positions is None else positions
        labels = table["cluster"] if labels is None else labels
        title = part.make_title("uncertainty", title)
    else:
        refuse_part(view, pattern)
        if positions is None or labels is None:
            raise ValueError("positions and labels go with an array of how sure the samples are: give both.")
        sureness, measure = np.asarray(source, dtype=np.float64), "how sure"
    positions = _check_positions(positions, len(sureness))
    labels = check_one_per_sample(labels, len(sureness))
    ax = axes_or_new(ax, 5.6, 4.4)
    shown = select_samples(labels, sureness)
    shown = shown[np.argsort(-sureness[shown], kind="stable")]  # the doubtful on top
    _draw_points(ax, positions[shown], sureness[shown], labels[shown])
    _number_clusters(ax, positions, labels)
    _draw_legend(ax, measure, len(shown))
    ax.set(title=title or "", xticks=[], yticks=[])
    if own:
        ax.set_frame_on(False)
        ax.set_aspect("equal", adjustable="datalim")
    placed = "placed by mean co-assignment with each cluster; spread a little, so that equal ones show"
    remarks = [explain_selection(len(shown), len(sureness)), placed if own else ""]
    write_small_print(ax, "; ".join(filter(None, remarks)))
    return ax


def affinity_positions(P: CoAssignment, labels: np.ndarray) -> Array:
    """Return places in the plane (n, 2) by how far samples are together with each cluster.

    Clusters are corners of a regular polygon, or two ends: see :func:`latentsimplex.plots.simplex.simplex_corners`.
    A sample lies at the mean of the corners, weighted by its mean co-assignment with the members of each cluster.
    As sure samples would all lie at their corner, each is then moved by a place in a disc, whose area grows with
    the size of its cluster; its radius is 0.14 at most, corners being at a distance of 1 from the middle.

    >>> P = CoAssignment(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    >>> affinity_positions(P, np.array([0, 1, 1]))[0].round(3).tolist()
    [-1.0, 0.0]
    """
    groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    affinity = P.mean_by_cluster(groups)
    alone = sizes[groups] == 1  # with no others of its cluster a sample is as much together with it as can be
    affinity[alone, groups[alone]] = 1.0
    total = affinity.sum(axis=1, keepdims=True)
    A = np.where(total > 0, affinity / np.where(total > 0, total, 1), np.eye(len(sizes))[groups])
    corners = simplex_corners(A)
    if len(corners) <= 2:
        corners = 2 * corners - np.array([1.0, 0.0])
    return A @ corners + _place_in_discs(groups, sizes)


def _place_in_discs(groups: np.ndarray, sizes: np.ndarray) -> Array:
    """Return for each sample its place in the disc of its cluster, on a spiral that fills it evenly."""
    order = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups))
    rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = SPREAD * np.sqrt(rank / sizes.max())
    turn = rank * np.pi * (3 - np.sqrt(5))
    return np.c_[radius * np.cos(turn), radius * np.sin(turn)]


def _areas(sureness: Array, n_shown: int) -> Array:
    base = float(np.clip(3000 / n_shown, 3, 14))
    return base * (1 + 9 * np.clip(1 - sureness, 0, 1))


def _draw_points(ax: Axes, points: Array, sureness: Array, labels: np.ndarray) -> None:
    names, groups = np.unique(labels, return_inverse=True)
    colours = np.array([cluster_colour(k) for k in style_numbers(names)])[groups]
    rims = np.where(sureness < UNSURE, 0.7 if len(points) <= 1000 else 0.4, 0.0).tolist()
    x, y = points.T
    areas = _areas(sureness, len(points))
    ax.scatter(x, y, s=areas, c=colours, alpha=0.75, linewidths=rims, edgecolors=ink(ax))


def _number_clusters(ax: Axes, positions: Array, labels: np.ndarray) -> None:
    """Write each cluster's number at the median of its samples, on a rim that sets it off."""
    rim = [withStroke(linewidth=2.5, foreground=ax.get_facecolor())]
    for name in np.unique(labels):
        x, y = np.median(positions[labels == name], axis=0)
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "fontweight": "bold"}
        ax.annotate(str(name), (x, y), path_effects=rim, **style)


def _draw_legend(ax: Axes, measure: str, n_shown: int) -> None:
    sizes = np.sqrt(_areas(np.array(LEVELS), n_shown)).tolist()
    handles = [
        make_legend_dot(
            f"{level:g}", size, markeredgecolor=ink(ax), markeredgewidth=0.7 if level < UNSURE else 0.0
        )
        for level, size in zip(LEVELS, sizes, strict=True)
    ]
    title = measure.replace(" with", "\nwith").replace(" of", "\nof")
    draw_legend_beside(ax, title, handles=handles, title_fontsize=8, labelspacing=0.9)


def _check_positions(positions: Any, n_samples: int) -> Array:
    positions = np.asarray(positions, dtype=np.float64)
    if positions.shape != (n_samples, 2) or not np.isfinite(positions).all():
        raise ValueError(
            f"positions has shape {positions.shape} or values that are not finite, and there are {n_samples} samples: "
            "give two coordinates each."
        )
    return positions


def plot_reliability(
    forecasts: FittedModel | Reliability | Mapping[str, Reliability | tuple[Array, Array]],
    truth: Any = None,
    *,
    view: int | str | None = None,
    pattern: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reliability curve of each forecast beside the diagonal, where a calibrated one lies.

    The area of a point is the share of the forecasts that it stands for. The band around a curve is where 95% of
    frequencies would come from (Wilson's interval) if outcomes were independent of one another. Pairs of
    samples are not: what one sample does shows in all of its pairs, and for them the band is too narrow.

    Parameters
    ----------
    forecasts : fitted LatentSimplexPosition, Reliability, or mapping of str to Reliability or (forecast, outcome)
        A mapping has names for the legend. See :func:`latentsimplex.uncertainty.calibration.reliability_curve`.
    truth : (n,) labels, (n, k) oracle memberships, CoAssignment or None
        With a model, what its co-assignments are compared with.
    view, pattern : int, str or None
        Which part of a model; without either it is the consensus.
    title : str, or None to say which part of a model it is
    ax : Axes, or None for a new figure

    Returns
    -------
    Axes
    """
    if is_model(forecasts):
        if truth is None:
            raise ValueError(
                "truth is missing: give the true labels of the samples, or an oracle's memberships."
            )
        part = find_part(forecasts, view, pattern)
        title = part.make_title("reliability of pairs", title)
        curves = {"": pair_reliability(part.values, truth)}
        n_paired = len(sample_of_pairs(len(part.values)))
        some = f"; pairs of {n_paired:,} samples" if n_paired < len(part.values) else ""
    else:
        refuse_part(view, pattern)
        if truth is not None:
            raise ValueError(
                "truth goes with a fitted model: these forecasts come with outcomes, so leave it out."
            )
        curves, some = _make_curves(forecasts), ""
    ax = axes_or_new(ax, 4.6, 4.4)
    ax.plot([0, 1], [0, 1], zorder=0, linestyle="--", **faint_line(ax))
    left_out = [
        _draw_curve(ax, curve, name, cluster_colour(k)) for k, (name, curve) in enumerate(curves.items())
    ]
    ax.set(title=title or "", xlabel="probability given", ylabel="share that is so", aspect="equal")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    remove_frame(ax)
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=8, loc="best")
    rare = f"; bins with under {LEAST_SHARE:.1%} of the forecasts left out" if any(left_out) else ""
    write_small_print(ax, f"band: {LEVEL:.0%} if outcomes were independent; pairs are not{rare}{some}", 52)
    return ax


def wilson_interval(frequency: Array, counts: Array) -> tuple[Array, Array]:
    """Return Wilson's 95% interval of a probability, from how often it came true in so many independent trials.

    >>> low, high = wilson_interval(np.array([0.5]), np.array([100]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4038], [0.5962])
    """
    z = ndtri((1 + LEVEL) / 2)
    scale = 1 + z**2 / counts
    centre = (frequency + z**2 / (2 * counts)) / scale
    half = z / scale * np.sqrt(frequency * (1 - frequency) / counts + z**2 / (4 * counts**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _make_curves(forecasts: Any) -> dict[str, Reliability]:
    """Return the curve of each forecast by name."""
    named = {"": forecasts} if isinstance(forecasts, Reliability) else forecasts
    return {
        name: forecast if isinstance(forecast, Reliability) else reliability_curve(*forecast)
        for name, forecast in named.items()
    }


def _draw_curve(ax: Axes, curve: Reliability, name: str, colour: str) -> bool:
    """Draw one curve with its band, and return whether bins were left out."""
    shares = curve.counts / curve.counts.sum()
    shown = shares > LEAST_SHARE
    means, frequencies = curve.forecast[shown], np.clip(curve.frequency[shown], 0, 1)
    low, high = wilson_interval(frequencies, curve.counts[shown].astype(np.float64))
    ax.fill_between(means, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(means, frequencies, color=colour, linewidth=1.5, label=name)
    ax.scatter(means, frequencies, s=10 + 150 * shares[shown], color=colour, zorder=2, clip_on=False)
    return not bool(shown.all())
