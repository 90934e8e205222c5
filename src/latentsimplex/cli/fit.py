"""``latentsimplex fit``: data files in; a model, tables and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from latentsimplex.cli.errors import INTERRUPTED, on_interrupt, one_line, warnings_as_lines

if TYPE_CHECKING:
    from latentsimplex.estimator import LatentSimplexPosition

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
SIMILARITIES = ["auto", "local-scaling", "diffusion", "precomputed"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--views",
    default="whole",
    show_default=True,
    help="How one table is cut into views: whole, columns, or a CSV file that gives for each column its view; "
    "for .h5ad also layers, obsm or the name of a column of var.",
)
@click.option("--clusters", type=COUNT, default=10, show_default=True, help="At most so many in a pattern.")
@click.option("--patterns", type=COUNT, default=10, show_default=True, help="At most so many.")
@click.option(
    "--similarity",
    type=click.Choice(SIMILARITIES),
    default="auto",
    show_default=True,
    help="How a view becomes similarities; precomputed if it holds them.",
)
@click.option("--n-init", type=COUNT, default=3, show_default=True, help="Starts; the best is kept.")
@click.option("--device", default="cpu", show_default=True, help="Where to compute: cpu, or cuda.")
@click.option("--memory-limit", metavar="SIZE", help="Like 2GB; half of what is free unless given.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes the answer.")
@click.option("--out", type=FILE, default="fit", show_default=True, help="Folder for what is written.")
@click.option("--quiet", is_flag=True, help="Show no progress and no summary.")
def fit(
    files: tuple[Path, ...],
    views: str,
    clusters: int,
    patterns: int,
    similarity: str,
    n_init: int,
    device: str,
    memory_limit: str | None,
    seed: int,
    out: Path,
    quiet: bool,
) -> None:
    """Fit the model to data in files; write it with tables of what it found and a report.

    FILE is a table with a row for each sample (.csv, .tsv, .parquet), NumPy arrays (.npy, .npz), an AnnData (.h5ad)
    or a MuData (.h5mu). Several files are a view each.
    """
    from latentsimplex.estimator import LatentSimplexPosition
    from latentsimplex.files import read_data
    from latentsimplex.interruption import kept_on_interrupt
    from latentsimplex.report import describe, summarise

    with on_interrupt("the fit had not ended, and nothing was written."):
        with one_line(OSError, ValueError, ImportError), warnings_as_lines():
            out.mkdir(parents=True, exist_ok=True)
            given = read_data(files, views)
        model = LatentSimplexPosition(
            clusters,
            patterns,
            views=given.views,
            similarity=similarity,
            n_init=n_init,
            device=device,
            memory_limit=memory_limit,
            random_state=seed,
            verbose=not quiet,
        )
        with (
            one_line(ValueError, ImportError, MemoryError),
            warnings_as_lines(),
            kept_on_interrupt() as pressed,
        ):
            model.fit(given.data)
    with on_interrupt(f"what is in {out} is incomplete."), one_line(OSError):
        paths = write_fit(model, out)
    if not quiet:
        click.echo(describe(summarise(model)))
        for what, path in paths.items():
            click.echo(f"{what}: {path}")
    if pressed.is_set():
        click.echo("Interrupted: the fit ended early, and the best result so far was written.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def write_fit(model: LatentSimplexPosition, folder: Path) -> dict[str, Path]:
    """Write the model, its tables and its report into a folder, and return where each is."""
    from latentsimplex.frames import labels_table, memberships_table, views_table
    from latentsimplex.uncertainty import model_uncertainty

    tables = {
        "Labels": ("labels.csv", labels_table(model)),
        "Views": ("views.csv", views_table(model)),
        "Uncertainty": ("uncertainty.csv", model_uncertainty(model)),
    }
    for l in range(model.n_patterns_):
        tables[f"Memberships, pattern {l}"] = (f"memberships_pattern{l}.csv", memberships_table(model, l))
    for stale in folder.glob("memberships_pattern*.csv"):  # an earlier fit may have found more patterns
        stale.unlink()
    paths = {"Model": folder / "fit.model", "Report": folder / "report.html"}
    model.save(paths["Model"])
    model.report(paths["Report"])
    for what, (name, table) in tables.items():
        paths[what] = folder / name
        table.to_csv(paths[what])
    return paths
