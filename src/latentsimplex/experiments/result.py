"""What an experiment is, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from latentsimplex.experiments.table import Table
from latentsimplex.plots import save

Progress = Callable[[str], None]
"""Called with a line about what is being computed."""


@dataclass(frozen=True)
class Result:
    """Tables by name, the figures' files, and what a reader should know about both."""

    tables: dict[str, Table]
    figures: list[Path]
    notes: list[str]


Run = Callable[..., Result]
"""An experiment's function: ``run(n_seeds, out, progress=None, *, n_samples=None)`` runs over seeds 0 to
``n_seeds - 1`` and writes tables and figures into ``out``; some take more, by keyword."""


@dataclass(frozen=True)
class Experiment:
    """One line about an experiment, the function that runs it, and the further keywords which that takes."""

    summary: str
    run: Run
    options: tuple[str, ...] = ()


def write_result(out: Path, tables: dict[str, Table], figures: dict[str, Figure], notes: list[str]) -> Result:
    """Write each table as CSV and each figure as PNG, under its name, into a folder that is made if missing."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv")
    paths = [save(figure, out / f"{name}.png") for name, figure in figures.items()]
    return Result(tables, paths, notes)
