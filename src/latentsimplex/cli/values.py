"""Types and groups of command-line options: wrong values are refused before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from latentsimplex.options import check_device
from latentsimplex.pairs.memory_budget import read_memory_limit

FILE = click.Path(path_type=Path, readable=False)  # whether it can be read is found when it is
COUNT = click.IntRange(min=1)


class Checked(click.ParamType):
    """What one of the estimator's own checks accepts; ``advice`` is said of what it refuses."""

    def __init__(self, name: str, check: Callable[[str], object], advice: str) -> None:
        self.name, self.check, self.advice = name, check, advice

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value as it was given."""
        try:
            self.check(value)
        except ValueError:
            self.fail(f"{value!r} {self.advice}", param, ctx)
        return str(value)


DEVICE = Checked("device", check_device, "is unknown: choose cpu, cuda, cuda:1 and so on, mps or torch.")
MEMORY = Checked("size", read_memory_limit, "is no amount of memory: give bytes, or something like 2GB.")


def column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that say which columns of files are no features."""
    drop = click.option(
        "--drop",
        multiple=True,
        metavar="COLUMN",
        help="A column, or an array of an .npz, to leave out; may be given several times.",
    )
    return click.option(
        "--no-index", is_flag=True, help="No column names the samples: the first is a feature too."
    )(drop(command))
