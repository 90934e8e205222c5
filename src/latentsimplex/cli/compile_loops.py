"""``latentsimplex compile``: compiles the loops of fits after an installation, so that no fit has to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from latentsimplex.base.types import Array
from latentsimplex.estimator import LatentSimplexPosition


@click.command("compile")
def compile_loops() -> None:
    """Compile the loops of fits now, so that no fit has to.

    Small fits of each kind are run, with few and many samples and views. What they compile is kept, so that this is
    done once after an installation, such as when an image for containers is made; without it the first fits compile
    what they need.
    """
    for what, views, settings in draw_small_fits():
        click.echo(f"Compiling what fits of {what} need.")
        model = LatentSimplexPosition(random_state=0, **settings).fit(views)
        model.predict([view[:5] for view in views] if isinstance(views, list) else views[:5])


def draw_small_fits() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield kinds of data in words, the smallest data of that kind that reach its loops, and settings."""
    few, many = 150, 800  # on either side of the sizes at which algorithms switch
    yield "few samples", draw_views(few, (2, 3)), {}
    yield "many samples", draw_views(many, (1, 10, 40)), {}
    yield "a sample of samples", draw_views(many, (2, 20)), {"n_landmarks": 300}
    yield "many views", draw_views(few, (2,) * 24), {}
    yield "columns", np.hstack(draw_views(few, (1,) * 24)), {"views": "columns"}


def draw_views(n: int, widths: tuple[int, ...]) -> list[Array]:
    """Return views of n samples in three clusters that overlap a little, so that fits have borders to find."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    return [rng.normal(size=(n, p)) + 5 * (labels[:, None] - 1) for p in widths]
