"""Results as tables: labels of samples, memberships, views."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from typing import Any

import numpy as np

from latentsimplex.base.table import Table
from latentsimplex.results.results import Results

EVEN = 0.5
"""A link is taken as wrong where that is more probable than not."""


def labels_table(results: Results) -> Table:
    """Return a table with a row for each sample: its name, its consensus cluster, its cluster under each pattern.

    Clusters are joint labels, which near a border may differ from the largest membership. Where samples are absent
    from views, ``views`` says how many have each.
    """
    patterns = {f"pattern{l}": labels for l, labels in enumerate(results.pattern_labels)}
    counts = {} if results.present is None else {"views": results.present.sum(axis=0)}
    return Table({"sample": name_samples(results), "consensus": results.labels, **patterns, **counts})


def view_labels_table(results: Results) -> Table:
    """Return a table with a row for each sample: its name and its cluster in each view, a column per view."""
    columns = {"sample": name_samples(results)}
    for name, pattern in zip(results.view_names, results.view_patterns, strict=True):
        columns[_make_unique(str(name), columns)] = results.pattern_labels[pattern]
    return Table(columns)


def memberships_table(results: Results, pattern: int = 0) -> Table:
    """Return a table with a row for each sample: its name and the probability of each cluster of a pattern.

    Where samples are absent from all views of a pattern, ``placed`` says which are in one: others have its shares.
    """
    W = results.coassignment(pattern=pattern).factor
    placed = {} if results.placed is None else {"placed": results.placed[pattern]}
    return Table({"sample": name_samples(results), **{f"cluster{k}": w for k, w in enumerate(W.T)}, **placed})


def presence_table(results: Results) -> Table:
    """Return a table with a row for each sample: its name and whether each view has it, a column per view."""
    columns = {"sample": name_samples(results)}
    for v, name in enumerate(results.view_names):
        everyone = np.ones(results.n_samples, dtype=bool)
        columns[_make_unique(str(name), columns)] = (
            everyone if results.present is None else results.present[v]
        )
    return Table(columns)


def views_table(results: Results) -> Table:
    """Return a table with a row for each view: its pattern, the probability of that, and its part in the consensus.

    Where samples are absent from views, ``samples`` says how many each has.
    """
    weights = results.consensus.weights
    counts = {} if results.present is None else {"samples": results.present.sum(axis=1)}
    return Table(
        {
            "view": results.view_names,
            "pattern": results.view_patterns,
            "responsibility": results.view_responsibilities[np.arange(len(weights)), results.view_patterns],
            "consensus_weight": weights,
            "excluded": weights == 0,
            **counts,
        }
    )


def columns_table(results: Results) -> Table:
    """Return a table with a row for each column of a table that views were found in: its view, -1 for noise, its gain.

    The gain is what the clusters of the view explain of the column beyond chance, in nats; of noise, those of the view
    that explain most of it, and no number where no view was found.
    """
    found = results.found_columns
    if found is None:
        raise ValueError(
            'The views of this model were given, not found: fit one table with views="discover" to have its columns '
            "grouped."
        )
    names = np.arange(len(found.views)) if results.feature_names is None else results.feature_names
    return Table({"column": names, "view": found.views, "gain": found.best_gains})


def evidence_table(results: Results) -> Table:
    """Return a table with a row for each pattern and number of clusters: its evidence, in nats per sample."""
    numbers = [np.arange(1, len(own) + 1) for own in results.evidence]
    return Table(
        {
            "pattern": np.repeat(np.arange(len(numbers)), [len(own) for own in numbers]),
            "clusters": np.concatenate(numbers),
            "evidence": np.concatenate(results.evidence),
            "taken": np.concatenate(
                [k == W.shape[1] for k, W in zip(numbers, results.memberships, strict=True)]
            ),
        }
    )


def doubts_table(results: Results) -> Table:
    """Return a table with a row for each label and link, those that are probably wrong first.

    ``kind`` is "label", "must-link" or "cannot-link"; ``given`` and ``found`` are classes of a label, and whether the
    samples of a link are together.
    """
    known, names = results.known, name_samples(results)
    if known is None:
        raise ValueError(
            "The fit was given neither labels nor links: give y, must_link or cannot_link to fit."
        )
    labelled = np.flatnonzero(known.labels >= 0)
    relation, kinds = np.array(["apart", "together"]), np.array(["cannot-link", "must-link"])
    found = known.together ^ (known.link_doubts > EVEN)
    classes = known.classes.astype(str)
    table = Table(
        {
            "kind": np.concatenate([np.full(len(labelled), "label"), kinds[known.together.astype(int)]]),
            "sample": np.concatenate([names[labelled], names[known.links[:, 0]]]),
            "other": np.concatenate([np.full(len(labelled), None, dtype=object), names[known.links[:, 1]]]),
            "given": np.concatenate([classes[known.labels[labelled]], relation[known.together.astype(int)]]),
            "found": np.concatenate([classes[known.predicted[labelled]], relation[found.astype(int)]]),
            "probability_wrong": np.concatenate([known.label_doubts[labelled], known.link_doubts]),
        }
    )
    return table.rows(np.argsort(-table["probability_wrong"], kind="stable"))


def name_samples(results: Results) -> np.ndarray:
    """Return the names of the samples, or their numbers where the data had no names."""
    return np.arange(results.n_samples) if results.sample_names is None else results.sample_names


def _make_unique(name: str, columns: Mapping[str, Any]) -> str:
    """Return a name for a column that no other has, with a number behind it where views share a name."""
    numbered = (f"{name}.{k}" for k in count(1))
    return next(each for each in chain([name], numbered) if each not in columns)
