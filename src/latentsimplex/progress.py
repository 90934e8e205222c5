"""Progress of a fit: a log record for each iteration, and a bar when the user asks for one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from tqdm.auto import tqdm

from latentsimplex.em import Expectation
from latentsimplex.search import Callback

logger = logging.getLogger("latentsimplex")


@contextmanager
def reporting(verbose: bool, n_init: int, max_iter: int) -> Iterator[Callback]:
    """Yield the callback that :func:`latentsimplex.search.best_of` calls after each E step."""
    bar = tqdm(total=max_iter, disable=not verbose, unit="it", desc="reading the views")

    def callback(start: int, iteration: int, expectation: Expectation) -> None:
        live = len(np.unique(expectation.eta.argmax(axis=1)))
        logger.debug("start %d iteration %d loss %.6g patterns %d", start, iteration, expectation.loss, live)
        if iteration == 0:
            bar.reset(total=max_iter)
            bar.set_description(f"start {start + 1} of {n_init}")
        else:
            bar.update()
        bar.set_postfix(loss=f"{expectation.loss:.6g}", patterns=live, refresh=False)

    try:
        yield callback
    finally:
        bar.close()
