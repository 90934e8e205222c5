"""``latentsimplex predict``: a model and files of new samples in; their clusters and memberships out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from latentsimplex.base.table import Table
from latentsimplex.base.wording import count_noun
from latentsimplex.cli.errors import check_kept, one_line, warnings_as_lines, written_folder
from latentsimplex.cli.values import FILE, column_options
from latentsimplex.estimator import load
from latentsimplex.files.data_files import read_data
from latentsimplex.inputs.column_roles import ColumnRoles
from latentsimplex.inputs.named_table import UnknownViews
from latentsimplex.prediction import (
    Prediction,
    is_of_one_table,
    join_of_new_samples,
    predict_samples,
    prediction_table,
)
from latentsimplex.results.results import Results

LABELS = "predicted_labels.csv"
WRITTEN = re.compile(r"(predicted_labels|predicted_memberships_pattern\d+)\.csv")
"""Names of the files that a prediction may write."""
MOST_NAMED = 10
"""Views that an error names."""


@click.command()
@click.argument("model", type=FILE)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--views",
    default="whole",
    metavar="CUT",
    help="How an .h5ad is cut into views, as it was for fit: layers, obsm, or a column of var. Other cuts are known.",
)
@click.option("--layer", metavar="NAME", help="The layer of an .h5ad to take in place of X.")
@click.option("--index", metavar="COLUMN", help="The column that names the samples; see fit.")
@column_options
@click.option(
    "--out",
    type=FILE,
    default="predicted",
    metavar="FOLDER",
    help="Where to write; what an earlier prediction wrote there is replaced.",
)
def predict(
    model: Path,
    files: tuple[Path, ...],
    views: str,
    layer: str | None,
    index: str | None,
    no_index: bool,
    drop: tuple[str, ...],
    out: Path,
) -> None:
    """Place new samples in the clusters of a fitted model.

    MODEL is a file that fit or LatentSimplexPosition.save wrote. FILE is one table, or one for each view, of the kinds
    that fit reads. Several files are matched to the views of the model by their names (blood.csv is the view blood),
    and a view without a file is one that the new samples lack. Columns are matched by name. After a fit with --join a
    file may lack some samples, which are placed by the others.

    \b
    The folder --out then holds
      predicted_labels.csv  cluster of each new sample: consensus, and in each
                            pattern; unlike is 1 for one unlike all samples of
                            the fit, whose memberships are no confident guess
      predicted_memberships_pattern0.csv and so on
                            probabilities of the clusters of each new sample
    """
    if no_index and index is not None:
        raise click.UsageError("--index and --no-index exclude each other: leave out one of them.")
    check_kept(files, out, WRITTEN)
    with one_line(OSError, ValueError):
        fitted = load(model)
    results = fitted.results_
    with written_folder(out, WRITTEN.fullmatch) as part:
        with one_line(OSError, ValueError, ImportError, MemoryError), warnings_as_lines():
            roles = ColumnRoles(index, no_index, drop)
            missing, join = results.settings.get("missing", "raise"), join_of_new_samples(results)
            try:
                given = read_data(files, views, layer, roles, missing=missing, join=join)
            except UnknownViews as error:
                raise click.UsageError(str(error)) from None
            found = predict_samples(results, match_views(given.data, results), fitted.n_jobs)
        tables = predicted_tables(found)
        for name, table in tables.items():
            table.to_csv(part / name)
    n_unlike = int(found.consensus_unlike.sum())
    click.echo(f"{count_noun(len(found.labels), 'new sample')}, {n_unlike:,} unlike all samples of the fit")
    for name in tables:
        click.echo(f"{'Labels' if name == LABELS else 'Memberships'}: {out / name}")


def match_views(data: Any, results: Results) -> Any:
    """Return tables by view, or raise ValueError for one of no view; one table needs no name where the fit had one."""
    views = [str(name) for name in results.view_names]
    if not isinstance(data, dict) or set(data) <= set(views):
        return data
    if len(data) == 1 and is_of_one_table(results):
        return next(iter(data.values()))
    strange = next(name for name in data if name not in views)
    more = f" and {len(views) - MOST_NAMED} more" if len(views) > MOST_NAMED else ""
    raise ValueError(
        f"{strange!r} is the name of no view of the model, whose views are "
        f"{', '.join(map(repr, views[:MOST_NAMED]))}{more}: give each file the name of its view."
    )


def predicted_tables(found: Prediction) -> dict[str, Table]:
    """Return tables of new samples with the names of their files."""
    tables = {LABELS: prediction_table(found)}
    names = tables[LABELS]["sample"]
    for l, W in enumerate(found.memberships):
        clusters = {f"cluster{k}": w for k, w in enumerate(W.T)}
        far = found.unlike[l].astype(int)
        tables[f"predicted_memberships_pattern{l}.csv"] = Table({"sample": names, **clusters, "unlike": far})
    return tables
