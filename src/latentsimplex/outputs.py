"""What a fitted model gives out: a file, a report, data frames of pandas or polars."""

from __future__ import annotations

import os
from typing import Any

from latentsimplex.base.libraries import make_frame
from latentsimplex.base.table import Table
from latentsimplex.results.results import Results, results_of
from latentsimplex.results.save_load import save_results
from latentsimplex.results.tables import (
    columns_table,
    doubts_table,
    evidence_table,
    labels_table,
    memberships_table,
    views_table,
)


class GivesOutputs:
    """The methods of a fitted estimator that write what was found, or return it as data frames."""

    results_: Results
    engine: Any

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle and copy keep: all but a client of a cluster, which belongs to one process."""
        state: Any = super().__getstate__()
        return state if isinstance(self.engine, str) else {**state, "engine": None}

    def save(self, path: str | os.PathLike[str], predict: bool = True) -> None:
        """Write the fitted model to one file, without pickle; :func:`latentsimplex.load` reads it.

        What places new samples is kept too, rows of the data among it; ``predict=False`` leaves it out.
        """
        save_results(results_of(self), path, predict)

    def report(self, path: str | os.PathLike[str], data: Any = None) -> None:
        """Write a self-contained HTML page about the fit.

        With ``data``, as given to ``fit``, it also has a scatter plot and the features that set clusters apart.
        """
        from latentsimplex.report import write_report  # slow to import: it draws, and fills a template

        write_report(self, path, data)

    def describe_clusters(self, X: Any, pattern: int | None = None, backend: str | None = None) -> Any:
        """Return a frame of the features that set each cluster apart, with effect sizes, largest first.

        ``X`` is the data as given to ``fit``; ``pattern`` is a live pattern's index, None for the consensus. The
        columns are those of :func:`latentsimplex.analysis.describe_clusters`.
        """
        from latentsimplex.analysis import describe_clusters

        return self._make_frame(describe_clusters(self, X, pattern), backend)

    def labels_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each sample: its consensus cluster and its cluster under each pattern.

        These are joint labels, which near a border may differ from the largest membership (``pattern_labels_``).
        ``backend`` is "pandas" or "polars"; None is the library of the data's own frames or, where there were none
        and in a model from a file, the one that is installed, pandas where both are.
        """
        return self._make_frame(labels_table(results_of(self)), backend)

    def memberships_frame(self, pattern: int = 0, backend: str | None = None) -> Any:
        """Return a frame with a row for each sample: the probability of each cluster of a pattern.

        The cluster with the largest need not be the label of a sample near a border: see ``pattern_labels_``.
        """
        return self._make_frame(memberships_table(results_of(self), pattern), backend)

    def views_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each view: its pattern, how sure that is, and its part in the consensus."""
        return self._make_frame(views_table(results_of(self)), backend)

    def columns_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each column, of views found in a table: its view, -1 for noise, and its gain.

        The gain is what the clusters of the view explain of the column beyond chance, in nats; of noise, those of the
        view that explain most of it.
        """
        return self._make_frame(columns_table(results_of(self)), backend)

    def evidence_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each pattern and number of clusters: its evidence, in nats per sample."""
        return self._make_frame(evidence_table(results_of(self)), backend)

    def doubts_frame(self, backend: str | None = None) -> Any:
        """Return a frame with a row for each label and link given to ``fit``, those that are probably wrong first."""
        return self._make_frame(doubts_table(results_of(self)), backend)

    def _make_frame(self, table: Table, backend: str | None) -> Any:
        return make_frame(table, backend or self.results_.frame_library)
