"""What a fit warns of once it has ended: views that are constant, and clusters that nothing speaks for."""

from __future__ import annotations

import warnings

from latentsimplex.results.results import Results

MOST_NAMED = 10
"""Constant views that a warning names."""


def warn_of_weak_results(results: Results, least: int) -> None:
    """Warn, on behalf of whoever called fit, of constant views and of a least number of clusters without evidence."""
    warn_of_constant_views(results)
    warn_of_no_evidence(results, least)


def warn_of_constant_views(results: Results) -> None:
    """Warn once of all constant views, by name, on behalf of whoever called fit."""
    names = results.view_names[results.initial_view_patterns == -1].astype(str).tolist()
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        warnings.warn(
            f"{len(names)} of {results.n_views} views are constant, have no clusters and are excluded: "
            f"{', '.join(names[:MOST_NAMED])}{more}.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_no_evidence(results: Results, least: int) -> None:
    """Warn, on behalf of whoever called fit, of clusters that were asked for and that nothing speaks for."""
    if least == 1:
        return
    if results.n_clusters.max() < least:
        said = (
            f"min_clusters={least} was asked for, and the samples are too few or too much alike for so many."
        )
    elif all(len(own) < least or own[least - 1] <= 0 for own in results.evidence):
        said = f"There is no evidence for clusters: min_clusters={least} was asked for; evidence_ says what is against."
    else:
        return
    warnings.warn(said, UserWarning, stacklevel=4)
