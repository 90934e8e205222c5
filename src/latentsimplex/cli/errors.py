"""How commands fail: with one line instead of a traceback, and an exit status that says why."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from latentsimplex.base.atomic_files import whole_folder
from latentsimplex.base.interruption import INTERRUPTED

OPTIONS = {
    "n_clusters": "--clusters",
    "min_clusters": "--min-clusters",
    "n_patterns": "--patterns",
    "memory_limit": "--memory-limit",
    "missing": "--missing",
    "join": "--join",
}
"""What parameters of the estimator that errors name are called on the command line."""
VALUE = re.compile(rf"""\b({"|".join(OPTIONS)})=(["']?)(\w+)\2""")
"""A parameter and its value, as errors name them."""
NAME = re.compile(rf"""\b({"|".join(name for name in OPTIONS if "_" in name)})\b""")
"""A parameter without a value, whose name is no word of English."""


@contextmanager
def one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that the user can fix into one line without a traceback, and exit status 1."""
    try:
        yield
    except kinds as error:
        raise click.ClickException(_sentence(error)) from None


def _sentence(error: Exception) -> str:
    """Return what an error says in one line, with options for parameters and words around what the system says."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fspath(error.filename)!r} cannot be used ({error.strerror.lower()}): give another path."
    said = " ".join(str(error).split()) or "There is not enough memory: give fewer samples or features."
    return name_options(said)


def name_options(said: str) -> str:
    """Return a sentence about parameters as one about options of the command line.

    >>> name_options("min_clusters=4 was asked for: give a smaller number, or raise memory_limit")
    '--min-clusters 4 was asked for: give a smaller number, or raise --memory-limit'
    """
    said = VALUE.sub(lambda found: f"{OPTIONS[found[1]]} {found[3]}", said)
    return NAME.sub(lambda found: OPTIONS[found[1]], said)


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be written into, before anything is read or computed."""
    if out.exists() and not out.is_dir():
        raise click.BadParameter(f"{str(out)!r} is a file: give a folder.", param_hint="'--out'")
    there = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise click.BadParameter(f"{str(there)!r} is a file, not a folder.", param_hint="'--out'")
    if not os.access(there, os.W_OK | os.X_OK):
        raise click.ClickException(
            f"Nothing can be written into {str(there)!r}: choose another folder with --out."
        )


def check_kept(files: Sequence[Path], out: Path, written: re.Pattern[str]) -> None:
    """Refuse to write over the data."""
    for path in files:
        if path.resolve().parent == out.resolve() and written.fullmatch(path.name):
            raise click.BadParameter(
                f"{str(path)!r} would be overwritten: choose another folder.", param_hint="'--out'"
            )


@contextmanager
def written_folder(
    out: Path, is_stale: Callable[[str], object] = lambda name: False, last: str = ""
) -> Iterator[Path]:
    """Give a folder to write into that becomes ``out``, or refuse one that cannot be written; see whole_folder."""
    with one_line(OSError):
        check_folder(out)
        with whole_folder(out, is_stale, last) as part:
            yield part


@contextmanager
def on_interrupt(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into one line, which says what was interrupted where that is known, and status 130."""
    try:
        yield
    except KeyboardInterrupt as error:
        doing = f" while {error}" if error.args else ""
        click.echo(f"\nInterrupted{doing}: {sentence}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


class Commands(click.Group):
    """Commands that Ctrl-C ends in one line and with its own status, whichever it is."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        with on_interrupt("the command had not ended."):
            return super().invoke(ctx)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show warnings that users are meant to see, once each, as lines on standard error when all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"Warning: {name_options(message)}", err=True)
