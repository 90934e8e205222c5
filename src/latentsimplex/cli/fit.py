"""``latentsimplex fit``: data files in; a model, tables and a report out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from latentsimplex.base.interruption import kept_on_interrupt
from latentsimplex.base.table import Table
from latentsimplex.cli.errors import INTERRUPTED, made_folder, on_interrupt, one_line, warnings_as_lines
from latentsimplex.cli.values import COUNT, DEVICE, FILE, MEMORY
from latentsimplex.estimator import LatentSimplexPosition
from latentsimplex.inputs.files import CONTAINERS, read_data
from latentsimplex.inputs.named_table import UnknownViews
from latentsimplex.results.containers import write_copy
from latentsimplex.results.tables import labels_table, memberships_table, view_labels_table, views_table
from latentsimplex.uncertainty.doubtful_samples import model_uncertainty

SIMILARITIES = ["auto", "local-scaling", "diffusion", "precomputed"]
WRITTEN = re.compile(
    r"fit\.(model|h5ad|h5mu)|report\.html|(labels|view_labels|views|uncertainty|memberships_pattern\d+)\.csv"
)
"""Names of the files that a fit may write."""
ENDING = b"\nCtrl-C: ending with the best result so far. Press it again to give up.\n"


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--views",
    default="whole",
    metavar="CUT",
    help="How one table is cut into views: whole (one view), columns (a view each), or a CSV file with a line of "
    "names and then, in each line, a column and its view. For .h5ad also layers, obsm, or a column of var.",
)
@click.option("--layer", metavar="NAME", help="The layer of an .h5ad to take in place of X.")
@click.option(
    "--clusters", type=COUNT, default=10, metavar="N", help="The most clusters that a pattern may have."
)
@click.option("--patterns", type=COUNT, default=10, metavar="N", help="The most patterns that there may be.")
@click.option(
    "--similarity",
    type=click.Choice(SIMILARITIES),
    default="auto",
    help="How a view becomes similarities of samples; precomputed if it holds them.",
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
    help="Where to write; files of the same names are replaced.",
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
    clusters: int,
    patterns: int,
    similarity: str,
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
    not, rows must be in the same order.

    \b
    The folder --out then holds
      fit.model        the model, for info, report and latentsimplex.load
      report.html      a page about what was found
      labels.csv       clusters of each sample: consensus, and in each pattern
      view_labels.csv  clusters of each sample in each view
      views.csv        pattern of each view, how sure that is, its weight
      memberships_pattern0.csv and so on
                       probabilities of the clusters of each sample
      uncertainty.csv  how sure the consensus is of each sample
      fit.h5ad or fit.h5mu
                       a copy of such an input with results in obs, obsm, uns

    Ctrl-C ends the fit early and writes the best result so far; a second one gives up. The exit status is 0 when
    all went well, 1 for bad data, 2 for wrong usage and 130 after Ctrl-C.
    """
    from latentsimplex.report import describe, summarise

    _check_kept(files, out)
    if similarity == "precomputed" and views != "whole":
        raise click.UsageError("--similarity precomputed takes similarities as they are: leave out --views.")
    with made_folder(out), on_interrupt("the fit had not ended, and nothing was written."):
        with one_line(OSError, ValueError, ImportError), warnings_as_lines():
            try:
                given = read_data(files, views, layer)
            except UnknownViews as error:
                raise click.UsageError(str(error)) from None
        model = LatentSimplexPosition(
            clusters,
            patterns,
            views=given.views,
            similarity=similarity,
            n_init=n_init,
            device=device,
            memory_limit=memory_limit,
            random_state=seed,
            verbose=shown == "lines" or (shown is None and sys.stderr.isatty()),
        )
        with (
            one_line(ValueError, ImportError, MemoryError),
            warnings_as_lines(),
            kept_on_interrupt(lambda: os.write(2, ENDING)) as pressed,
        ):
            model.fit(given.data)
    del given
    with on_interrupt(f"what is in {out} is incomplete."), one_line(OSError, ValueError, ImportError):
        paths = write_fit(model, out, files)
    if shown != "nothing":
        click.echo(describe(summarise(model)))
        for what, path in paths.items():
            click.echo(f"{what}: {path}")
    if pressed.is_set():
        click.echo("Interrupted: the fit ended early, and the best result so far was written.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def _check_kept(files: Sequence[Path], out: Path) -> None:
    """Refuse to write over the data."""
    for path in files:
        if path.resolve().parent == out.resolve() and WRITTEN.fullmatch(path.name):
            raise click.BadParameter(
                f"{str(path)!r} would be overwritten: choose another folder.", param_hint="'--out'"
            )


def write_fit(model: LatentSimplexPosition, folder: Path, files: Sequence[Path]) -> dict[str, Path]:
    """Write the model, its tables and its report into a folder, and return where each is.

    Where ``files`` is one AnnData or MuData, a copy of it with the results is written too.
    """
    for stale in folder.glob("memberships_pattern*.csv"):  # an earlier fit may have found more patterns
        stale.unlink()
    paths = {"Model": folder / "fit.model", "Report": folder / "report.html"}
    model.save(paths["Model"])
    model.report(paths["Report"])
    for what, (name, table) in tables_of(model).items():
        paths[what] = folder / name
        table.to_csv(paths[what])
    if len(files) == 1 and (kind := files[0].suffix.lower()) in CONTAINERS:
        paths["Data with results"] = folder / f"fit{kind}"
        write_copy(model, files[0], paths["Data with results"])
    return paths


def tables_of(model: LatentSimplexPosition) -> dict[str, tuple[str, Table]]:
    """Return the tables of a fit with the names of their files."""
    results = model.results_
    tables = {
        "Labels": ("labels.csv", labels_table(results)),
        "Labels by view": ("view_labels.csv", view_labels_table(results)),
        "Views": ("views.csv", views_table(results)),
        "Uncertainty": ("uncertainty.csv", model_uncertainty(results)),
    }
    for l in range(results.n_patterns):
        tables[f"Memberships, pattern {l}"] = (f"memberships_pattern{l}.csv", memberships_table(results, l))
    return tables
