"""No more clusters than views show beyond the factors that they share: a search counts what it gains, not by what."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latentsimplex.base.types import Indices
from latentsimplex.model.em import collect_statistics
from latentsimplex.model.problem import Problem
from latentsimplex.search.least_clusters import cut_exactly
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import run_from_labels
from latentsimplex.search.states import find_clusters


def keep_believed(
    problem: Problem, search: Search, count: Callable[[list[Indices], list[int]], list[int]]
) -> Search:
    """Return a search whose patterns have no more clusters than are believed.

    ``count`` says how many are, given the numbers of the views that follow each pattern, and of its clusters. Views of
    patterns without any become one pattern, and may follow another instead.
    """
    views, clusterings = find_clusters(search.fit)
    found = [int(labels.max()) + 1 for labels in clusterings]
    several = [l for l, k in enumerate(found) if k > 1]
    counts = count([np.flatnonzero(views == l) for l in several], [found[l] for l in several])
    believed = [1] * len(found)
    for l, k in zip(several, counts, strict=True):
        believed[l] = k
    if believed == found:
        return search
    mass, stat = collect_statistics(problem.pairs, np.eye(len(clusterings))[views])
    for l, k in enumerate(believed):
        if k < found[l]:
            clusterings[l] = cut_exactly(stat[l] / mass[l], k, problem.model.divergence)
    pattern = np.where(
        np.array(believed) > 1, np.arange(len(believed)), believed.index(1) if 1 in believed else -1
    )
    live, views = np.unique(pattern[views], return_inverse=True)
    fit = run_from_labels(problem, views, [clusterings[l] for l in live])
    return search._replace(fit=fit)
