"""Figures in the gallery: those that a block of an example makes, though pyplot does not know of them."""

from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakSet

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

DPI = 110

shown: WeakSet[Figure] = WeakSet()
"""What has a place in the gallery already."""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the new figures that names of the example lead to, and return the reStructuredText that shows them.

    A figure is found by itself, by its Axes, or by an array of Axes; the last expression of a block has a name too,
    which sphinx-gallery gives it.
    """
    paths = []
    for figure in figures_in(block_vars["example_globals"].values()):
        if figure not in shown:
            shown.add(figure)
            paths.append(next(block_vars["image_path_iterator"]))
            figure.savefig(paths[-1], dpi=DPI, format="png")
    return figure_rst(paths, gallery_conf["src_dir"])


def figures_in(values: Iterable[Any]) -> Iterator[Figure]:
    """Yield the figures among some values, in order.

    >>> figure = Figure()
    >>> list(figures_in([3, figure.subplots(1, 2)])) == [figure, figure]
    True
    """
    for value in values:
        if isinstance(value, Figure):
            yield value
        elif isinstance(value, Axes) and isinstance(value.figure, Figure):
            yield value.figure
        elif isinstance(value, np.ndarray) and value.dtype == object:
            yield from figures_in(value.flat)
