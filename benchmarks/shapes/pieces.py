"""Samples of one cluster: balls, rings, boxes, paths and other pieces of which shapes are made.

Each function draws n samples and returns them as an array (n, p).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator


def draw_gaussian(rng: Generator, n: int, centre: Sequence[float] | np.ndarray, sd: Any) -> np.ndarray:
    """Return a Gaussian cloud with independent features; sd is a number, or one for each feature."""
    return np.asarray(centre) + rng.normal(size=(n, len(centre))) * sd


def draw_ball(rng: Generator, n: int, centre: Sequence[float] | np.ndarray, radius: float) -> np.ndarray:
    """Return samples that are uniform in a ball, in as many features as its centre has."""
    p = len(centre)
    directions = rng.normal(size=(n, p))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(centre) + radius * directions * rng.random((n, 1)) ** (1 / p)


def draw_ring(rng: Generator, n: int, centre: Sequence[float], radius: float, sd: float) -> np.ndarray:
    """Return samples around a circle, with Gaussian noise in their distance from the centre."""
    angles = rng.random(n) * 2 * np.pi
    return np.asarray(centre) + (radius + sd * rng.normal(size=n))[:, None] * point_at(angles)


def draw_box(rng: Generator, n: int, lower: Sequence[float], upper: Sequence[float]) -> np.ndarray:
    """Return samples that are uniform in a rectangle between two corners."""
    return np.asarray(lower) + rng.random((n, 2)) * (np.asarray(upper) - np.asarray(lower))


def draw_diamond(rng: Generator, n: int, centre: Sequence[float]) -> np.ndarray:
    """Return samples that are uniform in a square of side 2 that stands on a corner."""
    return np.asarray(centre) + draw_box(rng, n, (-1, -1), (1, 1)) @ rotate_by(np.pi / 4)


def draw_wing(rng: Generator, n: int) -> np.ndarray:
    """Return samples in a rectangle of 2 by 3, almost seven times as dense at its right edge as at its left."""
    box = draw_box(rng, 1200, (0, 0), (2, 3))  # 690 are kept on average
    return box[rng.random(1200) < 0.15 + 0.85 * box[:, 0] / 2][:n]


def draw_worm(rng: Generator, n: int, start: Sequence[float]) -> np.ndarray:
    """Return samples around a path of steps of 0.1 whose direction wanders."""
    angles = np.cumsum(rng.normal(size=n) * 0.08)
    return np.cumsum(point_at(angles) * 0.1, axis=0) + np.asarray(start) + rng.normal(size=(n, 2)) * 0.3


def draw_path(rng: Generator, sizes: Sequence[int], corners: Any, sd: float) -> np.ndarray:
    """Return samples along straight lines from corner to corner, as many as sizes says on each, with noise."""
    corners = np.asarray(corners, dtype=float)
    return np.vstack(
        [
            a + rng.random((n, 1)) * (b - a) + sd * rng.normal(size=(n, 2))
            for n, a, b in zip(sizes, corners[:-1], corners[1:], strict=True)
        ]
    )


def draw_spirals(rng: Generator, n: int, n_arms: int, turns: float, noise: float) -> list[np.ndarray]:
    """Return the arms of a spiral, n samples each, with noise relative to its radius."""
    longest, arms = turns * 2 * np.pi, []
    for start in 2 * np.pi * np.arange(n_arms) / n_arms:
        t = np.sqrt(rng.random(n) * 0.9 + 0.1) * longest
        arms.append(t[:, None] * point_at(t + start) + noise * t.max() * rng.normal(size=(n, 2)) * 0.3)
    return arms


def point_at(angles: np.ndarray) -> np.ndarray:
    """Return points (n, 2) of the unit circle."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def rotate_by(angle: float) -> np.ndarray:
    """Return the matrix (2, 2) that rotates rows by an angle."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
