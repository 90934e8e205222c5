"""The command line: thin, and quick to start, because each command imports what it needs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentsimplex._version import __version__
from latentsimplex.cli import data, fit
from latentsimplex.cli.errors import one_line

if TYPE_CHECKING:
    from latentsimplex.datasets import Digits
    from latentsimplex.estimator import LatentSimplexPosition

FILE = click.Path(path_type=Path)


class ExperimentName(click.ParamType):
    """The name of an experiment; experiments are imported only to check or to list it."""

    name = "experiment"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the names to choose from, for the help text."""
        return "{" + "|".join(self._names()) + "}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name if there is such an experiment."""
        return str(click.Choice(self._names()).convert(value, param, ctx))

    def _names(self) -> list[str]:
        from latentsimplex.experiments import EXPERIMENTS

        return list(EXPERIMENTS)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="latentsimplex")
def main() -> None:
    """Multi-view clustering that says how sure it is."""


main.add_command(data.data)
main.add_command(fit.fit)


@main.command()
@click.argument("name", type=ExperimentName())
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="How many seeds.")
@click.option(
    "--samples", type=click.IntRange(min=20), help="Samples per data set; the paper's number unless given."
)
@click.option(
    "--views",
    type=click.IntRange(min=1),
    help="Views, where an experiment can have any number; the paper's number unless given.",
)
@click.option("--data", type=FILE, help="The folder or file that the data are in, for brain.")
@click.option("--out", type=FILE, default="results", show_default=True, help="Folder for tables and figures.")
def reproduce(
    name: str, seeds: int, samples: int | None, views: int | None, data: Path | None, out: Path
) -> None:
    """Run one of the paper's experiments, print its tables and write them with their figures."""
    from latentsimplex.experiments import EXPERIMENTS
    from latentsimplex.report.words import count

    options = _taken(name, {"n_views": views, "data": data})
    with one_line(OSError, ValueError):
        result = EXPERIMENTS[name].run(
            seeds, out, lambda line: click.echo(line, err=True), n_samples=samples, **options
        )
    for title, table in result.tables.items():
        click.echo(f"\n{title}\n{table.to_text()}")
    for line in ("", *result.notes):
        click.echo(line)
    tables, figures = count(len(result.tables), "table"), count(len(result.figures), "figure")
    click.echo(f"Written to {out}: {tables} (CSV) and {figures} (PNG).")


@main.command()
@click.option(
    "--seeds", type=click.IntRange(min=1), help="How many seeds; 1 for a small page, 3 for a full one."
)
@click.option(
    "--size",
    type=click.Choice(["small", "full"]),
    default="small",
    show_default=True,
    help="A few samples, or the paper's numbers of them, which takes hours.",
)
@click.option(
    "--out",
    type=FILE,
    default="docs/results.md",
    show_default=True,
    help="The page, of which one section is written.",
)
def results(seeds: int | None, size: str, out: Path) -> None:
    """Measure what the paper's tables say and write it into a page, beside peers and ceilings."""
    from latentsimplex.experiments.results_page import write_page

    with one_line(OSError, ValueError):
        write_page(out, size, seeds, lambda line: click.echo(line, err=True))
    click.echo(f"Results, {size}: {out}")


@main.command()
@click.option("--out", type=FILE, default="demo", show_default=True, help="Folder for what is written.")
def demo(out: Path) -> None:
    """Fit the bundled handwritten digits in six views; write the model, the labels and a report."""
    from sklearn.metrics import normalized_mutual_info_score

    from latentsimplex.datasets import load_digits
    from latentsimplex.estimator import LatentSimplexPosition
    from latentsimplex.report import describe, summarise

    with one_line(OSError):
        out.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    click.echo(f"Fitting {len(digits.labels):,} handwritten digits in {len(digits.views)} views.", err=True)
    model = LatentSimplexPosition(n_clusters=12, random_state=0, verbose=True)
    model.fit(digits.views)
    with one_line(OSError):
        model.save(out / "digits.model")
        _write_labels(model, digits, out / "labels.csv")
        model.report(out / "report.html")
    click.echo(describe(summarise(model)))
    score = normalized_mutual_info_score(digits.labels, model.labels_)
    click.echo(f"NMI of the consensus with the true digits: {score:.3f}")
    click.echo(f"Model: {out / 'digits.model'}\nLabels: {out / 'labels.csv'}\nReport: {out / 'report.html'}")


@main.command()
@click.argument("model", type=FILE)
@click.option("--out", type=FILE, help="Where to write the page; MODEL with .html unless given.")
def report(model: Path, out: Path | None) -> None:
    """Write a self-contained HTML page about the fitted model in the file MODEL."""
    fitted = _loaded(model)
    out = model.with_name(f"{model.name}.html") if out is None else out
    with one_line(OSError):
        fitted.report(out)
    click.echo(f"Report: {out}")


@main.command()
@click.argument("model", type=FILE)
def info(model: Path) -> None:
    """Say in a few lines what the fitted model in the file MODEL found, and with which settings."""
    from latentsimplex.report import describe, summarise

    summary = summarise(_loaded(model))
    click.echo(describe(summary))
    click.echo("settings:")
    for setting in summary["settings"]:
        click.echo(f"  {setting['name']}={setting['value']}")


def _taken(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, or refuse one that the experiment does not take."""
    from latentsimplex.experiments import EXPERIMENTS

    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in EXPERIMENTS[name].options:
            takers = [other for other, experiment in EXPERIMENTS.items() if option in experiment.options]
            flag = f"--{option.removeprefix('n_')}"
            raise click.ClickException(f"{name} takes no {flag}: leave it out, or run {' or '.join(takers)}.")
    return given


def _loaded(path: Path) -> LatentSimplexPosition:
    from latentsimplex.io import load

    with one_line(OSError, ValueError):
        return load(path)


def _write_labels(model: LatentSimplexPosition, digits: Digits, path: Path) -> None:
    """Write a row per sample: its digit, its consensus cluster and its cluster in each view."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", "digit", "consensus", *model.view_names_in_])
        rows = zip(digits.labels, model.labels_, *model.view_labels_, strict=True)
        writer.writerows([i, *row] for i, row in enumerate(rows))
