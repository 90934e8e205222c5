"""Tables with clusters of many shapes, by name: a generator of random numbers in, X and labels out.

Several follow the geometry of well-known test sets, which their first lines name; no public data are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from shapes.pieces import (
    draw_ball,
    draw_box,
    draw_diamond,
    draw_gaussian,
    draw_path,
    draw_ring,
    draw_spirals,
    draw_wing,
    draw_worm,
    point_at,
    rotate_by,
)

Table = tuple[np.ndarray, np.ndarray]
"""X (n, p), and the cluster of each sample (n,)."""


def join(clusters: Sequence[np.ndarray]) -> Table:
    """Return the samples of clusters as one table, and which cluster each is of."""
    return np.vstack(clusters), np.repeat(np.arange(len(clusters)), [len(each) for each in clusters])


def draw_three_blocks(rng: Generator) -> Table:
    """Return two bars at a right angle and a disc: the geometry of Lsun."""
    bars = draw_box(rng, 200, (0, 0), (1, 4)), draw_box(rng, 100, (1.6, 0), (5, 0.8))
    return join([*bars, draw_ball(rng, 100, (4, 3), 0.8)])


def draw_ring_ball_and_corners(rng: Generator) -> Table:
    """Return a disc in a ring, with six samples in each corner: the geometry of Target."""
    corners = [(3.5, 3.5), (-3.5, 3.5), (3.5, -3.5), (-3.5, -3.5)]
    clusters = [draw_ball(rng, 370, (0, 0), 0.6), draw_ring(rng, 370, (0, 0), 2.4, 0.1)]
    return join(clusters + [draw_ball(rng, 6, corner, 0.1) for corner in corners])


def draw_four_touching_balls(rng: Generator) -> Table:
    """Return balls at the corners of a tetrahedron that almost touch: the geometry of Tetra."""
    centres = 0.75 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    return join([draw_ball(rng, 100, centre, 1.02) for centre in centres])


def draw_seven_balls(rng: Generator) -> Table:
    """Return a ball in the middle of six others, far apart in three features: the geometry of Hepta."""
    centres = [(0, 0, 0), (3, 0, 0), (-3, 0, 0), (0, 3, 0), (0, -3, 0), (0, 0, 3), (0, 0, -3)]
    return join([draw_ball(rng, 30, centre, 0.9) for centre in centres])


def draw_two_diamonds(rng: Generator) -> Table:
    """Return two squares that stand on their corners and almost touch at one: the geometry of TwoDiamonds."""
    return join([draw_diamond(rng, 400, (x, 0)) for x in (-1.43, 1.43)])


def draw_wingnuts(rng: Generator) -> Table:
    """Return two rectangles that are densest where they face each other: the geometry of WingNut."""
    return join([draw_wing(rng, 500), np.array([4.3, 3.6]) - draw_wing(rng, 500)])


def draw_two_unequal_gaussians(rng: Generator) -> Table:
    """Return two Gaussian clusters of 2,000 with different spreads that overlap: the geometry of EngyTime."""
    return join([draw_gaussian(rng, 2000, (0, 0), 0.6), draw_gaussian(rng, 2000, (1.8, 1.8), 1.0)])


def draw_three_spirals(rng: Generator) -> Table:
    """Return three thin arms of a spiral."""
    return join(draw_spirals(rng, 104, n_arms=3, turns=1.2, noise=0.03))


def draw_two_spirals(rng: Generator) -> Table:
    """Return two arms of a longer spiral."""
    return join(draw_spirals(rng, 300, n_arms=2, turns=1.5, noise=0.05))


def draw_five_worms(rng: Generator) -> Table:
    """Return five winding paths, which may cross."""
    return join([draw_worm(rng, 400, start) for start in [(0, 0), (25, 0), (0, 25), (25, 25), (50, 12)]])


def draw_unbalanced_sizes(rng: Generator) -> Table:
    """Return three Gaussian clusters of 700 and, far from them, five of 40."""
    large = [draw_gaussian(rng, 700, centre, 0.5) for centre in [(0, 0), (4, 3), (4, -3)]]
    centres = [(15, 0), (18, 4), (18, -4), (21, 0), (15, 7)]
    return join(large + [draw_gaussian(rng, 40, centre, 0.5) for centre in centres])


def draw_grid_of_25(rng: Generator) -> Table:
    """Return 25 Gaussian clusters on a grid."""
    return join([draw_gaussian(rng, 100, (3.5 * i, 3.5 * j), 0.6) for i in range(5) for j in range(5)])


def draw_fifteen_that_overlap(rng: Generator) -> Table:
    """Return 15 Gaussian clusters near the points of a grid, about four standard deviations apart."""
    centres = [(4 * i + rng.normal() * 0.5, 4 * j + rng.normal() * 0.5) for i in range(5) for j in range(3)]
    return join([draw_gaussian(rng, 200, centre, 1.0) for centre in centres])


def draw_discs_of_seven_sizes(rng: Generator) -> Table:
    """Return seven discs of unequal sizes, two of which overlap: much like Aggregation."""
    centres = [(0, 0), (10, 0), (0, 8), (4.6, 8), (15, 8), (8.2, 7), (11.5, 8.3)]
    sizes, radii = (170, 270, 100, 45, 130, 34, 34), (3, 4, 2.3, 1.3, 2.5, 1.0, 1.2)
    return join([draw_ball(rng, *each) for each in zip(sizes, centres, radii, strict=True)])


def draw_clusters_in_clusters(rng: Generator) -> Table:
    """Return a disc in a ring, a dense cluster in a sparse disc, and two discs side by side: much like Compound."""
    inside = [draw_ring(rng, 90, (0, 0), 2.5, 0.15), draw_ball(rng, 45, (0, 0), 1.0)]
    inside += [draw_gaussian(rng, 50, (8, 0), 0.25), draw_ball(rng, 100, (8, 0), 2.6)]
    return join([*inside, draw_ball(rng, 50, (0, 8), 1.2), draw_ball(rng, 60, (3.2, 8), 1.2)])


def draw_two_moons(rng: Generator) -> Table:
    """Return two half circles that reach into each other."""
    upper, lower = rng.random(250) * np.pi, rng.random(250) * np.pi
    middles = point_at(upper), np.array([1, 0.5]) - point_at(lower)
    return join([middle + 0.1 * rng.normal(size=(250, 2)) for middle in middles])


def draw_four_rings(rng: Generator) -> Table:
    """Return four rings around the same centre, equally dense."""
    return join([draw_ring(rng, int(300 * radius), (0, 0), radius, 0.06) for radius in (1, 1.7, 2.4, 3.1)])


def draw_dense_and_sparse(rng: Generator) -> Table:
    """Return a dense Gaussian cluster beside a sparse one."""
    return join([draw_gaussian(rng, 100, (0, 0), 0.15), draw_gaussian(rng, 100, (1.6, 0), 0.5)])


def draw_cross(rng: Generator) -> Table:
    """Return two long Gaussian clusters with the same centre, which cross."""
    return join([draw_gaussian(rng, 200, (0, 0), (3, 0.25)) @ rotate_by(angle) for angle in (0.7, -0.7)])


def draw_zigzag(rng: Generator) -> Table:
    """Return three angles in a row, each of two thin lines that meet at the top."""
    return join(
        [draw_path(rng, (40, 40), [(x, 0), (x + 1, 1.5), (x + 2, 0)], sd=0.04) for x in (0.0, 3.0, 6.0)]
    )


def draw_maze(rng: Generator) -> Table:
    """Return three bent walls, one of them inside another."""
    outer = draw_path(rng, (300, 300, 200), [(0, 0), (10, 0), (10, 8), (4, 8)], sd=0.25)
    inner = draw_path(rng, (300, 200), [(2, 2.5), (7, 2.5), (7, 5.5)], sd=0.25)
    return join([outer, inner, draw_path(rng, (300, 200), [(-2, -2), (-2, 8), (1.5, 8)], sd=0.25)])


def draw_six_gaussians_in_20_features(rng: Generator) -> Table:
    """Return six Gaussian clusters of 60 in 20 features; their centres are the same for every seed."""
    centres = np.random.default_rng(5).normal(size=(6, 20)) * 1.3
    return join([draw_gaussian(rng, 60, centre, 1.0) for centre in centres])


def draw_unequal_gaussians_in_10_features(rng: Generator) -> Table:
    """Return four Gaussian clusters of unequal sizes and spreads in ten features, the same centres for every seed."""
    centres = np.random.default_rng(6).normal(size=(4, 10)) * 1.6
    sizes, sds = (300, 120, 60, 30), (1.0, 0.7, 1.4, 0.5)
    return join([draw_gaussian(rng, *each) for each in zip(sizes, centres, sds, strict=True)])


def draw_three_small_gaussians(rng: Generator) -> Table:
    """Return Gaussian clusters of 80, 30 and 15."""
    clusters = [draw_gaussian(rng, 80, (0, 0), 0.3), draw_gaussian(rng, 30, (2.2, 0.3), (0.5, 0.3))]
    return join([*clusters, draw_gaussian(rng, 15, (1, 2), 0.25)])


def draw_skewed_features(rng: Generator) -> Table:
    """Return three clusters in eight lognormal features; their medians are the same for every seed."""
    logs = np.random.default_rng(8).normal(size=(3, 8)) * 0.7
    return join(
        [
            np.exp(0.5 * rng.normal(size=(n, 8))) * np.exp(log)
            for n, log in zip((150, 100, 80), logs, strict=True)
        ]
    )


def draw_correlated_features(rng: Generator) -> Table:
    """Return two clusters in 30 features that six factors explain; loadings and shift are the same for every seed."""
    loadings = np.random.default_rng(10).normal(size=(6, 30)) * 0.8
    shift = np.random.default_rng(9).normal(size=30) * 0.9
    return join([rng.normal(size=(350, 6)) @ loadings, 1.1 * rng.normal(size=(200, 6)) @ loadings + shift])


SHAPES: dict[str, Callable[[Generator], Table]] = {
    draw.__name__.removeprefix("draw_").replace("_", " "): draw
    for draw in (
        draw_three_blocks,
        draw_ring_ball_and_corners,
        draw_four_touching_balls,
        draw_seven_balls,
        draw_two_diamonds,
        draw_wingnuts,
        draw_two_unequal_gaussians,
        draw_three_spirals,
        draw_two_spirals,
        draw_five_worms,
        draw_unbalanced_sizes,
        draw_grid_of_25,
        draw_fifteen_that_overlap,
        draw_discs_of_seven_sizes,
        draw_clusters_in_clusters,
        draw_two_moons,
        draw_four_rings,
        draw_dense_and_sparse,
        draw_cross,
        draw_zigzag,
        draw_maze,
        draw_six_gaussians_in_20_features,
        draw_unequal_gaussians_in_10_features,
        draw_three_small_gaussians,
        draw_skewed_features,
        draw_correlated_features,
    )
}
