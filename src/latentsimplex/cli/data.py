"""``latentsimplex data``: lists the bundled data, or writes them as files that other programs can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from latentsimplex.base.table import Table
from latentsimplex.cli.errors import written_folder
from latentsimplex.cli.values import FILE

NAMES = ["digits", "fruit", "leukaemia", "stick-figures"]


@click.command()
@click.argument("name", type=click.Choice(NAMES), required=False)
@click.option("--out", type=FILE, default=".", metavar="FOLDER", help="Where to write.")
def data(name: str | None, out: Path) -> None:
    """List the bundled data, or write some of them.

    Without a name the data are listed. With one they are written into files that fit reads, and what is known of
    the samples, such as their classes, into another.
    """
    if name is None:
        for each in NAMES:
            click.echo(f"{each}: {_load(each).description}")
        return
    found, genes = _load(name), name == "leukaemia"
    views, truth = f"{name}.{'csv' if genes else 'npz'}", f"{name}_truth.csv"
    with written_folder(out) as part:
        if genes:
            columns = dict(zip(found.genes, found.expression.T, strict=True))
            Table({"sample": found.samples, **columns}).to_csv(part / views)
            Table({"sample": found.samples, **found.covariates}).to_csv(part / truth)
        else:
            np.savez_compressed(part / views, **found.views)
            labels = np.atleast_2d(found.labels)
            names = ["digit"] if name == "digits" else found.label_names
            classes = dict(zip(names, labels, strict=True))
            Table({"sample": np.arange(labels.shape[1]), **classes}).to_csv(part / truth)
    click.echo(f"{found.description}\nViews: {out / views}\nTruth: {out / truth}")
    click.echo(f"To fit them: latentsimplex fit {out / views}{' --views columns' if genes else ''}")


def _load(name: str) -> Any:
    from latentsimplex import datasets

    return getattr(datasets, f"load_{name.replace('-', '_')}")()
