"""``latentsimplex data``: the data that travel with the package, listed, or written where other programs read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from latentsimplex.cli.errors import made_folder, one_line

if TYPE_CHECKING:
    from latentsimplex.table import Table

NAMES = ["digits", "fruit", "leukaemia", "stick-figures"]


@click.command()
@click.argument("name", type=click.Choice(NAMES), required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=".",
    show_default=True,
    metavar="FOLDER",
    help="Where to write.",
)
def data(name: str | None, out: Path) -> None:
    """List the bundled data, or write some of them.

    Without a name the data are listed. With one they are written into files that fit reads, and what is known of
    the samples, such as their classes, into another.
    """
    if name is None:
        for each in NAMES:
            click.echo(f"{each}: {_load(each).description}")
        return
    found = _load(name)
    with made_folder(out), one_line(OSError):
        views, truth = out / f"{name}.{'csv' if name == 'leukaemia' else 'npz'}", out / f"{name}_truth.csv"
        if name == "leukaemia":
            _expression(found).to_csv(views)
        else:
            np.savez_compressed(views, **found.views)
        _truth(name, found).to_csv(truth)
    click.echo(f"{found.description}\nViews: {views}\nTruth: {truth}")
    columns = " --views columns" if name == "leukaemia" else ""
    click.echo(f"To fit them: latentsimplex fit {views}{columns}")


def _load(name: str) -> Any:
    from latentsimplex import datasets

    return getattr(datasets, f"load_{name.replace('-', '_')}")()


def _expression(leukaemia: Any) -> Table:
    """Return one row a patient, one column a gene."""
    from latentsimplex.table import Table

    genes = zip(leukaemia.genes, leukaemia.expression.T, strict=True)
    return Table({"sample": leukaemia.samples, **{str(gene): values for gene, values in genes}})


def _truth(name: str, found: Any) -> Table:
    """Return what is known of each sample: its classes, or a patient's covariates."""
    from latentsimplex.table import Table

    if name == "leukaemia":
        return Table({"sample": found.samples, **found.covariates})
    labels = (
        {"digit": found.labels}
        if name == "digits"
        else dict(zip(found.label_names, found.labels, strict=True))
    )
    return Table({"sample": np.arange(len(next(iter(labels.values())))), **labels})
