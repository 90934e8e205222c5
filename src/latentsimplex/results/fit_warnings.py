"""Warnings at the end of a fit: views that are constant, and clusters without evidence."""

from __future__ import annotations

from latentsimplex.base.wording import warn_user
from latentsimplex.known.findings import KnownFindings
from latentsimplex.results.results import Results

MOST_NAMED = 10
"""Constant views that a warning names."""


def warn_of_weak_results(results: Results, least: int) -> None:
    """Warn, on behalf of whoever called fit, of constant views and of a least number of clusters without evidence."""
    warn_of_constant_views(results)
    warn_of_no_evidence(results, least)
    if results.known is not None:
        warn_of_full_labels(results.known)


def warn_of_constant_views(results: Results) -> None:
    """Warn once of all constant views, by name, on behalf of whoever called fit."""
    names = results.view_names[results.initial_view_patterns == -1].astype(str).tolist()
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        warn_user(
            f"{len(names)} of {results.n_views} views are constant, have no clusters and are excluded: "
            f"{', '.join(names[:MOST_NAMED])}{more}.",
        )


def warn_of_unused_losses(results: Results) -> None:
    """Warn, on behalf of whoever called fit, of joint losses that joined nothing: the views show no clusters."""
    if results.n_clusters.max() == 1:
        warn_user(
            "The views show no clusters, so that losses= had no memberships to join: min_clusters=2 asks for some.",
        )


def warn_of_full_labels(known: KnownFindings) -> None:
    """Warn, on behalf of whoever called fit, of a class for each sample: y was ignored once, and is used now."""
    if len(known.classes) and (known.labels >= 0).all():
        warn_user(
            f"y has a class for each of the {len(known.labels)} samples, and the fit uses them: leave it out for "
            "clusters of the views alone, or give -1 where a class is unknown.",
        )


def warn_of_no_evidence(results: Results, least: int) -> None:
    """Warn, on behalf of whoever called fit, of clusters that were asked for and that nothing speaks for."""
    if least == 1:
        return
    clustered = results.n_clusters[results.n_clusters > 1]
    if not len(clustered) or clustered.min() < least:
        said = (
            f"min_clusters={least} was asked for, and the samples are too few or too much alike for so many."
        )
    elif not any(map(len, results.evidence)):  # it was not measured
        if results.stages[0].evidence != 0:
            return
        said = f"There is no evidence for clusters: min_clusters={least} was asked for, and a free search finds none."
    elif all(len(own) < least or own[least - 1] <= 0 for own in results.evidence):
        has_fewer = any((own > 0).any() for own in results.evidence)
        clusters = "so many clusters" if has_fewer else "clusters"
        said = f"There is no evidence for {clusters}: min_clusters={least} was asked for; evidence_ says "
        said += "for how many there is." if has_fewer else "what is against."
    else:
        return
    warn_user(said)
