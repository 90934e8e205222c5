"""A summary in a few lines, for a terminal."""

from __future__ import annotations

from typing import Any

from latentsimplex.base.wording import count_noun
from latentsimplex.report.wording import number, percent, probability

MAX_PATTERNS = 20


def describe(summary: dict[str, Any]) -> str:
    """Return what :func:`latentsimplex.report.summarise` found, as a few lines of plain text.

    Names from the data are left out: in a terminal they could be anything, control sequences included.
    """
    head, consensus = summary["headline"], summary["consensus"]
    patterns = [_pattern(pattern, head["threshold"]) for pattern in summary["patterns"][:MAX_PATTERNS]]
    if len(summary["patterns"]) > MAX_PATTERNS:
        patterns.append(f"and {count_noun(len(summary['patterns']) - MAX_PATTERNS, 'lighter pattern')}")
    course = "converged after" if head["converged"] else "did not converge in"
    return "\n".join(
        [
            f"{count_noun(head['n_samples'], 'sample')} in {count_noun(head['n_views'], 'view')}, "
            f"{count_noun(head['n_patterns'], 'pattern')}",
            *_columns(summary["columns"]),
            *_presence(summary["presence"]),
            *patterns,
            *_known(summary["known"]),
            f"consensus: {count_noun(consensus['n_clusters'], 'cluster')} from "
            f"{count_noun(consensus['n_included'], 'view')}, {count_noun(consensus['n_excluded'], 'view')} excluded",
            f"EM {course} {count_noun(head['n_iter'], 'iteration')}, loss {number(summary['course']['loss'])}; "
            f"{_stability(head)}",
        ]
    )


def _columns(columns: dict[str, Any] | None) -> list[str]:
    if columns is None:
        return []
    found = (
        f"{count_noun(len(columns['views']), 'view')} found in {count_noun(columns['n_columns'], 'column')}"
    )
    return [f"{found}, {columns['n_noise']:,} of them in none"]


def _presence(presence: dict[str, Any] | None) -> list[str]:
    if presence is None:
        return []
    whole = count_noun(presence["n_whole"], "sample")
    return [
        f"{percent(presence['share'])} of samples are absent from a view on average, {whole} in all views"
    ]


def _known(known: dict[str, Any] | None) -> list[str]:
    if known is None:
        return []
    of = "no pattern" if known["pattern"] is None else f"pattern {known['pattern']}"
    return [
        f"{count_noun(known['n_labels'], 'label')} and {count_noun(known['n_links'], 'link')} speak of {of} "
        f"(probability {probability(known['probability'])}), {known['n_wrong']} of them probably wrong"
    ]


def _pattern(pattern: dict[str, Any], threshold: float) -> str:
    line = (
        f"pattern {pattern['index']}: {count_noun(pattern['n_views'], 'view')}, "
        f"weight {probability(pattern['weight'])}, {count_noun(pattern['n_clusters'], 'cluster')}"
    )
    if pattern["n_clusters"] == 1:
        return line
    return (
        f"{line}, mean probability of the assigned one {probability(pattern['probability'])}, "
        f"{percent(pattern['unsure'])} of samples below {threshold}"
    )


def _stability(head: dict[str, Any]) -> str:
    if head["n_starts"] == 1:
        return "a single start"
    others = count_noun(head["n_starts"] - 1, "other start")
    return f"{head['n_alike']} of {others} clustered alike, mean NMI {probability(head['start_agreement'])}"
