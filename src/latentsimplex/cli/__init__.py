"""The command line: thin, and quick to start, because commands import data, drawing and experiments late."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex._version import __version__
from latentsimplex.base.table import Table
from latentsimplex.base.wording import count_noun
from latentsimplex.cli import compile_loops, data, fit, predict
from latentsimplex.cli.errors import Commands, check_folder, one_line, written_folder
from latentsimplex.cli.values import COUNT, FILE
from latentsimplex.estimator import LatentSimplexPosition, load


class ExperimentName(click.ParamType):
    """The name of an experiment; experiments are imported only to check it."""

    name = "experiment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name if there is such an experiment."""
        from latentsimplex.experiments import EXPERIMENTS

        return click.Choice(list(EXPERIMENTS)).convert(value, param, ctx)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="latentsimplex COMMAND --help says more about a command.",
)
@click.version_option(__version__, prog_name="latentsimplex")
def main() -> None:
    """Multi-view clustering that says how sure it is.

    \b
    Cluster samples that several tables describe; fit/report.html is about it:
      latentsimplex fit blood.csv urine.csv
    Take each column of a table, such as a gene, as a view:
      latentsimplex fit expression.csv --views columns
    Try it with data that come along:
      latentsimplex data digits
      latentsimplex fit digits.npz
    """


main.add_command(compile_loops.compile_loops)
main.add_command(data.data)
main.add_command(fit.fit)
main.add_command(predict.predict)


class ListingExperiments(click.Command):
    """A command whose help ends with a list of the experiments there are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and what they stand for."""
        from latentsimplex.experiments import EXPERIMENTS

        with formatter.section("Experiments"):
            formatter.write_dl([(name, each.summary) for name, each in EXPERIMENTS.items()])


@main.command(cls=ListingExperiments)
@click.argument("name", type=ExperimentName(), metavar="NAME")
@click.option(
    "--seeds", type=COUNT, default=3, metavar="N", help="How many seeds; means over them are reported."
)
@click.option(
    "--samples",
    type=click.IntRange(min=20),
    metavar="N",
    help="Samples per data set; the paper's number unless given.",
)
@click.option(
    "--views",
    type=COUNT,
    metavar="N",
    help="Views or genes, for views-50k, brain and leukaemia; the paper's number unless given.",
)
@click.option("--data", type=FILE, help="The folder or file that the data are in, for brain.")
@click.option(
    "--out", type=FILE, default="results", metavar="FOLDER", help="Where to write tables and figures."
)
def reproduce(
    name: str, seeds: int, samples: int | None, views: int | None, data: Path | None, out: Path
) -> None:
    """Repeat one of the paper's experiments.

    NAME is one of the experiments below. Tables are printed beside the paper's values, and written with figures
    as CSV and PNG.
    """
    from latentsimplex.experiments import EXPERIMENTS

    options = _taken(name, {"n_views": views, "data": data})
    with one_line(OSError, ValueError):
        check_folder(out)
        result = EXPERIMENTS[name].run(
            seeds, out, lambda line: click.echo(line, err=True), n_samples=samples, **options
        )
    for title, table in result.tables.items():
        click.echo(f"\n{title}\n{table.to_text()}")
    for line in ("", *result.notes):
        click.echo(line)
    tables, figures = count_noun(len(result.tables), "table"), count_noun(len(result.figures), "figure")
    click.echo(f"Written to {out}: {tables} (CSV) and {figures} (PNG).")


@main.command()
@click.option("--out", type=FILE, default="demo", metavar="FOLDER", help="Where to write.")
def demo(out: Path) -> None:
    """Fit 2,000 bundled handwritten digits in six views.

    Writes the model, the labels and a report, and says how well the digits were found.
    """
    from latentsimplex.datasets import load_digits
    from latentsimplex.report import describe, summarise

    digits = load_digits()
    with written_folder(out, last="digits.model") as part:
        click.echo(
            f"Fitting {len(digits.labels):,} handwritten digits in {len(digits.views)} views.", err=True
        )
        model = LatentSimplexPosition(n_clusters=12, random_state=0, verbose=sys.stderr.isatty())
        model.fit(digits.views)
        labels = {"sample": np.arange(len(digits.labels)), "digit": digits.labels, "consensus": model.labels_}
        by_view = dict(zip(model.view_names_in_, model.view_labels_, strict=True))
        model.save(part / "digits.model")
        Table({**labels, **by_view}).to_csv(part / "labels.csv")
        model.report(part / "report.html", digits.views)
    click.echo(describe(summarise(model)))
    score = normalized_mutual_info_score(digits.labels, model.labels_)
    click.echo(f"NMI of the consensus with the true digits: {score:.3f}")
    click.echo(f"Model: {out / 'digits.model'}\nLabels: {out / 'labels.csv'}\nReport: {out / 'report.html'}")


@main.command()
@click.argument("model", type=FILE)
@click.option("--out", type=FILE, help="Where to write the page; MODEL with .html unless given.")
def report(model: Path, out: Path | None) -> None:
    """Write an HTML page about a fitted model.

    MODEL is a file that fit or LatentSimplexPosition.save wrote. The page needs no network and no other files.
    A model holds no more of the data than places new samples: what the page of fit shows of them is not on this one.
    """
    fitted = _loaded(model)
    out = model.with_name(f"{model.name}.html") if out is None else out
    with one_line(OSError):
        fitted.report(out)
    click.echo(f"Report: {out}")


@main.command()
@click.argument("model", type=FILE)
def info(model: Path) -> None:
    """Say what a fitted model found.

    MODEL is a file that fit or LatentSimplexPosition.save wrote. It also says whether rows of the data are in the
    file, and lists the settings.
    """
    from latentsimplex.report import describe, summarise

    fitted = _loaded(model)
    summary = summarise(fitted)
    click.echo(describe(summary))
    click.echo(describe_kept(fitted))
    click.echo("settings:")
    for setting in summary["settings"]:
        click.echo(f"  {setting['name']}={setting['value']}")


def describe_kept(model: LatentSimplexPosition) -> str:
    """Return in a sentence whether rows of the data are in a model's file."""
    references = model.results_.references
    if references is None:
        return "The file holds no rows of the data, and places no new samples."
    n = model.n_samples_
    rows = "the rows of all" if len(references.rows) == n else f"rows of {len(references.rows):,} of the"
    return f"The file holds {rows} {n:,} samples, to place new ones; save(predict=False) leaves them out."


def _taken(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, or refuse one that the experiment does not take."""
    from latentsimplex.experiments import EXPERIMENTS

    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in EXPERIMENTS[name].options:
            takers = [other for other, experiment in EXPERIMENTS.items() if option in experiment.options]
            flag = f"--{option.removeprefix('n_')}"
            raise click.UsageError(f"{name} takes no {flag}: leave it out, or run {' or '.join(takers)}.")
    return given


def _loaded(path: Path) -> LatentSimplexPosition:
    with one_line(OSError, ValueError):
        return load(path)
