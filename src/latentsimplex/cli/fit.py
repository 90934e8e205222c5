"""``latentsimplex fit``: data files in; a model, tables and a report out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from latentsimplex.analysis.cluster_features import describe_clusters
from latentsimplex.base.interruption import INTERRUPTED, kept_on_interrupt
from latentsimplex.base.table import Table
from latentsimplex.cli.errors import check_kept, on_interrupt, one_line, warnings_as_lines, written_folder
from latentsimplex.cli.values import COUNT, DEVICE, FILE, MEMORY, column_options
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.files.data_files import CONTAINERS, list_samples, read_data
from latentsimplex.inputs.column_roles import ColumnRoles
from latentsimplex.inputs.named_table import JOINS, UnknownViews
from latentsimplex.known.known_files import read_labels_file, read_links_file
from latentsimplex.pairs.memory_budget import read_memory_limit
from latentsimplex.results.containers import write_copy
from latentsimplex.results.tables import (
    columns_table,
    doubts_table,
    labels_table,
    memberships_table,
    presence_table,
    view_labels_table,
    views_table,
)
from latentsimplex.uncertainty.doubtful_samples import model_uncertainty

SIMILARITIES = ["auto", "local-scaling", "diffusion", "precomputed"]
WRITTEN = re.compile(
    r"fit\.(model|h5ad|h5mu)|report\.html|(labels|view_labels|views|columns|presence|doubts|uncertainty|cluster_features|memberships_pattern\d+)\.csv"
)
"""Names of the files that a fit may write."""
ENDING = (
    b"\nInterrupted: ending with the best result so far, if there is one. Press Ctrl-C again to give up.\n"
)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--views",
    default="whole",
    metavar="CUT",
    help="How one table is cut into views: whole (one view), columns (a view each), discover (columns grouped by the "
    "clusters that they show together), or a CSV file with a line of names and then, in each line, a column and its "
    "view. For .h5ad also layers, obsm, or a column of var.",
)
@click.option("--layer", metavar="NAME", help="The layer of an .h5ad to take in place of X.")
@click.option(
    "--index",
    metavar="COLUMN",
    help="The column that names the samples, in .csv, .tsv and .parquet. Unless given it is the first one, if its name "
    "says so (id, sample, patient_id and so on) or if it holds text or a different whole number in each row.",
)
@column_options
@click.option(
    "--clusters",
    type=COUNT,
    metavar="N",
    help="The most clusters that a pattern may have; without it as many as there is evidence for (ten where there are "
    "more than twelve views).",
)
@click.option(
    "--min-clusters",
    type=COUNT,
    default=1,
    metavar="N",
    help="The fewest clusters where there are any; the same number as --clusters is exactly so many.",
)
@click.option("--patterns", type=COUNT, default=10, metavar="N", help="The most patterns that there may be.")
@click.option(
    "--similarity",
    type=click.Choice(SIMILARITIES),
    default="auto",
    help="How a view becomes similarities of samples; precomputed if it holds them.",
)
@click.option(
    "--missing",
    type=click.Choice(["raise", "pairwise"]),
    default="raise",
    help="Missing cells: refuse them, or compare samples on the columns that both have.",
)
@click.option(
    "--join",
    type=click.Choice(JOINS),
    default="strict",
    help="Named samples that not all views have: refuse them, keep the samples that all views have (inner), or keep "
    "all of them (outer).",
)
@click.option(
    "--checkpoint",
    type=FILE,
    metavar="FOLDER",
    help="Keep state in this folder; the same command, started again, goes on from it.",
)
@click.option(
    "--labels",
    metavar="FILE[:COLUMN]",
    help="Classes of some samples: a CSV file with a column of samples and one of classes, blank where unknown.",
)
@click.option(
    "--must-link",
    type=FILE,
    metavar="FILE",
    help="A CSV file with samples in each line that are in one cluster, below a line of column names.",
)
@click.option(
    "--cannot-link", type=FILE, metavar="FILE", help="The same of samples that are in different clusters."
)
@click.option("--n-init", type=COUNT, default=3, metavar="N", help="Starts of the search; the best is kept.")
@click.option(
    "--device",
    type=DEVICE,
    default="cpu",
    metavar="NAME",
    help="Where to compute: cpu, cuda (or cuda:1 and so on), mps or torch.",
)
@click.option(
    "--memory-limit", type=MEMORY, metavar="SIZE", help="Like 2GB; half of what is free unless given."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="The same seed gives the same answer."
)
@click.option(
    "--out",
    type=FILE,
    default="fit",
    metavar="FOLDER",
    help="Where to write; what an earlier fit wrote there is replaced.",
)
@click.option("--quiet", "shown", flag_value="nothing", help="Show no progress and no summary.")
@click.option(
    "--verbose",
    "shown",
    flag_value="lines",
    help="Show progress also where standard error is not a terminal, in a few lines.",
)
def fit(
    files: tuple[Path, ...],
    views: str,
    layer: str | None,
    index: str | None,
    no_index: bool,
    drop: tuple[str, ...],
    clusters: int | None,
    min_clusters: int,
    patterns: int,
    similarity: str,
    missing: str,
    join: str,
    checkpoint: Path | None,
    labels: str | None,
    must_link: Path | None,
    cannot_link: Path | None,
    n_init: int,
    device: str,
    memory_limit: str | None,
    seed: int,
    out: Path,
    shown: str | None,
) -> None:
    """Fit the model to data in files.

    FILE is a table with a row for each sample (.csv, .tsv, also with .gz; .parquet), NumPy arrays (.npy, .npz), an
    AnnData (.h5ad) or a MuData (.h5mu, a view for each modality).

    With several files, each is a view. Where they name their samples, rows are matched by name; where they do
    not, rows must be in the same order. Columns may stand between commas, tabs or semicolons, and between
    semicolons numbers may have decimal commas.

    \b
    The folder --out then holds
      fit.model        the model, for info, report and latentsimplex.load
      report.html      a page about what was found
      labels.csv       clusters of each sample: consensus, and in each pattern
      view_labels.csv  clusters of each sample in each view
      views.csv        pattern of each view, how sure that is, its weight
      memberships_pattern0.csv and so on
                       probabilities of the clusters of each sample
      columns.csv      which view each column is in (--views discover)
      presence.csv     which views have each sample (--join outer)
      doubts.csv       labels and links, those that are probably wrong first
                       (--labels, --must-link, --cannot-link)
      uncertainty.csv  how sure the consensus is of each sample
      cluster_features.csv
                       means of each feature inside and outside of each cluster
                       of the consensus, effect sizes, the largest first
      fit.h5ad or fit.h5mu
                       a copy of such an input with results in obs, obsm, uns

    Ctrl-C or SIGTERM ends the fit early and writes the best result so far; a second one gives up. With --checkpoint
    the same command goes on from there, and also after the process was killed. The exit status
    is 0 when all went well, 1 for bad data, 2 for wrong usage and 130 after Ctrl-C or SIGTERM.
    """
    from latentsimplex.report import describe, summarise

    check_kept(files, out, WRITTEN)
    if similarity == "precomputed" and views != "whole":
        raise click.UsageError("--similarity precomputed takes similarities as they are: leave out --views.")
    if no_index and index is not None:
        raise click.UsageError("--index and --no-index exclude each other: leave out one of them.")
    goes_on = "" if checkpoint is None else " The same command goes on from the checkpoint."
    with (
        on_interrupt(f"the fit had not ended, and nothing was written.{goes_on}"),
        written_folder(out, WRITTEN.fullmatch, last="fit.model") as part,
    ):
        with one_line(OSError, ValueError, ImportError, MemoryError), warnings_as_lines():
            roles = ColumnRoles(index, no_index, drop)
            try:
                given = read_data(files, views, layer, roles, read_memory_limit(memory_limit), missing, join)
            except UnknownViews as error:
                raise click.UsageError(str(error)) from None
            samples = list_samples(given.data)
            known = {
                "y": None if labels is None else read_labels_file(labels, samples),
                "must_link": None if must_link is None else read_links_file(must_link, samples),
                "cannot_link": None if cannot_link is None else read_links_file(cannot_link, samples),
            }
        model = LatentSimplexPosition(
            clusters or "auto",
            patterns,
            min_clusters=min_clusters,
            views=given.views,
            missing=missing,
            join=join,
            checkpoint=checkpoint,
            similarity=similarity,
            n_init=n_init,
            device=device,
            memory_limit=memory_limit,
            random_state=seed,
            verbose=shown == "lines" or (shown is None and sys.stderr.isatty()),
        )
        with (
            one_line(OSError, ValueError, ImportError, MemoryError),
            warnings_as_lines(),
            kept_on_interrupt(lambda: os.write(2, ENDING)) as pressed,
        ):
            model.fit(given.data, **known)
        with one_line(ValueError, ImportError):
            names = write_fit(model, part, files, None if similarity == "precomputed" else given.data)
    if shown != "nothing":
        click.echo(describe(summarise(model)))
        for what, name in names.items():
            click.echo(f"{what}: {out / name}")
    if pressed.is_set():
        click.echo(
            f"Interrupted: the fit ended early, and the best result so far was written.{goes_on}", err=True
        )
        raise click.exceptions.Exit(INTERRUPTED)


def write_fit(model: LatentSimplexPosition, folder: Path, files: Sequence[Path], data: Any) -> dict[str, str]:
    """Write the model, its tables and its report into a folder, and return what each file is called.

    ``data`` are those of the fit, or None where they are similarities, which have no features.
    Where ``files`` is one AnnData or MuData, a copy of it with the results is written too.
    """
    names = {"Model": "fit.model", "Report": "report.html"}
    model.save(folder / names["Model"])
    model.report(folder / names["Report"], data)
    for what, (name, table) in tables_of(model, data).items():
        names[what] = name
        table.to_csv(folder / name)
    if len(files) == 1 and (kind := files[0].suffix.lower()) in CONTAINERS:
        names["Data with results"] = f"fit{kind}"
        write_copy(model, files[0], folder / names["Data with results"])
    return names


def tables_of(model: LatentSimplexPosition, data: Any) -> dict[str, tuple[str, Table]]:
    """Return the tables of a fit with the names of their files."""
    results = model.results_
    tables = {
        "Labels": ("labels.csv", labels_table(results)),
        "Labels by view": ("view_labels.csv", view_labels_table(results)),
        "Views": ("views.csv", views_table(results)),
        "Uncertainty": ("uncertainty.csv", model_uncertainty(results)),
    }
    if results.found_columns is not None:
        tables["Columns"] = ("columns.csv", columns_table(results))
    if results.known is not None:
        tables["Doubts"] = ("doubts.csv", doubts_table(results))
    if results.present is not None:
        tables["Presence"] = ("presence.csv", presence_table(results))
    if data is not None:
        tables["Features of clusters"] = ("cluster_features.csv", describe_clusters(results, data))
    for l in range(results.n_patterns):
        tables[f"Memberships, pattern {l}"] = (f"memberships_pattern{l}.csv", memberships_table(results, l))
    return tables
