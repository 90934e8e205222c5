"""Drawings of the report: arrays in, SVG or a small PNG out.

Lines and letters take the colour of the text around them and improbable means see-through, so that a drawing follows
the page from light to dark. Positions are shares of the drawing's size: it has none of its own, and letters keep
theirs. The page's policy allows no style attributes, so there are none.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

import numpy as np
from markupsafe import Markup, escape

from latentsimplex.base.types import Array, Indices
from latentsimplex.base.wording import count_noun
from latentsimplex.plots.loss import ALIKE
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.plots.simplex import simplex_corners
from latentsimplex.plots.thinned import thin_evenly

ACCENT = (47, 111, 222)
"""The blue of probabilities, which shows on white and on near-black."""
SHADES = 33
"""Shades of a small heatmap: as many as the eye tells apart, and few enough for small files."""
BAR_PIXELS = 100
BINS = 20
NUMBERED = 0.035
"""A cluster with a smaller share of a strip has no room for its number."""
CURVE_POINTS = 400
SIMPLEX_CLUSTERS = range(3, 9)
"""With two clusters a histogram tells more than a segment; beyond eight, samples meet in the middle."""


def runs(labels: np.ndarray) -> list[tuple[float, float, int]]:
    """Return the start, the end (as shares of the whole) and the label of each run of equal labels.

    >>> runs(np.array([2, 2, 2, 0]))
    [(0.0, 0.75, 2), (0.75, 1.0, 0)]
    """
    edges = np.r_[0, np.flatnonzero(np.diff(labels)) + 1, len(labels)]
    shares = (edges / len(labels)).tolist()
    return [(shares[r], shares[r + 1], int(labels[edges[r]])) for r in range(len(edges) - 1)]


def strip(labels: np.ndarray, *, upright: bool = False) -> Markup:
    """Draw a strip along a figure whose samples have these labels, in order: a colour and a number for each cluster."""
    along, across, length, width = ("y", "x", "height", "width") if upright else ("x", "y", "width", "height")
    parts = []
    for start, stop, label in runs(labels):
        parts.append(
            f'<rect {along}="{_percent(start)}" {length}="{_percent(stop - start)}" {across}="0" {width}="6" '
            f'fill="{cluster_colour(label)}"/>'
        )
        if stop - start >= NUMBERED:
            middle = _percent((start + stop) / 2)
            place = (
                f'y="{middle}" x="10" dy=".35em"' if upright else f'x="{middle}" y="19" text-anchor="middle"'
            )
            parts.append(f"<text {place}>{label}</text>")
    return Markup(
        f'<svg class="strip{" upright" if upright else ""}" aria-hidden="true">{"".join(parts)}</svg>'
    )


def frames(labels: np.ndarray) -> Markup:
    """Draw a frame around the samples of each cluster, over a heatmap whose samples have these labels in order."""
    boxes = [
        f'<rect x="{_percent(start)}" y="{_percent(start)}" width="{_percent(stop - start)}" '
        f'height="{_percent(stop - start)}"/>'
        for start, stop, _ in runs(labels)
    ]
    return Markup(f'<svg class="frames" aria-hidden="true">{"".join(boxes)}</svg>')


def histogram(sureness: Array, unsure: float) -> Markup:
    """Draw how many samples have which probability of their cluster; those below ``unsure`` are set apart."""
    counts, edges = np.histogram(sureness, bins=BINS, range=(0, 1))
    heights = counts / max(counts.max(), 1)
    bars = [
        f'<rect class="{"low" if low < unsure - 1e-9 else "high"}" x="{_percent(low + 0.1 / BINS)}" '
        f'y="{_percent(1 - height)}" width="{_percent(0.8 / BINS)}" height="{_percent(height)}">'
        f"<title>{count_noun(int(size), 'sample')} between {low:.2f} and {low + 1 / BINS:.2f}</title></rect>"
        for low, height, size in zip(edges[:-1].tolist(), heights.tolist(), counts, strict=True)
        if size
    ]
    return _drawing("histogram", "How many samples have which probability of their cluster", bars)


def simplex(W: Array, labels: np.ndarray, description: str) -> Markup:
    """Draw samples between the corners of their clusters, at the mean of the corners weighted by memberships."""
    corners = simplex_corners(W) * (1, -1)
    around = corners[np.argsort(np.arctan2(*corners.T))]
    parts = [f'<polygon points="{" ".join(f"{x:.3f},{y:.3f}" for x, y in around)}"/>']
    radius = float(np.clip(0.45 / np.sqrt(len(W)), 0.016, 0.045))
    for i, (x, y) in enumerate(W @ corners):
        parts.append(
            f'<circle data-i="{i}" cx="{x:.3f}" cy="{y:.3f}" r="{radius:.3f}" fill="{cluster_colour(int(labels[i]))}"/>'
        )
    for k, (x, y) in enumerate(corners * 1.12):
        anchor = "middle" if abs(x) < 0.2 else "start" if x > 0 else "end"
        parts.append(f'<text x="{x:.3f}" y="{y:.3f}" dy=".035" text-anchor="{anchor}">cluster {k}</text>')
    box = 'viewBox="-1.55 -1.25 3.1 2.5"' if len(corners) > 3 else 'viewBox="-1.55 -1.25 3.1 2"'
    return _drawing("simplex", description, parts, box)


def scatter(points: Array, labels: np.ndarray, places: Indices, description: str) -> Markup:
    """Draw samples as points (m, 2) in the colours of their clusters; each carries its place in the page's data."""
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = ((points - low) / np.where(high > low, high - low, 1)).T
    radius = float(np.clip(16 / np.sqrt(len(points)), 0.45, 1.3))
    circles = [
        f'<circle data-i="{i}" cx="{4 + 112 * a:.2f}" cy="{4 + 82 * (1 - b):.2f}" r="{radius:.2f}" '
        f'fill="{cluster_colour(int(k))}"/>'
        for i, a, b, k in zip(places.tolist(), x, y, labels, strict=True)
    ]
    return _drawing("scatter", description, circles, 'viewBox="0 0 120 90"')


def loss_axis(curve: Array) -> tuple[float, float]:
    """Return the ends of the axis that a loss is drawn on."""
    low, high = float(curve.min()), float(curve.max())
    return low, low + (max(high - low, ALIKE * abs(high)) or 1.0)


def loss_curve(curve: Array) -> Markup:
    """Draw the loss over iterations on the axis whose ends the page writes beside it."""
    steps = thin_evenly(np.arange(len(curve)), CURVE_POINTS)
    low, high = loss_axis(curve)
    x = 100 * steps / max(len(curve) - 1, 1)
    y = 98 - 96 * (curve[steps] - low) / (high - low)
    points = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
    line = f'<polyline points="{points}"/>' if len(curve) > 1 else ""
    return _drawing(
        "curve", "Loss over iterations", [line], 'viewBox="0 0 100 100" preserveAspectRatio="none"'
    )


def heatmap_picture(P: Array) -> str:
    """Return co-assignments (m, m) as an image in a data address: as opaque as the pair is probable."""
    levels = np.rint(np.clip(P, 0, 1) * (SHADES - 1)).astype(np.uint8)
    return _png(levels, [(*ACCENT, round(255 * level / (SHADES - 1))) for level in range(SHADES)])


def bars_picture(W: Array) -> str:
    """Return memberships (m, clusters) as an image in a data address: a bar for each sample, filled from below."""
    heights = (np.arange(BAR_PIXELS)[::-1] + 0.5) / BAR_PIXELS
    cluster = (heights[:, None, None] > W.cumsum(axis=1)[:, :-1]).sum(axis=-1)
    colours = [cluster_colour(k) for k in range(W.shape[1])]
    palette = list(dict.fromkeys(colours))  # colours come again where clusters are many
    levels = np.array([palette.index(own) for own in colours], dtype=np.uint8)[cluster]
    return _png(levels, [(*bytes.fromhex(own.removeprefix("#")), 255) for own in palette])


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _drawing(kind: str, description: str, parts: Iterable[str], box: str = "") -> Markup:
    head = f'<svg class="{kind}" role="img" aria-label="{escape(description)}" {box}>'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _png(levels: np.ndarray, palette: list[tuple[int, ...]]) -> str:
    """Return an image of indices into a palette of (red, green, blue, alpha) as PNG in a data address."""
    height, width = levels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in levels)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(value for entry in palette for value in entry[:3])),
        (b"tRNS", bytes(entry[3] for entry in palette)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
