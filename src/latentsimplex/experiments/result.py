"""What an experiment is, what it measures over seeds, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from latentsimplex.base.atomic_files import whole_folder
from latentsimplex.base.checks import check_count
from latentsimplex.base.table import Table
from latentsimplex.plots import save

FILE_DIGITS = 6
"""Significant digits of numbers in files."""
AIM = "truth or ceiling"
"""What a perfect method would get, as a column and among the records."""

Record = dict[str, float]
"""Quantities measured with one seed."""
Progress = Callable[[str], None]
"""Called with a line about what is being computed."""


@dataclass(frozen=True)
class Result:
    """Tables by name, the figures' files, and what a reader should know about both."""

    tables: dict[str, Table]
    figures: list[Path]
    notes: list[str]


Run = Callable[..., Result]
"""An experiment's function, made by :func:`over_seeds`."""


@dataclass(frozen=True)
class Experiment:
    """One line about an experiment, the function that runs it, and the further keywords which that takes."""

    summary: str
    run: Run
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """What an experiment found: a :class:`Result` that is not yet written, and tables that are too long to be shown."""

    tables: dict[str, Table]
    figures: dict[str, Figure]
    notes: list[str]
    long_tables: dict[str, Table] = field(default_factory=dict)


def over_seeds(find: Callable[..., Findings]) -> Run:
    """Return the function that runs an experiment and writes what ``find(seeds, say, **options)`` returns."""

    def run(n_seeds: int, out: Path, progress: Progress | None = None, **options: Any) -> Result:
        """Run an experiment over seeds, and write tables as CSV and figures of the first seed as PNG.

        Parameters
        ----------
        n_seeds : int
            Repetitions, with seeds from 0. Data and model of one share theirs, so that it can be run alone.
        out : Path
            Folder for the files, made if missing.
        progress : callable or None
            Called with a line before each part.
        **options
            ``n_samples`` and what else the experiment takes; None is the paper's.

        Returns
        -------
        Result
        """
        given = {name: option for name, option in options.items() if option is not None}
        found = find(range(check_count("n_seeds", n_seeds)), progress or be_silent, **given)
        out = Path(out)
        with whole_folder(out) as part:
            for name, table in {**found.tables, **found.long_tables}.items():
                table.to_csv(part / f"{name}.csv", FILE_DIGITS)
            figures = [save(figure, part / f"{name}.png").name for name, figure in found.figures.items()]
        return Result(found.tables, [out / name for name in figures], found.notes)

    return run


def be_silent(line: str) -> None:
    """Ignore progress messages: the default where no progress was asked for."""


class Repetition(NamedTuple):
    """What one seed gave: what a perfect method would get, what each variant got, and how they are drawn."""

    aim: Record
    found: Mapping[str, Record]
    draw: Callable[[], dict[str, Figure]]


class Repetitions(NamedTuple):
    """What all seeds gave, a record each, and the figures of the first."""

    aims: list[Record]
    found: dict[str, list[Record]]
    figures: dict[str, Figure]

    def compare(self, paper: Record | None = None) -> Table:
        """Return a row per quantity of the aims; ``paper`` adds a column of what the paper says."""
        known: dict[str, Record] = {AIM: {quantity: mean(self.aims, quantity) for quantity in self.aims[0]}}
        if paper is not None:
            known["paper"] = paper
        return compare_variants(self.aims[0], known, self.found)


def repeat(run_seed: Callable[[int], Repetition], seeds: Iterable[int]) -> Repetitions:
    """Run an experiment with each seed and draw the first."""
    aims: list[Record] = []
    found: dict[str, list[Record]] = {}
    figures: dict[str, Figure] = {}
    for seed in seeds:
        one = run_seed(seed)
        aims.append(one.aim)
        for variant, record in one.found.items():
            found.setdefault(variant, []).append(record)
        figures = figures or one.draw()
    return Repetitions(aims, found, figures)


def mean(records: Sequence[Record], quantity: str) -> float:
    """Return the mean of a quantity over seeds."""
    return float(np.mean([record[quantity] for record in records]))


def spread(records: Sequence[Record], quantity: str) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n - 1 in the denominator) over the seeds in which a quantity is defined.

    Both are None without such a seed, and the deviation is with a single one.

    >>> spread([{"x": 1.0}, {}, {"x": 1.0}], "x"), spread([{"x": 1.0}], "x"), spread([{}], "x")
    ((1.0, 0.0), (1.0, None), (None, None))
    """
    values = [record[quantity] for record in records if quantity in record]
    if not values:
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def compare_variants(
    quantities: Iterable[str], known: Mapping[str, Record], found: Mapping[str, Sequence[Record]]
) -> Table:
    """Return a row per quantity: what is known of it, by column, then mean and sd of each variant.

    Cells are blank where nothing is known and where a variant does not measure a quantity.

    >>> found = {"ours": [{"clusters": 2.0}, {"clusters": 4.0}]}
    >>> print(compare_variants(["clusters"], {"truth": {"clusters": 3.0}}, found).to_text())
    quantity  truth  ours, mean  ours, sd
    --------  -----  ----------  --------
    clusters  3.000       3.000     1.414
    """
    columns = ["quantity", *known]
    columns += [f"{variant}, {statistic}" for variant in found for statistic in ("mean", "sd")]
    rows: list[list[Any]] = []
    for quantity in quantities:
        row: list[Any] = [quantity, *(record.get(quantity) for record in known.values())]
        for records in found.values():
            row += spread(records, quantity)
        rows.append(row)
    return Table.from_rows(columns, rows)
