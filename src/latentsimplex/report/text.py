"""A summary in a few lines, for a terminal."""

from __future__ import annotations

from typing import Any

from latentsimplex.report.words import count, number, percent, probability

MAX_PATTERNS = 20


def describe(summary: dict[str, Any]) -> str:
    """Return what :func:`latentsimplex.report.summarise` found, as a few lines of plain text.

    Names from the data are left out: in a terminal they could be anything, control sequences included.
    """
    head, consensus = summary["headline"], summary["consensus"]
    patterns = [_pattern(pattern, head["threshold"]) for pattern in summary["patterns"][:MAX_PATTERNS]]
    if len(summary["patterns"]) > MAX_PATTERNS:
        patterns.append(f"and {count(len(summary['patterns']) - MAX_PATTERNS, 'lighter pattern')}")
    course = "converged after" if head["converged"] else "did not converge in"
    return "\n".join(
        [
            f"{count(head['n_samples'], 'sample')} in {count(head['n_views'], 'view')}, "
            f"{count(head['n_patterns'], 'pattern')}",
            *patterns,
            f"consensus: {count(consensus['n_clusters'], 'cluster')} from {count(consensus['n_included'], 'view')}, "
            f"{count(consensus['n_excluded'], 'view')} excluded",
            f"EM {course} {count(head['n_iter'], 'iteration')}, loss {number(summary['course']['loss'])}; "
            f"{_stability(head)}",
        ]
    )


def _pattern(pattern: dict[str, Any], threshold: float) -> str:
    line = (
        f"pattern {pattern['index']}: {count(pattern['n_views'], 'view')}, "
        f"weight {probability(pattern['weight'])}, {count(pattern['n_clusters'], 'cluster')}"
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
    others = count(head["n_starts"] - 1, "other start")
    return f"{head['n_alike']} of {others} clustered alike, mean NMI {probability(head['start_agreement'])}"
